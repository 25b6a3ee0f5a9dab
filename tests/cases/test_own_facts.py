"""Facts of their own (DESIGN 6): under `arbitration = explicit` each assertion stands for itself.

And documents that replace others, under every arbitration: CASES L8 and its kind, as facts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.replay import records
from streams.topics import Topic
from tests.cases.test_decisions import invalidate, supersede
from tests.cases.world import World, agreed, counts, deny, fresh, observe, retirements, retract, spans

PREDICATES = """
[predicates.prefers]
arbitration = "explicit"

[predicates.works_on]
cardinality = "multi"
arbitration = "explicit"

[predicates.born_in]
change = "never"
arbitration = "explicit"
"""

PARIS = [
    observe("Paris", 1, id="F1", document="D1"),
    observe("Paris", 2, id="F2", document="D2"),
    observe("London", 3, id="F3", document="D3"),
]


@pytest.fixture(name="explicit")
def _explicit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "predicates.toml"
    file.write_text(PREDICATES)
    monkeypatch.setenv("FACTDRIFT_PREDICATES", str(file))


@pytest.fixture(name="world")
def _world(explicit: None) -> Iterator[World]:
    with fresh() as made:
        yield made


def newer(value: str, at: float, *, id: str, document: str, replaces: str, **fields: Any) -> dict[str, Any]:  # noqa: A002
    """`kim prefers value`, said by a document that takes the place of another."""
    source = {"id": "s", "document": document, "supersedes": replaces}
    return observe(value, at, id=id, **fields) | {"source": source}


def on(decision: dict[str, Any], **target: Any) -> dict[str, Any]:
    """The same decision about another target."""
    return {**decision, "target": target}


def latest(world: World) -> list[dict[str, Any]]:
    """The newest event of every fact that is not withdrawn, by start and value."""
    newest = {event["fact_id"]: event for event in world.events()}
    found = [event for event in newest.values() if event["reason"] != "withdrawn"]
    return sorted(found, key=lambda event: (event["valid"]["lo"], event["object"]))


def fact_of(world: World, observation_id: str) -> str:
    """The id of the fact that an observation supports."""
    (found,) = [fact for fact in latest(world) if observation_id in fact["supported_by"]]
    return str(found["fact_id"])


def test_what_two_documents_dispute_stays_open_on_both_sides_in_any_order(explicit: None) -> None:
    facts = agreed(PARIS)

    assert sorted(spans(facts), key=repr) == [
        ("London", 3, None, "open", None), ("Paris", 1, None, "open", None), ("Paris", 2, None, "open", None),
    ]  # fmt: skip
    assert {one[1:] for one in counts(facts)} == {(1, 0, 1)}


def test_a_hundred_documents_do_not_retire_what_one_says(explicit: None) -> None:
    many = [observe("London", 2 + n / 200, id=f"L{n}", document=f"L{n}") for n in range(100)]

    with fresh() as world:
        world.publish(PARIS[0]).publish(*many)
        states = [fact["state"] for fact in world.facts()]

    assert states == ["open"] * 101


def test_a_denial_ends_nothing_and_is_no_fact(explicit: None) -> None:
    facts = agreed([PARIS[0], deny("Paris", 4, id="no", document="D9")])

    assert spans(facts) == [("Paris", 1, None, "open", None)]
    assert counts(facts) == [("Paris", 1, 0, 1)]


def test_a_document_that_repeats_itself_reinforces_its_own_fact_alone(explicit: None) -> None:
    facts = agreed([*PARIS, observe("Paris", 5, id="F4", document="D1")])

    assert sorted(counts(facts)) == [("London", 1, 0, 1), ("Paris", 1, 0, 1), ("Paris", 1, 0, 2)]


def test_an_end_of_its_own_ends_the_word_of_one_document(explicit: None) -> None:
    facts = agreed([PARIS[0], observe("Paris", 2, id="F2", document="D2", valid_from=2, valid_to=5)], at=9)

    assert spans(facts) == [("Paris", 1, None, "open", None), ("Paris", 2, 5, "retired", "ended")]


def test_a_decision_by_the_id_of_a_fact_ends_that_fact_alone(world: World) -> None:
    world.each(PARIS)

    world.publish(on(invalidate("Paris", 4), id=fact_of(world, "F3")))

    assert sorted(spans(world.facts()), key=repr) == [
        ("London", 3, 4, "retired", "invalidated"),
        ("Paris", 1, None, "open", None), ("Paris", 2, None, "open", None),
    ]  # fmt: skip
    assert retirements(world.events()) == [("London", "invalidated")]


def test_a_decision_by_value_ends_every_document_that_says_so_by_then(world: World) -> None:
    world.each(PARIS).publish(supersede("Paris", "Rome", 4))

    world.publish(observe("Paris", 6, id="F6", document="D6"))

    assert sorted(spans(world.facts()), key=repr) == [
        ("London", 3, None, "open", None),
        ("Paris", 1, 4, "retired", "superseded"), ("Paris", 2, 4, "retired", "superseded"),
        ("Paris", 6, None, "open", None), ("Rome", 4, None, "open", None),
    ]  # fmt: skip


def test_a_replacement_names_what_it_replaced_and_the_decision(world: World) -> None:
    world.publish(PARIS[0])
    world.publish(on(supersede("Paris", "Rome", 4, correction_id="c1"), id=fact_of(world, "F1")))

    paris, rome = latest(world)

    assert (paris["closed_by"], paris["invalidated_by"]) == ("c1", rome["fact_id"])
    assert (rome["opened_by"].rstrip("+"), rome["support"], rome["observations"]) == ("c1", 0, 0)


def test_what_the_document_says_again_after_a_decision_is_a_fact_against_it(world: World) -> None:
    world.publish(PARIS[0])
    world.publish(on(invalidate("Paris", 4, correction_id="c1"), observation_ids=["F1"]))

    world.publish(observe("Paris", 5, id="late", document="D1", valid_from=6))
    world.publish(observe("Paris", 3, id="older", document="D1"))

    assert spans(world.facts()) == [
        ("Paris", 1, 4, "retired", "invalidated"), ("Paris", 6, None, "open", None),
    ]  # fmt: skip
    assert [fact["against"] for fact in latest(world)] == [None, "c1"]


def test_a_decision_that_is_taken_back_leaves_the_facts_as_if_it_had_never_been(world: World) -> None:
    world.each(PARIS)
    before = spans(world.facts())
    world.publish(on(supersede("Paris", "Rome", 4, correction_id="c1"), id=fact_of(world, "F3")))
    assert spans(world.facts()) != before

    world.publish(retract("c1", namespace="default", subject="kim"))

    assert spans(world.facts()) == before
    assert world.told() == world.facts()


def test_a_decision_may_name_what_stands_before_it_in_its_record(world: World) -> None:
    world.publish(PARIS[0], on(invalidate("Paris", 4), observation_ids=["F1"]))

    assert spans(world.facts()) == [("Paris", 1, 4, "retired", "invalidated")]


@pytest.mark.parametrize(
    ("target", "code"),
    [({"id": "nobody"}, "unknown_target"), ({"observation_ids": ["F1"]}, "already_closed")],
)
def test_what_is_refused_is_a_dead_letter_and_changes_nothing(
    world: World, target: dict[str, Any], code: str
) -> None:
    world.publish(PARIS[0]).publish(invalidate("Paris", 4))
    before = world.lines()

    world.publish(on(supersede("Paris", "Rome", 5, correction_id="c2"), **target))

    assert [letter["code"] for letter in world.dead_letters()] == [code]
    assert world.lines() == before


def test_what_never_changes_stands_for_each_document_too(explicit: None) -> None:
    lines = [observe(value, 1 + n, id=f"B{n}", document=f"B{n}") for n, value in enumerate(["Oslo", "Rome"])]

    facts = agreed([{**line, "predicate": "born_in"} for line in lines])

    assert {fact["state"] for fact in facts} == {"open"}


def test_a_predicate_that_becomes_explicit_has_its_claims_folded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = World(tmp_path / "log")
    first.each(PARIS)
    first.close()
    file = tmp_path / "predicates.toml"
    file.write_text(PREDICATES)
    monkeypatch.setenv("FACTDRIFT_PREDICATES", str(file))

    again = World(tmp_path / "log")
    again.publish(observe("Rome", 9, id="F9", document="D9"))

    assert sorted(spans(again.told()), key=repr) == [
        ("London", 3, None, "open", None), ("Paris", 1, None, "open", None),
        ("Paris", 2, None, "open", None), ("Rome", 9, None, "open", None),
    ]  # fmt: skip
    again.close()


# -- documents that replace others --------------------------------------------------------------


def test_l8_a_newer_document_supersedes_the_fact_of_the_older_under_explicit(explicit: None) -> None:
    facts = agreed([PARIS[0], PARIS[1], newer("London", 5, id="F5", document="D5", replaces="D1")])

    assert sorted(spans(facts), key=repr) == [
        ("London", 5, None, "open", None),
        ("Paris", 1, 5, "retired", "superseded"), ("Paris", 2, None, "open", None),
    ]  # fmt: skip


def test_l8_a_newer_document_supersedes_the_fact_of_the_older_under_vote() -> None:
    lines = [observe("X", 1, id="X", document="D1"), newer("Y", 5, id="Y", document="D2", replaces="D1")]

    facts = agreed([{**line, "predicate": "works_on"} for line in lines])

    assert spans(facts) == [("X", 1, 5, "retired", "superseded"), ("Y", 5, None, "open", None)]


def test_what_the_newer_document_says_again_goes_on() -> None:
    facts = agreed(
        [
            observe("A", 1, id="A", document="D1"),
            newer("A", 5, id="A2", document="D2", replaces="D1"),
            newer("B", 6, id="B2", document="D2", replaces="D1"),
        ],
        at=5.5,
    )

    assert spans(facts)[0][:2] == ("A", 1)
    assert "superseded" not in {fact["reason"] for fact in facts}


def test_a_replaced_document_has_no_vote_left_and_others_keep_theirs() -> None:
    lines = [
        observe("A", 1, id="A1", document="D1"),
        observe("A", 2, id="A2", document="D2"),
        observe("A", 3, id="A3", document="D3"),
        newer("B", 5, id="B1", document="D4", replaces="D1"),
        newer("B", 6, id="B2", document="D5", replaces="D2"),
    ]

    facts = agreed(lines)

    # One against two, all later than the last for A: by votes alone three would stand against two.
    assert spans(facts) == [("A", 1, 5, "retired", "outvoted"), ("B", 5, None, "open", None)]


def test_a_fact_that_nobody_else_says_ends_where_its_document_was_replaced_by_one_about_something_else() -> (
    None
):
    lines = [
        observe("A", 1, id="A1", document="D1"),
        observe("A", 2, id="A2", document="D2"),
        newer("B", 5, id="B1", document="D3", replaces="D1"),
        newer("C", 5, id="C1", document="D4", replaces="D2"),
    ]

    facts = agreed(lines)

    assert spans(facts)[0] == ("A", 1, 5, "retired", "superseded")


def test_an_undeclared_predicate_does_not_become_unstable_by_its_documents_revisions() -> None:
    lines = [observe("v0", 1, id="v0", document="D0", predicate="is near")]
    lines += [
        newer(f"v{n}", 1 + n, id=f"v{n}", document=f"D{n}", replaces=f"D{n - 1}", predicate="is near")
        for n in range(1, 8)
    ]

    with fresh() as world:
        world.each(lines).tick()
        signals = [
            json.loads(record.value)["signal"] for record in records(world.host.store, Topic.DRIFT_ALERTS)
        ]

    assert signals == ["churning"]
