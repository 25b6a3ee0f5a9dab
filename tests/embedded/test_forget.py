"""Forgetting on an embedded log: nothing is left in any file, and everything else is as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents import drift_projection
from agents.composition import embedded
from agents.erasing import erase
from agents.forget import erase_everything, forget_embedded, verify_embedded
from agents.main import app
from agents.proving import NoWords, Words
from agents.read_model import ReadModel, catch_up, facts, folding_of, open_read_model, rebuild_embedded
from agents.read_model.records import FactFilter
from agents.replay import fact_lines
from state.instants import INSTANT_MAX
from streams.codec import decode_batch
from streams.embedded import PARTITION
from streams.embedded.drift import SqliteDriftStore
from streams.settings import Settings
from streams.topics import Topic
from tests.builders import day
from tests.cases.world import World, observe, retract

NAME = "Kim Secretname"
SETTINGS = Settings(links="all")
CITIES = ("Oslo", "Bergen", "Secretville")
N = 1_000


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.host.store.close()
    made.host = embedded(SETTINGS, tmp_path)
    yield made
    made.close()


def said(number: int, *, subject: str = NAME, predicate: str = "lives_in") -> dict[str, Any]:
    """One of many statements about a subject: of the source crm every seventh."""
    value = f"project Secretplan {number % 60}" if predicate == "works_on" else CITIES[number // 40 % 3]
    return observe(
        value,
        number / 10,
        id=f"{subject[:3]}-{predicate}-{number}",
        subject=subject,
        predicate=predicate,
        content=f"verbatim words {number} end",
        source={"id": "crm" if number % 7 == 0 else "web", "document": f"paper-{subject[:3]}-{number % 90}"},
    )


def history(world: World, n: int) -> None:
    """A long history of one subject beside a short one of another, with all that may come with it."""
    lines = [said(i, predicate="lives_in" if i % 5 else "works_on") for i in range(n)]
    for start in range(0, n, 50):
        world.publish(*lines[start : start + 50])
        world.tick()
    world.publish(*(said(i, subject="Bob") for i in range(40)))
    world.publish(observe("Rome", 1, id=f"{NAME[:3]}-lives_in-1", subject=NAME, predicate="lives_in"))
    world.publish(
        b'{"subject": "Kim Secretname", broken', retract(f"{NAME[:3]}-lives_in-6", reason="Kim Secretname")
    )
    decision = {
        "subject": NAME,
        "predicate": "lives_in",
        "reason": "Secretname moved",
        "target": {"object": "Oslo"},
    }
    world.host.publish(
        Topic.CORRECTIONS,
        [
            (None, json.dumps({"op": "supersede", "object": "Secretdecided", **decision}).encode(), None),
            (None, json.dumps({"op": "invalidate", **decision}).encode(), None),
        ],
    )
    drift = SqliteDriftStore(world.host.store.path.parent)
    drift_projection.catch_up(drift, world.host.store)
    drift.close()


def opened_model(world: World) -> ReadModel:
    model = open_read_model(SETTINGS, world.host.store.path.parent)
    catch_up(model, world.host.store)
    return model


def folder_of(world: World) -> Path:
    return world.host.store.path.parent


def facts_of(world: World, subject: str | None = None) -> list[dict[str, Any]]:
    lines = fact_lines(world.host.store, now=INSTANT_MAX)
    return [line for line in lines if subject is None or line["subject"] == subject]


def left(world: World, *words: str) -> list[str]:
    return [found.where for found in verify_embedded(world.host.store, folder_of(world), Words(words)).left]


def test_of_a_subject_with_a_thousand_observations_no_byte_is_left_in_any_file(world: World) -> None:
    history(world, N)
    opened_model(world).close()
    others = facts_of(world, "Bob")
    words = [NAME, "Secretville", "Secretplan", "Secretdecided", "verbatim words 77 end", "paper-Kim-3"]
    places = left(world, *words)
    assert {
        "table claims",
        "table claim-pieces",
        "table drift",
        "table assertions",
        "table assertion-pages",
    } <= set(places)
    assert {"topic facts", "topic fact-links", "topic observations-dlq", "topic drift-alerts"} <= set(places)
    assert {"file factdrift.sqlite", "file read-model.sqlite", "file drift.sqlite"} <= {
        place.removesuffix("-wal") for place in places
    }

    told = forget_embedded(
        world.host, SETTINGS, folder_of(world), {"scope": "subject", "subject": NAME, "reason": "asked for"}
    )

    assert told["withdrawn"] > 0
    assert left(world, NAME, "Secretplan", "Secretdecided", "paper-Kim-3") == []
    assert left(world, "verbatim words 77 end") == []
    assert facts_of(world) == others
    verified = CliRunner().invoke(
        app, ["forget", "subject", NAME, "--verify", "--text", "Secretplan", "--data",
              str(folder_of(world)), "--json"],
    )  # fmt: skip
    assert verified.exit_code == 0, verified.output
    proof = json.loads(verified.stdout)["proof"]
    assert (proof["clean"], proof["left"], proof["append_only"]) == (True, [], [])


def test_what_is_said_of_a_forgotten_subject_later_begins_anew_and_is_newer_than_all_before(
    world: World,
) -> None:
    world.publish(*(said(i) for i in range(60)))
    before = {fact["fact_id"] for fact in facts_of(world)}
    versions = {e["fact_id"]: e["version"] for e in world.events()}
    forget_embedded(
        world.host, SETTINGS, folder_of(world), {"scope": "subject", "subject": NAME, "reason": "asked for"}
    )

    world.publish(said(3))

    (fact,) = facts_of(world)
    assert (fact["object"], fact["support"]) == ("Oslo", 1)
    if fact["fact_id"] in before:
        newest = [e for e in world.events() if e["fact_id"] == fact["fact_id"]]
        assert newest[-1]["version"] > versions[fact["fact_id"]]


@pytest.mark.parametrize("scope", ["observation", "source"])
def test_facts_and_the_read_model_after_a_forget_are_those_of_a_history_without_it(
    world: World, tmp_path: Path, scope: str
) -> None:
    lines = [said(i) for i in range(200)]
    world.publish(*lines)
    model = opened_model(world)
    fields = {"scope": scope, "reason": "asked for"}
    if scope == "observation":
        fields |= {"subject": NAME, "observation_id": "Kim-lives_in-77"}
    else:
        fields |= {"source": "crm"}
    gone = [line for line in lines if is_gone(line, scope)]
    plain = World(tmp_path / "plain").publish(*(line for line in lines if not is_gone(line, scope)))

    forget_embedded(world.host, SETTINGS, folder_of(world), fields)

    assert left(world, *(line["content"] for line in gone)) == []
    assert facts_of(world) == facts_of(plain)
    with model.reading() as connection:
        shown = facts(connection, folding_of(SETTINGS), FactFilter(), now=day(999), limit=100).items
    assert [f.object for f in shown] == [f["object"] for f in facts_of(plain)]
    assert [f.support for f in shown] == [f["support"] for f in facts_of(plain)]
    plain.close()
    model.close()


def is_gone(line: dict[str, Any], scope: str) -> bool:
    if scope == "observation":
        return bool(line["observation_id"] == "Kim-lives_in-77")
    return bool(line["source"]["id"] == "crm")


@pytest.mark.parametrize("scope", ["observation", "source", "subject"])
def test_a_replay_of_the_log_that_is_left_gives_the_same_facts(
    world: World, tmp_path: Path, scope: str
) -> None:
    world.publish(*(said(i) for i in range(120)), *(said(i, subject="Bob") for i in range(30)))
    fields = {
        "observation": {"subject": NAME, "observation_id": "Kim-lives_in-77"},
        "source": {"source": "crm"},
        "subject": {"subject": NAME},
    }[scope]
    forget_embedded(world.host, SETTINGS, folder_of(world), {"scope": scope, "reason": "asked for", **fields})
    world.publish(said(77), said(130))

    again = World(tmp_path / "again")
    store = world.host.store
    n_records = store.end(Topic.BY_CLAIM, PARTITION)
    left_over = store.read(Topic.BY_CLAIM, PARTITION, 0, n_records)
    again.host.publish(Topic.BY_CLAIM, [(r.key, r.value, r.recorded_at) for r in left_over])

    assert len(left_over) == n_records
    assert facts_of(again) == facts_of(world)
    again.close()


def test_what_was_retracted_before_is_erased_as_well(world: World) -> None:
    world.publish(said(1), said(50), said(90))
    world.publish(retract("Kim-lives_in-90", subject=NAME, namespace="default"))
    assert "table claim-pieces" in left(world, "Secretville")

    forget_embedded(
        world.host,
        SETTINGS,
        folder_of(world),
        {"scope": "observation", "observation_id": "Kim-lives_in-90", "subject": NAME, "reason": "asked for"},
    )

    assert left(world, "Secretville", "verbatim words 90 end") == []


def test_erasing_again_changes_nothing_and_every_record_keeps_its_place(world: World) -> None:
    world.publish(*(said(i) for i in range(20)))
    store = world.host.store
    forget_embedded(
        world.host, SETTINGS, folder_of(world), {"scope": "subject", "subject": NAME, "reason": "asked for"}
    )
    before = list(store.everything())

    again = erase(store)

    assert (again.rows, again.wishes) == ({}, [])
    assert list(store.everything()) == before
    records = store.read(Topic.BY_CLAIM, PARTITION, 0, 100)
    assert [r.offset for r in records] == list(range(store.end(Topic.BY_CLAIM, PARTITION)))
    assert all(decode_batch(r.value).entries for r in records)


@pytest.mark.parametrize("scope", ["observation", "subject"])
def test_a_read_model_built_anew_after_a_forget_shows_what_the_old_one_shows(
    world: World, scope: str
) -> None:
    world.publish(*(said(i) for i in range(100)), *(said(i, subject="Bob") for i in range(30)))
    model = opened_model(world)
    fields = {"observation_id": "Kim-lives_in-90"} if scope == "observation" else {}
    forget_embedded(
        world.host,
        SETTINGS,
        folder_of(world),
        {"scope": scope, "subject": NAME, "reason": "asked for", **fields},
    )
    old = rows(model)

    rebuild_embedded(model, world.host.store)

    assert rows(model) == old
    model.close()


def test_a_wish_that_came_by_the_topic_is_carried_out_later_and_leaves_what_was_said_since(
    world: World,
) -> None:
    world.publish(*(said(i) for i in range(60)), *(said(i, subject="Bob") for i in range(30)))
    model = opened_model(world)
    wish = {"op": "forget", "scope": "subject", "subject": NAME, "reason": "asked for"}
    world.host.publish(Topic.CORRECTIONS, [(None, json.dumps(wish).encode(), None)])
    world.publish(said(70), said(90))

    erase_everything(world.host, SETTINGS, folder_of(world))

    assert left(world, "verbatim words 47 end", "verbatim words 59 end") == []
    assert "table claims" in left(world, NAME)
    with model.reading() as connection:
        shown = facts(connection, folding_of(SETTINGS), FactFilter(subject=NAME), now=day(999), limit=9).items
    assert [f.object for f in shown] == [f["object"] for f in facts_of(world, NAME)] != []
    model.close()


def rows(model: ReadModel) -> dict[str, list[Any]]:
    from agents.read_model import schema

    found = {}
    with model.reading() as connection:
        for table in (
            schema.facts,
            schema.fact_versions,
            schema.evidence,
            schema.claims,
            schema.subjects,
            schema.links,
        ):
            columns = [column for column in table.c if column.name != "seq"]
            found[table.name] = sorted(
                map(repr, connection.execute(table.select().with_only_columns(*columns)))
            )
    return found


def test_the_command_forgets_proves_it_and_says_where_something_is_left(tmp_path: Path) -> None:
    world = World(tmp_path / "log").publish(*(said(i) for i in range(30)))
    world.publish(observe("knows Kim Secretname", 1, id="b1", subject="Bob"))
    world.close()
    data = ["--data", str(tmp_path / "log"), "--json"]

    clean = CliRunner().invoke(
        app, ["forget", "observation", "Kim-lives_in-7", "--subject", "kim secretname", "--reason", "asked",
              "--text", "verbatim words 7 end", *data],
    )  # fmt: skip
    named = CliRunner().invoke(app, ["forget", "subject", NAME, "--reason", "asked for", *data])
    again = CliRunner().invoke(
        app, ["forget", "subject", NAME, "--verify", "--text", "verbatim words", *data]
    )
    blank = CliRunner().invoke(app, ["forget", "subject", NAME, *data])

    assert clean.exit_code == 0
    assert json.loads(clean.stdout)["proof"]["clean"]
    assert (named.exit_code, again.exit_code) == (4, 4)  # Bob still speaks of Kim
    found = {one["where"] for one in json.loads(again.stdout)["proof"]["left"]}
    assert {"table claims", "topic observations", "file factdrift.sqlite"} <= found
    assert blank.exit_code != 0


def test_words_are_found_however_they_are_written() -> None:
    words = Words(['Zoë "the fox"'])

    assert words.are_in('xx zoë "the fox" yy'.encode())
    assert words.are_in(json.dumps({"a": 'Zoë "the fox"'}).encode())
    assert words.are_in(json.dumps({"a": 'ZO\u00cb "the fox"'}, ensure_ascii=False).encode()) is False
    assert not words.are_in(b"zoe")
    with pytest.raises(NoWords):
        Words([" "])
