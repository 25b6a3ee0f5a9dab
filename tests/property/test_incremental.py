"""A claim kept between batches equals the fold of all of its evidence, after every step."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import pytest

from state import claim as claims
from state import strand
from state.changes import Published
from state.claim import Claim, LiveClaim
from state.facts import About, Fact, build
from state.identity import claim_id
from state.periods import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.statements import Statement
from state.timeline import fold
from tests.property.test_fold_against_twin import histories

PREDICATES = [Predicate("p"), Predicate("p", "multi"), Predicate("p", change="never")]


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strand, "CHUNK", 2)


def content(fact: Fact) -> dict[str, object]:
    """All of a fact but the ids that it names as examples."""
    found = msgspec.structs.asdict(fact)
    del found["supported_by"], found["dissented_by"]
    return found


class Live:
    """A claim as a host keeps it: stored bytes, a table of pieces, and what consumers have seen."""

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate
        self.pieces: dict[bytes, bytes] = {}
        claim = Claim(
            claim=claim_id("n", "s", "p"), namespace="n", subject="s", predicate="p", layout=claims.layout_of(predicate)
        )
        self.stored = claims.encode(claim)
        self.epoch = 0
        self.kept: LiveClaim | None = None
        self.seen: dict[str, Published] = {}

    def apply(self, arrivals: list[Statement], retracted: list[str]) -> int:
        claim = claims.decode(self.stored)
        shelf = Shelf(self.pieces.get)
        self.epoch += 1
        if self.kept is None or claims.encode(self.kept.claim) != self.stored or self.epoch % 3 == 0:
            self.kept = LiveClaim(claim, predicate=self.predicate, policy=Policy())
        outcome = self.kept.apply(arrivals, retracted, shelf, epoch=self.epoch)
        for key, value in shelf.changes.items():
            if value is None:
                self.pieces.pop(key, None)
            else:
                self.pieces[key] = value
        self.stored = claims.encode(self.kept.claim)
        for change in outcome.changes:
            known = self.seen.get(change.fact.fact_id)
            assert change.version == (known.version if known else 0) + 1
            self.seen[change.fact.fact_id] = Published(change.fact, change.version)
        return len(outcome.changes)

    def facts(self) -> list[dict[str, object]]:
        found = [p.fact for p in self.seen.values() if p.fact.reason != "withdrawn"]
        return sorted((content(fact) for fact in found), key=repr)


def expected(statements: list[Statement], predicate: Predicate) -> list[dict[str, object]]:
    about = About(claim_id("n", "s", "p"), "n", predicate.declared)
    folded = fold(statements, predicate, Policy(), {})
    return sorted((content(build(about, episode)) for episode in folded.episodes), key=repr)


@given(
    histories(max_size=24),
    st.sampled_from(PREDICATES),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.floats(0, 0.3),
)
def test_a_claim_kept_between_batches_equals_the_fold_of_all_its_evidence(
    history: list[Statement], predicate: Predicate, chance, in_order: bool, share_retracted: float
) -> None:
    left = sorted(history, key=lambda s: s.observed_at) if in_order else history
    live, there, gone = Live(predicate), {}, set()
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
        assert live.facts() == expected(now, predicate)
    assert live.apply(list(there.values()), sorted(gone)) == 0
