"""How long it takes from an observation being published to the first event that it is part of.

Observations go out at a steady rate by the clock, whatever becomes of them: one that goes out late counts
from when it was due. An event names the newest observations behind it; the first event that names one ends
its wait, when the consumer has it in hand. Observations that are never named are counted, not guessed.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import psutil
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.kafka.cluster import Cluster, cluster
from benchmarks.kafka.engines import FACTDRIFT, wait_ready
from benchmarks.kafka.loads import Line, Load, warm_up
from benchmarks.kafka.rate import until_done
from benchmarks.record import Figure
from streams.kafka import topic_name
from streams.kafka.connection import client_options
from streams.topics import CHANGE_FEED, Topic
from tests.parts.kafka import KafkaBroker

PER_S = 1_000
WARM_UP_S = 3
_AFTER_S = 5.0  # what has no event by then gets none


class _Named(msgspec.Struct):
    """The part of an event that names observations."""

    supported_by: list[str]
    dissented_by: list[str]


class _Id(msgspec.Struct):
    observation_id: str


_named = msgspec.json.Decoder(_Named).decode
_id = msgspec.json.Decoder(_Id).decode


async def latency(broker: KafkaBroker, load: Load, *, seconds: int, folder: Path) -> Figure:
    """Publish `seconds` of a load at 1,000 observations a second to one worker, and wait for their events."""
    lines = load.lines((seconds + WARM_UP_S) * PER_S)
    async with cluster(broker.bootstrap, folder) as topics:
        worker = FACTDRIFT.start(topics)
        try:
            await asyncio.to_thread(wait_ready, worker)
            await topics.publish(warm_up(1_000))
            await until_done(topics, FACTDRIFT, [worker])
            watched = psutil.Process(worker.pid)
            started, used = time.perf_counter(), watched.cpu_times()
            due_at, seen_at = await _watched(topics, lines)
            lasted, now_used = time.perf_counter() - started, watched.cpu_times()
        finally:
            worker.kill()
    counted = [_id(value).observation_id for _, value in lines[WARM_UP_S * PER_S :]]
    waits = sorted(seen_at[one] - due_at[one] for one in counted if one in seen_at)
    more = {
        "p50_ms": waits[len(waits) // 2] * 1000,
        "p99_ms": waits[len(waits) * 99 // 100] * 1000,
        "most_ms": waits[-1] * 1000,
        "named_percent": 100 * len(waits) / len(counted),
        "cpu_percent": 100 * (sum(now_used[:2]) - sum(used[:2])) / lasted,
    }
    return Figure(f"kafka/latency/{load.name}", len(waits), None, more)


async def _watched(topics: Cluster, lines: list[Line]) -> tuple[dict[str, float], dict[str, float]]:
    """When each observation was due, and when its first event was in hand, by observation id."""
    due_at: dict[str, float] = {}
    seen_at: dict[str, float] = {}
    names = [topic_name(topics.kafka, topic) for topic in CHANGE_FEED]
    consumer = AIOKafkaConsumer(**client_options(topics.kafka), enable_auto_commit=False)
    await consumer.start()
    try:
        ends = await topics.ends(names)
        consumer.assign(list(ends))
        for tp, end in ends.items():
            consumer.seek(tp, end)
        watching = asyncio.create_task(_watch(consumer, seen_at, n=len(lines)))
        await _send(topics, lines, due_at)
        await asyncio.wait([watching], timeout=_AFTER_S)
        watching.cancel()
    finally:
        await consumer.stop()
    return due_at, seen_at


async def _send(topics: Cluster, lines: list[Line], due_at: dict[str, float]) -> None:
    name = topic_name(topics.kafka, Topic.OBSERVATIONS)
    ids = [_id(value).observation_id for _, value in lines]
    producer = AIOKafkaProducer(**client_options(topics.kafka), acks="all", enable_idempotence=True)
    await producer.start()
    try:
        started = time.perf_counter()
        for number, (key, value) in enumerate(lines):
            due = started + number / PER_S
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            due_at[ids[number]] = due
            await producer.send(name, value, key=key)
    finally:
        await producer.stop()


async def _watch(consumer: AIOKafkaConsumer, seen_at: dict[str, float], *, n: int) -> None:
    """Until each of `n` observations was named."""
    while len(seen_at) < n:
        found = await consumer.getmany(timeout_ms=1_000)
        now = time.perf_counter()
        for records in found.values():
            for record in records:
                named = _named(record.value)
                for one in (*named.supported_by, *named.dissented_by):
                    seen_at.setdefault(one, now)
