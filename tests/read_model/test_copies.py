"""An observation that came twice and was refined otherwise the second time is evidence of one claim only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from agents.read_model import ReadModel, catch_up, rebuild_embedded, schema
from tests.cases.world import World, observe
from tests.parts.language import LanguageServer, environment, serving


@pytest.fixture
def server() -> Iterator[LanguageServer]:
    with serving() as found:
        found.model = lambda _asked: json.dumps(
            {"predicate": f"relation_{'abcdef'[found.n_requests]}", "object": "Oslo"}
        )
        yield found


def predicates(model: ReadModel) -> list[str]:
    """The predicate of each piece of evidence."""
    claims, evidence = schema.claims.c, schema.evidence.c
    question = select(claims.predicate).join_from(
        schema.evidence, schema.claims, claims.claim_id == evidence.claim_id
    )
    with model.reading() as connection:
        return sorted(connection.execute(question).scalars())


@pytest.mark.parametrize("at_once", [True, False])
def test_a_copy_in_another_claim_is_no_evidence(
    model: ReadModel, server: LanguageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    for name, value in {**environment(server), "FACTDRIFT_LLM_KEPT_MAX": "0"}.items():
        monkeypatch.setenv(name, value)
    world = World(tmp_path / "asked")
    line = observe("Oslo", 1, id="a")

    for said in (line, line, observe("Oslo", 1, id="b"), line):
        world.publish(said)
        if not at_once:
            catch_up(model, world.host.store)
    catch_up(model, world.host.store)
    followed = predicates(model)
    rebuild_embedded(model, world.host.store)

    assert followed == predicates(model) == ["relation_b", "relation_d"]
    world.close()
