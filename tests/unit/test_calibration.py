"""What is counted of labelled pairs, which threshold is chosen, and what the packaged model makes of them."""

from __future__ import annotations

import math
import struct

import pytest

from agents.calibrating import as_json, measure
from state.calibration import (
    JOINS_ALWAYS,
    JOINS_NEVER,
    Score,
    by_kind,
    choose,
    guarded_worse,
    held_out,
    joins,
    score,
    tally,
    texts,
    upper_bound,
    wrong,
)
from state.pairs import Pair, packaged
from streams.vectors import THRESHOLD
from streams.vectors import packaged as packaged_vectors


def at(degrees: float) -> bytes:
    """A vector of the plane; two of them have the cosine of the angle between them."""
    return struct.pack("<2f", math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def pair(a: str, b: str, *, same: bool = True, kind: str = "k") -> Pair:
    return Pair(kind, a, b, same)


def scored(until: float, *, same: bool, kind: str = "k", bare: float | None = None) -> Score:
    return Score(pair("a", "b", same=same, kind=kind), until, until, until if bare is None else bare, "")


# -- one pair -------------------------------------------------------------------------------


def test_two_texts_join_up_to_their_cosine() -> None:
    found = score(pair("tea", "coffee"), at(0), at(60))

    assert (found.cosine, found.joins_until, found.joins_bare_until, found.why) == (0.5, 0.5, 0.5, "")
    assert joins(found, 0.5)
    assert not joins(found, 0.500001)


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("likes tea", "dislikes tea", "antonym"),
        ("two dogs", "three dogs", "number"),
        ("8 May 2023", "9 May 2023", "date"),
        ("UA123", "UA124", "identifier"),
        ("three dogs", "3 dogs", "kind"),
    ],
)
def test_what_a_guard_or_a_type_keeps_apart_never_joins_but_would_without(a: str, b: str, why: str) -> None:
    found = score(pair(a, b), at(0), at(0))

    assert (found.joins_until, found.joins_bare_until, found.why) == (JOINS_NEVER, 1.0, why)


@pytest.mark.parametrize(
    ("a", "b"), [("5 kg", "5000 g"), ("8 May 2023", "2023-05-08"), ("2023-05", "8 May 2023")]
)
def test_what_types_call_one_value_always_joins(a: str, b: str) -> None:
    found = score(pair(a, b), at(0), at(90))

    assert (found.joins_until, found.joins_bare_until, found.why) == (JOINS_ALWAYS, 0.0, "")


def test_the_same_words_join_whatever_a_model_says() -> None:
    found = score(pair("Tea", "tea."), None, None)

    assert (found.joins_until, found.joins_bare_until) == (JOINS_ALWAYS, JOINS_ALWAYS)


@pytest.mark.parametrize("vector", [None, bytes(8)])
def test_a_text_of_which_the_model_has_no_idea_joins_nothing(vector: bytes | None) -> None:
    found = score(pair("tea", "coffee"), vector, at(0))

    assert found.cosine is None
    assert not joins(found, 0.01)
    assert not joins(found, 0.01, guarded=False)


def test_texts_are_asked_for_once_and_as_models_get_them() -> None:
    assert texts([pair("Tea", "tea!"), pair("Green  Tea", "tea")]) == ["green tea", "tea"]


# -- at one threshold -----------------------------------------------------------------------


def test_a_table_counts_what_joins_rightly_and_wrongly() -> None:
    scores = [
        scored(0.9, same=True),
        scored(0.7, same=True),
        scored(0.8, same=False),
        scored(0.95, same=False),
        scored(JOINS_NEVER, same=False, bare=0.99),
    ]

    found = tally("all", scores, 0.8)

    assert (found.n_same, found.n_joined, found.n_different, found.n_false) == (2, 1, 3, 2)
    assert (found.recall, found.precision, found.false_rate) == (0.5, 1 / 3, 2 / 3)
    assert tally("all", scores, 0.8, guarded=False).n_false == 3


def test_a_share_of_nothing_is_none() -> None:
    found = tally("empty", [], 0.5)

    assert (found.recall, found.precision, found.false_rate, found.false_rate_at_most) == (None,) * 4


def test_kinds_come_in_the_order_in_which_they_first_appear() -> None:
    scores = [scored(1, same=True, kind=kind) for kind in ("b", "a", "b")]

    assert [(one.kind, one.n_same) for one in by_kind(scores, 0.5)] == [("b", 2), ("a", 1)]


def test_few_pairs_say_little_about_a_rate() -> None:
    assert upper_bound(0, 0) is None
    assert upper_bound(0, 10) == pytest.approx(0.2775, abs=1e-4)  # Wilson, 95 %, as in published tables
    assert upper_bound(0, 1000) == pytest.approx(0.0038, abs=1e-4)
    assert upper_bound(5, 5) == 1.0


