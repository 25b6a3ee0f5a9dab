"""For any history and any instant: what was known is what a replay of only what was recorded by then gives.

Both databases hold the same data and must give the same answers.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import URL

from agents.read_model import FactFilter, ReadModel, catch_up, claim_read, claims, migrations, open_url
from agents.read_model.past import facts_of
from state.facts import State
from state.instants import Instant, parse_instant
from state.interval import parse
from streams.wire import to_json
from tests.builders import day
from tests.cases.world import World, fresh, iso, observe, retract
from tests.parts.postgres import PostgresServer
from tests.read_model.asked import FOLDING, all_facts, lines, recorded, rows

VALUES = [
    "Oslo",
    "Bergen",
    "adoption agency",
    "adoption agencies",
    "5 kg",
    "5000 g",
    "2023-05",
    "8 May 2023",
    True,
]
PREDICATES = ["prefers", "lives in", "speaks", "born in"]  # undeclared, single, multi, never changing
IDS = ["a", "b", "c"]
DAYS = 12


@st.composite
def observations(draw: st.DrawFn, claims: list[tuple[str, str]], values: list[Any]) -> dict[str, Any]:
    """An observation, learnt when it was said or later; ids are few, so that some contradict each other."""
    said = draw(st.integers(1, DAYS))
    subject, predicate = draw(st.sampled_from(claims))
    line = observe(
        draw(st.sampled_from(values)),
        said,
        id=draw(st.sampled_from([None, *IDS, *IDS])),
        document=draw(st.none() | st.sampled_from(["d1", "d2"])),
        subject=subject,
        predicate=predicate,
        valid_from=draw(st.none() | st.integers(0, DAYS)),
        polarity=draw(st.sampled_from(["affirmed", "affirmed", "denied"])),
    )
    if "valid_from" in line and draw(st.booleans()):
        line["valid_to"] = observe(1, draw(st.integers(DAYS + 1, DAYS + 3)))["observed_at"]
    return recorded(line, said + draw(st.sampled_from([0, 0, 1, 5, 20])))


@st.composite
def retracts(draw: st.DrawFn) -> dict[str, Any]:
    """A retract of an id, of one subject or of any."""
    where = draw(st.sampled_from([{}, {"namespace": "default", "subject": "kim"}]))
    return recorded(retract(draw(st.sampled_from(IDS)), **where), draw(st.integers(1, DAYS + 20)))


@st.composite
def decisions(draw: st.DrawFn, claims: list[tuple[str, str]]) -> dict[str, Any]:
    """A decision of a person about a value; some come before anything is known, or close what is closed."""
    at = draw(st.integers(1, DAYS))
    subject, predicate = draw(st.sampled_from(claims))
    line = {
        "op": draw(st.sampled_from(["supersede", "invalidate"])),
        "correction_id": draw(st.sampled_from(["c1", "c2", *IDS[:1]])),
        "subject": subject,
        "predicate": predicate,
        "target": draw(
            st.sampled_from([{"object": "Oslo"}, {"object": "Bergen"}, {"observation_ids": ["a"]}])
        ),
        "valid_at": iso(at),
        "reason": "because",
    }
    if line["op"] == "supersede":
        line["object"] = draw(st.sampled_from(["Bergen", "Rome"]))
    return recorded(line, at + draw(st.sampled_from([0, 1, 5, 20])))


@st.composite
def _histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """What is said about several claims, or about one, which then has more to decide."""
    several = [(subject, predicate) for subject in ("kim", "Ann") for predicate in PREDICATES]
    claims = draw(st.sampled_from([several, [("kim", "prefers")], [("kim", "speaks")]]))
    spoken = observations(claims, [*VALUES, None] if len(claims) > 1 else ["Oslo", "Bergen"])
    return draw(st.lists(st.one_of(spoken, spoken, retracts(), decisions(claims)), min_size=4, max_size=14))


histories = _histories()
batch_sizes = st.lists(st.sampled_from([1, 1, 1, 2, 6]), min_size=6, max_size=14)


def known_by(history: list[dict[str, Any]], instant: Instant) -> list[dict[str, Any]]:
    """The lines that were recorded by an instant."""
    return [line for line in history if parse_instant(line["recorded_at"]) <= instant]


@contextlib.contextmanager
def sqlite() -> Iterator[ReadModel]:
    """An empty read model in a file that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="factdrift-past-") as folder:
        url = URL.create("sqlite", database=str(Path(folder) / "read-model.sqlite"))
        with contextlib.closing(open_url(url)) as model:
            yield model


def replayed(history: list[dict[str, Any]], sizes: list[int], instant: Instant, now: int) -> list[bytes]:
    """The facts that those lines give in a log of their own that were recorded by an instant.

    In the same batches, as a decision is about what stood before its own batch.
    """
    left = list(history)
    with fresh() as world:
        for size in [*sizes, len(history)]:
            batch, left = known_by(left[:size], instant), left[size:]
            if batch:
                world.publish(*batch)
        return [to_json(line) for line in world.facts(at=now)]


