"""Wishes to forget in the read model: noted, fulfilled up to their place in the log, and told of."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agents.read_model import ReadModel, catch_up, erase, rebuild_embedded, schema, wishes
from agents.read_model.projection import keep
from agents.read_model.wishes import Wish
from state.instants import Instant
from streams.host import Record
from streams.keys import Offset, Partition, key
from streams.topics import Topic
from tests.builders import day
from tests.cases.world import World, observe
from tests.read_model.asked import all_facts, rows
from tests.read_model.test_erasing import holds

SECRET = "Xanadu"
WISH = {"op": "forget", "reason": "asked for", "correction_id": "w"}


def wished(world: World, **fields: str) -> None:
    """What was said before a wish, the wish, and what was said of kim since."""
    spy, press = {"id": "spy", "document": "d"}, {"id": "press"}
    world.each(
        [
            observe("Oslo", 1, id="a", source=press),
            observe(SECRET, 5, id="b", source=spy, content=f"in {SECRET}"),
            observe("Rome", 5, id="c", subject="ann", source=press),
        ]
    )
    world.host.publish(Topic.CORRECTIONS, [(None, json.dumps({**WISH, **fields}).encode(), None)])
    world.each([observe("Lima", 9, id="d", source=spy), observe("Lima", 9.5, id="e", source=press)])


def fulfil(model: ReadModel) -> list[Wish]:
    """Erase as whoever follows the log does; the wishes that were fulfilled."""
    with model.writing() as connection:
        found = wishes.pending(connection)
        for wish in found:
            erase(connection, wish.scope, erased_at=wish.recorded_at, by=wish.place)
            wishes.note_done(connection, wish)
    return found


@pytest.mark.parametrize(
    "fields",
    [
        {"scope": "subject", "subject": "KIM"},
        {"scope": "source", "source": "spy"},
        {"scope": "source", "source": "spy", "subject": "kim"},
        {"scope": "observation", "observation_id": "b", "subject": "kim"},
    ],
    ids=["subject", "source", "source-of-a-subject", "observation"],
)
def test_what_was_said_before_a_wish_goes_and_what_was_said_since_stays(
    model: ReadModel, world: World, fields: dict[str, str]
) -> None:
    wished(world, **fields)
    catch_up(model, world.host.store)
    assert holds(model, SECRET)

    (wish,) = fulfil(model)

    assert wish.correction_id == "w"
    assert not holds(model, SECRET)
    assert fulfil(model) == []
    with model.reading() as connection:
        told = {
            (fact.subject, fact.object)
            for fact in all_facts(connection, now=day(20))
            if fact.reason != "withdrawn"
        }
        assert [w.is_done for w in wishes.newest(connection, "w")] == [True]
    assert told == {(fact["subject"], fact["object"]) for fact in world.facts()}
    assert ("kim", "Lima") in told


def test_a_fulfilled_wish_names_no_subject(model: ReadModel, world: World) -> None:
    world.publish(observe("Oslo", 1))
    world.host.publish(
        Topic.CORRECTIONS, [(None, json.dumps({**WISH, "scope": "subject", "subject": "kim"}).encode(), None)]
    )
    catch_up(model, world.host.store)
    assert holds(model, "kim")

    fulfil(model)

    assert not holds(model, "kim")


def test_a_model_built_anew_fulfils_the_wishes_of_its_log_again(
    new_model: Callable[[], ReadModel], world: World
) -> None:
    wished(world, scope="subject", subject="kim")
    model = new_model()
    catch_up(model, world.host.store)
    fulfil(model)
    original = rows(model)

    rebuild_embedded(model, world.host.store)
    assert holds(model, SECRET)
    fulfil(model)

    assert rows(model, without={"fact_versions": ["seq"], "facts": ["seq"]}).keys() == original.keys()
    assert rows(model) == original


def test_the_same_wish_again_is_another_one(model: ReadModel, world: World) -> None:
    wished(world, scope="subject", subject="kim")
    catch_up(model, world.host.store)
    fulfil(model)
    again = json.dumps({**WISH, "scope": "subject", "subject": "kim"}).encode()
    world.host.publish(Topic.CORRECTIONS, [(None, again, Instant(2**42))])
    catch_up(model, world.host.store)

    with model.reading() as connection:
        assert [wish.is_done for wish in wishes.newest(connection, "w")] == [False]
        assert wishes.newest(connection, "none") == []


def test_a_link_that_left_its_topic_leaves_the_read_model_and_may_come_back(model: ReadModel) -> None:
    body = json.dumps({"link_id": "l1", "kind": "confirms", "claim_id": "c"}).encode()

    def link(value: bytes, link_id: str = "l1") -> Record:
        return Record(Topic.FACT_LINKS, Partition(0), Offset(0), key(link_id), value, Instant(0))

    def links() -> list[str]:
        with model.reading() as connection:
            return [row.id for row in connection.execute(schema.links.select())]

    nobodys = Record(Topic.FACT_LINKS, Partition(0), Offset(0), b"no key of ours", b"", Instant(0))
    for records, left in (
        ([link(body)], ["l1"]),
        ([link(b"", "other"), nobodys], ["l1"]),
        ([link(b"")], []),
        ([link(body), link(b"")], []),
        ([link(b""), link(body)], ["l1"]),
    ):
        with model.writing() as connection:
            keep(connection, records)
        assert links() == left
