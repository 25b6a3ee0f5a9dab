"""The fold of one single-valued claim: evidence in order of time in, episodes out (DESIGN 4.4-4.7).

Time is cut into periods, each a fact or a gap. At every instant the ends come first, then all votes
of the instant together, then one decision. What took effect before a period began never counts
against it. A pure function of the evidence, the clusters and the policy: the order of arrival, ids
and clocks have no way in.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from state.episodes import Ballot, Edge, Episode, Reason
from state.instants import Granularity, Instant
from state.statements import Place, Statement
from state.votes import BEFORE_ALL, LONG_AGO, Box, Cluster, Side, Vote, latest, seats, voter


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of the fold; a change of any is a change of every fact, so it carries a version.

    `window` and `lead` count votes; `contested_above` is a share of them in hundredths, so that the
    comparison is exact.
    """

    window: int = 5
    contested_above: int = 40
    lead: int = 2
    version: str = "1"


@dataclass(slots=True)
class Run:
    """What a document says at its newest place, and since when without interruption, for each side."""

    place: Place
    began: dict[Side, Instant]
    before: dict[Side, Instant] = field(default_factory=dict)


def rank(cluster: Cluster, affirmed: bool, votes: Sequence[Vote]) -> tuple[int, int, int, str, bool]:
    """Sort key, strongest first: most votes, then the latest, then the smaller key, affirmed first."""
    effective_at, observed_at = votes[-1].place
    return (-len(votes), -effective_at, -observed_at, cluster, not affirmed)


