"""What a real transformer makes of the labelled pairs and of the cases, with guards and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents import composition
from agents.calibrating import Measured, measure
from state.calibration import by_kind, guarded_worse, tally
from state.pairs import packaged
from state.predicates import Predicate
from streams.settings import Settings
from streams.vectors.transformer import TransformerVectors
from tests.cases.test_meaning import PARAPHRASES
from tests.cases.world import World, numbered, observe
from tests.kept import KeptClaim
from tests.models.conftest import THRESHOLD
from tests.property.test_incremental import worded
from tests.unit.test_meaning_docs import MINILM, found, told


@pytest.fixture(scope="module")
def measured(minilm: TransformerVectors) -> Measured:
    return measure(minilm, packaged(), false_max=0.01, threshold=THRESHOLD)


def test_the_threshold_that_ships_is_the_one_that_is_measured(measured: Measured) -> None:
    assert measured.proposed == THRESHOLD


def test_the_page_tells_of_the_model_what_is_measured(measured: Measured) -> None:
    assert told(MINILM) == found(measured, THRESHOLD)


def test_guards_merge_no_numbers_dates_versions_negations_or_antonyms(measured: Measured) -> None:
    false = {one.kind: one.n_false for one in by_kind(measured.scores, THRESHOLD)}

    kinds = ("number", "date", "version", "negation", "antonym")
    assert {kind: false[kind] for kind in kinds} == dict.fromkeys(kinds, 0)


def test_with_guards_no_kind_is_less_precise_than_without(measured: Measured) -> None:
    assert guarded_worse(measured.scores, THRESHOLD) == []
    bare, guarded = (
        tally("all", measured.scores, THRESHOLD, guarded=False),
        tally("all", measured.scores, THRESHOLD),
    )
    assert guarded.n_false < bare.n_false / 10


@pytest.mark.usefixtures("chosen")
def test_f07_paraphrases_are_one_fact_and_another_value_is_its_dissent(tmp_path: Path) -> None:
    world = World(tmp_path).each(
        numbered(
            [
                observe("adoption agencies", 1),
                observe("adoption agencies", 2),
                observe("adoption agency", 3),
                observe("foster care", 4),
            ]
        )
    )

    (fact,) = world.facts()
    assert (fact["object"], fact["support"], fact["dissent"]) == ("adoption agencies", 3, 1)
    assert "/384/mean/0.9" in world.events()[-1]["model"]


@pytest.mark.usefixtures("chosen")
def test_f36_paraphrases_are_one_fact_throughout_and_it_is_reworded(tmp_path: Path) -> None:
    world = World(tmp_path).each(
        numbered(
            [observe(text, at) for at, text in enumerate([*PARAPHRASES, *["adoption agency"] * 3], start=1)]
        )
    )

    (fact,) = world.facts()
    assert (fact["object"], fact["support"], fact["dissent"]) == ("adoption agency", 10, 0)
    assert "fact-invalidated" not in {event["event"] for event in world.events()}


@pytest.mark.usefixtures("chosen")
def test_the_settings_give_the_model_and_its_tables_go_on_with_it(tmp_path: Path) -> None:
    World(tmp_path).each(numbered([observe("tea", 1), observe("coffee", 2)])).close()

    World(tmp_path).each(numbered([observe("cocoa", 3)], prefix="p"))

    source = composition.vectors(Settings())
    assert source is not None
    assert source.model.dimension == 384


def test_no_more_texts_are_embedded_than_there_are_forms_in_claims_with_two_or_more(
    minilm: TransformerVectors,
) -> None:
    claims = [
        ["tea"],
        ["tea", "tea", "tea"],
        ["tea", "coffee", "tea", "coffee"],
        ["tea", "5 kg", "6 kg"],
        ["tea", "coffee", "cocoa"],
    ]
    n_embedded = 0
    for words in claims:
        live = KeptClaim(Predicate("p"), minilm)
        for at, word in enumerate(words, start=1):
            live.apply([worded(word, at)])
        n_embedded += live.n_embedded

    assert n_embedded == 5
