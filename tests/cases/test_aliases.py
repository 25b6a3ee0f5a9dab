"""Predicates that are aliases, through the whole embedded host: claims meet, and what was written stays."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.accepting import judge
from agents.claims import NoSuchClaim, read_claim
from agents.main import app
from state.identity import claim_id
from state.instants import INSTANT_MAX
from state.observations import Observation
from streams.codec import decode_batch
from streams.embedded import PARTITION
from streams.settings import Settings
from streams.topics import Topic
from tests.cases.world import World, counts, numbered, objects, observe, retract

TABLE = '[aliases]\nobtained = ["was given", "acquired"]\n'


@pytest.fixture
def aliases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of predicates that today's settings name."""
    file = tmp_path / "predicates.toml"
    file.write_text(TABLE, encoding="utf-8")
    monkeypatch.setenv("FACTDRIFT_PREDICATES", str(file))
    return file


def said(predicate: str, day: float, value: str = "a letter", **fields: str) -> dict[str, object]:
    return observe(value, day, predicate=predicate, **fields)


def observations(world: World) -> list[Observation]:
    records = world.host.store.read(Topic.BY_CLAIM, PARTITION, 0, 1_000)
    usable = [entry.usable for record in records for entry in decode_batch(record.value).entries]
    return [one for one in usable if isinstance(one, Observation)]


@pytest.mark.usefixtures("aliases")
def test_what_is_said_under_aliases_is_one_claim_under_the_name_that_is_meant(tmp_path: Path) -> None:
    world = World(tmp_path / "log")
    world.each(numbered([said("was given", 1), said("Acquired", 2), said("obtained", 3)]))

    facts = world.facts()

    assert counts(facts) == [("a letter", 3, 0, 3)]
    assert [fact["predicate"] for fact in facts] == ["obtained"]


@pytest.mark.usefixtures("aliases")
def test_what_was_written_stays_on_the_record(tmp_path: Path) -> None:
    world = World(tmp_path / "log").each(numbered([said("Was given", 1), said("obtained", 2)]))

    assert [one.written_predicate for one in observations(world)] == ["Was given", None]
    raw = [record.value for record in world.host.store.read(Topic.OBSERVATIONS, PARTITION, 0, 10)]
    assert [json.loads(value)["predicate"] for value in raw] == ["Was given", "obtained"]


@pytest.mark.usefixtures("aliases")
def test_a_table_changes_no_id_of_an_observation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = said("was given", 1)
    folded = observations(World(tmp_path / "log").each([line]))
    monkeypatch.delenv("FACTDRIFT_PREDICATES")
    plain = observations(World(tmp_path / "plain").each([line]))

    assert [o.statement.observation_id for o in folded] == [o.statement.observation_id for o in plain]


@pytest.mark.usefixtures("aliases")
def test_an_alias_that_says_otherwise_contradicts_the_name_that_is_meant(tmp_path: Path) -> None:
    world = World(tmp_path / "log")
    world.each(numbered([said("obtained", 1, "a letter"), said("was given", 20, "a parcel")]))

    assert [(fact["object"], fact["state"]) for fact in world.facts()] == [
        ("a letter", "retired"),
        ("a parcel", "open"),
    ]


@pytest.mark.usefixtures("aliases")
def test_corrections_under_an_alias_reach_the_claim(tmp_path: Path) -> None:
    world = World(tmp_path / "log").each(numbered([said("was given", 1), said("obtained", 2)]))

    world.publish(
        {
            "op": "invalidate",
            "namespace": "default",
            "subject": "kim",
            "predicate": "acquired",
            "target": {"object": "a letter"},
            "reason": "it was somebody else",
        }
    )

    assert [(fact["object"], fact["reason"]) for fact in world.facts()] == [("a letter", "invalidated")]


@pytest.mark.usefixtures("aliases")
def test_what_an_alias_said_is_taken_back_by_its_id(tmp_path: Path) -> None:
    world = World(tmp_path / "log").each(numbered([said("was given", 1), said("obtained", 2)]))

    world.publish(retract("o000"))

    assert counts(world.facts()) == [("a letter", 1, 0, 1)]


