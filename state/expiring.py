"""How facts end that nobody contradicts: their evidence says so, or its document was replaced.

A part of the fold (`state.periods`): at each instant the ends come first. Lets votes go whose validity is
over, takes in reports of what is over, and closes the open fact where nobody says that it holds any longer.
"""

from __future__ import annotations

from collections.abc import Sequence

from state.confirming import Confirming
from state.episodes import Edge, Reason
from state.fold_state import Cluster, OpenFact, Report
from state.instants import Instant
from state.replacing import Replaced, is_cut, is_endless
from state.statements import ObservationId, Statement, voter
from state.votes import newest, withdraw
from state.voting import finest


class Expiring(Confirming):
    """The ends in a fold."""

    __slots__ = ()

    def _end(
        self, at: Instant, reports: Sequence[Statement], speaking: Sequence[Statement]
    ) -> OpenFact | None:
        """Let bounded votes leave; end the open fact, and return it, if its evidence says so."""
        state, held = self.state, self.state.open
        granularities: list[str] = []
        silenced: list[Replaced] = []
        while state.ends and state.ends[0].at == at:
            end = state.ends.pop(0)
            withdraw(state.clusters[end.cluster], end.affirmed, end.who, end.place, at)
            if held is not None and end.affirmed and end.cluster == held.cluster:
                if not is_cut(end.granularity):
                    granularities.append(end.granularity)
                elif (replaced := self.history.replaced.of(end.who, end.cluster, affirmed=True)) is not None:
                    silenced.append(replaced)
        for statement in reports:
            cluster = self.history.cluster(statement)
            state.reports.append(_report(cluster, statement, state.decided.get(cluster)))
            if held is not None and cluster == held.cluster:
                granularities.append(statement.hi_granularity or "day")
        if held is None:
            return None
        if granularities and not self._goes_on(held.cluster, at, speaking):
            granularity = finest(granularities)
            self._close(held, Edge(at, granularity), Reason.ENDED, None)
        elif silenced and not self._is_still_said(held, at, speaking):
            by = min(silenced, key=lambda replaced: (replaced.observed_at, replaced.by))
            granularity = by.granularity
            closed = self._close(held, Edge(at, granularity), Reason.SUPERSEDED, None)
            closed.replaced_by = (by.by, by.observed_at)
        else:
            return None
        gone = state.clusters[held.cluster]
        gone.affirmed.clear()
        gone.bounded_affirmed.clear()
        state.gap_edge = granularity
        return held

    def _goes_on(self, cluster: Cluster, at: Instant, speaking: Sequence[Statement]) -> bool:
        """Whether an affirmed statement that started by `at` says that the cluster holds beyond it."""
        if self.history.replaced:
            return self._words_go_on(cluster, at, speaking)
        held = self.state.clusters[cluster]
        return (
            (held.ends_latest is not None and held.ends_latest > at)
            or (held.endless_known is not None and held.endless_known >= at)
            or any(s.affirmed and self.history.cluster(s) == cluster for s in speaking)
        )

    def _words_go_on(self, cluster: Cluster, at: Instant, speaking: Sequence[Statement]) -> bool:
        """The same where newer documents end what others said: asked of the words that are left.

        A state knows of each cluster how long somebody said that it holds, and not who.
        """
        history = self.history
        if any(s.affirmed and history.cluster(s) == cluster for s in speaking):
            return True
        return any(
            s.affirmed
            and history.cluster(s) == cluster
            and (s.valid_to is None or s.valid_to > at)
            and (not is_endless(s) or max(s.place) >= at)
            for s in history.since(history.closed_at(cluster, at), at)
        )

    def _is_still_said(self, held: OpenFact, at: Instant, speaking: Sequence[Statement]) -> bool:
        """Whether anybody whose document was not replaced says that the fact holds, or a decision does."""
        if held.opened_by is not None or newest(self.state.clusters[held.cluster], True, self.policy.window):
            return True
        return any(
            s.affirmed and self.history.cluster(s) == held.cluster and (s.valid_to is None or s.valid_to > at)
            for s in (*speaking, *self.history.since(held.lo, at))
        )


def _report(cluster: Cluster, statement: Statement, against: ObservationId | None) -> Report:
    assert statement.valid_to is not None
    return Report(
        until=statement.valid_to,
        granularity=statement.hi_granularity or "day",
        cluster=cluster,
        who=voter(statement),
        observed_at=statement.observed_at,
        form=statement.form,
        against=against,
    )
