"""Opening and closing facts, by the votes' outcome or because a person decided it (DESIGN 4.7, 4.11)."""

from __future__ import annotations

from collections.abc import Sequence

from state.decided import Verdict, edge_of, enter_opening, mark_opened, note_closing, reason_of
from state.episodes import Ballot, Edge, Episode, Reason, open_episode
from state.fold_state import Cluster, OpenFact
from state.statements import Statement
from state.voting import Voting


class Keeping(Voting):
    """The facts of a fold: the open one in its state, the closed ones in `closed`, in order."""

    __slots__ = ()

    closed: list[Episode]

    def _open(self, cluster: Cluster, lo: Edge) -> OpenFact:
        state = self.state
        found = state.clusters[cluster]
        against = state.decided.get(cluster)
        state.open = OpenFact(cluster, lo.at, lo.granularity, found.n_facts, against=against)
        found.n_facts += 1
        state.period_from = lo.at
        state.gap_edge = None
        return state.open

    def _close(self, held: OpenFact, hi: Edge, reason: Reason, ballot: Ballot | None) -> Episode:
        state = self.state
        assert held.lo < hi.at
        self._clear_marks()
        closed = self.as_episode(held)
        closed.hi, closed.reason, closed.ballot = hi, reason, ballot
        self.closed.append(closed)
        state.open = None
        state.period_from = hi.at
        return closed

    def as_episode(self, held: OpenFact) -> Episode:
        """The open fact as an episode without an end."""
        return open_episode(held, self.state.clusters[held.cluster].first_form or "")

    # -- decisions of people ----------------------------------------------------------------

    def _decide(self, decisions: Sequence[Statement]) -> None:
        """Close and open what people decided for this instant, the decision taken last counting last."""
        state = self.state
        taken = sorted(
            decisions, key=lambda s: (s.observed_at, s.verdict == Verdict.OPENED, s.observation_id)
        )
        for statement in taken:
            cluster = self.history.cluster(statement)
            held = state.open
            if statement.verdict != Verdict.OPENED:
                if held is not None and held.cluster == cluster:
                    self._close_by(held, statement, reason_of(statement))
                note_closing(state, cluster, statement)
                continue
            if held is not None and held.cluster != cluster:
                self._close_by(held, statement, Reason.SUPERSEDED)
            enter_opening(state, cluster, statement)
            state.recent.setdefault(cluster, True)
            if state.open is None:
                opened = self._open(cluster, edge_of(statement))
                state.recent = {cluster: True}
                mark_opened(opened, statement)
                if self.closed and self.closed[-1].hi == edge_of(statement):
                    form = state.clusters[cluster].first_form or ""
                    self.closed[-1].follower = (form, opened.ordinal)

    def _close_by(self, held: OpenFact, statement: Statement, reason: Reason) -> None:
        if held.lo < statement.effective_at:
            closed = self._close(held, edge_of(statement), reason, None)
            closed.closed_by = (statement.observation_id, statement.observed_at)
            self.state.recent = {}
            return
        # It began at this very instant, by a decision that was taken before: it never was.
        self.state.open = None
        self.state.clusters[held.cluster].n_facts -= 1
        if self.closed and self.closed[-1].follower is not None and self.closed[-1].hi == edge_of(statement):
            self.closed[-1].follower = None
