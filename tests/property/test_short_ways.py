"""The short ways of the fold: with none of them taken, every history gives the same episodes."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from state.evidence import Evidence
from state.fold_state import FoldState
from state.periods import Fold
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement, position
from state.timeline import fold
from tests.property.test_fold_against_twin import histories

POLICIES = st.builds(
    Policy,
    window=st.integers(1, 6),
    lead=st.integers(0, 3),
    contested_above=st.sampled_from([0, 20, 33, 40, 50, 66, 99]),
)


class LongFold(Fold):
    """A fold that ranks all rivals at every statement, and judges contest by counting every vote."""

    def _repeats_open_fact(self, _statement: Statement) -> bool:
        return False

    def _could_win(self, *_: object) -> bool:
        return True

    def _is_safe(self, *_: object) -> bool:
        return False


@given(histories(max_size=24), POLICIES)
def test_a_fold_without_short_ways_gives_the_same_facts(history: list[Statement], policy: Policy) -> None:
    predicate = Predicate("p")

    assert fold(history, predicate, policy, {}) == fold(history, predicate, policy, {}, machine=LongFold)


@given(histories(max_size=24), POLICIES)
def test_statements_that_repeat_a_fact_leave_the_same_state_in_a_row_as_one_by_one(
    history: list[Statement], policy: Policy
) -> None:
    evidence = Evidence(history, lambda form: form)
    in_a_row = Fold(FoldState(), evidence, policy)
    one_by_one = LongFold(FoldState(), evidence, policy)
    left = [(at, list(group)) for at, group in groupby(evidence.statements, key=position)]

    while left:
        n_alone = next((n for n, (_, group) in enumerate(left) if len(group) > 1), len(left))
        n = in_a_row.confirm([group[0] for _, group in left[:n_alone]])
        if n == 0:
            in_a_row.step(*left[0])
        for at, group in left[: max(n, 1)]:
            one_by_one.step(at, group)
        left = left[max(n, 1) :]

        assert in_a_row.state == one_by_one.state
    assert in_a_row.closed == one_by_one.closed
