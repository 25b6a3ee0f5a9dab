"""The plain twin of the fold (DESIGN 4.4-4.9, 4.11): a claim's facts, derived from all evidence each time.

It decides the facts of one claim and which side each statement takes. It never clusters, types or parses,
never keeps anything between two calls, and does not care about speed: every question is answered from the
full list. It leaves out ``arbitration = explicit``, which is ``tests.reference.own_facts``, and everything
about events. What decisions void and mark, and their order, is in ``tests.reference.decisions``; the walk
here carries them out. What newer documents end is in ``tests.reference.replaced``.

Words: a *place* is (effective time, observed_at); the *horizon* is the greatest observed_at of the claim; a
*report* is a statement with only a ``valid_to``, observed at or after it.

Where the design leaves room, and what is chosen here:

Sides and counts

1. Sides follow the final intervals: a statement belongs to the fact whose ``[lo, hi)`` holds its effective
   time. Affirmed and of the same cluster: support. Affirmed and of another: dissent. A denial of that
   fact's cluster: dissent. A denial of another cluster, or anything inside a gap: aside. Exceptions are 2,
   3, 20 and 23.
2. Closing are all denials of the closed cluster from the boundary up to the deciding instant, and a
   scheduled denial that closes. Denials before the boundary are dissent, later ones aside.
3. The statements that open a fact when another has ended on its own (F41: B said during A) support the fact
   they open and are no dissent of the ended one; otherwise the new fact would have no support at all.
4. Affirmed statements that could not open anything in a gap (too many denials) stay aside, even when a
   later one opens the fact with their help; the fact starts at the instant that opened it.
5. Support and dissent count the vote identities among the statements on that side, so a scheduled fact or
   one added by a report counts its statement as support, although that statement never votes.

Votes

6. A vote is where its newest *live* statement is. When the newest statement has left at its ``valid_to``
   while an older one of the same document is still live, the vote falls back to the older one.
7. A document that says two things at the same place has not changed its mind about either: its run of
   saying one of them is uninterrupted as long as each of its places, going back, says it too. Begun is
   compared by effective time. Left and cleared statements count in a run; reports, scheduled and fed-back
   statements do not.
8. Of sides that tie at the edge of the window each takes as many of the seats left as it has votes there:
    with one side alone at the edge exactly five votes count, and ids never matter. "All later" and "at
    least one of them" speak of R's votes among the newest five for F or R. "Two more" means two or more.
    Only the top rival is tried: a weaker one that speaks now cannot win in its place. F's last statement
    counts even when its vote has left.
9. Order of rivals: the key of a denial is its cluster's key, and the key goes before "affirmed first",
   which therefore never decides.
10. An opening that follows an ended or a denied fact takes "latest" as the latest place.

Periods

11. When R wins although none of its statements is later than F's last (both spoke at one instant and F was
    observed last), the change is dated at the deciding instant. Nothing is invalidated at its own start.
12. The boundary is an effective time. A statement for F at exactly that time, observed earlier, belongs to
    the new period and is its dissent. The boundary and "its first statement since" look at live statements
    only: one that has come and gone does not date a fact that was decided later.
13. After a denial has won, statements between the boundary and the opening of the next fact lie in a gap:
    aside. The period of that next fact begins at its own start.
14. One decision per instant: a fact that opens at an instant is not judged again at that instant, only
    marked.
15. A gap opens a fact only at an instant with an affirmed vote. A denial that leaves opens nothing by
    itself.

Contested

16. ``contested`` is as of the horizon: it is judged at no instant after it, and a fact closed by then is
    not contested. A fact whose end lies beyond the horizon keeps what was judged last.
17. All standing rivals are named, also those outside the newest five.

Bounded statements

18. Only affirmed statements end facts; the end of a denial removes its vote. The end of a statement counts
    even if that statement was said in an earlier episode or its vote was cleared.
19. "The best of those opens at that instant" is part of the one decision after the votes of the instant:
    votes of the ended period and of the instant are ranked together, so "28,000 until D, 32,000 from D"
    with an old single dissenter goes to 32,000 (F21). The statements that keep a fact open may be scheduled
    ones, but not reports.
20. A report ends its cluster's fact in its turn of time (so that a later mention opens a new fact), and is
    kept from it by the same exceptions as any other end. It adds an interval only when all else is folded,
    in order of ``valid_to``; it supports the fact of its cluster that covers the moment before its
    ``valid_to``. When another cluster covers that moment, it adds nothing and is that fact's dissent,
    without a vote. Several at one instant: most identities, then latest observed_at, then smallest key.
    Directly after a fact of the same cluster that ``ended``, it moves that end instead of adding a second
    episode.
21. Observed exactly at ``valid_to`` counts as after it. A denied report is aside.

Scheduled statements

22. Our own output fed back does not move the horizon: it must change nothing. Object-less statements have a
    horizon of their own; the clusters of a ``multi`` claim share the claim's.
23. What opens on schedule closes the fact before it as ``ended`` (no invalidation: nobody was outvoted),
    whatever its votes, and goes before what would open because of an end at that instant. Several at one
    instant are ranked as in a gap, among themselves only. A scheduled denial closes its cluster's fact as
    ``denied`` and is closing evidence; nothing else opens then. Ends beyond the horizon and scheduled
    statements take their turns by time.

Predicates that never change

24. The shared instant is the earliest effective time of the claim, ``valid_to`` and scheduling mean
    nothing, every statement votes, and there is no window, for ``contested`` either. A cluster stands when
    its votes are more than its denials, or as many and observed earlier (at equal instants the denial wins,
    as in 4.4). Where nothing stands there is no fact, and all is aside.
25. What a decision opens starts at the earliest effective time or at the decision's instant, whichever is
    earlier; it is contested like any other, also without a vote of its own.

Decisions

26. When a fact ends, what was said during it is asked as in the period of that fact: a cluster that a
    decision closed opens there with two votes cast since the ended fact began. One that cannot open does
    not stand in the way of the next best.
27. Nothing but a gap asks for two votes: not a rival that wins, not what a denial uncovers, not a schedule.
28. A closing lets the votes of its cluster go whether its fact was open or not; they date nothing later.
29. What is scheduled for the instant at which a decision opens a fact gives way: nothing ends at its start.
30. A fact that a late report adds after a closing carries ``against`` too, unless its start is unknown.

Votes by cycle

31. What casts no vote (reports, scheduled statements, our own output) begins no new cycle, and a statement
    of an older cycle does not make its instant one with a vote. Cycles are those of what folds alone.

Documents that replace others (DESIGN 6)

32. A statement whose document was replaced for what it says is out from there on: its vote leaves there, and
    what takes effect there or later is void, a report of an end by the last instant that it speaks of. An end
    of its own that comes later ends nothing.
33. The open fact is then superseded, unless a decision opened it, or a vote for it is left, or somebody said
    since it began that it holds, and still does. A fact that ends at that instant by somebody's words has
    ended. What opens next is asked as after an end.
34. Where nothing ever changes, what was replaced was never said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tests.reference.decisions import Decision, in_order, mark, mark_of_all_time, of_all_time, voids
from tests.reference.replaced import ends_of


@dataclass(frozen=True, slots=True)
class Statement:
    """One piece of evidence; ``cluster`` is the key of its cluster, None for an object-less statement."""

    observation_id: str
    cluster: str | None
    affirmed: bool
    observed_at: int
    valid_from: int | None
    valid_to: int | None
    source: str | None
    document: str | None
    votes: bool = True
    cycle: int = 0
    replaces: str | None = None
    until: tuple[int, int, str] | None = None  # where a newer document ends it; its statement: when, which


@dataclass(frozen=True, slots=True)
class Fact:
    """One episode in which one cluster holds; ``lo`` None is an unknown start, ``hi`` None is open."""

    cluster: str | None
    ordinal: int
    lo: int | None
    hi: int | None
    reason: str | None
    contested: bool
    rivals: tuple[str, ...]
    support: int
    dissent: int
    observations: int
    supporting: frozenset[str]
    dissenting: frozenset[str]
    closing: frozenset[str]
    opened_by: str | None
    closed_by: str | None
    against: str | None
    follower: tuple[str | None, int] | None  # told of facts that a decision closed only
    replaced_by: str | None = None


Place = tuple[int, int]
BEFORE_ALL: Place = (-(10**18), 0)
Identity = tuple[str | None, bool, str | tuple[str | None, str]]


class Vote(NamedTuple):
    """Where an identity spoke last."""

    place: Place
    identity: Identity


class Rival(NamedTuple):
    """A cluster that stands, or a denial, with the votes that count for it, newest first."""

    cluster: str | None
    affirmed: bool
    votes: list[Vote]


@dataclass(slots=True)
class Episode:
    """A fact in the making."""

    cluster: str | None
    lo: int | None
    hi: int | None = None
    reason: str | None = None
    rivals: tuple[str, ...] = ()
    opening: set[str] = field(default_factory=set)  # said before lo, yet its support
    closing: set[str] = field(default_factory=set)
    opened_by: str | None = None
    closed_by: str | None = None
    against: str | None = None
    follower: Episode | None = None
    replaced_by: str | None = None


def fold(
    statements: Iterable[Statement],
    decisions: Iterable[Decision] = (),
    *,
    cardinality: str = "single",
    change: str = "any",
    vote_window: int = 5,
    by_cycle: bool = False,
) -> tuple[list[Fact], frozenset[str]]:
    """Return the facts of one claim, sorted by (lo, cluster), and the ids of what is aside.

    With ``by_cycle`` there is no window: the votes of the newest cycle met decide, by their share alone.
    """
    everything, decided = ends_of(list(statements)), list(decisions)
    window = len(everything) if by_cycle else vote_window
    facts: list[Fact] = []
    for group, taken, horizon in _groups([s for s in everything if s.votes], decided, cardinality):
        if change == "never":
            timeless = [
                replace(s, valid_to=None)
                for s in group
                if not _is_void(s, taken, for_ever=True) and s.until is None
            ]
            facts += _facts(timeless, _of_all_time(timeless, taken), horizon)
        else:
            heard = [s for s in group if not _is_void(s, taken, for_ever=False) and not _is_replaced(s)]
            facts += _facts(heard, Timeline(heard, taken, horizon, window, by_cycle).episodes(), horizon)
    facts.sort(key=lambda fact: (fact.lo is not None, fact.lo or 0, fact.cluster or ""))
    sided = {i for fact in facts for side in (fact.supporting, fact.dissenting, fact.closing) for i in side}
    said = {s.observation_id for s in everything} | {d.decision_id for d in decided}
    return facts, frozenset(said - sided)


def _groups(
    evidence: list[Statement], decisions: list[Decision], cardinality: str
) -> list[tuple[list[Statement], list[Decision], int]]:
    """Return what folds alone: object-less statements; the others, or each of their clusters."""
    groups = []
    for objectless in (True, False):
        said = [s for s in evidence if (s.cluster is None) == objectless]
        taken = [d for d in decisions if (d.cluster is None) == objectless]
        if not said and not taken:
            continue
        horizon = max([s.observed_at for s in said] + [d.decided_at for d in taken])
        if objectless or cardinality != "multi":
            groups.append((said, taken, horizon))
            continue
        for cluster in {s.cluster for s in said} | {d.cluster for d in taken}:
            own = [s for s in said if s.cluster == cluster]
            groups.append((own, [d for d in taken if d.cluster == cluster], horizon))
    return groups


# What a statement says about itself


def _effective(s: Statement) -> int:
    return s.observed_at if s.valid_from is None else s.valid_from


def _place(s: Statement) -> Place:
    return (_effective(s), s.observed_at)


def _identity(s: Statement) -> Identity:
    return (s.cluster, s.affirmed, s.observation_id if s.document is None else (s.source, s.document))


def _is_report(s: Statement) -> bool:
    return s.valid_from is None and s.valid_to is not None and s.observed_at >= s.valid_to


def _is_void(s: Statement, decisions: list[Decision], *, for_ever: bool) -> bool:
    """Return whether a decision took the statement's part in the fold away."""
    last_instant = None if for_ever else _effective(s)
    if _is_report(s) and not for_ever:
        assert s.valid_to is not None
        last_instant = s.valid_to - 1
    return s.affirmed and voids(decisions, s.cluster, s.observed_at, last_instant)


