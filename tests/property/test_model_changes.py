"""Models change and vectors come and go; a claim ends as if neither had happened, and every fact says so."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from state import folding
from state import stored_claim as claims
from state.changes import Change, Published
from state.claim import LiveClaim
from state.policy import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.similarity import ModelId, Vectors
from state.statements import Statement
from streams.vectors import packaged
from tests.builders import statement as built
from tests.kept import KeptClaim, facts_of
from tests.property.test_incremental import PREDICATES, conversations, worded

PACKAGED = packaged()


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "CHUNK", 2)


class Other:
    """The packaged vectors under another name or another threshold, each text's turned by its length."""

    def __init__(self, revision: str, threshold: float) -> None:
        self.model = ModelId("other", revision, PACKAGED.model.dimension, threshold, "mean")

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        found = []
        for text, vector in zip(texts, PACKAGED.embed(texts), strict=True):
            at = 4 * (len(text) % 7 if self.model.revision == "2" else 0)
            found.append(vector[at:] + vector[:at])
        return found


MODELS: list[Vectors] = [PACKAGED, Other("1", 0.5), Other("2", 0.84), Other("2", 0.4), Other("2", 0.999)]


class ChangingClaim(KeptClaim):
    """A claim whose host is started with other vectors, which may be there or not."""

    def take(
        self,
        arrivals: Sequence[Statement],
        retracted: Sequence[str] = (),
        *,
        available: bool = True,
        recluster: bool = False,
    ) -> list[Change]:
        """One batch, after a start: nothing is kept in memory."""
        assert self.vectors is not None
        self.epoch += 1
        live = LiveClaim(
            claims.decode(self.stored), predicate=self.predicate, policy=Policy(), model=self.vectors.model
        )
        shelf = Shelf(self.pieces.get)
        wanted = live.wanted(arrivals, shelf, recluster=recluster)
        vectors = {}
        if wanted and available:
            vectors = dict(zip(wanted, self.vectors.embed(list(wanted.values())), strict=True))
        outcome = live.apply(
            arrivals, retracted, shelf, epoch=self.epoch, vectors=vectors, recluster=recluster
        )
        for key, value in shelf.changes.items():
            if value is None:
                self.pieces.pop(key, None)
            else:
                self.pieces[key] = value
        self.stored = claims.encode(live.claim)
        for change in outcome.changes:
            known = self.seen.get(change.fact.fact_id)
            assert change.version == (known.version if known else 0) + 1
            self.seen[change.fact.fact_id] = Published(change.fact, change.version)
        return outcome.changes

    @property
    def forms(self) -> claims.Forms:
        return claims.decode(self.stored).forms


@given(
    conversations(),
    st.sampled_from(PREDICATES),
    st.randoms(use_true_random=False),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_after_a_repair_a_claim_is_what_the_last_model_would_have_made_of_it_alone(
    history: list[Statement], predicate: Predicate, chance: random.Random, share_missing: float
) -> None:
    claim, there, gone = ChangingClaim(predicate, PACKAGED), [], set()
    for statement in history:
        if chance.random() < 0.3:
            claim.vectors = chance.choice(MODELS)
        retracted = [s.observation_id for s in there if chance.random() < 0.1]
        gone |= set(retracted)
        there.append(statement)

        claim.take([statement], retracted, available=chance.random() >= share_missing)
        if chance.random() < 0.1:
            claim.take([], recluster=True, available=chance.random() >= share_missing)

    claim.take([], recluster=True)

    now = [s for s in there if s.observation_id not in gone]
    assert claim.facts() == facts_of(now, predicate, claim.vectors)
    assert claim.forms.degraded == []
    assert claim.forms.model in ("", claim.vectors.model.identity)  # type: ignore[union-attr]
    assert claim.take([], recluster=True) == []


@given(conversations(), st.sampled_from(PREDICATES), st.randoms(use_true_random=False))
def test_a_model_that_changes_and_cannot_be_asked_leaves_what_the_old_one_had_joined(
    history: list[Statement], predicate: Predicate, chance: random.Random
) -> None:
    claim = ChangingClaim(predicate, PACKAGED)
    claim.take(history)
    before, facts = claim.forms, claim.facts()

    claim.vectors = chance.choice(MODELS)
    again = claim.take(history, available=False)
    asked = claim.take([], recluster=True, available=False)

    assert again == []
    if claim.vectors.model.space != PACKAGED.model.space:  # type: ignore[union-attr]
        assert claim.forms.cluster_of == before.cluster_of
        assert claim.facts() == facts
        assert asked == []


@given(conversations(), st.sampled_from(PREDICATES))
def test_every_fact_of_a_claim_says_that_it_is_compared_by_another_model(
    history: list[Statement], predicate: Predicate
) -> None:
    claim = ChangingClaim(predicate, PACKAGED)
    claim.take(history)
    was_compared = claim.forms.model != ""
    standing = {fact_id for fact_id, p in claim.seen.items() if p.fact.reason != "withdrawn"}

    claim.vectors = Other("1", 0.84)
    changes = claim.take([], recluster=True)

    told = {change.fact.fact_id for change in changes}
    assert told >= standing if was_compared else told == set()
    assert not any(PACKAGED.model.space.encode() in key for key in claim.pieces), "old vectors are kept"


@given(conversations(), st.sampled_from(PREDICATES), st.randoms(use_true_random=False))
def test_a_claim_that_is_touched_after_a_change_is_compared_by_the_new_model(
    history: list[Statement], predicate: Predicate, chance: random.Random
) -> None:
    *before, last = [*history, again(history[0])] if history else [built("a", 1, id="x")]
    claim = ChangingClaim(predicate, PACKAGED)
    claim.take(before)
    claim.vectors = chance.choice(MODELS)

    claim.take([last])

    assert claim.facts() == facts_of([*before, last], predicate, claim.vectors)
    assert claim.forms.model in ("", claim.vectors.model.identity)  # type: ignore[union-attr]


def again(statement: Statement) -> Statement:
    """The same said once more: no form is new."""
    return msgspec.structs.replace(statement, observation_id="again", content_hash="again", document=None)


def test_a_claim_that_is_left_with_one_text_is_not_degraded_and_compared_by_nothing() -> None:
    claim = ChangingClaim(Predicate("p"), PACKAGED)
    claim.take([worded("tea", 1), worded("coffee", 2)], available=False)
    assert claim.forms.degraded == ["t:coffee", "t:tea"]

    claim.take([], [worded("coffee", 2).observation_id])

    assert (claim.forms.degraded, claim.forms.model) == ([], "")
