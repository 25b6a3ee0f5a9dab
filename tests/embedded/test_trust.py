"""Learnt trust in the whole embedded host: snapshots in the log, exact replays, what readers are told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import URL

from agents import composition
from agents.api.explanations import Explanation
from agents.claims import read_claim
from agents.clock import tick_request
from agents.explaining import as_json
from agents.logs import EmbeddedLog
from agents.models import identity_of
from agents.read_model import ReadModel, catch_up, claim_read, folding_of, open_url
from agents.read_model.past import facts_of
from agents.reclustering import due, request
from agents.replay import events, records
from agents.telling import Telling
from agents.trust_snapshots import SNAPSHOTS_TABLE, newest_of
from state.facts import as_text
from state.instants import Instant
from state.trust import NEUTRAL
from state.why import explain
from streams.codec import decode_batch
from streams.embedded import PARTITION, EmbeddedHost, EmbeddedStore
from streams.settings import Settings
from streams.topics import Topic
from tests.builders import day
from tests.cases.world import iso

LEARNED = Settings(trust="learned", vectors="none", links="off")
PLAIN = Settings(vectors="none", links="off")
SHARES = {"poor": 0.25, "fair": 0.8, "good": 0.95}
VALUES = ["Oslo", "Rome", "York", "Bern", "Nice", "Bath"]

Line = dict[str, Any]


def said(subject: str, source: str, value: str, at: float, *, document: str = "page") -> Line:
    return {
        "subject": subject,
        "predicate": "born_in",
        "object": value,
        "observed_at": iso(at),
        "source": {"id": source, "document": f"{source}, {subject}, {document}"},
    }


def drawn(n_subjects: int, *, seed: int = 1) -> list[Line]:
    """People who were all born in Oslo, as three sources know it; the poor one always speaks first."""
    chance = Random(seed)
    return [
        said(f"person {number}", source, "Oslo" if chance.random() < share else chance.choice(VALUES[1:]), at)
        for number in range(n_subjects)
        for at, (source, share) in enumerate(SHARES.items())
    ]


DISPUTE = [said("zoe", "poor", "Rome", 1), said("zoe", "good", "Oslo", 2)]
"""A tie, which the plain vote gives to whoever was observed first."""


@contextlib.contextmanager
def log_in(folder: Path, settings: Settings = LEARNED) -> Iterator[EmbeddedHost]:
    host = composition.embedded(settings, folder)
    try:
        yield host
    finally:
        host.store.close()


def publish(host: EmbeddedHost, lines: Sequence[Line], *, at: float = 300) -> None:
    host.publish(Topic.OBSERVATIONS, [(None, json.dumps(line).encode(), day(at)) for line in lines])


def tick(host: EmbeddedHost) -> None:
    host.publish(Topic.CLOCK, [(None, tick_request(day(400)), None)])


def fill(host: EmbeddedHost, lines: Sequence[Line], sizes: int) -> None:
    """The lines in batches, with a tick behind each."""
    for start in range(0, len(lines), sizes):
        publish(host, lines[start : start + sizes])
        tick(host)


def held(host: EmbeddedHost, subject: str) -> tuple[object, str]:
    """The value of the open fact about a subject, and the version of the policy that decided it."""
    newest: dict[str, Line] = {}
    for event in events(host.store):
        if event["subject"] == subject:
            newest[event["fact_id"]] = event
    [fact] = [event for event in newest.values() if event["reason"] is None]
    return fact["object"], fact["policy_version"]


def test_a_source_that_proved_better_wins_a_tie_and_the_fact_names_the_snapshot(tmp_path: Path) -> None:
    with log_in(tmp_path) as host:
        fill(host, drawn(80), 60)
        publish(host, DISPUTE)

        number = newest_of(host.store.get, "default").number
        assert number > 0
        assert held(host, "zoe") == ("Oslo", f"1+trust={number}")


def test_without_the_setting_nothing_is_learnt_and_no_table_or_record_tells_of_it(tmp_path: Path) -> None:
    with log_in(tmp_path, PLAIN) as host:
        fill(host, [*drawn(40), *DISPUTE], 30)

        assert held(host, "zoe") == ("Rome", "1")
        assert not [name for agent in host.agents for name in agent.tables if "trust" in name]
        assert not list(host.store.items(SNAPSHOTS_TABLE, b""))
        assert all(b"trust" not in record.value for record in records(host.store, Topic.CYCLE_PARTS))


def test_predicates_that_can_change_are_folded_as_ever(tmp_path: Path) -> None:
    lines = [{**line, "predicate": "lives_in"} for line in (*drawn(30), *DISPUTE)]
    found = []
    for settings in (PLAIN, LEARNED):
        with log_in(tmp_path / settings.trust, settings) as host:
            fill(host, lines, 20)
            found.append(events(host.store))

    assert found[0] == found[1]


def test_a_replay_of_the_internal_topic_gives_the_same_events_whatever_would_be_learnt_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with log_in(tmp_path / "first") as host:
        fill(host, [*drawn(60), *DISPUTE, *drawn(60, seed=2)], 50)
        expected = events(host.store)
        log = [(None, record.value, record.recorded_at) for record in records(host.store, Topic.BY_CLAIM)]
    monkeypatch.setattr("agents.trust_totals.learn", lambda _counts: {})

    store = EmbeddedStore(tmp_path / "again")
    folding = composition.agents(LEARNED, keeps_index=True)[1:]
    again = EmbeddedHost(store, folding, clock=lambda: Instant(0))
    again.publish(Topic.BY_CLAIM, log)

    assert {event["policy_version"] for event in expected} > {"1+trust=0"}
    assert events(store) == expected
    store.close()


def test_batches_do_not_matter_as_long_as_ticks_stand_in_the_same_places(tmp_path: Path) -> None:
    lines, found = [*drawn(60), *DISPUTE], []
    for size in (1, 7, 40):
        with log_in(tmp_path / str(size)) as host:
            for start in range(0, len(lines), 40):
                part = lines[start : start + 40]
                for first in range(0, len(part), size):
                    publish(host, part[first : first + size])
                tick(host)
            facts = [json.loads(value) for _, value in host.store.latest(Topic.FACTS)]
            kept = [fact for fact in facts if fact["reason"] != "withdrawn"]
            found.append(sorted((fact["fact_id"], fact["object"], fact["policy_version"]) for fact in kept))

    assert found[0] == found[1] == found[2]


def test_the_order_of_arrival_changes_no_weight_once_all_comparisons_are_learnt_from(tmp_path: Path) -> None:
    lines, found = drawn(80), []
    for seed in range(3):
        with log_in(tmp_path / str(seed)) as host:
            fill(host, Random(seed).sample(lines, len(lines)), len(lines) // (seed + 1))
            snapshots = [
                entry.usable
                for record in records(host.store, Topic.BY_CLAIM)
                for entry in decode_batch(record.value).entries
                if type(entry.usable).__name__ == "TrustSnapshot"
            ]
            assert len(snapshots) <= 4, "something is learnt where comparisons have grown, not at every tick"
            found.append(newest_of(host.store.get, "default").weights)

    assert found[0] == found[1] == found[2] != {}


def test_a_claim_is_weighed_again_when_it_next_hears_something(tmp_path: Path) -> None:
    with log_in(tmp_path) as host:
        publish(host, DISPUTE)
        fill(host, drawn(80), 60)
        assert held(host, "zoe") == ("Rome", "1+trust=0")

        publish(host, [said("zoe", "late", "York", 3)])

        assert held(host, "zoe")[0] == "Oslo"


def test_disputed_claims_are_weighed_again_when_somebody_asks_for_it(tmp_path: Path) -> None:
    settings = Settings(trust="learned", links="off")
    model = identity_of(composition.vectors(settings))
    with log_in(tmp_path, settings) as host:
        publish(host, DISPUTE)
        publish(host, [said("ann", "poor", "Rome", 1), said("ann", "good", "Rome", 2)])
        tick(host)
        fill(host, drawn(80), 240)
        log = EmbeddedLog(host)
        assert held(host, "zoe")[0] == "Rome"

        found = due(log, model)
        assert {"zoe"} <= {one.subject for one in found if one.outweighed}
        assert "ann" not in {one.subject for one in found if one.outweighed}, "nobody disagrees there"
        list(request(log, found, batch_max=100))

        assert held(host, "zoe")[0] == "Oslo"
        assert not [one for one in due(log, model) if one.outweighed]


def test_switched_off_again_votes_are_plain_when_a_claim_next_hears_something(tmp_path: Path) -> None:
    with log_in(tmp_path) as host:
        fill(host, drawn(80), 60)
        publish(host, DISPUTE)
    with log_in(tmp_path, PLAIN) as host:
        publish(host, [said("zoe", "late", "York", 3)])

        assert held(host, "zoe") == ("Rome", "1")


# -- what readers are told ------------------------------------------------------------------


def test_why_says_what_each_source_weighed_and_by_which_snapshot(tmp_path: Path) -> None:
    with log_in(tmp_path) as host:
        fill(host, drawn(80), 60)
        publish(host, DISPUTE)
        trust = newest_of(host.store.get, "default")
        tick(host)
        fill(host, drawn(100, seed=3), 300)
        read = read_claim(host.store, LEARNED, subject="Zoe", predicate="born in", namespace=None)

    explanation = explain(read.statements, read.predicate, read.policy, read.cluster_of)
    told = " ".join(Telling(explanation, "Zoe's born_in", now=day(400)).claim())
    written = as_json(read, explanation, None, now=day(400), during=None)

    assert f"worth by the end of cycle {trust.number}." in told
    good, poor = trust.of("good") / NEUTRAL, trust.of("poor") / NEUTRAL
    assert f"By weight: Oslo {good:g} and Rome {poor:g}." in told
    assert f"good weighs {good:g}" in told
    assert written["trust"] == {"snapshot": trust.number, "weights": {"good": good, "poor": poor}}
    shaped = Explanation.model_validate(written)
    assert shaped.trust is not None
    assert shaped.trust.snapshot == trust.number


def test_why_says_nothing_of_weights_where_votes_are_plain(tmp_path: Path) -> None:
    with log_in(tmp_path, PLAIN) as host:
        publish(host, DISPUTE)
        read = read_claim(host.store, PLAIN, subject="zoe", predicate="born_in", namespace=None)

    explanation = explain(read.statements, read.predicate, read.policy, read.cluster_of)
    told = " ".join(Telling(explanation, "Zoe's born_in", now=day(400)).claim())

    assert "weigh" not in told
    assert "by plain majority over all documents." in told
    assert "trust" not in as_json(read, explanation, None, now=day(400), during=None)


def test_the_read_model_folds_the_past_by_the_weights_of_then(tmp_path: Path) -> None:
    with log_in(tmp_path / "log") as host, _read_model(tmp_path) as model:
        publish(host, DISPUTE, at=300)
        fill(host, drawn(80), 60)
        publish(host, [said("zoe", "late", "York", 3)], at=310)
        catch_up(model, host.store)

        with model.reading() as connection:
            then, now = (
                claim_read(connection, folding_of(LEARNED), subject="zoe", predicate="born_in", known_at=at)
                for at in (day(305), None)
            )

    assert [as_text(fact.object) for fact in facts_of(then)] == ["Rome"]
    assert [as_text(fact.object) for fact in facts_of(now)] == ["Oslo"]
    assert then.policy.version == "1+trust=0"
    assert now.policy.version != "1+trust=0"


@contextlib.contextmanager
def _read_model(folder: Path) -> Iterator[ReadModel]:
    with contextlib.closing(open_url(URL.create("sqlite", database=str(folder / "model.sqlite")))) as model:
        yield model


def test_snapshots_of_one_namespace_say_nothing_of_another(tmp_path: Path) -> None:
    with log_in(tmp_path) as host:
        fill(host, drawn(80), 60)
        publish(host, [{**line, "namespace": "other"} for line in DISPUTE])

        assert newest_of(host.store.get, "other").number == 0
        assert held(host, "zoe") == ("Rome", "1+trust=0")
        assert host.store.end(Topic.BY_CLAIM, PARTITION) > 0