def answered(model: ReadModel, instant: Instant, now: int) -> list[bytes]:
    """The facts that the read model says were known at an instant."""
    with model.reading() as connection:
        found = all_facts(connection, now=day(now), known_at=instant, limit=3)
    return [to_json(line) for line in lines(found, now=day(now))]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories, sizes=batch_sizes)
def test_what_was_known_is_what_a_replay_of_only_that_gives(
    history: list[dict[str, Any]], sizes: list[int]
) -> None:
    instants = sorted({parse_instant(line["recorded_at"]) for line in history})
    with fresh() as world, sqlite() as model:
        world.batches(history, sizes)
        catch_up(model, world.host.store)

        for instant in (Instant(instants[0] - 1), *instants):
            assert answered(model, instant, 40) == replayed(history, sizes, instant, 40)


def test_an_id_retracted_again_stays_retracted_since_the_first_time() -> None:
    """The later record says it was recorded earlier; a decision between the two is judged by the first."""
    decision = {
        "op": "supersede",
        "correction_id": "c1",
        "subject": "kim",
        "predicate": "prefers",
        "target": {"observation_ids": ["a"]},
        "object": "Rome",
        "valid_at": iso(2),
        "reason": "because",
    }
    history = [
        recorded(observe("Oslo", 2, id="a", subject="kim", predicate="prefers"), 2),
        recorded(observe("Oslo", 3, id="b", subject="kim", predicate="prefers"), 3),
        recorded(retract("a"), 19),
        recorded(decision, 2),
        recorded(retract("a"), 2),
    ]
    sizes = [1] * len(history)
    with fresh() as world, sqlite() as model:
        world.batches(history, sizes)
        catch_up(model, world.host.store)
        for number in (2, 3, 18, 19, 20):
            assert answered(model, day(number), 40) == replayed(history, sizes, day(number), 40)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories, sizes=batch_sizes)
def test_what_is_known_now_is_what_the_log_says_by_either_way(
    history: list[dict[str, Any]], sizes: list[int]
) -> None:
    with fresh() as world, sqlite() as model:
        world.batches(history, sizes)
        catch_up(model, world.host.store)

        with model.reading() as connection:
            published = [to_json(line) for line in lines(all_facts(connection, now=day(40)), now=day(40))]
        assert published == [to_json(line) for line in world.facts(at=40)]
        assert answered(model, day(100), 40) == published


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(history=histories, sizes=batch_sizes, instant=st.integers(0, DAYS + 21))
def test_both_databases_hold_and_answer_the_same(
    postgres_model: ReadModel, history: list[dict[str, Any]], sizes: list[int], instant: int
) -> None:
    with postgres_model.writing() as connection:
        migrations.empty(connection)
    wanted = [
        FactFilter(),
        FactFilter(subject="ANN", state=State.RETIRED),
        FactFilter(object="oslo", contested=False),
        FactFilter(overlaps=parse("2024-01-03/2024-01-06")),
    ]
    with fresh() as world, sqlite() as model:
        world.batches(history, sizes)
        for each in (model, postgres_model):
            catch_up(each, world.host.store)

        assert rows(model) == rows(postgres_model)
        for question in wanted:
            for clocks in ({}, {"known_at": day(instant)}, {"valid_at": day(5)}):
                with model.reading() as one, postgres_model.reading() as other:
                    answers = [all_facts(c, question, now=day(40), limit=2, **clocks) for c in (one, other)]
                assert answers[0] == answers[1]


@pytest.fixture
def postgres_model(postgres: PostgresServer) -> Iterator[ReadModel]:
    """A read model on PostgreSQL."""
    with postgres.database() as url, contextlib.closing(open_url(url)) as model:
        yield model


def test_a_claim_is_read_for_explanations_as_it_was(model: ReadModel, world: World) -> None:
    world.each(
        [
            recorded(observe("Oslo", 1), 1),
            recorded(observe("adoption agency", 3), 3),
            recorded(observe("adoption agencies", 5), 8),
        ]
    )
    catch_up(model, world.host.store)

    with model.reading() as connection:
        then = claim_read(connection, FOLDING, subject="Kim", predicate="prefers", known_at=day(4))
        today = claim_read(connection, FOLDING, subject="Kim", predicate="prefers")
        [claim] = claims(connection, known_at=day(4)).items

    assert [fact.object for fact in facts_of(then)] == ["Oslo", "adoption agency"]
    assert len(set(then.cluster_of.values())) == 2
    assert len(set(today.cluster_of.values())) == 2
    assert len(today.cluster_of) == 3
    assert claim.n_statements == 2