def _is_replaced(s: Statement) -> bool:
    """Return whether a newer document took the place of a statement's before it takes effect."""
    first = s.valid_to - 1 if _is_report(s) and s.valid_to is not None else _effective(s)
    return s.until is not None and s.until[0] <= first


def _is_cut(s: Statement) -> bool:
    """Return whether a newer document ends a statement before it would end by itself."""
    return s.until is not None and not _is_report(s) and (s.valid_to is None or s.until[0] < s.valid_to)


# Votes


def _votes(statements: Iterable[Statement]) -> list[Vote]:
    """Return one vote per identity, at its newest place; newest first."""
    newest: dict[Identity, Place] = {}
    for s in statements:
        newest[_identity(s)] = max(_place(s), newest.get(_identity(s), _place(s)))
    return sorted((Vote(place, who) for who, place in newest.items()), key=lambda v: v.place, reverse=True)


def _newest(votes: list[Vote], count: int) -> list[Vote]:
    """Return the ``count`` newest votes and all that tie with the last of them."""
    by_age = sorted(votes, key=lambda vote: vote.place, reverse=True)
    return [vote for vote in by_age if len(by_age) <= count or vote.place >= by_age[count - 1].place]


def _seats(sides: list[list[Vote]], count: int) -> list[int]:
    """Return how many votes of each side are among the ``count`` newest; tied sides take what is left."""
    places = sorted((vote.place for side in sides for vote in side), reverse=True)
    if len(places) <= count:
        return [len(side) for side in sides]
    edge = places[count - 1]
    left = count - sum(place > edge for place in places)
    return [
        sum(v.place > edge for v in side) + min(sum(v.place == edge for v in side), left) for side in sides
    ]


