"""CASES F24 and its kind: what a person decides, through the embedded host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cases.world import World, fresh, iso, observe, spans


@pytest.fixture(name="world")
def _world() -> Iterator[World]:
    with fresh() as made:
        yield made


def supersede(target: str, by: str, at: float, *, correction_id: str = "c1", **fields: Any) -> dict[str, Any]:
    """`kim prefers target` no longer holds from day `at` on, and `by` does."""
    return {
        "op": "supersede",
        "correction_id": correction_id,
        "subject": "kim",
        "predicate": "prefers",
        "target": {"object": target},
        "object": by,
        "valid_at": iso(at),
        "decided_at": iso(at),
        "reason": "asked her",
        **fields,
    }


def invalidate(target: str, at: float, *, correction_id: str = "c1", **fields: Any) -> dict[str, Any]:
    """`kim prefers target` no longer holds from day `at` on, and nothing else does."""
    found = supersede(target, "", at, correction_id=correction_id, **fields)
    del found["object"]
    return {**found, "op": "invalidate"}


OLDER = [observe("A", 5 + n / 100, id=f"old{n}", document=f"old{n}", valid_from=12) for n in range(20)]
EVEN_OLDER = [observe("A", 1 + n / 100, id=f"older{n}", document=f"older{n}") for n in range(20)]


def test_f24_a_decision_holds_until_later_evidence_outweighs_it(world: World) -> None:
    world.publish(observe("A", 0, document="a")).publish(supersede("A", "B", 10))
    assert spans(world.facts()) == [("A", 0, 10, "retired", "superseded"), ("B", 10, None, "open", None)]

    for older in (EVEN_OLDER, OLDER):
        world.publish(*older)
        assert spans(world.facts())[-1] == ("B", 10, None, "open", None)
        assert len(world.facts()) == 2

    world.publish(observe("A", 20, document="later"))
    assert spans(world.facts())[-1] == ("B", 10, None, "contested", None)

    world.publish(*(observe("A", 21 + n, document=f"l{n}") for n in range(4)))
    assert spans(world.facts()) == [
        ("A", 0, 10, "retired", "superseded"),
        ("B", 10, 20, "retired", "outvoted"),
        ("A", 20, None, "open", None),
    ]
    created = [event for event in world.events() if event["event"] == "fact-created"]
    assert [(event["object"], event["against"]) for event in created] == [
        ("A", None),
        ("B", None),
        ("A", "c1"),
    ]


@pytest.mark.parametrize("lines_first", [True, False])
def test_f24_it_does_not_matter_how_the_evidence_is_batched(world: World, lines_first: bool) -> None:
    start, later = observe("A", 0, document="a"), observe("A", 20, document="later")
    world.publish(start)
    if lines_first:
        world.publish(*EVEN_OLDER, *OLDER, later).publish(supersede("A", "B", 10))
    else:
        world.publish(supersede("A", "B", 10), *OLDER, later, *EVEN_OLDER)

    assert spans(world.facts()) == [
        ("A", 0, 10, "retired", "superseded"),
        ("B", 10, None, "contested", None),
    ]


def test_f24_what_is_decided_in_one_batch_with_its_evidence_is_judged_after_it(world: World) -> None:
    world.publish(observe("A", 0), supersede("A", "B", 10), observe("C", 11))

    assert world.dead_letters() == []
    assert spans(world.facts()) == [
        ("A", 0, 10, "retired", "superseded"),
        ("B", 10, None, "contested", None),
    ]


def test_f24_the_same_decision_again_changes_nothing(world: World) -> None:
    world.publish(observe("A", 0)).publish(supersede("A", "B", 10))
    events, facts = world.events(), world.facts()

    world.publish(supersede("A", "B", 10))

    assert (world.events(), world.facts(), world.dead_letters()) == (events, facts, [])


def test_f24_another_decision_under_one_id_is_refused(world: World) -> None:
    world.publish(observe("A", 0)).publish(supersede("A", "B", 10)).publish(supersede("B", "C", 12))

    assert spans(world.facts())[-1] == ("B", 10, None, "open", None)
    assert [letter["code"] for letter in world.dead_letters()] == ["correction_id_taken"]


def test_f24_an_invalidate_leaves_nothing_until_two_say_it_again(world: World) -> None:
    world.publish(observe("A", 0)).publish(invalidate("A", 10)).publish(observe("A", 11, document="x"))
    assert spans(world.facts()) == [("A", 0, 10, "retired", "invalidated")]

    world.publish(observe("A", 12, document="y"))
    assert spans(world.facts())[-1] == ("A", 12, None, "open", None)


@pytest.mark.parametrize(
    ("correction", "code"),
    [
        (supersede("Z", "B", 10), "unknown_target"),
        ({**supersede("A", "B", 10), "predicate": "eats"}, "unknown_target"),
        ({**supersede("A", "B", 10), "target": {"id": "no-such-fact"}}, "unknown_target"),
        (supersede("gone", "B", 10), "already_closed"),
        ({**supersede("A", "B", 10), "reason": "  "}, "blank_reason"),
    ],
)
def test_a_decision_that_cannot_be_taken_is_a_letter_and_changes_nothing(
    world: World, correction: dict[str, Any], code: str
) -> None:
    world.each([observe("gone", 0, valid_to=2), observe("A", 3)])
    before = world.facts()

    world.publish(correction)

    assert world.facts() == before
    assert [letter["code"] for letter in world.dead_letters()] == [code]


def test_a_fact_is_named_by_its_id_as_it_was_published(world: World) -> None:
    world.publish(observe("A", 0))
    (fact,) = world.facts()

    world.publish({**supersede("A", "B", 10), "target": {"id": fact["fact_id"]}})

    assert spans(world.facts())[-1] == ("B", 10, None, "open", None)


def test_a_decision_that_is_retracted_was_never_taken(world: World) -> None:
    world.publish(observe("A", 0)).publish(supersede("A", "B", 10))

    world.publish({"op": "retract", "observation_id": "c1", "namespace": "default", "subject": "kim"})

    assert spans(world.facts()) == [("A", 0, None, "open", None)]
