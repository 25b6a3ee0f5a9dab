"""The short ways of the fold: with none of them taken, every history gives the same episodes."""

from __future__ import annotations

import random
from itertools import groupby
from typing import Any
from unittest.mock import patch

from hypothesis import event, given
from hypothesis import strategies as st

from state import claim, folding
from state.changes import Change
from state.evidence import Evidence
from state.first_word import begin
from state.fold_state import FoldState
from state.periods import Fold
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement, position
from state.stored_strand import Strand
from state.timeline import fold
from tests.builders import statement
from tests.kept import KeptClaim
from tests.property.test_fold_against_twin import histories, lineages

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


@given(
    lineages(max_size=8) | histories(max_size=8),
    st.sampled_from([Predicate("p"), Predicate("p", "multi")]),
    POLICIES,
    st.randoms(use_true_random=False),
)
def test_the_first_word_of_a_claim_leaves_what_the_long_way_leaves(
    history: list[Statement], predicate: Predicate, policy: Policy, chance: random.Random
) -> None:
    short, long = KeptClaim(predicate, policy=policy), KeptClaim(predicate, policy=policy)
    begun: list[str] = []

    def noted(strand: Strand, statement: Statement, *more: Any) -> list[Change]:
        begun.append(statement.observation_id)
        return begin(strand, statement, *more)

    for word in history:
        retracted = [s.observation_id for s in history if chance.random() < 0.1]
        with patch.object(folding, "begin", noted), patch.object(claim, "begin", noted):
            told = short.apply([word], retracted)
        with (
            patch.object(folding, "is_first_word", lambda *_: False),
            patch.object(claim, "is_first_word", lambda *_: False),
        ):
            assert long.apply([word], retracted) == told

        assert short.stored == long.stored
        assert short.pieces == long.pieces
    event(f"took the short way {min(len(begun), 3)} times")


def test_a_plain_first_word_takes_the_short_way() -> None:
    kept = KeptClaim(Predicate("p"))

    with patch.object(Fold, "step", side_effect=AssertionError("the long way")):
        told = kept.apply([statement("t:oslo", 1, id="a", document="d")])

    assert [(change.kind, change.version, change.fact.form) for change in told] == [
        ("fact-created", 1, "t:oslo")
    ]
