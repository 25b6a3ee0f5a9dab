"""Why the facts of a claim are what they are: all of its evidence, each statement in its place.

Folds the evidence of one claim once, by a fold that takes notes (`state.trace`), and orders what it found:
for each fact what opened it, what dates its bounds, what ended it, who supports it and who does not.
Decides nothing itself, and finds no words (`agents.telling`). Why a value is no fact is `state.why_not`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from state.decided import Void, closings_of
from state.episodes import Episode, Reason, Role
from state.explanation import Apart, Explained, Explanation, How, Opening, Placed
from state.fold_state import ASIDE, Cluster, Side
from state.history import distinct
from state.instants import Instant
from state.majority import newest_spelling
from state.own_facts import name_of
from state.policy import Policy
from state.predicates import Predicate
from state.replacing import Replacements
from state.statements import Statement, order, restatement_key, voter
from state.timeline import Folded, fold, horizon_of, replacements
from state.trace import Choice, Duel, Tally, Trace, TracingFold, Weighing
from state.trust import Trust


def explain(
    statements: Iterable[Statement], predicate: Predicate, policy: Policy, cluster_of: Mapping[str, Cluster]
) -> Explanation:
    """Explain the facts of a claim. Arguments as of `state.timeline.fold`, whose facts they are."""
    ordered = sorted(statements, key=order)

    def cluster(statement: Statement) -> Cluster:
        return cluster_of.get(statement.form, statement.form)

    replaced = replacements(ordered, predicate, cluster_of)
    trace = Trace(ordered, cluster, replaced)
    folded = fold(ordered, predicate, policy, cluster_of, machine=partial(TracingFold, trace=trace))
    facts, place_of = _Facts(ordered, folded, trace, predicate, cluster, policy.trust).explained()
    return Explanation(
        predicate=predicate,
        policy=policy,
        facts=facts,
        placed=_placed(ordered, folded, place_of, cluster_of, replaced, predicate),
        cluster_of=cluster_of,
        weighings=tuple(trace.weighings),
        choices=tuple(trace.choices),
        horizon=horizon_of(ordered),
    )


def _placed(
    ordered: Sequence[Statement],
    folded: Folded,
    place_of: Mapping[int, int],
    cluster_of: Mapping[str, Cluster],
    replaced: Replacements,
    predicate: Predicate,
) -> tuple[Placed, ...]:
    timeless = predicate.never_changes
    void = Void(closings_of(ordered), lambda form: cluster_of.get(form, form), timeless=timeless)

    def why_apart(statement: Statement) -> Apart:
        cluster = cluster_of.get(statement.form, statement.form)
        if not statement.votes:
            return Apart.DECISION if statement.verdict else Apart.FED_BACK
        if not predicate.is_explicit and void.covers(statement, cluster):
            return Apart.VOID
        if replaced and replaced.covers(statement, cluster):
            return Apart.REPLACED
        if predicate.is_explicit:  # all else that a document says is a fact of its own, or was closed
            return Apart.VOID if statement.affirmed else Apart.DENIAL
        return _why_apart(statement, cluster)

    counting = {restatement_key(s): s.observation_id for s in distinct(s for s in ordered if s.votes)}
    found = []
    for s in ordered:
        role, number = folded.roles[s.observation_id]
        found.append(
            Placed(
                statement=s,
                role=role,
                fact=None if number is None else place_of[number],
                why=why_apart(s) if role is Role.ASIDE else None,
                repeats=counting[restatement_key(s)] if role is Role.DUPLICATE else None,
            )
        )
    return tuple(found)


def _why_apart(statement: Statement, cluster: Cluster) -> Apart:
    if cluster == ASIDE:
        return Apart.FITS_SEVERAL
    if statement.is_late_end:
        return Apart.LATE_REPORT
    return Apart.NO_FACT_THEN if statement.affirmed else Apart.NOTHING_TO_DENY


class _Facts:
    """The facts of a fold, each with what the trace and the evidence know of it."""

    def __init__(
        self,
        ordered: Sequence[Statement],
        folded: Folded,
        trace: Trace,
        predicate: Predicate,
        cluster: Callable[[Statement], Cluster],
        trust: Trust | None = None,
    ) -> None:
        self.predicate = predicate
        self.cluster = cluster
        self.trust = trust
        self.counted = distinct(s for s in ordered if s.votes)
        self.numbers = sorted(range(len(folded.episodes)), key=lambda n: _in_time(folded.episodes[n]))
        self.episodes = [folded.episodes[n] for n in self.numbers]
        self.place_of = {number: place for place, number in enumerate(self.numbers)}
        self.sides: dict[tuple[Role, int], list[Statement]] = {}
        for s in ordered:
            role, number = folded.roles[s.observation_id]
            if number is not None:
                self.sides.setdefault((role, self.place_of[number]), []).append(s)
        self.decisions = {(w.cluster, w.lo): w for w in trace.weighings if w.won}
        self.standings = {(w.cluster, w.lo): w for w in trace.standings}
        self.choices = {(choice.at, choice.best): choice for choice in trace.choices}
        self.named = {(e.name or e.form, e.ordinal): n for n, e in enumerate(self.episodes)}
        self.led_by = {self._follower(n): n for n in range(len(self.episodes))}
        self.previous = self._previous()
        self.starting: dict[Instant, list[int]] = {}
        for n, episode in enumerate(self.episodes):
            if episode.lo is not None:
                self.starting.setdefault(episode.lo.at, []).append(n)
        self.taken = {s.observation_id: s for s in ordered if s.verdict}
        self.said = {s.observation_id: s for s in ordered}
        self.is_majority = predicate.never_changes and not predicate.is_explicit
        self.horizon_bare = horizon_of(s for s in ordered if not s.form)
        self.horizon = horizon_of(s for s in ordered if s.form)

    def explained(self) -> tuple[tuple[Explained, ...], dict[int, int]]:
        """All facts in order of time, and the place of each among them by its number in the fold."""
        return tuple(self._explain(place) for place in range(len(self.episodes))), self.place_of

    def _explain(self, place: int) -> Explained:
        episode = self.episodes[place]
        key = None if episode.lo is None else (episode.cluster, episode.lo.at)
        standing = None if key is None or episode.reason is Reason.WITHDRAWN else self.standings.get(key)
        if self.is_majority and episode.support:
            standing = _majority(episode, self.counted, self.cluster, self.trust)
        return Explained(
            episode=episode,
            horizon=self.horizon if episode.cluster else self.horizon_bare,
            support=self._side(Role.SUPPORT, place),
            dissent=self._side(Role.DISSENT, place),
            closing=self._side(Role.CLOSING, place),
            opening=self._opening(place),
            lo_set_by=self._lo_set_by(place),
            hi_set_by=self._hi_set_by(place),
            decision=None if key is None or episode.ballot is None else self.decisions.get(key),
            standing=standing,
            follower=self._follower(place),
            closed_by=None if episode.closed_by is None else self.taken.get(episode.closed_by[0]),
            opened_by=None if episode.opened_by is None else self.taken.get(episode.opened_by),
            against=None if episode.against is None else self.taken.get(episode.against),
        )

    def _side(self, role: Role, place: int) -> tuple[Statement, ...]:
        return tuple(self.sides.get((role, place), ()))

    def _previous(self) -> list[int | None]:
        """For each fact the one before it among those that it excludes."""
        newest_of: dict[Cluster, int] = {}
        found = []
        for n, episode in enumerate(self.episodes):
            is_alone = self.predicate.is_multi or self.predicate.is_explicit
            name = episode.name or ("*" if episode.cluster and not is_alone else episode.cluster)
            found.append(newest_of.get(name))
            newest_of[name] = n
        return found

    def _before(self, place: int) -> int | None:
        """The fact that ends where this one begins, among those that it excludes."""
        previous, lo = self.previous[place], self.episodes[place].lo
        hi = None if previous is None else self.episodes[previous].hi
        return previous if lo is not None and hi is not None and hi.at == lo.at else None

    def _follower(self, place: int) -> int | None:
        name = self.episodes[place].follower
        return None if name is None else self.named[name]

    # -- how it began -----------------------------------------------------------------------

    def _opening(self, place: int) -> Opening:
        episode = self.episodes[place]
        if episode.opened_by is not None:
            return Opening(How.DECIDED, (self.taken[episode.opened_by],), None, None)
        if self.is_majority:
            return Opening(How.MAJORITY, tuple(reversed(self._side(Role.SUPPORT, place))), None, None)
        support = self._side(Role.SUPPORT, place)
        reports = [s for s in support if s.is_late_end]
        dated_by = () if episode.lo is None else tuple(reversed(self._said_at(place, episode.lo.at)))
        if episode.lo is None or (episode.since is None and not dated_by):
            return Opening(How.REPORTED, tuple(reversed(reports)), None, None)
        at = episode.lo.at
        if episode.since is not None:
            said_before = [s for s in support if s.effective_at <= at and not s.is_late_end]
            choice = self.choices.get((at, episode.cluster))
            return Opening(How.AFTER_END, tuple(reversed(said_before)), None, choice)
        if at > (self.horizon if episode.cluster else self.horizon_bare):
            return Opening(How.SCHEDULED, dated_by, None, None)
        return self._opened_by_vote(place, at, dated_by)

    def _opened_by_vote(self, place: int, at: Instant, dated_by: tuple[Statement, ...]) -> Opening:
        number = self.led_by.get(place)
        if number is not None:
            decision = self._decision(number)
            return Opening(How.WON, dated_by if decision is None else _votes_for(decision), decision, None)
        after_denial = self._chosen_after_denial(place, at)
        if after_denial is not None:
            return Opening(How.AFTER_DENIAL, after_denial.candidates[0].affirmed.votes, None, after_denial)
        return Opening(How.SAID, dated_by, None, self.choices.get((at, self.episodes[place].cluster)))

    def _chosen_after_denial(self, place: int, at: Instant) -> Choice | None:
        """What was chosen from when a denial won, where this fact was chosen then."""
        previous = self.previous[place]
        denied = None if previous is None else self.episodes[previous]
        if denied is None or denied.reason is not Reason.DENIED or denied.ballot is None or denied.hi is None:
            return None
        choice = self.choices.get((denied.ballot.decided_at, self.episodes[place].cluster))
        if choice is None or choice.since != denied.hi.at or not at <= denied.ballot.decided_at:
            return None
        return choice

    def _decision(self, place: int) -> Weighing | None:
        episode = self.episodes[place]
        return None if episode.lo is None else self.decisions.get((episode.cluster, episode.lo.at))

    # -- what dates its bounds --------------------------------------------------------------

    def _said_at(self, place: int, at: Instant) -> list[Statement]:
        """What supports a fact from exactly an instant on."""
        return [s for s in self._side(Role.SUPPORT, place) if s.effective_at == at and not s.is_late_end]

    def _lo_set_by(self, place: int) -> tuple[Statement, ...]:
        episode = self.episodes[place]
        if episode.lo is None:
            return ()
        if self.is_majority:
            return tuple(s for s in self.counted if s.effective_at == episode.lo.at)
        own = self._said_at(place, episode.lo.at)
        if own and episode.since is None:
            return tuple(own)
        before = self._before(place)
        return tuple(own) if before is None else self._ends_at(before, episode.lo.at) or tuple(own)

    def _hi_set_by(self, place: int) -> tuple[Statement, ...]:
        episode = self.episodes[place]
        if episode.hi is None:
            return ()
        at = episode.hi.at
        if episode.replaced_by is not None:
            return (self.said[episode.replaced_by[0]],)
        if episode.reason is Reason.DENIED:
            return tuple(s for s in self._side(Role.CLOSING, place) if s.effective_at == at)
        if episode.reason is Reason.ENDED and (own := self._ends_at(place, at)):
            return own
        after = self.starting.get(at, ())
        return tuple(s for n in after if self._before(n) == place for s in self._said_at(n, at))

    def _ends_at(self, place: int, at: Instant) -> tuple[Statement, ...]:
        """The statements of a fact's value that give an instant as its end."""
        cluster, name = self.episodes[place].cluster, self.episodes[place].name
        return tuple(
            s
            for s in self.counted
            if s.affirmed
            and s.valid_to == at
            and self.cluster(s) == cluster
            and (not name or name_of(s) == name)
        )


