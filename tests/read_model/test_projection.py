"""Applying the log: once, in any cut, and again from the beginning with the same rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.read_model import (
    ReadModel,
    ReadModelError,
    applied_offsets,
    apply,
    catch_up,
    migrations,
    rebuild_embedded,
)
from agents.read_model.projection import TOPICS, project
from agents.read_model.rebuilding import Deriving
from agents.replay import records
from state.instants import Instant
from streams.host import Record
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import CHANGE_FEED, SPEC_OF, Topic
from tests.builders import day
from tests.cases.world import World, fresh, observe, retract
from tests.read_model.asked import all_facts, recorded, rows
from tests.read_model.test_past import batch_sizes, histories, sqlite

ORDER = {"fact_versions": ["seq"], "facts": ["seq"], "rule_events": ["seq"]}
"""What says in which order records were applied: the one thing that may differ between two models."""

HISTORY = [
    observe("Oslo", 1, id="a"),
    observe("Bergen", 2, id="b", document="d"),
    observe("Bergen", 3, id="c"),
    observe("x", 4, subject="ann", predicate="speaks"),
    observe("y", 5, subject="ann", predicate="speaks"),
    retract("b"),
    observe("Bergen", 9, id="e"),
]


def logged(world: World) -> list[Record]:
    """Every record of the log that is projected."""
    return [
        record
        for topic in TOPICS
        if not SPEC_OF[topic].compacted
        for record in records(world.host.store, topic)
    ]


def test_a_record_counts_once_however_often_it_comes(
    new_model: Callable[[], ReadModel], world: World
) -> None:
    world.each(HISTORY)
    once, again = new_model(), new_model()
    found = logged(world)

    apply(once, found)
    assert apply(again, [*found, *found]) == len(found)
    assert apply(again, found[3:]) == 0

    assert rows(once) == rows(again)


def test_where_it_goes_on_moves_only_with_the_rows(model: ReadModel, world: World) -> None:
    world.each(HISTORY)
    before = rows(model)

    class Stopped(Exception):
        pass

    def stop_before_the_end() -> None:
        with model.writing() as connection:
            project(connection, logged(world))
            raise Stopped

    with pytest.raises(Stopped):
        stop_before_the_end()

    assert rows(model) == before
    with model.reading() as connection:
        assert applied_offsets(connection) == {}


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories, sizes=batch_sizes, seed=st.integers(0, 2**32))
def test_no_cut_into_batches_and_no_order_of_topics_changes_a_row(
    history: list[dict[str, object]], sizes: list[int], seed: int
) -> None:
    with fresh() as world, sqlite() as in_one, sqlite() as in_pieces:
        world.batches(history, sizes)
        apply(in_one, logged(world))
        chance = random.Random(seed)
        left = {
            topic: list(records(world.host.store, topic)) for topic in TOPICS if not SPEC_OF[topic].compacted
        }
        while any(left.values()):
            topic = chance.choice([topic for topic, rest in left.items() if rest])
            n_records = chance.randint(1, 4)
            apply(in_pieces, left[topic][:n_records])
            del left[topic][:n_records]

        assert rows(in_one, without=ORDER) == rows(in_pieces, without=ORDER)


def test_a_rebuild_equals_the_original_row_by_row(new_model: Callable[[], ReadModel], world: World) -> None:
    original = new_model()
    for line in HISTORY:  # looked at after each, and so applied in many small steps
        world.publish(line)
        catch_up(original, world.host.store)
    before = rows(original)

    rebuild_embedded(original, world.host.store)

    assert rows(original) == before
    assert before["fact_versions"] != []


def test_events_derived_from_the_internal_topic_are_those_that_were_published(
    new_model: Callable[[], ReadModel], world: World, tmp_path: Path
) -> None:
    world.each(HISTORY)
    projected, derived = new_model(), new_model()
    apply(projected, logged(world))

    deriving = Deriving(Settings(), tmp_path / "scratch", n_partitions=1)
    with derived.writing() as connection:
        deriving.apply(connection, list(records(world.host.store, Topic.BY_CLAIM)))
    deriving.close()

    left_out = {**ORDER, "applied_offsets": ["topic", "partition", "next_offset"]}
    there, here = rows(projected, without=left_out), rows(derived, without=left_out)
    for name in ("evidence", "claims", "subjects", "corrections", "facts", "fact_versions", "drift_alerts"):
        assert there[name] == here[name]


def test_events_that_come_after_they_were_derived_change_nothing(
    model: ReadModel, world: World, tmp_path: Path
) -> None:
    world.each(HISTORY)
    deriving = Deriving(Settings(), tmp_path / "scratch", n_partitions=1)
    with model.writing() as connection:
        deriving.apply(connection, list(records(world.host.store, Topic.BY_CLAIM)))
    deriving.close()
    before = rows(model)

    apply(model, [record for topic in CHANGE_FEED for record in records(world.host.store, topic)])

    after = rows(model)
    assert after["fact_versions"] == before["fact_versions"]
    assert after["facts"] == before["facts"]


def test_versions_of_one_fact_may_come_in_any_order(model: ReadModel, world: World) -> None:
    world.each([observe("Oslo", 1), observe("Oslo", 2), *(observe("Bergen", at) for at in (3, 4, 5, 6))])
    newest = {event["fact_id"]: event["version"] for event in world.events()}

    for topic in reversed(CHANGE_FEED):
        for record in records(world.host.store, topic):
            apply(model, [record])

    with model.reading() as connection:
        found = {fact.fact_id: fact.version for fact in all_facts(connection, now=day(9))}
    assert found == newest
    assert max(newest.values()) > 3


def test_a_statement_that_arrives_again_keeps_the_time_at_which_it_was_learnt(
    model: ReadModel, world: World
) -> None:
    line = observe("Oslo", 1, id="a")
    world.each([recorded(line, 5), recorded(line, 9), recorded(line, 3)])
    catch_up(model, world.host.store)

    assert [row[4] for row in rows(model)["evidence"]] == [day(3)]


def test_another_log_in_the_same_folder_is_noticed(model: ReadModel, world: World, tmp_path: Path) -> None:
    world.publish(recorded(observe("Oslo", 1), 1))
    catch_up(model, world.host.store)
    other = World(tmp_path / "other")
    other.publish(recorded(observe("Rome", 1), 2))

    with pytest.raises(ReadModelError) as refused:
        catch_up(model, other.host.store)
    rebuild_embedded(model, other.host.store)

    assert refused.value.code == "read_model_other_log"
    with model.reading() as connection:
        assert [fact.object for fact in all_facts(connection, now=day(9))] == ["Rome"]
    other.close()


def test_an_interrupted_rebuild_is_not_followed_on(model: ReadModel) -> None:
    with model.writing() as connection:
        migrations.note_unfinished(connection, unfinished=True)

    with model.reading() as connection, pytest.raises(ReadModelError) as refused:
        migrations.refuse_unfinished(connection)

    assert refused.value.code == "read_model_unfinished"


@pytest.mark.parametrize("value", [b"", b"[]", b"nonsense", b"\xff", b"3"])
def test_a_record_that_is_no_object_stops_nothing(model: ReadModel, value: bytes) -> None:
    record = Record(Topic.RULE_EVENTS, Partition(0), Offset(0), b"r", value, Instant(0))

    assert apply(model, [record]) == 1

    assert rows(model)["rule_events"] == []