def _stands(affirmations: list[Vote], denials: list[Vote]) -> bool:
    if not affirmations or not denials:
        return bool(affirmations)
    if len(affirmations) != len(denials):
        return len(affirmations) > len(denials)
    return affirmations[0].place > denials[0].place


def _strongest_first(rivals: list[Rival]) -> list[Rival]:
    return sorted(
        rivals,
        key=lambda r: (-len(r.votes), *(-part for part in r.votes[0].place), r.cluster or "", not r.affirmed),
    )


def _contest(own: list[Vote], rivals: list[Rival], window: int) -> tuple[str, ...]:
    """Return the names of the rivals when over 0.40 of the newest votes are theirs, else nothing."""
    own_count, *against = _seats([own] + [rival.votes for rival in rivals], window)
    if 5 * sum(against) > 2 * (own_count + sum(against)):
        return tuple(("" if rival.affirmed else "!") + (rival.cluster or "") for rival in rivals)
    return ()


class Timeline:
    """The walk over one claim's instants: ends, decisions, all votes of the instant, then one judgement."""

    def __init__(
        self,
        statements: list[Statement],
        decisions: list[Decision],
        horizon: int,
        window: int,
        by_cycle: bool,
    ) -> None:
        """Sort the statements into those that vote, that are scheduled, and that only report an end."""
        self.decisions = decisions
        self.horizon = horizon
        self.by_cycle = by_cycle
        self.window = window
        self.reports = [s for s in statements if _is_report(s)]
        self.scheduled = [s for s in statements if not _is_report(s) and _effective(s) > horizon]
        self.voting = [s for s in statements if not _is_report(s) and _effective(s) <= horizon]
        self.clusters = {s.cluster for s in statements} | {d.cluster for d in decisions}
        self.done: list[Episode] = []
        self.fact: Episode | None = None  # None in a gap
        self.start: int | None = None  # of the period; None before the first
        self.cleared: set[str] = set()  # affirmed statements whose vote left with their fact
        self.released: set[str] = set()  # statements whose bounds left with a decision

    def episodes(self) -> list[Episode]:
        """Return every episode of the claim, those that only a report knows of included."""
        ends = {s.valid_to for s in self.voting + self.scheduled + self.reports if s.valid_to is not None}
        ends |= {s.until[0] for s in self.voting + self.scheduled if s.until is not None}
        decided = {d.valid_at for d in self.decisions}
        for now in sorted(ends | decided | {_effective(s) for s in self.voting + self.scheduled}):
            ended = self.end(now)
            self.carry_out(now)
            if not self.follow_schedule(now):
                if self.fact is not None:
                    self.judge(self.fact, now)
                else:
                    self.fill_gap(ended, now)
            if self.fact is not None and now <= self.horizon:
                self.fact.rivals = _contest(self.own_votes(self.fact, now), self.rivals(now), self.window)
        self.add_reported()
        return self.done + ([self.fact] if self.fact is not None else [])

    # What is live, and who stands

    def live(self, cluster: str | None, affirmed: bool, now: int, since: int | None) -> list[Statement]:
        return [
            s
            for s in self.voting
            if (s.cluster, s.affirmed) == (cluster, affirmed)
            and s.observation_id not in self.cleared
            and (since is None or since <= _effective(s))
            and self.lives(s, now)
        ]

    def lives(self, s: Statement, now: int) -> bool:
        """Return whether a statement has begun and neither ended nor was replaced."""
        return (
            _effective(s) <= now
            and (s.valid_to is None or now < s.valid_to)
            and (s.until is None or now < s.until[0])
        )

    def votes(self, cluster: str | None, affirmed: bool, now: int, since: int | None) -> list[Vote]:
        spoken = self.live(cluster, affirmed, now, since)
        if self.by_cycle:
            newest = self.newest_cycle(now)
            spoken = [s for s in spoken if s.cycle == newest]
        return _newest(_votes(spoken), self.window)

    def newest_cycle(self, now: int) -> int:
        """Return the newest cycle met so far: only its votes are remembered."""
        return max((s.cycle for s in self.voting if _effective(s) <= now), default=0)

    def own_votes(self, fact: Episode, now: int) -> list[Vote]:
        return self.votes(fact.cluster, True, now, since=None)

    def standing(self, now: int, since: int | None) -> list[Rival]:
        """Return the clusters that stand on what was said from ``since`` on, strongest first."""
        found = []
        for cluster in self.clusters:
            affirmations = self.votes(cluster, True, now, since)
            if _stands(affirmations, self.votes(cluster, False, now, since)):
                found.append(Rival(cluster, True, affirmations))
        return _strongest_first(found)

    def rivals(self, now: int) -> list[Rival]:
        """Return what speaks against the open fact in its period, strongest first."""
        assert self.fact is not None
        cluster = self.fact.cluster
        rivals = [rival for rival in self.standing(now, self.start) if rival.cluster != cluster]
        denials = self.votes(cluster, False, now, self.start)
        return _strongest_first(rivals + ([Rival(cluster, False, denials)] if denials else []))

    # From one period to the next

    def open(self, cluster: str | None, lo: int, now: int) -> Episode:
        assert self.fact is None
        self.fact = Episode(cluster, lo, against=mark(self.decisions, cluster, now))
        self.start = lo
        return self.fact

    def close(self, hi: int, reason: str) -> Episode:
        closed = self.fact
        assert closed is not None
        assert closed.lo is not None
        assert closed.lo < hi
        closed.hi, closed.reason = hi, reason
        self.done.append(closed)
        self.fact, self.start = None, hi
        return closed

    def clear(self, cluster: str | None, now: int) -> None:
        self.cleared |= {
            s.observation_id
            for s in self.voting
            if s.affirmed and s.cluster == cluster and _effective(s) <= now
        }

    def carry_out(self, now: int) -> None:
        """Carry out the decisions that hold from this instant on."""
        closed: Episode | None = None  # by a decision, at this instant
        for decision in in_order(d for d in self.decisions if d.valid_at == now):
            before = self.fact
            is_its = before is not None and before.cluster == decision.cluster
            if before is not None and is_its != decision.opens:
                if before.lo == now:  # opened by the decision before this one: it never was
                    self.fact = None
                else:
                    closed = self.close(now, "superseded" if decision.opens else decision.verdict)
                    closed.closed_by = decision.decision_id
                if closed is not None:
                    closed.follower = None
            if not decision.opens:
                self.clear(decision.cluster, now - 1)
                self.released |= {
                    s.observation_id
                    for s in self.voting + self.scheduled
                    if s.affirmed and s.cluster == decision.cluster and _effective(s) < now
                }
            elif self.fact is None:
                opened = self.open(decision.cluster, now, now)
                opened.opened_by, opened.against = decision.decision_id, None
                if closed is not None:
                    closed.follower = opened

    def end(self, now: int) -> Episode | None:
        """End the open fact when a statement of its cluster ends now and no other one carries on."""
        if self.fact is None:
            return None
        own = [
            s
            for s in self.voting + self.scheduled
            if s.affirmed and s.cluster == self.fact.cluster and s.observation_id not in self.released
        ]
        reports = [s for s in self.reports if s.affirmed and s.cluster == self.fact.cluster]
        carries_on = any(
            self.lives(s, now) and (max(_place(s)) >= now if s.valid_to is None else s.valid_to > now)
            for s in own
        )
        if not carries_on and any(s.valid_to == now and not _is_cut(s) for s in own + reports):
            self.clear(self.fact.cluster, now)
            return self.close(now, "ended")
        silenced = [s.until for s in own if _is_cut(s) and s.until is not None and s.until[0] == now]
        if not silenced or self.is_still_said(self.fact, now):
            return None
        closed = self.close(now, "superseded")
        closed.replaced_by = min((observed_at, by) for _, observed_at, by in silenced)[1]
        return closed

    def is_still_said(self, fact: Episode, now: int) -> bool:
        """Return whether a decision, a vote or a word of the fact's own time holds it open."""
        assert fact.lo is not None
        return (
            fact.opened_by is not None
            or bool(self.own_votes(fact, now))
            or any(
                s.affirmed and s.cluster == fact.cluster and fact.lo <= _effective(s) and self.lives(s, now)
                for s in self.voting + self.scheduled
            )
        )

    def fill_gap(self, ended: Episode | None, now: int) -> None:
        """Open the best cluster that speaks now; after an end also one that spoke during the ended fact."""
        since = self.start if ended is None else ended.lo
        for best in self.standing(now, since):
            if mark(self.decisions, best.cluster, now) is not None and len(best.votes) < 2:
                continue
            if ended is not None or best.votes[0].place[0] == now:
                said = self.live(best.cluster, True, now, since) if ended is not None else []
                self.open(best.cluster, now, now).opening = {s.observation_id for s in said}
                return

    def judge(self, fact: Episode, now: int) -> None:
        """Replace the open fact when its top rival speaks now and wins."""
        rivals = self.rivals(now)
        if not rivals or rivals[0].votes[0].place[0] != now:
            return
        top = rivals[0]
        assert fact.lo is not None
        own = [s for s in self.voting if s.affirmed and s.cluster == fact.cluster and _effective(s) <= now]
        last = max((_place(s) for s in own), default=BEFORE_ALL)
        since_last = [
            _effective(s)
            for s in self.live(top.cluster, top.affirmed, now, self.start)
            if _place(s) > last and _effective(s) > fact.lo
        ]
        if not self.wins(top, fact, last, now) or (not since_last and now <= fact.lo):
            return
        boundary = min(since_last, default=now)
        if top.affirmed:
            self.close(boundary, "outvoted")
            self.open(top.cluster, boundary, now)
            return
        self.clear(fact.cluster, now)
        self.close(boundary, "denied").closing = {
            s.observation_id
            for s in self.voting
            if not s.affirmed and s.cluster == fact.cluster and boundary <= _effective(s) <= now
        }
        for best in self.standing(now, boundary)[:1]:
            first = min(_effective(s) for s in self.live(best.cluster, True, now, boundary))
            self.open(best.cluster, first, now)

    def wins(self, top: Rival, fact: Episode, last: Place, now: int) -> bool:
        """Decide by the newest votes for the two: two more, or as many in a clean switch; or by a share."""
        if self.by_cycle:
            n_for, n_held = len(top.votes), len(self.own_votes(fact, now))
            return 5 * n_for > 2 * (n_for + n_held)
        n_for, n_held = _seats([top.votes, self.own_votes(fact, now)], self.window)
        if n_for >= n_held + 2:
            return True
        against = [vote for vote in top.votes if n_for and vote.place >= top.votes[n_for - 1].place]
        assert fact.lo is not None
        return (
            fact.opened_by is None
            and n_for >= n_held
            and bool(against)
            and all(vote.place > last for vote in against)
            and any(self.began(vote, now) >= fact.lo for vote in against)
        )

    def began(self, vote: Vote, now: int) -> int:
        """Return since when the vote's document has said this and, at places of its own, nothing else."""
        cluster, affirmed, speaker = vote.identity
        start = vote.place
        own = [s for s in self.voting if s.document is not None and (s.source, s.document) == speaker]
        for place in sorted({_place(s) for s in own if _place(s) <= vote.place}, reverse=True):
            if (cluster, affirmed) not in {(s.cluster, s.affirmed) for s in own if _place(s) == place}:
                break
            start = place
        assert start[0] <= now
        return start[0]

    def follow_schedule(self, now: int) -> bool:
        """Open or close what was announced for this instant; return whether anything was."""
        announced = [s for s in self.scheduled if _effective(s) == now]

        def said(cluster: str | None, affirmed: bool) -> list[Vote]:
            return _votes(s for s in announced if (s.cluster, s.affirmed) == (cluster, affirmed))

        standing = _strongest_first(
            [Rival(c, True, said(c, True)) for c in self.clusters if _stands(said(c, True), said(c, False))]
        )
        fact = self.fact
        if fact is not None and fact.lo == now:
            return False  # a decision opened it here: nothing ends at its own start
        if fact is not None and standing and standing[0].cluster == fact.cluster:
            return False
        if (
            fact is not None
            and said(fact.cluster, False)
            and fact.cluster not in {r.cluster for r in standing}
        ):
            self.clear(fact.cluster, now)
            self.close(now, "denied").closing = {
                s.observation_id for s in announced if not s.affirmed and s.cluster == fact.cluster
            }
        elif fact is not None and standing:
            self.close(now, "ended")
        if standing:
            self.open(standing[0].cluster, now, now)
        return fact is not self.fact

    def add_reported(self) -> None:
        """Give each affirmed report that no fact covers an interval up to its end."""

        def order(s: Statement) -> tuple[int, int, int, str]:
            same = [
                r
                for r in self.reports
                if (r.cluster, r.affirmed, r.valid_to) == (s.cluster, True, s.valid_to)
            ]
            return (s.valid_to or 0, -len(_votes(same)), -max(r.observed_at for r in same), s.cluster or "")

        for report in sorted((s for s in self.reports if s.affirmed), key=order):
            end = report.valid_to
            assert end is not None
            if _covering(self.done + ([self.fact] if self.fact is not None else []), report) is not None:
                continue
            earlier = [e for e in self.done if e.hi is not None and e.hi < end]
            previous = max(earlier, key=lambda e: e.hi or 0, default=None)
            if previous is not None and (previous.cluster, previous.reason) == (report.cluster, "ended"):
                previous.hi = end
            else:
                lo = None if previous is None else previous.hi
                against = None if lo is None else mark(self.decisions, report.cluster, lo)
                self.done.append(Episode(report.cluster, lo, end, "ended", against=against))


