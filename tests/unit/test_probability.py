"""How likely a held value is true: what raises and lowers it, and where nothing is said."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.predicates import Predicate
from state.probability import WEIGHTS, kind_of, probability

SINGLE = Predicate("lives_in")
MULTI = Predicate("uses", cardinality="multi")
NEVER = Predicate("born_in", change="never")
PREDICATES = st.sampled_from([SINGLE, MULTI, NEVER])
VOTES = st.integers(min_value=0, max_value=10_000)


@dataclass(frozen=True)
class Held:
    """What is looked at of a fact."""

    support: int = 3
    dissent: int = 0
    contested: bool = False
    reason: str | None = None


def likely(fact: Held, predicate: Predicate = SINGLE) -> float:
    found = probability(fact, predicate)
    assert found is not None
    return found


def test_every_kind_of_predicate_has_weights_of_the_right_sign() -> None:
    assert WEIGHTS.keys() == {kind_of(SINGLE), kind_of(MULTI), kind_of(NEVER)}
    for weights in WEIGHTS.values():
        assert weights.support >= 0 >= max(weights.dissent, weights.contested)


@given(PREDICATES, VOTES, VOTES, st.booleans(), st.integers(min_value=1, max_value=100))
def test_more_support_never_makes_it_less_likely_nor_more_dissent_more_so(
    predicate: Predicate, support: int, dissent: int, contested: bool, more: int
) -> None:
    held = likely(Held(support + 1, dissent, contested), predicate)

    assert 0 <= held <= 1
    assert likely(Held(support + 1 + more, dissent, contested), predicate) >= held
    assert likely(Held(support + 1, dissent + more, contested), predicate) <= held
    assert likely(Held(support + 1, dissent, True), predicate) <= held


def test_a_contested_value_is_less_likely_than_one_with_the_same_votes_that_is_not() -> None:
    assert likely(Held(5, 3, contested=True)) < likely(Held(5, 3)) < likely(Held(5, 0))


def test_one_of_several_values_is_less_sure_than_one_that_excludes_the_others() -> None:
    assert likely(Held(), MULTI) < likely(Held(), SINGLE) < likely(Held(), NEVER)


@pytest.mark.parametrize(
    ("fact", "predicate"),
    [
        (Held(reason="outvoted"), SINGLE),
        (Held(reason="withdrawn"), SINGLE),
        (Held(support=0), SINGLE),
        (Held(), Predicate("located_in", arbitration="explicit")),
    ],
)
def test_nothing_is_said_of_what_was_never_measured(fact: Held, predicate: Predicate) -> None:
    assert probability(fact, predicate) is None