class PeriodFold:
    """Walks the evidence of one claim once. Use `fold_periods`."""

    def __init__(
        self, evidence: Sequence[Statement], clusters: Sequence[Cluster], policy: Policy, horizon: Instant
    ) -> None:
        self.evidence = evidence
        self.clusters = clusters
        self.policy = policy
        self.horizon = horizon
        self.episodes: list[Episode] = []
        self.open: Episode | None = None
        self.period_from = BEFORE_ALL
        self.boxes: dict[Side, Box] = {}
        self.runs: dict[Hashable, Run] = {}
        self.last: dict[Cluster, Place] = {}
        self.since_last: dict[Side, list[int]] = {}
        self.ends_latest: dict[Cluster, Instant] = {}
        self.endless_known: dict[Cluster, Instant] = {}
        self.takes_part = bytearray(len(evidence))
        self.n_cast = 0

    def run(self, counted: Sequence[int]) -> list[Episode]:
        """Fold the statements at the indexes `counted`; judge contests as of the horizon."""
        begins: dict[Instant, list[int]] = {}
        ends: dict[Instant, list[int]] = {}
        for index in counted:
            statement = self.evidence[index]
            if not statement.is_late_end:
                self.takes_part[index] = True
                begins.setdefault(statement.effective_at, []).append(index)
            if statement.valid_to is not None:
                ends.setdefault(statement.valid_to, []).append(index)
        judged = False
        for at in sorted(begins.keys() | ends.keys()):
            if at > self.horizon and not judged:
                self._judge_contest()
                judged = True
            self._fold_instant(at, begins.get(at, []), ends.get(at, []))
        if not judged:
            self._judge_contest()
        return self.episodes

    def _fold_instant(self, at: Instant, beginning: list[int], ending: list[int]) -> None:
        """Ends, then votes, then one decision."""
        ended = self._end(at, ending, beginning) if ending else None
        if beginning and at > self.horizon:
            self._follow_schedule(at, beginning)
            return
        self._cast(at, beginning)
        if self.open is None:
            self._settle_gap(at, beginning, ended)
        elif beginning:
            self._settle_fact(self.open, at, beginning)

    # -- ends -------------------------------------------------------------------------------

    def _end(self, at: Instant, ending: list[int], beginning: list[int]) -> Episode | None:
        """Let bounded votes leave; end the open fact, and return it, if its evidence says so."""
        held = self.open
        closing: int | None = None
        for index in ending:
            statement, cluster = self.evidence[index], self.clusters[index]
            box = self.boxes.get((cluster, statement.affirmed))
            if box is not None and not statement.is_late_end:
                box.withdraw(voter(statement), index)
            if held is not None and statement.affirmed and held.cluster == cluster and closing is None:
                closing = index
        if held is None or closing is None or self._goes_on(held.cluster, at, beginning):
            return None
        granularity = Granularity(self.evidence[closing].hi_granularity or Granularity.DAY)
        self._close(held, Edge(at, granularity), Reason.ENDED, None)
        self.boxes.pop((held.cluster, True), None)
        return held

    def _goes_on(self, cluster: Cluster, at: Instant, beginning: list[int]) -> bool:
        """Whether an affirmed statement that started by `at` says that the cluster holds beyond it."""
        return (
            self.ends_latest.get(cluster, BEFORE_ALL) > at
            or self.endless_known.get(cluster, BEFORE_ALL) >= at
            or any(self.clusters[i] == cluster and self.evidence[i].affirmed for i in beginning)
        )

    # -- votes ------------------------------------------------------------------------------

    def _cast(self, at: Instant, beginning: list[int]) -> None:
        """Enter all statements of one instant, in order of observed_at."""
        for index in beginning:
            statement, cluster = self.evidence[index], self.clusters[index]
            side = (cluster, statement.affirmed)
            who = voter(statement)
            began_at = None if statement.document is None else self._began(who, side, statement.place)
            vote = Vote(statement.place, began_at, statement.valid_to, index)
            self.boxes.setdefault(side, Box()).cast(who, vote)
            self.n_cast = index + 1
            if statement.affirmed:
                self._note_validity(cluster, statement)
            self._note_since_last(index, side)

    def _began(self, who: Hashable, side: Side, place: Place) -> Instant:
        """Since when the document says this without having said anything else in between.

        Two sayings at one place do not interrupt each other: which came first is not known.
        """
        run = self.runs.get(who)
        if run is None:
            run = self.runs[who] = Run(place, {})
        elif run.place != place:
            run.place, run.before, run.began = place, run.began, {}
        return run.began.setdefault(side, run.before.get(side, place[0]))

    def _note_validity(self, cluster: Cluster, statement: Statement) -> None:
        """Remember up to when the affirmed statements of a cluster say that it holds."""
        self.last[cluster] = statement.place
        if statement.valid_to is None:
            known = max(statement.observed_at, statement.effective_at)
            self.endless_known[cluster] = max(self.endless_known.get(cluster, BEFORE_ALL), known)
        else:
            until = max(self.ends_latest.get(cluster, BEFORE_ALL), statement.valid_to)
            self.ends_latest[cluster] = until

    def _note_since_last(self, index: int, side: Side) -> None:
        """Collect, for each side, what was said after the open fact's last statement and start."""
        held = self.open
        if held is None:
            return
        statement = self.evidence[index]
        if side == (held.cluster, True):
            self.since_last.clear()
        elif statement.place > self.last.get(held.cluster, LONG_AGO) and statement.effective_at > self.period_from:
            self.since_last.setdefault(side, []).append(index)

    def _newest(self, side: Side, since: Instant = BEFORE_ALL) -> list[Vote]:
        box = self.boxes.get(side)
        return box.newest(self.policy.window, since=since) if box is not None else []

    def _stands(self, cluster: Cluster, since: Instant) -> bool:
        """Unless its own denials are more, or as many with a latest vote at least as late."""
        denials = self._newest((cluster, False), since)
        if not denials:
            return True
        affirmed = self._newest((cluster, True), since)
        if len(denials) != len(affirmed):
            return len(denials) < len(affirmed)
        return latest(denials) < latest(affirmed)

    # -- decisions --------------------------------------------------------------------------

    def _best_standing(self, since: Instant, among: set[Cluster] | None = None) -> Cluster | None:
        """The strongest standing cluster by its votes since an instant, or None."""
        candidates = []
        for (cluster, affirmed), box in self.boxes.items():
            if not affirmed or (among is not None and cluster not in among):
                continue
            votes = box.newest(self.policy.window, since=since)
            if votes and self._stands(cluster, since):
                candidates.append((rank(cluster, True, votes), cluster))
        return min(candidates)[1] if candidates else None

    def _settle_gap(self, at: Instant, beginning: list[int], ended: Episode | None) -> None:
        """Open a fact for the best standing cluster voted for now, or during the fact that ended now."""
        voted_now = [i for i in beginning if self.evidence[i].affirmed]
        if ended is not None:
            since = ended.lo.at if ended.lo else BEFORE_ALL
            best = self._best_standing(since)
        elif voted_now:
            since = self.period_from
            best = self._best_standing(since, among={self.clusters[i] for i in voted_now})
        else:
            return
        if best is None:
            return
        first = next((i for i in voted_now if self.clusters[i] == best), None)
        if first is not None:
            edge = self._edge(first)
        else:
            assert ended is not None and ended.hi is not None
            edge = ended.hi
        opened = self._open(best, edge)
        if ended is not None:
            opened.opened_by = frozenset(self._live((best, True), since, at))

    def _live(self, side: Side, since: Instant, at: Instant) -> list[int]:
        """Statements of a side that took effect since an instant and have not ended by `at`."""
        found = []
        for index in range(self.n_cast - 1, -1, -1):
            statement = self.evidence[index]
            if statement.effective_at < since:
                break
            if (
                self.takes_part[index]
                and (self.clusters[index], statement.affirmed) == side
                and (statement.valid_to is None or statement.valid_to > at)
            ):
                found.append(index)
        found.reverse()
        return found

    def _rivals(self, held: Episode) -> list[tuple[Side, list[Vote]]]:
        """Standing other clusters and the denial of the held one, strongest first."""
        found = []
        for (cluster, affirmed), box in self.boxes.items():
            if (cluster == held.cluster) == affirmed:
                continue
            votes = box.newest(self.policy.window, since=self.period_from)
            if votes and (not affirmed or self._stands(cluster, self.period_from)):
                found.append(((cluster, affirmed), votes))
        found.sort(key=lambda item: rank(*item[0], item[1]))
        return found

    def _settle_fact(self, held: Episode, at: Instant, beginning: list[int]) -> None:
        """Invalidate the open fact if its top rival, voted for at this instant, has won."""
        voted_now = {(self.clusters[i], self.evidence[i].affirmed) for i in beginning}
        if voted_now == {(held.cluster, True)}:
            return
        rivals = self._rivals(held)
        if not rivals or rivals[0][0] not in voted_now:
            return
        side, against = rivals[0]
        n_for, n_held = seats((against, self._newest((held.cluster, True))), self.policy.window)
        clean = n_for >= n_held and self._is_clean_switch(held, against, n_for)
        if not clean and n_for < n_held + self.policy.lead:
            return
        boundary = self._boundary(side, at, beginning)
        if boundary is not None:
            ballot = Ballot(side[0], not side[1], n_for, n_held, clean, *against[-1].place)
            self._replace(held, side, boundary, ballot)

    def _is_clean_switch(self, held: Episode, against: list[Vote], n_for: int) -> bool:
        """All votes that count are later than the fact's last statement, one from a fresh document."""
        if n_for == 0:
            return False
        oldest = against[-n_for].place
        if oldest <= self.last.get(held.cluster, LONG_AGO):
            return False
        return any(
            vote.began_at is None or vote.began_at >= self.period_from
            for vote in against
            if vote.place >= oldest
        )

    def _boundary(self, side: Side, at: Instant, beginning: list[int]) -> Edge | None:
        """Where the fact ends: the first live statement for the rival after the fact's last.

        A rival that wins although the fact was stated again at this very instant has none; then the
        change is dated here. Nothing ends at its own start.
        """
        for index in self.since_last.get(side, ()):
            ends_at = self.evidence[index].valid_to
            if ends_at is None or ends_at > at:
                return self._edge(index)
        if at <= self.period_from:
            return None
        return self._edge(next(i for i in beginning if (self.clusters[i], self.evidence[i].affirmed) == side))

    def _replace(self, held: Episode, side: Side, boundary: Edge, ballot: Ballot) -> None:
        """Close the fact at the boundary and let the new period begin there."""
        cluster, affirmed = side
        if affirmed:
            self._close(held, boundary, Reason.OUTVOTED, ballot)
            self._open(cluster, boundary)
            return
        held.closed_by = frozenset(
            index
            for index in range(self.n_cast)
            if self.takes_part[index]
            and self.clusters[index] == cluster
            and not self.evidence[index].affirmed
            and self.evidence[index].effective_at >= boundary.at
        )
        self._close(held, boundary, Reason.DENIED, ballot)
        self.boxes.pop((cluster, True), None)
        best = self._best_standing(boundary.at)
        if best is not None:
            live = self._live((best, True), boundary.at, ballot.decided_at)
            self._open(best, self._edge(live[0]))

    def _follow_schedule(self, at: Instant, beginning: list[int]) -> None:
        """What starts after everything observed opens there, without a vote (DESIGN 4.6)."""
        said: dict[Side, Box] = {}
        for index in beginning:
            statement = self.evidence[index]
            vote = Vote(statement.place, None, statement.valid_to, index)
            side = (self.clusters[index], statement.affirmed)
            said.setdefault(side, Box()).cast(voter(statement), vote)
            if statement.affirmed:
                self._note_validity(self.clusters[index], statement)
        standing = []
        for (cluster, affirmed), box in said.items():
            denials = said[(cluster, False)].votes if (cluster, False) in said else []
            if affirmed and (len(box.votes), latest(box.votes)) > (len(denials), latest(denials)):
                standing.append((rank(cluster, True, box.votes), cluster, box.votes[0].index))
        best = min(standing, default=None)
        held = self.open
        if held is not None:
            if best is not None and best[1] == held.cluster:
                return
            denied = said.get((held.cluster, False))
            if denied is not None and held.cluster not in {cluster for _, cluster, _ in standing}:
                held.closed_by = frozenset(vote.index for vote in denied.votes)
                ballot = Ballot(held.cluster, True, len(denied.votes), 0, True, *denied.votes[-1].place)
                self._close(held, self._edge(denied.votes[0].index), Reason.DENIED, ballot)
            elif best is not None:
                self._close(held, self._edge(best[2]), Reason.ENDED, None)
        if best is not None:
            self._open(best[1], self._edge(best[2]))

    # -- episodes ---------------------------------------------------------------------------

    def _edge(self, index: int) -> Edge:
        statement = self.evidence[index]
        return Edge(statement.effective_at, Granularity(statement.lo_granularity))

    def _open(self, cluster: Cluster, lo: Edge) -> Episode:
        self.open = Episode(cluster, lo)
        self.episodes.append(self.open)
        self.period_from = lo.at
        self.since_last.clear()
        last = self.last.get(cluster, LONG_AGO)
        recent = []
        for index in range(self.n_cast - 1, -1, -1):
            statement = self.evidence[index]
            if statement.place <= last or statement.effective_at <= lo.at:
                break
            if self.takes_part[index]:
                recent.append(index)
        for index in reversed(recent):
            side = (self.clusters[index], self.evidence[index].affirmed)
            self.since_last.setdefault(side, []).append(index)
        return self.open

    def _close(self, held: Episode, hi: Edge, reason: Reason, ballot: Ballot | None) -> None:
        assert held.lo is None or held.lo.at < hi.at
        held.hi, held.reason, held.ballot = hi, reason, ballot
        self.open = None
        self.period_from = hi.at
        self.since_last.clear()

    def _judge_contest(self) -> None:
        """Say whether the open fact is contested at the horizon, and by whom."""
        held = self.open
        if held is None:
            return
        rivals = self._rivals(held)
        sides = [self._newest((held.cluster, True)), *(votes for _, votes in rivals)]
        counts = seats(sides, self.policy.window)
        held.contested = sum(counts[1:]) * 100 > self.policy.contested_above * sum(counts)
        if held.contested:
            held.rivals = tuple(side for side, _ in rivals)


def fold_periods(
    evidence: Sequence[Statement],
    clusters: Sequence[Cluster],
    counted: Sequence[int],
    policy: Policy,
    *,
    horizon: Instant,
) -> list[Episode]:
    """The episodes of a single-valued claim, in order of time.

    `evidence` is in the order of `state.statements.order`, `clusters[i]` the cluster of statement i,
    `counted` the indexes that take part (no duplicates, nothing fed back). `horizon` is the greatest
    observed_at of the claim: what starts after it is scheduled, not voted on. Statements that only
    report an end close a fact here; what they add is `state.reports`. Source: DESIGN 4.4-4.7.
    """
    return PeriodFold(evidence, clusters, policy, horizon).run(counted)