def test_wrong_pairs_are_listed_false_merges_first_and_the_nearest_first() -> None:
    scores = [
        scored(0.1, same=True),
        scored(0.8, same=False),
        scored(0.9, same=False),
        scored(0.9, same=True),
    ]

    found = wrong(scores, 0.5)

    assert [(one.pair.same, one.cosine) for one in found] == [(False, 0.9), (False, 0.8), (True, 0.1)]


def test_a_kind_that_guards_make_less_precise_is_named() -> None:
    scores = [
        scored(JOINS_NEVER, same=True, kind="worse", bare=0.9),
        scored(0.9, same=False, kind="worse"),
        scored(0.9, same=True, kind="better"),
        scored(JOINS_NEVER, same=False, kind="better", bare=0.9),
    ]

    assert guarded_worse(scores, 0.8) == ["worse"]


# -- which threshold ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "false_max", "chosen"),
    [
        ([0.842], 0.0, 0.85),
        ([0.84], 0.0, 0.85),
        ([0.849999], 0.0, 0.85),
        ([0.85, 0.3], 0.5, 0.31),
        ([0.85, 0.3], 0.49, 0.86),
        ([0.85, 0.3], 1.0, 0.01),
        ([JOINS_NEVER], 0.0, 0.01),
        ([-0.5], 0.0, 0.01),
        ([0.99], 0.0, 1.0),
        ([0.999], 0.0, 1.0),
        ([1.0], 0.0, None),
        ([JOINS_ALWAYS], 0.0, None),
        ([JOINS_ALWAYS, 0.2, 0.2, 0.2], 0.25, 0.21),
    ],
)
def test_the_least_threshold_that_keeps_false_merges_within_the_target(
    until: list[float], false_max: float, chosen: float | None
) -> None:
    assert choose([scored(one, same=False) for one in until], false_max=false_max) == chosen


def test_without_a_pair_of_two_values_no_threshold_is_chosen() -> None:
    with pytest.raises(ValueError, match="no pair is labelled as two values"):
        choose([scored(0.5, same=True)], false_max=0.01)
    with pytest.raises(ValueError, match="within 0 and 1"):
        choose([scored(0.5, same=False)], false_max=1.5)


def test_a_kind_is_judged_by_a_threshold_that_it_had_no_part_in() -> None:
    scores = [
        scored(0.6, same=False, kind="easy"),
        scored(0.9, same=False, kind="hard"),
        scored(0.8, same=True, kind="hard"),
        scored(0.8, same=True, kind="only one value"),
    ]

    found = {one.kind: one for one in held_out(scores, false_max=0.0)}

    assert found["easy"].threshold == 0.91
    assert found["hard"].threshold == 0.61
    assert found["hard"].tally is not None
    assert (found["hard"].tally.n_false, found["hard"].tally.n_joined) == (1, 1)
    assert found["only one value"].threshold == 0.91


def test_a_kind_whose_rest_holds_no_two_values_is_left_out() -> None:
    scores = [scored(0.6, same=False, kind="a"), scored(0.6, same=True, kind="b")]

    assert [one.kind for one in held_out(scores, false_max=0.0)] == ["b"]


# -- the packaged vectors on the packaged pairs ----------------------------------------------


def test_guards_merge_no_numbers_dates_versions_negations_or_antonyms_and_cost_no_precision() -> None:
    measured = measure(packaged_vectors(), packaged(), false_max=0.01, threshold=THRESHOLD)

    false = {one.kind: one.n_false for one in by_kind(measured.scores, THRESHOLD)}
    assert {kind: false[kind] for kind in ("number", "date", "version", "negation", "antonym")} == {
        "number": 0, "date": 0, "version": 0, "negation": 0, "antonym": 0,
    }  # fmt: skip
    assert guarded_worse(measured.scores, THRESHOLD) == []


def test_guards_lose_little_of_what_a_vector_would_join_rightly() -> None:
    measured = measure(packaged_vectors(), packaged(), false_max=0.01, threshold=THRESHOLD)

    lost = [
        one.pair
        for one in measured.scores
        if one.pair.same and joins(one, THRESHOLD, guarded=False) and not joins(one, THRESHOLD)
    ]

    assert len(lost) <= 10, lost


def test_the_report_for_programs_has_every_kind_at_every_threshold_shown() -> None:
    measured = measure(packaged_vectors(), packaged(), false_max=0.05, threshold=THRESHOLD)

    report = as_json(measured)

    assert [at["threshold"] for at in report["at"]] == [THRESHOLD, measured.proposed]
    for shown in report["at"]:
        assert sum(row["same"] + row["different"] for row in shown["kinds"][:-1]) == len(packaged())
        assert shown["kinds"][-1]["kind"] == "all"