def _of_all_time(statements: list[Statement], decisions: list[Decision]) -> list[Episode]:
    """Return the one fact of what never changes: as the newest decision says, else by majority."""
    decision = of_all_time(decisions)
    episodes = _majority(statements) if decision is None else _settled(statements, decision)
    for episode in episodes:
        episode.against = mark_of_all_time(decisions, episode.cluster)
    return episodes


def _settled(statements: list[Statement], decision: Decision) -> list[Episode]:
    """Return the fact that a decision opened, for ever."""
    winner = decision.cluster
    start = min([_effective(s) for s in statements] + [decision.valid_at])
    fact = Episode(winner, start, opened_by=decision.decision_id)
    _name_rivals(fact, statements)
    return [fact]


def _said(statements: list[Statement], cluster: str | None, affirmed: bool) -> list[Statement]:
    return [s for s in statements if (s.cluster, s.affirmed) == (cluster, affirmed)]


def _strength(statements: list[Statement], cluster: str | None, affirmed: bool) -> tuple[int, int]:
    said = _said(statements, cluster, affirmed)
    return (len(_votes(said)), -min(s.observed_at for s in said))


def _standing_for_ever(statements: list[Statement]) -> list[str | None]:
    """Return the clusters with more votes than denials, or as many and observed earlier, by key."""
    return [
        cluster
        for cluster in sorted({s.cluster for s in statements}, key=lambda c: c or "")
        if _said(statements, cluster, True)
        and (
            not _said(statements, cluster, False)
            or _strength(statements, cluster, True) > _strength(statements, cluster, False)
        )
    ]


