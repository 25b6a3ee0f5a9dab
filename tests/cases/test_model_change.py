"""A log whose tables another model built: refused, or gone on with, and told in events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents import composition
from agents.claims import read_claim
from agents.logs import EmbeddedLog
from agents.main import app
from agents.models import ModelChanged, identity_of
from agents.reclustering import due, request
from streams.settings import Settings
from tests.cases.world import World, numbered, observe

LINES = numbered(
    [observe("adoption agencies", 1), observe("adoption agency", 2), observe("tea", 3, predicate="likes")]
)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """The folder of a log that the packaged vectors built."""
    World(tmp_path).each(LINES).close()
    return tmp_path


@pytest.fixture
def stricter(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, after another threshold was set: the two spellings are two values from now on."""
    monkeypatch.setenv("FACTDRIFT_VECTORS_THRESHOLD", "0.99")
    return built


def accepted(folder: Path) -> World:
    world = World(folder)
    world.host.start(accept_model_change=True)
    return world


def test_another_model_is_refused_before_anything_is_written(stricter: Path) -> None:
    world = World(stricter)
    before = world.lines()

    with pytest.raises(ModelChanged) as refused:
        world.each(numbered([observe("coffee", 4)], prefix="p"))

    assert refused.value.code == "model_changed"
    assert "/0.84, and the settings name " in str(refused.value)
    assert "--accept-model-change" in str(refused.value)
    assert world.lines() == before


def test_the_same_model_goes_on_and_so_does_a_new_log(built: Path, tmp_path: Path) -> None:
    World(built).each(numbered([observe("coffee", 4)], prefix="p"))
    World(tmp_path / "new").each(LINES)


@pytest.mark.parametrize(("first", "then"), [("packaged", "none"), ("none", "packaged")])
def test_vectors_that_come_or_go_are_another_model_too(
    first: str, then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTDRIFT_VECTORS", first)
    World(tmp_path).each(LINES).close()
    monkeypatch.setenv("FACTDRIFT_VECTORS", then)

    with pytest.raises(ModelChanged):
        World(tmp_path).each(LINES)


def test_a_log_can_be_read_with_any_model_and_tells_by_which_it_was_built(stricter: Path) -> None:
    world = World(stricter)

    read = read_claim(world.host.store, Settings(), subject="kim", predicate="prefers", namespace=None)

    assert read.claim.forms.model.endswith("/0.84")
    assert read.threshold == 0.84
    assert all(form.vector is not None for form in read.forms.values())


def test_once_accepted_a_claim_is_compared_anew_when_it_is_touched_and_others_are_left(
    stricter: Path, tmp_path: Path
) -> None:
    touch = numbered([observe("adoption agencies", 4)], prefix="p")
    fresh = World(tmp_path / "fresh").each([*LINES, *touch])
    world = accepted(stricter)
    n_events = len(world.events())

    world.each(touch)

    assert world.lines() == fresh.lines()
    assert world.told() == world.facts()
    new = world.events()[n_events:]
    assert {event["predicate"] for event in new} == {"prefers"}
    assert {event["model"].rsplit("/", 1)[1] for event in new} == {"0.99"}
    World(stricter).each(LINES)  # accepted for good


def test_a_recluster_compares_every_claim_of_another_model_at_once(stricter: Path, tmp_path: Path) -> None:
    fresh = World(tmp_path / "fresh").each(LINES)
    world = accepted(stricter)
    log, identity = EmbeddedLog(world.host), identity_of(composition.vectors(Settings()))

    found = due(log, identity)
    n_asked = list(request(log, found, batch_max=1))

    assert [(one.predicate, one.degraded) for one in found] == [("prefers", False)]
    assert n_asked == [1]
    assert due(log, identity) == []
    assert world.lines() == fresh.lines()


def test_the_commands_refuse_with_one_sentence_and_go_on_when_told_to(stricter: Path, tmp_path: Path) -> None:
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps(observe("adoption agency", 9, id="late")), "utf-8")
    run = CliRunner()

    refused = run.invoke(app, ["replay", str(file), "--data", str(stricter)])
    asked = run.invoke(app, ["recluster", "--data", str(stricter)])
    done = run.invoke(app, ["recluster", "--data", str(stricter), "--accept-model-change", "--json"])
    replayed = run.invoke(app, ["replay", str(file), "--data", str(stricter)])

    assert isinstance(refused.exception, ModelChanged)
    assert isinstance(asked.exception, ModelChanged)
    assert done.exit_code == 0
    assert replayed.exit_code == 0


def test_a_release_that_kept_no_mark_is_gone_on_with(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(built)
    with world.host.store.transaction():
        world.host.store._db.execute("DELETE FROM meta WHERE name = 'mark:model'")
    world.close()
    monkeypatch.setenv("FACTDRIFT_VECTORS_THRESHOLD", "0.99")

    World(built).each(LINES)
