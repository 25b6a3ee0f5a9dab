"""Sets of labelled pairs: the packaged one is large and well formed, and a bad one says where and why."""

from __future__ import annotations

import pytest

from state.objects import type_object
from state.pairs import BadPairs, Pair, from_json_lines, from_toml, packaged

KINDS = {
    "inflection", "article", "word_order", "abbreviation", "synonym", "number", "date", "version", "negation",
    "antonym", "name", "place", "other_scripts",
}  # fmt: skip


def test_the_packaged_pairs_are_over_four_hundred_of_every_kind_and_both_labels() -> None:
    pairs = packaged()

    assert len(pairs) >= 400
    assert {pair.kind for pair in pairs} == KINDS
    for kind in KINDS:
        labels = [pair.same for pair in pairs if pair.kind == kind]
        assert len(labels) >= 30, kind
        assert min(labels.count(True), labels.count(False)) >= 6, kind


def test_no_packaged_pair_of_two_values_has_two_equal_sides() -> None:
    equal = [pair for pair in packaged() if type_object(pair.a).key == type_object(pair.b).key]

    assert [pair for pair in equal if not pair.same] == []
    assert len(equal) < 40  # pairs that no model and no guard is asked about measure nothing


def test_both_ways_to_write_pairs_say_the_same() -> None:
    lines = (
        '{"kind": "x", "a": "tea", "b": "a tea", "same": true}\n\n'
        '{"kind": "x", "a": "tea", "b": "oil", "same": false}'
    )
    tables = '[x]\nsame = [["tea", "a tea"]]\ndifferent = [["tea", "oil"]]'

    assert from_json_lines(lines, origin="f") == from_toml(tables, origin="f")
    assert from_toml(tables, origin="f") == (Pair("x", "tea", "a tea", True), Pair("x", "tea", "oil", False))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "f holds no pair"),
        ("x = ", "f is no TOML"),
        ("x = 5", r"f, \[x\]: expected a table"),
        ("[x]\nequal = []", r"f, \[x\]: expected a table"),
        ("[x]\nsame = 5", "entry 1 is no list of two texts"),
        ('[x]\nsame = [["a", "b"], ["c"]]', "entry 2 is no list of two texts"),
        ('[x]\nsame = [["a", 5]]', "entry 1 is no list of two texts"),
        ('[x]\nsame = [["a", "..."]]', "The object"),
        ('[x]\nsame = [["a", "b"]]\n[y]\ndifferent = [["b", "a"]]', "stands there twice"),
    ],
)
def test_tables_that_cannot_be_used_say_where_and_why(text: str, told: str) -> None:
    with pytest.raises(BadPairs, match=told):
        from_toml(text, origin="f")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("5", "f, line 2: .*expected"),
        ("{", "f, line 2"),
        ('{"kind": "x", "a": "b"}', "f, line 2: .*`b`"),
        ('{"kind": "x", "a": "b", "b": 5, "same": true}', "f, line 2"),
        ('{"kind": "x", "a": "b", "b": "c", "same": "no"}', "f, line 2"),
        ('{"kind": " ", "a": "b", "b": "c", "same": true}', "blank kind"),
        ('{"kind": "x", "a": "b", "b": "b", "same": true}\n' * 2, "twice"),
    ],
)
def test_lines_that_cannot_be_used_say_where_and_why(line: str, told: str) -> None:
    with pytest.raises(BadPairs, match=told):
        from_json_lines(f"\n{line}", origin="f")