def _majority(statements: list[Statement]) -> list[Episode]:
    """Return the one fact of what never changes: plain majority, ties to the earliest observed."""
    standing = _standing_for_ever(statements)
    if not standing:
        return []
    # Of equals, max takes the first: the smallest key.
    winner = max(standing, key=lambda cluster: _strength(statements, cluster, True))
    fact = Episode(winner, min(_effective(s) for s in statements))
    _name_rivals(fact, statements)
    return [fact]


def _name_rivals(fact: Episode, statements: list[Statement]) -> None:
    """Name what speaks against a fact that never changes, when it is contested."""
    winner = fact.cluster
    against = [(cluster, True) for cluster in _standing_for_ever(statements) if cluster != winner]
    against += [(winner, False)] if _said(statements, winner, False) else []
    against.sort(
        key=lambda side: ([-part for part in _strength(statements, *side)], side[0] or "", not side[1])
    )
    rivals = [
        Rival(cluster, affirmed, _votes(_said(statements, cluster, affirmed)))
        for cluster, affirmed in against
    ]
    fact.rivals = _contest(_votes(_said(statements, winner, True)), rivals, len(statements))


# Which side each statement takes


def _covering(episodes: list[Episode], s: Statement) -> Episode | None:
    """Return the episode that holds a statement's effective time; for a report the moment before its end."""
    for e in episodes:
        if _is_report(s):
            assert s.valid_to is not None
            covers = (e.lo is None or e.lo < s.valid_to) and (e.hi is None or s.valid_to <= e.hi)
        else:
            covers = (e.lo is None or e.lo <= _effective(s)) and (e.hi is None or _effective(s) < e.hi)
        if covers:
            return e
    return None