@pytest.mark.usefixtures("aliases")
def test_questions_may_use_an_alias(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    World(folder).each(numbered([said("was given", 1)])).close()
    run = CliRunner()

    facts = run.invoke(app, ["facts", "kim", "acquired", "--data", str(folder), "--json"])
    why = run.invoke(app, ["why", "kim", "was given", "--data", str(folder), "--json"])
    history = run.invoke(app, ["history", "kim", "acquired", "--data", str(folder), "--json"])

    assert [json.loads(line)["predicate"] for line in facts.stdout.splitlines()] == ["obtained"]
    assert json.loads(why.stdout)["predicate"] == "obtained"
    assert [json.loads(line)["object"] for line in history.stdout.splitlines()] == ["a letter"]


def test_another_table_is_told_once_and_holds_for_what_is_read_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder, file = tmp_path / "log", tmp_path / "predicates.toml"
    World(folder).each(numbered([said("was given", 1)])).close()
    file.write_text(TABLE, encoding="utf-8")
    monkeypatch.setenv("FACTDRIFT_PREDICATES", str(file))

    world = World(folder)
    with caplog.at_level(logging.WARNING):
        world.each(numbered([said("was given", 2)], prefix="p"))

    (told,) = [record.getMessage() for record in caplog.records if "aliases" in record.getMessage()]
    assert told.startswith("aliases_changed: ")
    assert "no aliases of predicates" in told
    assert "replay" in told
    assert sorted(fact["predicate"] for fact in world.facts()) == ["obtained", "was given"]
    assert (
        read_claim(
            world.host.store, Settings(), subject="kim", predicate="was given", namespace=None
        ).claim.predicate
        == "obtained"
    )
    world.close()

    caplog.clear()
    World(folder).each(numbered([said("was given", 3)], prefix="q"))
    assert not caplog.records


@pytest.mark.usefixtures("aliases")
def test_a_new_log_and_the_same_table_are_nothing_to_tell(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    World(tmp_path / "log").each(numbered([said("was given", 1)])).close()
    World(tmp_path / "log").each(numbered([said("was given", 2)], prefix="p")).close()

    assert not caplog.records


def test_what_was_folded_before_the_table_is_still_found_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, file = tmp_path / "log", tmp_path / "predicates.toml"
    World(folder).each(numbered([said("was given", 1)])).close()
    file.write_text(TABLE, encoding="utf-8")
    monkeypatch.setenv("FACTDRIFT_PREDICATES", str(file))

    world = World(folder)

    found = read_claim(world.host.store, Settings(), subject="kim", predicate="was given", namespace=None)
    assert found.claim.predicate == "was_given"
    with pytest.raises(NoSuchClaim):
        read_claim(world.host.store, Settings(), subject="kim", predicate="obtained", namespace=None)


@pytest.mark.usefixtures("aliases")
def test_the_change_feed_can_be_followed_under_an_alias(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    World(folder).each(numbered([said("was given", 1), said("drinks", 2, "tea")])).close()

    watched = CliRunner().invoke(
        app,
        ["watch", "--data", str(folder), "--predicate", "Acquired", "--from-start", "--once", "--json"],
        catch_exceptions=False,
    )

    assert {json.loads(line)["predicate"] for line in watched.stdout.splitlines()} == {"obtained"}


def test_a_sender_is_told_the_claim_that_is_meant() -> None:
    line = json.dumps(said("was given", 1)).encode()
    table = {"was_given": "obtained"}

    (found,) = judge([line], now=INSTANT_MAX, bytes_max=10_000, aliases=table)

    assert found.answer["claim_id"] == claim_id("default", "kim", "obtained")
    assert found.value == line


def test_a_table_that_cannot_be_true_starts_nothing(tmp_path: Path, aliases: Path) -> None:
    aliases.write_text('[aliases]\na = ["b"]\nb = ["a"]\n', encoding="utf-8")

    done = CliRunner().invoke(app, ["replay", "-", "--data", str(tmp_path / "log")], input="")

    assert done.exit_code != 0
    assert "alias_cycle" in str(done.exception)


@pytest.mark.usefixtures("aliases")
def test_values_of_every_alias_are_clustered_together(tmp_path: Path) -> None:
    world = World(tmp_path / "log")
    world.each(numbered([said("was given", 1, "adoption agencies"), said("obtained", 2, "adoption agency")]))

    assert len(objects(world.facts())) == 1
