"""Drift alerts on the wire, and how the projection reads what the wire says."""

from __future__ import annotations

import json

import pytest

from state.changes import Change, Kind
from state.drift import UNSTABLE_ABOVE, Alert
from state.drift_causes import AlertKind, Cause
from state.drift_news import news_of
from state.identity import ClaimId, FactId
from state.instants import INSTANT_MIN, Instant
from streams.drift import read_batch
from streams.drift_wire import CAUSES_MAX, drift_alert
from streams.events import DriftAlert
from streams.host import Record
from streams.keys import Offset, Partition
from streams.topics import Topic
from streams.wire import fact_event, fact_fields, to_json
from tests.builders import day
from tests.property.test_drift import fact

NOW = day(40)
RECORD = Record(Topic.BY_CLAIM, Partition(3), Offset(17), None, b"", day(50))


def alert(kind: AlertKind = AlertKind.UNSTABLE, n: int = 5) -> Alert:
    causes = [
        (day(n), FactId(f"f{n}"), Cause(ClaimId("c"), "lives_in", n, str(n), "outvoted", "2:1", 1, 0))
        for n in range(n)
    ]
    return Alert(kind, day(40), causes)


def written(given: Alert, *, now: Instant = NOW, namespace: str = "default") -> bytes:
    return drift_alert(
        given, namespace=namespace, name="kim", spelling="Kim", now=now, lifetime=9, cycle=4, record=RECORD
    )


@pytest.mark.parametrize("kind", list(AlertKind))
def test_an_alert_is_what_its_model_says(kind: AlertKind) -> None:
    body = written(alert(kind, 0 if kind in (AlertKind.STABLE, AlertKind.SETTLED) else 5))

    model = DriftAlert.model_validate_json(body)

    assert set(json.loads(body)) == set(DriftAlert.model_fields)
    assert (model.signal, model.subject, model.limit, model.lifetime) == (kind, "Kim", UNSTABLE_ABOVE, 9)
    assert (model.cycle, model.position) == (4, "observations-by-claim/3/17")


def test_an_alert_names_the_newest_causes_and_counts_them_all() -> None:
    body = json.loads(written(alert(n=CAUSES_MAX + 7)))

    assert body["count"] == CAUSES_MAX + 7
    assert [cause["object"] for cause in body["causes"]] == list(range(7, CAUSES_MAX + 7))


def test_its_id_is_that_of_the_transition_at_this_record() -> None:
    ids = [
        json.loads(written(given, namespace=namespace))["event_id"]
        for given, namespace in (
            (alert(), "default"),
            (alert(n=6), "default"),
            (alert(AlertKind.CHURNING), "default"),
            (alert(), "other"),
        )
    ]

    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_a_window_does_not_begin_before_time_does() -> None:
    body = json.loads(written(alert(n=0), now=INSTANT_MIN))

    assert body["window_start"] == "0001-01-01T00:00:00Z"


# -- reading --------------------------------------------------------------------------------


def told(topic: Topic, value: bytes, offset: int = 0) -> Record:
    return Record(topic, Partition(0), Offset(offset), None, value, day(50))


def test_an_event_of_a_fact_is_read_as_the_partition_reads_the_change() -> None:
    made = fact("tea", "kim", reason="outvoted", at=day(7), declared=True)
    change = Change(Kind.INVALIDATED, "", made, 3)
    body = fact_fields(made, 3, recorded_at=day(50), cycle=1, policy_version="1", model=None, degraded=False)
    event = fact_event(change, to_json(body), position="observations-by-claim/0/1")

    (update,) = read_batch([told(Topic.FACT_INVALIDATED, event)], {}).updates

    assert update.news == news_of(change)
    assert (update.namespace, update.name, update.spelling) == ("default", "kim", "Kim")


@pytest.mark.parametrize(
    ("kind", "since"),
    [
        (AlertKind.UNSTABLE, day(40)),
        (AlertKind.CHURNING, day(40)),
        (AlertKind.STABLE, None),
        (AlertKind.SETTLED, None),
    ],
)
def test_an_alert_is_read_as_since_when_it_is_so(kind: AlertKind, since: Instant | None) -> None:
    batch = read_batch([told(Topic.DRIFT_ALERTS, written(alert(kind)))], {})

    (update,) = batch.updates
    assert (update.kind, update.since, update.lifetime, batch.now) == (kind, since, 9, day(40))


def test_a_batch_reaches_from_where_it_was_read_from() -> None:
    records = [told(Topic.DRIFT_ALERTS, written(alert()), offset) for offset in (5, 8)]
    place = (Topic.DRIFT_ALERTS, 0)

    assert read_batch(records, {place: 3}).reached == {place: (3, 9)}
    assert read_batch(records, {}).reached == {place: (5, 9)}


@pytest.mark.parametrize("value", [b"", b"{}", b"\xff", b"[]", b'{"signal": "well"}'])
def test_what_cannot_be_read_is_passed_over(value: bytes) -> None:
    for topic in (Topic.DRIFT_ALERTS, Topic.FACT_INVALIDATED, Topic.FACT_REVISED):
        batch = read_batch([told(topic, value)], {})

        assert batch.updates == []
        assert batch.reached == {(topic, 0): (0, 1)}
