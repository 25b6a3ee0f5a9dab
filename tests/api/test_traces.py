"""A trace from a request to the webhook that its event arrives by: a running service, a real collector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.embedded import PARTITION, EmbeddedStore
from streams.host import Record
from streams.topics import Topic
from tests.api.conftest import Serve
from tests.api.served import said
from tests.parts.collector import Collector, collecting
from tests.parts.receiver import SECRET, SECRET_NAME, receiving, write_config

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def events(folder: Path, topic: Topic) -> list[Record]:
    store = EmbeddedStore(folder)
    try:
        return store.read(topic, PARTITION, 0, 1_000)
    finally:
        store.close()


def moves(n: int) -> list[dict[str, object]]:
    return [said("kim", f"place {number}", f"2024-03-{number:02d}") for number in range(1, n + 1)]


def test_a_trace_leads_from_the_request_to_the_webhook(
    serve: Serve, collector: Collector, tmp_path: Path
) -> None:
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        served = serve(FACTDRIFT_WEBHOOKS=str(config), **{SECRET_NAME: SECRET}, **collector.environment)
        served.learn(*moves(2))

        response = served.client.post(
            "/v1/observations", json=moves(4)[2:], headers={"traceparent": TRACEPARENT}
        )

        assert response.status_code == 200
        names = (
            "POST /v1/observations", "intake", "consolidation", "emit fact-created",
            "emit fact-invalidated", "webhook",
        )  # fmt: skip
        spans = collector.wait_for(TRACE, *names)
        receiver.wait_for(1)

    chain = [spans[name] for name in names[:3]]
    assert [span.parent for span in chain] == [SPAN, chain[0].span_id, chain[1].span_id]
    assert spans["emit fact-created"].parent == spans["consolidation"].span_id
    emitted = {span.span_id for span in collector.of(TRACE) if span.name == "emit fact-invalidated"}
    assert spans["webhook"].parent in emitted
    assert {span.service for span in collector.of(TRACE)} == {"factdrift-serve"}
    assert not any(span.failed for span in collector.of(TRACE))
    assert collector.paths == {"/v1/traces"}
    called = {call.headers.get("traceparent") for call in receiver.calls}
    assert f"00-{TRACE}-{spans['webhook'].span_id}-01" in called


def test_a_request_without_a_traceparent_begins_a_trace(serve: Serve, collector: Collector) -> None:
    served = serve(**collector.environment)
    served.learn(said("kim", "Oslo", "2024-03-01"))

    (event,) = events(served.folder, Topic.FACT_CREATED)

    assert event.trace is not None
    spans = collector.wait_for(
        event.trace.decode().split("-")[1], "POST /v1/observations", "emit fact-created"
    )
    assert spans["POST /v1/observations"].parent == ""
    assert spans["POST /v1/observations"].attributes["factdrift.observations"] == "1"


def test_without_tracing_a_traceparent_is_passed_on_and_none_is_begun(serve: Serve, tmp_path: Path) -> None:
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver})
        served = serve(FACTDRIFT_WEBHOOKS=str(config), **{SECRET_NAME: SECRET})
        served.learn(*moves(3))
        headers = {"TraceParent": TRACEPARENT}
        served.client.post("/v1/observations", json=moves(5)[3:], headers=headers)
        sent = {json.loads(body)["event_id"]: body for body in receiver.wait_for(4).values()}

    assert {event.trace for event in events(served.folder, Topic.FACT_CREATED)} == {
        None,
        TRACEPARENT.encode(),
    }
    called = [call.headers.get("traceparent") for call in receiver.calls]
    assert set(called) == {None, TRACEPARENT}
    assert len(sent) == 4


@pytest.mark.parametrize(
    "headers",
    [
        [("traceparent", "00-malformed")],
        [("traceparent", TRACEPARENT), ("traceparent", TRACEPARENT)],
        [("traceparent", TRACEPARENT.upper())],
    ],
)
def test_a_malformed_header_is_ignored(serve: Serve, headers: list[tuple[str, str]]) -> None:
    served = serve()

    response = served.client.post("/v1/observations", json=said("kim", "Oslo", "2024-03-01"), headers=headers)

    assert response.status_code == 200
    assert [event.trace for event in events(served.folder, Topic.FACT_CREATED)] == [None]


def test_a_correction_bears_its_traceparent_to_what_it_ends(serve: Serve) -> None:
    served = serve()
    served.learn({**said("kim", "Oslo", "2024-03-01"), "observation_id": "o1"})

    response = served.client.post(
        "/v1/corrections",
        json={"op": "retract", "observation_id": "o1", "reason": "said of somebody else"},
        headers={"traceparent": TRACEPARENT},
    )

    assert response.status_code == 200
    assert [event.trace for event in events(served.folder, Topic.FACT_INVALIDATED)] == [TRACEPARENT.encode()]


def test_a_collector_that_is_away_stops_nothing(serve: Serve, collector: Collector) -> None:
    collector.close()
    served = serve(**collector.environment)

    served.learn(*moves(3))

    assert len(events(served.folder, Topic.FACT_CREATED)) == 3
    assert served.client.get("/readyz").status_code == 200
    assert served.process.terminate() == 0
