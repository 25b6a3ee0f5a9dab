"""What a fold counted wherever it decided something, kept for explanations.

A fold that takes notes (`TracingFold`) decides exactly as `state.periods.Fold` does: it asks the same
questions once more and keeps the answers. Never part of what a host runs; see `state.why`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from state.episodes import Episode
from state.fold_state import AFTER_ALL, LONG_AGO, Cluster, FoldState, OpenFact, Side, Vote
from state.history import History, distinct
from state.instants import Instant
from state.periods import Fold
from state.policy import Policy
from state.replacing import NONE_REPLACED, Replacements
from state.statements import Place, Spelling, Statement, order, voter
from state.votes import newest, seats
from state.voting import is_document, rank


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The votes that one side has: the statements that hold them, newest first.

    `spelling` is how the side's value was last spelled then.
    """

    side: Side
    spelling: Spelling | None
    votes: tuple[Statement, ...]


class Duel(msgspec.Struct, frozen=True, kw_only=True):
    """One rival against the open fact.

    `n_for` and `n_held` are how many of the newest votes for either are the rival's and the fact's, and
    `counted` are these votes, newest first. `is_later`: all of the rival's lie behind the fact's last
    statement. `fresh` is the vote that then makes a clean switch, or None. `decides`: it is enough.
    """

    rival: Tally
    n_for: int
    n_held: int
    counted: tuple[Statement, ...]
    is_later: bool
    fresh: Statement | None
    decides: bool


class Weighing(msgspec.Struct, frozen=True, kw_only=True):
    """The open fact against all of its rivals, strongest first, at one instant.

    `cluster` and `lo` name the fact within its claim. `last` is its last statement's place, None before
    any. `seats` are how many of the newest votes of all sides each has, the fact's first; `counted` are
    these votes, newest first. `won` says that the top rival ended the fact here.
    """

    at: Instant
    cluster: Cluster
    lo: Instant
    held: Tally
    last: Place | None
    duels: tuple[Duel, ...]
    seats: tuple[int, ...]
    counted: tuple[Statement, ...]
    won: bool = False


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A value that could open a fact: its votes, the denials of it, and whether it stands against them."""

    affirmed: Tally
    denied: Tally
    stands: bool


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What there was to choose from where no fact held, by votes since `since`; `best` is None for none."""

    at: Instant
    since: Instant
    candidates: tuple[Candidate, ...]
    best: Cluster | None


class Trace:
    """The notes of one fold, in order of time. `standings` are the open facts' weighings in the end."""

    def __init__(
        self,
        statements: Iterable[Statement],
        cluster_of: Callable[[Statement], Cluster],
        replaced: Replacements = NONE_REPLACED,
    ) -> None:
        self.weighings: list[Weighing] = []
        self.choices: list[Choice] = []
        self.standings: list[Weighing] = []
        self._holder: dict[tuple[Side, Vote], Statement] = {}
        voting = (s for s in sorted(statements, key=order) if s.votes and not s.is_late_end)
        for statement in distinct(voting):
            side = (cluster_of(statement), statement.affirmed)
            ends_at = replaced.cut(statement, side[0]).valid_to
            vote = Vote(statement.place, voter(statement), ends_at)
            self._holder.setdefault((side, vote), statement)

    def tally(self, side: Side, spelling: Spelling | None, votes: Sequence[Vote]) -> Tally:
        """Votes, oldest first, as the statements that hold them."""
        held_by = tuple(self._holder[side, vote] for vote in reversed(votes))
        return Tally(side=side, spelling=spelling, votes=held_by)


