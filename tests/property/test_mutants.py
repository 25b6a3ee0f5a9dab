"""Properties that cannot fail prove nothing: each of these broken folds must be caught by one of them.

The mutants are named in tests/README.md. Examples are not shrunk: that one is found is all that is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from state import folding, refolding
from state.episodes import Edge
from state.periods import Fold
from state.predicates import Predicate
from tests.property import test_fold_against_twin as against_twin
from tests.property import test_incremental as incremental

EXAMPLES = 3_000

Mutation = Callable[[pytest.MonkeyPatch], None]


def one_vote_more_retires_a_fact(patch: pytest.MonkeyPatch) -> None:
    settle = Fold._settle_fact

    def with_a_lead_of_one(self: Fold, *arguments: Any) -> None:
        self.policy = replace(self.policy, lead=1)
        settle(self, *arguments)

    patch.setattr(Fold, "_settle_fact", with_a_lead_of_one)


def denials_never_stop_a_value(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Fold, "_stands", lambda *_: True)


def a_change_is_dated_by_the_decision(patch: pytest.MonkeyPatch) -> None:
    def boundary(_self: Fold, held: Any, _side: Any, at: Any, _said: Any) -> Edge | None:
        return None if at <= held.lo else Edge(at, "day")

    patch.setattr(Fold, "_boundary", boundary)


def late_evidence_is_folded_as_if_it_came_in_time(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(folding.Folding, "_is_in_order", lambda *_: True)


def late_evidence_stops_at_the_first_chunk(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(refolding, "same_future", lambda *_: True)


def counts_are_not_corrected_where_late_evidence_stops(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(refolding, "difference", lambda *_: None)


def caught(property_test: Any, *strategies: st.SearchStrategy[Any]) -> None:
    """Run the body of a property on examples of its own, without shrinking; it must fail."""
    body = given(*strategies)(property_test.hypothesis.inner_test)
    test = settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )(body)
    with pytest.raises((AssertionError, KeyError, ValueError)):
        test()


@pytest.mark.parametrize(
    "mutate", [one_vote_more_retires_a_fact, denials_never_stop_a_value, a_change_is_dated_by_the_decision]
)
def test_the_twin_catches(mutate: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)

    caught(
        against_twin.test_the_fold_agrees_with_its_plain_twin,
        against_twin.histories(),
        st.just(Predicate("p")),
    )


@pytest.mark.parametrize(
    "mutate",
    [
        late_evidence_is_folded_as_if_it_came_in_time,
        late_evidence_stops_at_the_first_chunk,
        counts_are_not_corrected_where_late_evidence_stops,
    ],
)
def test_the_fold_of_all_evidence_catches(mutate: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "CHUNK", 2)
    mutate(monkeypatch)

    caught(
        incremental.test_a_claim_kept_between_batches_equals_the_fold_of_all_its_evidence,
        against_twin.duels(max_size=30).flatmap(st.permutations),  # long enough for chunks, and late
        st.just(Predicate("p")),
        st.randoms(use_true_random=False),
        st.just(False),
        st.just(0.0),
    )
