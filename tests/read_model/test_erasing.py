"""Forgetting: no row and no file holds the text any more, and answers about that past say so."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from sqlalchemy import URL

from agents.read_model import (
    FactFilter,
    ReadModel,
    Scope,
    catch_up,
    claims,
    erase,
    evidence,
    facts,
    history,
    open_url,
)
from tests.builders import day
from tests.cases.world import World, observe, retract
from tests.read_model.asked import FOLDING, all_facts, recorded, rows

SECRET = "Xanadu"


def said(world: World) -> None:
    """Kim was in two places, one of them a secret; so was somebody else."""
    world.each(
        [
            recorded(observe("Oslo", 1, id="a", document="d1"), 1),
            recorded(observe(SECRET, 5, id="b", document="d2", content=f"in {SECRET}"), 5),
            recorded(observe("Rome", 5, id="c", subject="ann"), 5),
        ]
    )


def holds(model: ReadModel, word: str) -> bool:
    """Whether a row holds a word anywhere."""
    return any(
        word.lower().encode() in (value if isinstance(value, bytes) else str(value).encode()).lower()
        for table in rows(model).values()
        for row in table
        for value in row
    )


def test_a_forgotten_subject_is_in_no_row(model: ReadModel, world: World) -> None:
    said(world)
    catch_up(model, world.host.store)

    with model.writing() as connection:
        done = erase(connection, Scope("default", subject="KIM"), erased_at=day(9))
        again = erase(connection, Scope("default", subject="KIM"), erased_at=day(9))

    assert not holds(model, SECRET)
    assert not holds(model, "kim")
    assert done.rows["evidence"] == 2
    assert again.rows == {}
    with model.reading() as connection:
        assert [f.object for f in all_facts(connection, now=day(20))] == ["Rome"]
        assert facts(connection, FOLDING, FactFilter(), now=day(20), known_at=day(6)).incomplete
        assert not facts(connection, FOLDING, FactFilter(), now=day(20), known_at=day(9)).incomplete
        assert not facts(connection, FOLDING, FactFilter(), now=day(20)).incomplete


@pytest.mark.parametrize(
    "scope", [Scope("default", observation_id="b"), Scope("default", subject="kim", observation_id="b")]
)
def test_a_forgotten_observation_takes_the_versions_with_it_that_may_hold_its_text(
    model: ReadModel, world: World, scope: Scope
) -> None:
    said(world)
    world.publish(recorded(retract("b"), 8))  # what forgetting does to the facts
    catch_up(model, world.host.store)

    with model.writing() as connection:
        done = erase(connection, scope, erased_at=day(8))

    assert not holds(model, SECRET)
    assert holds(model, "Oslo")
    assert done.rows["evidence"] == 1
    with model.reading() as connection:
        assert [f.object for f in all_facts(connection, now=day(20))] == ["Rome", "Oslo"]
        kim = next(c for c in claims(connection).items if c.subject == "kim")
        assert [v.object for v in history(connection, claim_id=kim.claim_id).items] == ["Oslo"]
        assert evidence(connection, kim.claim_id, known_at=day(7)).incomplete
        assert not evidence(connection, kim.claim_id, known_at=day(8)).incomplete


def test_a_forgotten_source_is_that_of_its_namespace_alone(model: ReadModel, world: World) -> None:
    world.each(
        [
            observe("Oslo", 1, source={"id": "spy"}),
            observe("Rome", 1, subject="ann", source={"id": "press"}),
            observe("Lima", 1, subject="bo", source={"id": "spy"}, namespace="other"),
        ]
    )
    catch_up(model, world.host.store)

    with model.writing() as connection:
        done = erase(connection, Scope("default", source="spy"), erased_at=day(9))

    assert len(done.claims) == 1
    assert sorted(row[1] for row in rows(model)["evidence"]) == sorted(
        row[1] for row in rows(model)["evidence"] if row[3] in ("press", "spy")
    )
    assert [row[3] for row in rows(model)["evidence"]].count("spy") == 1


def test_no_file_holds_what_was_erased(tmp_path: Path, world: World) -> None:
    said(world)
    folder = tmp_path / "sql"
    with contextlib.closing(open_url(URL.create("sqlite", database=str(folder / "m.sqlite")))) as model:
        catch_up(model, world.host.store)
        assert _in_files(folder)
        with model.writing() as connection:
            erase(connection, Scope("default", subject="kim"), erased_at=day(9))
        model.reclaim()
        assert not _in_files(folder)


def _in_files(folder: Path) -> bool:
    return any(SECRET.encode() in path.read_bytes() for path in folder.iterdir())


def test_space_can_be_reclaimed_on_either_database(model: ReadModel, world: World) -> None:
    said(world)
    catch_up(model, world.host.store)
    before = rows(model)

    model.reclaim()

    assert rows(model) == before
