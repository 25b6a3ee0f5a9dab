"""A claim kept between batches equals the fold of all of its evidence, after every step."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state import strand
from state.predicates import Predicate
from state.statements import Statement
from tests.kept import KeptClaim, facts_of
from tests.property.test_fold_against_twin import histories

PREDICATES = [Predicate("p"), Predicate("p", "multi"), Predicate("p", change="never")]


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strand, "CHUNK", 2)


@given(
    histories(max_size=24),
    st.sampled_from(PREDICATES),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.floats(0, 0.3),
)
def test_a_claim_kept_between_batches_equals_the_fold_of_all_its_evidence(
    history: list[Statement],
    predicate: Predicate,
    chance: random.Random,
    in_order: bool,
    share_retracted: float,
) -> None:
    left = sorted(history, key=lambda s: s.observed_at) if in_order else history
    live, there, gone = KeptClaim(predicate), {}, set()
    while left:
        n = chance.randint(1, 3)
        batch, left = left[:n], left[n:]
        retracted = [s.observation_id for s in history if chance.random() < share_retracted / 4]
        repeated = [s for s in there.values() if chance.random() < 0.1]
        for statement in batch:
            there[statement.observation_id] = statement
        gone |= set(retracted)

        live.apply([*batch, *repeated], retracted)

        now = [s for s in there.values() if s.observation_id not in gone]
        assert live.facts() == facts_of(now, predicate)
    assert live.apply(list(there.values()), sorted(gone)) == []