def _in_time(episode: Episode) -> tuple[bool, Instant, Cluster]:
    lo = episode.lo
    return (lo is not None, Instant(0) if lo is None else lo.at, episode.cluster)


def _votes_for(decision: Weighing) -> tuple[Statement, ...]:
    """The counted votes of the rival that won."""
    duel = decision.duels[0]
    return duel.rival.votes[: duel.n_for]


def _majority(
    episode: Episode,
    counted: Sequence[Statement],
    cluster: Callable[[Statement], Cluster],
    trust: Trust | None,
) -> Weighing:
    """The count behind a fact that can never change: all documents, without a window."""

    def weight(tally: Tally) -> int:
        return len(tally.votes) if trust is None else trust.weigh(tally.votes)

    said: dict[Side, dict[str, Statement]] = {}
    for s in counted:
        side = (cluster(s), s.affirmed)
        if bool(s.form) is bool(episode.cluster) and side[0] != ASIDE:
            said.setdefault(side, {}).setdefault(voter(s), s)
    own = (episode.cluster, True)
    tallies = {side: _tally(side, list(votes.values())) for side, votes in said.items()}
    held = tallies.pop(own)
    rivals = [t for t in tallies.values() if t.side[1] or t.side[0] == own[0]]
    rivals.sort(key=lambda t: (-weight(t), min(s.observed_at for s in t.votes), t.side[0], not t.side[1]))
    duels = [
        Duel(
            rival=tally,
            n_for=len(tally.votes),
            n_held=len(held.votes),
            counted=_by_place((*tally.votes, *held.votes)),
            is_later=False,
            fresh=None,
            decides=False,
        )
        for tally in rivals
    ]
    assert episode.lo is not None
    return Weighing(
        at=episode.lo.at,
        cluster=episode.cluster,
        lo=episode.lo.at,
        held=held,
        last=None,
        duels=tuple(duels),
        seats=tuple(len(tally.votes) for tally in (held, *rivals)),
        counted=_by_place(s for tally in (held, *rivals) for s in tally.votes),
    )


def _tally(side: Side, votes: Sequence[Statement]) -> Tally:
    return Tally(side=side, spelling=newest_spelling(votes), votes=_by_place(votes))


def _by_place(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Newest first."""
    return tuple(sorted(statements, key=lambda s: s.place, reverse=True))
