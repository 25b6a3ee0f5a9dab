"""A trace on a real broker: published with a header, read from the events, and recorded by a collector."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence

import pytest
from aiokafka import AIOKafkaProducer

from streams.host import Record
from streams.kafka import topic_name
from streams.kafka.connection import client_options
from streams.kafka.reading import read_topics
from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.cases.world import observe
from tests.parts.collector import Collector, collecting
from tests.parts.processes import wait_until

pytestmark = pytest.mark.broker

SPAN = "00f067aa0ba902b7"
WAIT_S = 120


def traceparent(number: int) -> bytes:
    return f"00-{number:032x}-{SPAN}-01".encode()


def publish(cluster: Cluster, lines: Sequence[tuple[bytes, list[tuple[str, bytes]]]]) -> None:
    """Publish lines with headers, as any producer would."""

    async def send() -> None:
        producer = AIOKafkaProducer(**client_options(cluster.kafka))
        await producer.start()
        try:
            for line, headers in lines:
                name = topic_name(cluster.kafka, Topic.OBSERVATIONS)
                await producer.send_and_wait(name, line, headers=headers)
        finally:
            await producer.stop()

    asyncio.run(send())


def read(cluster: Cluster, *topics: Topic) -> list[Record]:
    async def every() -> list[Record]:
        return [record async for record in read_topics(cluster.settings, topics)]

    return asyncio.run(every())


def wait_for(cluster: Cluster, topic: Topic, n: int) -> list[Record]:
    return wait_until(
        lambda: len(found := read(cluster, topic)) >= n and found, timeout_s=WAIT_S, what=f"{n} on {topic}"
    )


def line(value: str, at: float, subject: str) -> bytes:
    return json.dumps(observe(value, at, subject=subject, predicate="lives in")).encode()


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def test_a_traceparent_reaches_the_events_that_follow(kafka_worker: Callable[..., Cluster]) -> None:
    cluster = kafka_worker(partitions=2)
    publish(
        cluster,
        [
            (line("Oslo", 1, "kim"), [("traceparent", traceparent(1))]),
            (line("Rome", 1, "li"), [("other", b"x"), ("traceparent", traceparent(2))]),
            (line("Bonn", 1, "max"), [("traceparent", b"00-bad")]),
            (line("Kyiv", 1, "eva"), []),
            (b"no json", [("traceparent", traceparent(3))]),
        ],
    )

    created = wait_for(cluster, Topic.FACT_CREATED, 4)

    found = {json.loads(r.value)["subject"]: r.trace for r in created}
    assert found == {"kim": traceparent(1), "li": traceparent(2), "max": None, "eva": None}
    (letter,) = wait_for(cluster, Topic.DEAD_LETTERS, 1)
    assert letter.trace == traceparent(3)
    assert all(b"traceparent" not in r.value for r in read(cluster, Topic.BY_CLAIM, Topic.FACT_CREATED))


def test_spans_of_a_worker_lead_from_the_publisher_to_the_event(
    kafka_worker: Callable[..., Cluster], collector: Collector
) -> None:
    cluster = kafka_worker(partitions=2, **collector.environment)
    publish(cluster, [(line("Oslo", 1, "kim"), [("traceparent", traceparent(7))])])

    (event,) = wait_for(cluster, Topic.FACT_CREATED, 1)

    trace_id = f"{7:032x}"
    names = ("intake", "consolidation", "emit fact-created")
    spans = collector.wait_for(trace_id, *names, timeout_s=WAIT_S)
    intake, folded, emitted = (spans[name] for name in names)
    assert [intake.parent, folded.parent, emitted.parent] == [SPAN, intake.span_id, folded.span_id]
    assert event.trace == f"00-{trace_id}-{emitted.span_id}-01".encode()
    assert {span.service for span in collector.of(trace_id)} == {"factdrift-worker"}
    assert folded.attributes["messaging.destination.partition.id"] == str(event.partition)
    assert emitted.attributes["factdrift.event_id"] == json.loads(event.value)["event_id"]


def test_a_worker_that_stops_sends_what_it_recorded(
    kafka_worker: Callable[..., Cluster], collector: Collector
) -> None:
    environment = {**collector.environment, "OTEL_BSP_SCHEDULE_DELAY": "600000"}
    cluster = kafka_worker(partitions=1, **environment)
    publish(cluster, [(line("Oslo", 1, "kim"), [("traceparent", traceparent(9))])])
    cluster.wait_done()
    assert collector.of(f"{9:032x}") == []

    assert cluster.workers[0].terminate() == 0

    collector.wait_for(f"{9:032x}", "intake", "consolidation", "emit fact-created")