def _ordinals(episodes: list[Episode]) -> dict[int, int]:
    """Return for each episode how many of its cluster there were before it."""
    return {
        id(episode): sum(earlier.cluster == episode.cluster for earlier in episodes[:number])
        for number, episode in enumerate(episodes)
    }


def _facts(statements: list[Statement], episodes: list[Episode], horizon: int) -> list[Fact]:
    """Return the episodes as facts, each with the statements on its sides."""
    episodes = sorted(episodes, key=lambda e: (e.lo is not None, e.lo or 0))
    spoken_for = {i for e in episodes for i in e.opening | e.closing}
    ordinals = _ordinals(episodes)
    facts: list[Fact] = []
    for episode in episodes:
        supporting = [s for s in statements if s.observation_id in episode.opening]
        dissenting: list[Statement] = []
        for s in statements:
            if s.observation_id in spoken_for or _covering(episodes, s) is not episode:
                continue
            if s.affirmed and s.cluster == episode.cluster:
                supporting.append(s)
            elif (s.affirmed and not _is_report(s)) or (s.cluster == episode.cluster and not _is_report(s)):
                dissenting.append(s)
        follower = episode.follower
        contested = bool(episode.rivals) and (episode.hi is None or episode.hi > horizon)
        facts.append(
            Fact(
                cluster=episode.cluster,
                ordinal=ordinals[id(episode)],
                lo=episode.lo,
                hi=episode.hi,
                reason=episode.reason,
                contested=contested,
                rivals=episode.rivals if contested else (),
                support=len({_identity(s) for s in supporting}),
                dissent=len({_identity(s) for s in dissenting}),
                observations=len(supporting),
                supporting=frozenset(s.observation_id for s in supporting),
                dissenting=frozenset(s.observation_id for s in dissenting),
                closing=frozenset(episode.closing),
                opened_by=episode.opened_by,
                closed_by=episode.closed_by,
                against=episode.against,
                follower=None if follower is None else (follower.cluster, ordinals[id(follower)]),
                replaced_by=episode.replaced_by,
            )
        )
    return facts
