"""One step of the fold of a single-valued claim: what the statements of one instant decide (DESIGN 4.4-4.7).

Time is cut into periods, each a fact or a gap. At every instant the ends come first, then all votes of
the instant together, then one decision. What took effect before a period began never counts against it.
A function of the state before, the statements of the instant and the policy; earlier evidence is looked
up only to date a boundary and to count again what lies behind it. The order of arrival, ids and clocks
have no way in.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from state.episodes import Ballot, Edge, Episode, Reason
from state.expiring import Expiring
from state.fold_state import (
    AFTER_ALL,
    ASIDE,
    LONG_AGO,
    Cluster,
    ClusterState,
    End,
    FoldState,
    OpenFact,
    Side,
    Vote,
)  # fmt: skip
from state.history import History, distinct
from state.instants import Instant
from state.policy import Policy
from state.statements import Statement, voter
from state.votes import cast, latest, newest, seats
from state.voting import finest, mark_rival, rank


@dataclass(slots=True)
class Fold(Expiring):
    """A walk over the evidence: the state so far, and the episodes that were closed on the way."""

    state: FoldState
    history: History
    policy: Policy
    closed: list[Episode] = field(default_factory=list)
    votes_until: Instant = AFTER_ALL
    """What takes effect later is scheduled: it opens and closes, but casts no vote."""

    # -- the walk ---------------------------------------------------------------------------

    def step(self, at: Instant, group: Sequence[Statement], *, scheduled: bool = False) -> None:
        """Fold the statements that stand at one instant, and every end up to it.

        `group` is in the order of evidence. `scheduled` says that the instant lies after everything
        observed: its statements open or close there without a vote.
        """
        if self.state.ends:
            self.advance(at)
        elif len(group) == 1 and not scheduled and self._repeats_open_fact(group[0]):
            self._confirm(at, group[0])
            return
        self._instant(at, group, scheduled)

    def advance(self, before: Instant) -> None:
        """Fold the ends that come before an instant."""
        ends = self.state.ends
        while ends and ends[0].at < before:
            self._instant(ends[0].at, (), scheduled=False)

    def _instant(self, at: Instant, group: Sequence[Statement], scheduled: bool) -> None:
        """Ends, then votes, then one decision, then the count of what was said now."""
        state = self.state
        state.at = at
        speaking = group
        reports: Sequence[Statement] = ()
        decisions: Sequence[Statement] = ()
        if self.history.has_aside:
            group = [s for s in group if self.history.cluster(s) != ASIDE]
            speaking = group
        if len(group) > 1 or (group and (group[0].is_late_end or not group[0].votes)):
            speaking = distinct(s for s in group if s.votes and not s.is_late_end)
            reports = distinct(s for s in group if s.votes and s.is_late_end and s.affirmed)
            decisions = [s for s in group if s.verdict]
        ended: OpenFact | None = None
        if reports or (state.ends and state.ends[0].at == at):
            ended = self._end(at, reports, speaking)
        if decisions:
            self._decide(decisions)
        if scheduled and speaking:
            self._follow_schedule(speaking)
            if state.open is None and ended is not None:
                self._settle_gap(at, [], ended)
        else:
            said = [(self.history.cluster(s), s) for s in speaking]
            for cluster, statement in said:
                self._cast(cluster, statement)
            if self.policy.by_cycle:  # a statement of an older cycle casts no vote, so it decides nothing
                said = [(cluster, s) for cluster, s in said if s.cycle == state.cycle]
            if state.open is None:
                self._settle_gap(at, said, ended)
            elif said:
                self._settle_fact(state.open, at, said)
        held = state.open
        if held is not None and speaking:
            self._count(held, speaking)

    # -- decisions --------------------------------------------------------------------------

    def _settle_gap(self, at: Instant, said: list[tuple[Cluster, Statement]], ended: OpenFact | None) -> None:
        """Open a fact for the best standing cluster voted for now, or during the fact that ended now."""
        state = self.state
        since = state.period_from if ended is None else ended.lo
        among = {cluster for cluster, s in said if s.affirmed} if ended is None else set(state.recent)
        if state.decided:
            among = {cluster for cluster in among if self._outweighs_decision(cluster, since)}
        best = self._best_standing(since, among) if among else None
        if best is None:
            if ended is not None:
                state.recent = {cluster: True for cluster, _ in said}
            return
        stated = [s.lo_granularity for c, s in said if s.affirmed and c == best]
        opened = self._open(best, Edge(at, finest(stated) if stated else state.gap_edge or "day"))
        state.recent = {cluster: True for cluster, _ in said}
        if ended is not None:
            opened.since = ended.lo
            during = self.history.since(ended.lo, at)
            self._carry(opened, during)
            self._discount(self.closed[-1], opened, during)
            state.recent[best] = True

    def _settle_fact(self, held: OpenFact, at: Instant, said: list[tuple[Cluster, Statement]]) -> None:
        """Invalidate the open fact if its top rival, voted for at this instant, has won."""
        if not any(self._could_win(held, cluster, s.affirmed) for cluster, s in said):
            return
        rivals = self._rivals(held)
        if not rivals:
            return
        side, against = rivals[0]
        if not any((cluster, s.affirmed) == side for cluster, s in said):
            return
        own = newest(self.state.clusters[held.cluster], True, self.policy.window)
        n_for, n_held = seats((against, own), self.policy.window)
        clean = self._may_switch(held, n_for, n_held) and self._is_clean_switch(held, side, against, n_for)
        if not clean and not self._is_enough(n_for, n_held):
            return
        boundary = self._boundary(held, side, at, said)
        if boundary is not None:
            spelling = self.state.clusters[side[0]].spelling
            ballot = Ballot(side[0], spelling, not side[1], n_for, n_held, clean, *against[-1].place)
            self._replace(held, side, boundary, ballot, at, said)

    def _boundary(
        self, held: OpenFact, side: Side, at: Instant, said: list[tuple[Cluster, Statement]]
    ) -> Edge | None:
        """Where the fact ends: the first live statement for the rival after the fact's last.

        A rival that wins although the fact was stated again at this very instant has none; then the
        change is dated here. Nothing ends at its own start.
        """
        cluster = self.state.clusters[side[0]]
        for mark in cluster.since_affirmed if side[1] else cluster.since_denied:
            if mark.ends_at is None or mark.ends_at > at:
                return Edge(mark.at, mark.granularity)
        if at <= held.lo:
            return None
        return Edge(at, finest(s.lo_granularity for c, s in said if (c, s.affirmed) == side))

    def _replace(
        self,
        held: OpenFact,
        side: Side,
        boundary: Edge,
        ballot: Ballot,
        at: Instant,
        said: list[tuple[Cluster, Statement]],
    ) -> None:
        """Close the fact at the boundary and let the new period begin there."""
        state, history = self.state, self.history
        behind = history.since(boundary.at, at)
        if any(s.affirmed and history.cluster(s) == held.cluster for s in behind):
            held = self._recount(held, boundary.at)
        else:
            self._uncount(held, behind)
        closed = self._close(held, boundary, Reason.OUTVOTED if side[1] else Reason.DENIED, ballot)
        spoken = [(history.cluster(s), s) for s in behind] + said
        state.recent = {cluster: True for cluster, _ in spoken}
        if side[1]:
            opened = self._open(side[0], boundary)
            closed.follower = (state.clusters[side[0]].first_form or "", opened.ordinal)
        else:
            denied = state.clusters[side[0]]
            denied.affirmed.clear()
            denied.bounded_affirmed.clear()
            best = self._best_standing(boundary.at, state.recent)
            if best is None:
                return
            opened = self._open(best, _first_live(spoken, best, at))
            spoken = [(c, s) for c, s in spoken if s.effective_at >= opened.lo]
            state.recent = {cluster: True for cluster, _ in spoken}
        last = state.clusters[opened.cluster].last or LONG_AGO
        for cluster, statement in spoken:
            if statement.place > last and statement.effective_at > opened.lo:
                state.is_marked = True
                mark_rival(state.clusters[cluster], statement)
        self._count(opened, [s for s in behind if s.effective_at >= opened.lo])

    def _follow_schedule(self, speaking: Sequence[Statement]) -> None:
        """What starts after everything observed opens there, without a vote (DESIGN 4.6)."""
        state = self.state
        said: dict[Cluster, ClusterState] = {}
        edges: dict[Side, list[str]] = {}
        for statement in speaking:
            name = self.history.cluster(statement)
            vote = Vote(statement.place, voter(statement), None)
            cast(said.setdefault(name, ClusterState()), statement.affirmed, vote, len(speaking))
            edges.setdefault((name, statement.affirmed), []).append(statement.lo_granularity)
            cluster = state.clusters.setdefault(name, ClusterState())
            if statement.affirmed:
                self._note_validity(cluster, statement, statement.place)
                if statement.valid_to is not None:
                    end = End(
                        statement.valid_to, name, True, voter(statement), statement.place,
                        statement.hi_granularity or "day",
                    )  # fmt: skip
                    insort(state.ends, end)
            if cluster.spelled_at is None:
                cluster.spelling, cluster.spelled_at = statement.spelling, statement.place
        standing = [
            (rank(name, True, votes.affirmed), name)
            for name, votes in said.items()
            if votes.affirmed
            and (len(votes.affirmed), latest(votes.affirmed)) > (len(votes.denied), latest(votes.denied))
        ]
        best = min(standing)[1] if standing else None
        held = state.open
        if held is not None:
            if best == held.cluster or held.lo == state.at:
                return  # what a decision opens at this very instant goes before a plan for it
            against = said[held.cluster].denied if held.cluster in said else []
            if against and held.cluster not in {name for _, name in standing}:
                edge = Edge(state.at, finest(edges[(held.cluster, False)]))
                spelling = state.clusters[held.cluster].spelling
                ballot = Ballot(held.cluster, spelling, True, len(against), 0, True, *against[-1].place)
                self._close(held, edge, Reason.DENIED, ballot)
            elif best is not None:
                self._close(held, Edge(state.at, finest(edges[(best, True)])), Reason.ENDED, None)
        if best is not None and state.open is None:
            self._open(best, Edge(state.at, finest(edges[(best, True)])))


def _first_live(spoken: Iterable[tuple[Cluster, Statement]], cluster: Cluster, at: Instant) -> Edge:
    """When the first live statement for a cluster took effect."""
    live = [s for c, s in spoken if s.affirmed and c == cluster and (s.valid_to is None or s.valid_to > at)]
    first = min(s.effective_at for s in live)
    return Edge(first, finest(s.lo_granularity for s in live if s.effective_at == first))
