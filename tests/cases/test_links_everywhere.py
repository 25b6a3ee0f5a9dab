"""CASES "Links" L1 to L12, through REST, the command line and MCP alike, on `arbitration = explicit`.

Days are those of January 2024, recorded as observed: a file is replayed with `recorded_at`, then served. What
assertions are at an instant is computed on read and tested here; the facts that each of them has are tested
in `test_own_facts`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.served import Served
from tests.api.surfaces import CommandLine, Rest, Surface, Tools

PREDICATES = """
[predicates.located_in]
cardinality = "single"
arbitration = "explicit"

[predicates.works_on]
cardinality = "multi"
arbitration = "explicit"
"""

Line = dict[str, Any]
SURFACES = ("rest", "command line", "mcp")


def day(number: float) -> str:
    """Day `number` of January 2024, and hours of it."""
    whole, rest = divmod(number, 1)
    return f"2024-01-{int(whole):02}T{round(rest * 24):02}:00:00Z"


def said(id: str, value: str, lo: float, hi: float | None = None, **fields: Any) -> Line:  # noqa: A002
    """`kim located_in value` from day `lo` on, by a document of its own, observed and recorded then."""
    fields = {"document": f"D{id[1:]}", "confidence": 0.8, "predicate": "located_in"} | fields
    source = {
        "id": "s", "document": fields.pop("document"), "category": fields.pop("category", "direct"),
        "supersedes": fields.pop("supersedes", None),
    }  # fmt: skip
    return {
        "observation_id": id, "subject": "kim", "object": value, "observed_at": day(lo),
        "recorded_at": day(lo), "valid_from": day(lo), "source": source, **fields,
    } | ({} if hi is None else {"valid_to": day(hi)})  # fmt: skip


F1, F2, F3 = said("F1", "Paris", 1), said("F2", "Paris", 2), said("F3", "London", 3)


class Case:
    """A log with the lines of a case, and one way to ask it."""

    def __init__(self, folder: Path, surface: str, predicates: Path) -> None:
        self._folder = folder
        self._name = surface
        self._environment = {"FACTDRIFT_PREDICATES": str(predicates)}
        self._served: Served | None = None

    def learn(self, *lines: Line) -> None:
        """Replay lines, each in a batch of its own."""
        file = self._folder.with_suffix(".jsonl")
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        CommandLine("--data", str(self._folder), **self._environment)._run(
            "replay", str(file), "--batch", "1", "--json", codes=(0,)
        )

    @property
    def surface(self) -> Surface:
        """The way to ask; a service is started when it is asked first."""
        where = ("--data", str(self._folder))
        if self._name == "command line":
            return CommandLine(*where, **self._environment)
        if self._name == "mcp":
            return Tools(*where, **self._environment)
        if self._served is None:
            self._served = Served(self._folder, **self._environment)
        return Rest(self._served)

    def end(self) -> None:
        """Stop the service."""
        if self._served is not None:
            self._served.end()

    def at(self, valid_at: float, known_at: float | None = None, **more: Any) -> dict[str, Any]:
        """The assertions that have begun by day `valid_at`, by their first observation."""
        wanted = {"subject": "Kim", "predicate": "located in", "valid_at": day(valid_at), **more}
        if known_at is not None:
            wanted["known_at"] = day(known_at)
        found = self.surface.ask("assertions", **wanted)
        return {one["observation_ids"][0]: one for one in found if one["has_begun"]}

    def lives(self, valid_at: float, known_at: float | None = None, **more: Any) -> dict[str, str]:
        """The state of each."""
        return {name: one["state"] for name, one in self.at(valid_at, known_at, **more).items()}

    def links(self) -> list[tuple[str, str, str]]:
        """Kind, and the observations at both ends, of every published link."""
        names = {one["assertion_id"]: name for name, one in self.at(30).items()}
        found = self.surface.ask("links")
        return sorted(
            (one["kind"], names[one.get("from", one.get("source"))], names[one.get("to", one.get("target"))])
            for one in found
        )

    def correct(self, op: str, at: float, **fields: Any) -> Any:
        """A correction decided on day `at`."""
        named = {"subject": "kim", "predicate": "located_in", "decided_at": day(at), "reason": "moved"}
        valid = {} if op == "link" else {"valid_at": day(at)}
        return self.surface.correct(op=op, **{**named, **valid, **fields})


@pytest.fixture(params=SURFACES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Case]]:
    """Makes cases of one surface from the lines that they are about."""
    predicates = tmp_path / "predicates.toml"
    predicates.write_text(PREDICATES)
    made: list[Case] = []

    def make(*lines: Line) -> Case:
        found = Case(tmp_path / f"log-{len(made)}", request.param, predicates)
        made.append(found)
        found.learn(*lines)
        return found

    yield make
    for one in made:
        one.end()


Make = Callable[..., Case]


def test_l1_two_documents_that_say_the_same_are_both_current(case: Make) -> None:
    assert case(F1, F2).lives(30) == {"F1": "current", "F2": "current"}


def test_l1_the_later_one_confirms_the_earlier(case: Make) -> None:
    assert case(F1, F2).links() == [("confirms", "F2", "F1")]


def test_l2_another_value_makes_all_of_them_conflicting_and_is_preferred_for_its_start(case: Make) -> None:
    found = case(F1, F2, F3)

    states = found.at(30)
    assert {name: one["state"] for name, one in states.items()} == dict.fromkeys(
        ("F1", "F2", "F3"), "conflicting"
    )
    assert {one["preferred"] for one in states.values()} == {states["F3"]["assertion_id"]}
    assert all("the conflict remains unresolved" in one["basis"] for one in states.values())
    assert found.lives(2.5) == {"F1": "current", "F2": "current"}


def test_l2_l3_two_contradictions_are_told_once_however_often_the_records_come(case: Make) -> None:
    found = case(F1, F2, F3)
    links = found.links()
    found.learn(F1, F2, F3)

    assert links == [("confirms", "F2", "F1"), ("contradicts", "F3", "F1"), ("contradicts", "F3", "F2")]
    assert found.links() == links


def test_l4_values_of_a_multi_predicate_do_not_conflict(case: Make) -> None:
    found = case(said("F1", "X", 1, predicate="works_on"), said("F2", "Y", 2, predicate="works_on"))

    assert set(found.lives(30, predicate="works on").values()) == {"current"}


def test_l5_one_document_does_not_conflict_with_itself(case: Make) -> None:
    found = case(F1, said("F2", "London", 2, document="D1"))

    assert "conflicting" not in found.lives(30).values()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_l6_what_was_said_directly_is_preferred_in_either_order_of_arrival(
    case: Make, order: tuple[int, int]
) -> None:
    lines = [
        said("F1", "Paris", 1, confidence=0.1), said("F2", "London", 2, confidence=0.99, category="extracted")
    ]  # fmt: skip

    states = case(*[lines[n] for n in order]).at(30)

    assert {one["preferred"] for one in states.values()} == {states["F1"]["assertion_id"]}


def test_l7_what_ends_where_the_other_begins_does_not_conflict(case: Make) -> None:
    found = case(said("F1", "Paris", 1, 5), said("F2", "London", 5))

    assert found.lives(30) == {"F1": "historical", "F2": "current"}


def test_l8_a_document_that_replaces_another_ends_what_it_does_not_say_again(case: Make) -> None:
    found = case(
        said("F1", "X", 1, predicate="works_on"),
        said("F2", "Y", 5, predicate="works_on", supersedes="D1"),
    )

    states = found.at(30, predicate="works on")
    assert {name: one["state"] for name, one in states.items()} == {"F1": "superseded", "F2": "current"}
    assert states["F1"]["valid_to"] == "2024-01-05T00:00:00Z"


def test_l9_a_supersede_closes_and_opens_at_once_and_again_changes_nothing(case: Make) -> None:
    found = case(F1)
    target = {"id": found.at(30)["F1"]["assertion_id"]}

    first = found.correct("supersede", 4, target=target, object="London", correction_id="c9")
    states = found.at(30)
    again = found.correct("supersede", 4, target=target, object="London", correction_id="c9")

    assert first["outcome"] == "applied"
    assert again["outcome"] == "unchanged"
    assert found.at(30) == states
    assert (states["F1"]["state"], states["F1"]["valid_to"], states["F1"]["reason"]) == (
        "superseded", "2024-01-04T00:00:00Z", "moved",
    )  # fmt: skip
    (opened,) = [one for one in states.values() if one["object"] == "London"]
    assert (opened["state"], opened["valid_from"]) == ("current", "2024-01-04T00:00:00Z")


def test_l10_an_invalidated_side_ends_the_conflict_and_the_past_still_shows_it(case: Make) -> None:
    found = case(F1, F2, F3)
    target = {"id": found.at(30)["F3"]["assertion_id"]}

    assert found.correct("invalidate", 4, target=target, correction_id="c10")["outcome"] == "applied"

    assert found.lives(30) == {"F1": "current", "F2": "current", "F3": "invalidated"}
    assert set(found.lives(3.5, 3.9).values()) == {"conflicting"}


@pytest.mark.parametrize(
    ("op", "fields", "code"),
    [
        ("invalidate", {"reason": "   "}, "blank_reason"),
        ("invalidate", {"confidence": 1.2}, "bad_confidence"),
        ("invalidate", {"target": {"id": "none"}}, "unknown_target"),
        ("link", {"kind": "confirms", "source": "SELF"}, "self_link"),
        ("link", {"kind": "supersedes", "source": "SELF"}, "link_kind_supersedes"),
    ],
    ids=range(5),
)
def test_l11_each_refusal_has_its_code_and_nothing_is_written(
    case: Make, op: str, fields: dict[str, Any], code: str
) -> None:
    found = case(F1)
    states = found.at(30)
    own = {"id": states["F1"]["assertion_id"]}
    fields = {**fields, **({"source": own} if fields.get("source") == "SELF" else {})}

    assert found.correct(op, 4, **{"target": own, **fields}) == code
    assert found.at(30) == states


def test_l11_what_was_closed_is_not_superseded_again(case: Make) -> None:
    found = case(F1)
    own = {"id": found.at(30)["F1"]["assertion_id"]}
    found.correct("invalidate", 4, target=own, correction_id="c11")

    assert found.correct("supersede", 5, target=own, object="Rome", correction_id="c12") == "already_closed"


def test_l12_refines_ends_the_conflict_of_the_two(case: Make) -> None:
    found = case(F1, said("F2", "London", 2))
    states = found.at(30)
    assert set(found.lives(30).values()) == {"conflicting"}

    told = found.correct(
        "link", 5, kind="refines", source={"id": states["F2"]["assertion_id"]},
        target={"id": states["F1"]["assertion_id"]}, correction_id="c12",
    )  # fmt: skip

    assert told["outcome"] == "applied"
    assert set(found.lives(30).values()) == {"current"}
    assert set(found.lives(30, 4).values()) == {"conflicting"}
