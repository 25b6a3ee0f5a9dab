"""A drift alert in the browser, from a plain Kafka producer, while the clock has its default of a minute."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from agents.composition import wall_clock
from streams.kafka import topic_name
from streams.kafka.fetching import records_at
from streams.topics import Topic
from tests.api.served import Served
from tests.broker.cluster import Cluster
from tests.dashboard.alerting import closes_no_cycle, moves
from tests.dashboard.browsing import Visitor
from tests.parts import or_skip
from tests.parts.browser import start_chromium
from tests.parts.processes import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.slow]


def in_a_thread(doing: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives; the browser has a loop in this thread."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, doing).result()


async def send(cluster: Cluster, *lines: dict[str, Any]) -> None:
    """Publish as any program would that has never heard of factdrift."""
    producer = AIOKafkaProducer(bootstrap_servers=cluster.kafka.bootstrap)
    await producer.start()
    try:
        for line in lines:
            name = topic_name(cluster.kafka, Topic.OBSERVATIONS)
            await producer.send_and_wait(name, json.dumps(line).encode(), key=line["subject"].encode())
    finally:
        await producer.stop()


def test_the_observation_that_retires_the_fifth_fact_shows_its_alert_without_waiting_for_a_tick(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = kafka_worker(partitions=2, n=1)
    *before, last = moves("Restless Rita", wall_clock())
    asyncio.run(send(cluster, *before))
    with contextlib.ExitStack() as stack:
        served = Served(tmp_path / "api", command="api", **cluster.environment)
        stack.callback(served.end)
        wait_until(
            lambda: len(served.get("/v1/facts", subject="Restless Rita", limit=10)["items"]) == len(before),
            timeout_s=120,
            what="the read model to know where she lived",
        )
        chromium = or_skip(start_chromium)
        stack.callback(chromium.stop)
        watched = stack.enter_context(chromium.page())
        visitor = Visitor(watched, served.url)
        visitor.visit()
        visitor.page.evaluate("() => { window.unloaded = false; }")
        visitor.see("All is calm.")

        in_a_thread(send(cluster, last))

        visitor.page.locator("li.card", has_text="Restless Rita").wait_for()
        assert visitor.page.evaluate("() => window.unloaded") is False
        visitor.expect_silence()
        (alert,) = served.get("/v1/drift-alerts")["items"]
    _, partition, offset = alert["position"].rsplit("/", 2)
    place = (Topic.BY_CLAIM, int(partition), int(offset))
    found = asyncio.run(records_at(cluster.settings, [place]))
    assert closes_no_cycle(found[place].value)
