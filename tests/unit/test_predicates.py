"""The registry of predicates: what a file may say, what it says by default, and how errors read."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

import pytest

from agents.composition import registry
from state.errors import BadPredicates
from state.names import normalise_predicate
from state.predicates import ARBITRATIONS, CARDINALITIES, CHANGES, Predicate, Registry, packaged, parse

ORIGIN = "team.toml"


def entry(body: str, name: str = "uses") -> str:
    return f"[predicates.{name}]\n{body}\n"


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        (entry(""), Predicate("uses", "single", "any", "vote")),
        (entry('cardinality = "multi"'), Predicate("uses", "multi", "any", "vote")),
        (entry('change = "never"'), Predicate("uses", "single", "never", "vote")),
        (entry('arbitration = "explicit"'), Predicate("uses", "single", "any", "explicit")),
        (
            entry('cardinality = "multi"\nchange = "any"\narbitration = "explicit"'),
            Predicate("uses", "multi", "any", "explicit"),
        ),
    ],
)
def test_an_entry_says_what_it_names_and_the_rest_is_the_default(toml: str, expected: Predicate) -> None:
    found = parse(toml, origin=ORIGIN)

    assert found == {"uses": expected}
    assert expected.declared


def test_the_two_questions_that_the_fold_asks() -> None:
    assert Predicate("p", "multi").is_multi
    assert not Predicate("p").is_multi
    assert Predicate("p", change="never").never_changes
    assert not Predicate("p").never_changes


@pytest.mark.parametrize("toml", ["", "# nothing\n", "[predicates]\n"])
def test_a_file_without_entries_declares_nothing(toml: str) -> None:
    assert parse(toml, origin=ORIGIN) == {}


@pytest.mark.parametrize(
    "written", ["lives_in", '"Lives In"', '"lives-in"', '" LIVES   IN. "', '"lives_in_"']
)
def test_names_are_normalised_as_those_of_observations_are(written: str) -> None:
    assert list(parse(entry("", written), origin=ORIGIN)) == ["lives_in"]


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ("not toml", ["not TOML", "line 1"]),
        ("[predicates.uses]\ncardinality = single", ["not TOML", "line 2"]),
        ("[predicate.uses]", ["[predicate]", "[predicates.uses]"]),
        ("[predicates.uses]\n[rules]", ["[rules]", "[predicates.uses]"]),
        ("version = 1", ["[version]", "[predicates.uses]"]),
        ('predicates = "uses"', ["predicates", "[predicates.uses]"]),
        ('predicates = ["uses"]', ["predicates", "[predicates.uses]"]),
        ("[[predicates]]", ["predicates", "[predicates.uses]"]),
        ('[predicates]\nuses = "multi"', ["[predicates.uses]", "table"]),
        (entry('cardinality = "many"'), ["[predicates.uses]", "cardinality", "'many'", *CARDINALITIES]),
        (entry('cardinality = "Multi"'), ["[predicates.uses]", "cardinality", "'Multi'", *CARDINALITIES]),
        (entry("cardinality = 2"), ["[predicates.uses]", "cardinality", "2", *CARDINALITIES]),
        (entry('cardinality = ["multi"]'), ["[predicates.uses]", "cardinality", "['multi']", *CARDINALITIES]),
        (entry('change = "seldom"'), ["[predicates.uses]", "change", "'seldom'", *CHANGES]),
        (entry("change = true"), ["[predicates.uses]", "change", "True", *CHANGES]),
        (entry('arbitration = "llm"'), ["[predicates.uses]", "arbitration", "'llm'", *ARBITRATIONS]),
        (
            entry('cardinalty = "multi"'),
            ["[predicates.uses]", "'cardinalty'", "cardinality", "change", "arbitration"],
        ),
        (entry('name = "uses"'), ["[predicates.uses]", "'name'", "cardinality"]),
        (entry("declared = false"), ["[predicates.uses]", "'declared'", "cardinality"]),
        (entry('cardinality = "multi"\nchange = "never"'), ["[predicates.uses]", "multi", "never"]),
        (entry("", '"..."'), ["[predicates....]", "name"]),
        (entry("", '""'), ["[predicates.]", "name"]),
        (entry("") + entry("", '"Uses"'), ["[predicates.Uses]", "uses", "second time"]),
        (entry("", "a_b") + entry("", '"a b"'), ["[predicates.a b]", "a_b", "second time"]),
        (entry("") + entry(""), ["not TOML"]),
    ],
)
def test_an_error_names_the_file_the_entry_and_what_is_allowed(toml: str, named: list[str]) -> None:
    with pytest.raises(BadPredicates) as caught:
        parse(toml, origin=ORIGIN)

    message = str(caught.value)
    assert message.startswith(ORIGIN)
    assert message.endswith(".")
    assert [part for part in named if part not in message] == []


# -- registries -----------------------------------------------------------------------------


def test_an_undeclared_predicate_is_single_and_says_so() -> None:
    assert packaged().get("never_heard_of") == Predicate("never_heard_of", declared=False)
    assert not packaged().get("never_heard_of").declared


@pytest.mark.parametrize(
    ("name", "cardinality", "change"),
    [
        *((name, "single", "any") for name in ("located_in", "lives_in", "works_at", "status", "married_to")),
        *((name, "single", "any") for name in ("prefers",)),
        *((name, "multi", "any") for name in ("uses", "likes", "speaks", "visited", "attended", "works_on")),
        *((name, "multi", "any") for name in ("member_of", "has_child")),
        *((name, "single", "never") for name in ("born_in", "born_on")),
    ],
)
def test_the_packaged_registry_declares_the_common_predicates(
    name: str, cardinality: str, change: str
) -> None:
    assert packaged().get(name) == Predicate(name, cardinality, change, "vote", declared=True)


def test_the_packaged_registry_is_written_in_normal_names_and_loads_whole() -> None:
    text = resources.files("state").joinpath("predicates.toml").read_text(encoding="utf-8")
    names = list(tomllib.loads(text)["predicates"])

    assert [name for name in names if normalise_predicate(name) != name] == []
    assert sorted(packaged().declared) == sorted(names)
    assert len(names) > 150


def test_a_file_of_the_user_overrides_and_adds_and_leaves_the_rest() -> None:
    mine = packaged().extended(entry('cardinality = "single"') + entry("", '"Rides A"'), origin=ORIGIN)

    assert packaged().get("uses").is_multi
    assert not mine.get("uses").is_multi
    assert mine.get("rides_a") == Predicate("rides_a")
    assert mine.get("likes") == packaged().get("likes")
    assert not packaged().get("rides_a").declared


def test_an_entry_that_overrides_replaces_the_whole_entry() -> None:
    mine = packaged().extended(entry('arbitration = "explicit"', "born_in"), origin=ORIGIN)

    assert mine.get("born_in") == Predicate("born_in", "single", "any", "explicit")


def test_a_registry_can_stand_alone() -> None:
    alone = Registry(parse(entry(""), origin=ORIGIN))

    assert alone.get("uses").declared
    assert not alone.get("likes").declared


# -- from a file ----------------------------------------------------------------------------


def test_no_file_means_the_packaged_registry() -> None:
    assert registry(None) is packaged()


def test_a_file_is_named_by_its_path_in_errors(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(entry('cardinality = "many"'), encoding="utf-8")

    with pytest.raises(BadPredicates) as caught:
        registry(mine)

    assert str(caught.value).startswith(f"{mine}: [predicates.uses] ")


def test_a_file_that_is_not_there_or_not_text_is_refused_with_a_sentence(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")

    for path in (tmp_path / "none.toml", binary, tmp_path):
        with pytest.raises(BadPredicates, match="cannot be read"):
            registry(path)
