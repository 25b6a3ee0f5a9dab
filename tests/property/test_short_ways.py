"""The short ways of the fold: with none of them taken, every history gives the same episodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from state.periods import Fold
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement
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