class TracingFold(Fold):
    """A fold that takes notes at every decision and decides nothing otherwise."""

    def __init__(
        self,
        state: FoldState,
        history: History,
        policy: Policy,
        *,
        trace: Trace,
        votes_until: Instant = AFTER_ALL,
    ) -> None:
        super().__init__(state, history, policy, votes_until=votes_until)
        self._trace = trace

    def _settle_fact(self, held: OpenFact, at: Instant, said: list[tuple[Cluster, Statement]]) -> None:
        weighing = None
        if any(not s.affirmed or cluster != held.cluster for cluster, s in said):
            weighing = self._weigh(held)
        super()._settle_fact(held, at, said)
        if weighing is not None and weighing.duels:
            won = self.state.open is not held
            self._trace.weighings.append(msgspec.structs.replace(weighing, won=won))

    def _best_standing(self, since: Instant, among: Iterable[Cluster]) -> Cluster | None:
        names = list(among)
        best = super()._best_standing(since, names)
        window = self.policy.window
        found = []
        for name in names:
            cluster = self.state.clusters[name]
            votes = newest(cluster, True, window, since)
            if votes:
                affirmed = self._tally((name, True), votes)
                denied = self._tally((name, False), newest(cluster, False, window, since))
                stands = self._stands(cluster, since)
                candidate = Candidate(affirmed=affirmed, denied=denied, stands=stands)
                found.append((not stands, rank(name, True, votes), candidate))
        found.sort(key=lambda item: item[:2])
        candidates = tuple(candidate for _, _, candidate in found)
        self._trace.choices.append(Choice(at=self.state.at, since=since, candidates=candidates, best=best))
        return best

    def judge_contest(self, episode: Episode) -> None:
        """As `Fold.judge_contest`, noting what was counted."""
        super().judge_contest(episode)
        assert self.state.open is not None
        self._trace.standings.append(self._weigh(self.state.open))

    def _tally(self, side: Side, votes: Sequence[Vote]) -> Tally:
        return self._trace.tally(side, self.state.clusters[side[0]].spelling, votes)

    def _weigh(self, held: OpenFact) -> Weighing:
        window, cluster = self.policy.window, self.state.clusters[held.cluster]
        own = newest(cluster, True, window)
        rivals = self._rivals(held)
        sides = [(held.cluster, True), *(side for side, _ in rivals)]
        votes = [own, *(against for _, against in rivals)]
        tallies = [self._tally(side, of_side) for side, of_side in zip(sides, votes, strict=True)]
        found = seats(votes, window)
        return Weighing(
            at=self.state.at,
            cluster=held.cluster,
            lo=held.lo,
            held=tallies[0],
            last=cluster.last,
            duels=tuple(
                self._duel(held, tallies[0], tally, own, against)
                for tally, (_, against) in zip(tallies[1:], rivals, strict=True)
            ),
            seats=tuple(found),
            counted=_counted(tallies, found),
        )

    def _duel(
        self, held: OpenFact, own: Tally, rival: Tally, own_votes: Sequence[Vote], against: Sequence[Vote]
    ) -> Duel:
        policy = self.policy
        last = self.state.clusters[held.cluster].last or LONG_AGO
        n_for, n_held = seats((against, own_votes), policy.window)
        is_later = n_for > 0 and against[-n_for].place > last
        fresh = None
        if is_later:
            counting = [vote for vote in against if vote.place >= against[-n_for].place]
            fresh = self._fresh(held, rival.side, counting)
        return Duel(
            rival=rival,
            n_for=n_for,
            n_held=n_held,
            counted=_counted((rival, own), (n_for, n_held)),
            is_later=is_later,
            fresh=None if fresh is None else self._trace.tally(rival.side, None, [fresh]).votes[0],
            decides=n_for >= n_held + policy.lead or (n_for >= n_held and fresh is not None),
        )

    def _fresh(self, held: OpenFact, side: Side, counted: Sequence[Vote]) -> Vote | None:
        """The oldest vote that is no document's, or whose document began saying so within the fact."""
        for vote in counted:
            if not is_document(vote.who) or self.history.began(vote.who, side, vote.place) >= held.lo:
                return vote
        return None


def votes_needed(weighing: Weighing, duel: Duel, policy: Policy) -> int | None:
    """How many further votes for a rival, each newer than all others and by a new voter, end the fact.

    At least 1, since a fact ends only where somebody votes for its rival. Everyone else is taken to say
    nothing more; the rival must still become the strongest. None where no number is enough.
    """
    own = [_vote(s) for s in reversed(weighing.held.votes)]
    votes = [_vote(s) for s in reversed(duel.rival.votes)]
    last = weighing.last or LONG_AGO
    window = policy.window
    strongest = max(
        (len(d.rival.votes) for d in weighing.duels if d.rival.side != duel.rival.side), default=0
    )
    for n in range(1, min(window, max(len(own) + policy.lead, strongest)) + 1):
        votes.append(Vote((AFTER_ALL, Instant(n)), "", None))
        considered = votes if len(votes) <= window else votes[-window:]
        n_for, n_held = seats((considered, own), window)
        is_clean = n_for >= n_held and considered[-n_for].place > last
        if (is_clean or n_for >= n_held + policy.lead) and len(considered) >= strongest:
            return n
    return None


def _vote(statement: Statement) -> Vote:
    return Vote(statement.place, voter(statement), statement.valid_to)


def _counted(tallies: Sequence[Tally], n_of: Sequence[int]) -> tuple[Statement, ...]:
    """The newest votes of several sides, as many of each as count, newest first."""
    found = [s for tally, n in zip(tallies, n_of, strict=True) for s in tally.votes[:n]]
    return tuple(sorted(found, key=lambda s: s.place, reverse=True))
