"""What most evidence does: it says once more what holds, and there is nothing to decide.

A short way of the fold (`state.periods`): takes in such statements, alone or many in a row, with the outcome
that the long way has, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from state.counting import enter_name, enter_spelling
from state.fold_state import NAMED_MAX, ClusterState, OpenFact, Vote
from state.instants import Instant
from state.keeping import Keeping
from state.statements import Place, Statement, voter
from state.votes import cast


class Confirming(Keeping):
    """The statements of a fold that only repeat the open fact."""

    __slots__ = ()

    def _repeats_open_fact(self, statement: Statement) -> bool:
        """Whether a lone statement only says once more what holds: by far the most common instant."""
        held = self.state.open
        return (
            held is not None
            and statement.votes
            and statement.affirmed
            and statement.valid_to is None
            and self.history.cluster(statement) == held.cluster
        )

    def _confirm(self, at: Instant, statement: Statement) -> None:
        """The instant of such a statement: it votes and is counted, and there is nothing to decide."""
        held = self.state.open
        assert held is not None
        self.state.at = at
        self._cast(held.cluster, statement)
        self._count_support(held, statement)

    def confirm(self, statements: Sequence[Statement]) -> int:
        """Fold statements, each alone at its instant, while they only repeat the open fact; says how many.

        As `step` does one by one, but what only the last of them decides is written once: each stands later
        than all that was folded.
        """
        state = self.state
        held = state.open
        if held is None or state.ends or self.policy.by_cycle:
            return 0
        cluster = state.clusters[held.cluster]
        run = list(takewhile(self._repeats_open_fact, statements))
        if not run or cluster.first_form is None:
            return 0  # opened by a decision: now its value is said for the first time
        place = self._vote_in_turn(held, cluster, run)
        state.at = place[0]
        cluster.last = place
        if cluster.spelled_at is None or place > cluster.spelled_at:
            cluster.spelling, cluster.spelled_at = run[-1].spelling, place
        state.recent[held.cluster] = True
        if state.is_marked:
            self._clear_marks()
        held.observations += len(run)
        held.supported_by += [statement.observation_id for statement in run]
        del held.supported_by[:-NAMED_MAX]
        enter_name(held, run[-1], place)
        return len(run)

    def _vote_in_turn(self, held: OpenFact, cluster: ClusterState, run: Sequence[Statement]) -> Place:
        """Enter the votes, voices and spellings of statements; returns the place of the last."""
        window, known = self.policy.window, cluster.endless_known
        for statement in run:
            place = (statement.effective_at, statement.observed_at)
            cast(cluster, True, Vote(place, voter(statement), None), window)
            if statement.document is None or self._speaks_first(held, statement, True):
                held.support += 1
            enter_spelling(held, statement.spelling, place)
            for instant in place:
                if known is None or instant > known:
                    known = instant
        cluster.endless_known = known
        return place
