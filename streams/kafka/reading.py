"""Reading and writing topics from outside a worker: for commands, for watchers, and for tests.

Joins no group and commits nothing, so it never takes anything away from a worker.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from state.instants import Instant
from streams.host import Record
from streams.kafka.connection import client_options, reach, translated
from streams.kafka.deadline import Deadline
from streams.kafka.naming import topic_name
from streams.kafka.producer import Producer
from streams.keys import Offset, Partition
from streams.settings import KafkaSettings, Settings
from streams.topics import Topic
from streams.trace_headers import trace_of

PUBLISH_MAX: Final = 5_000  # records between two waits for acknowledgements: bounds memory, not speed
_POLL_MS: Final = 500
_decode: Final = msgspec.json.Decoder().decode


async def publish(settings: Settings, topic: Topic, items: Iterable[tuple[bytes | None, bytes]]) -> int:
    """Publish (key, value) records and return how many, once all are acknowledged.

    Records of one key keep their order; those without a key are spread over the partitions. Raises
    BrokerUnreachable, BrokerRefused, DeliveryFailed.
    """
    kafka = settings.kafka
    await reach(kafka)
    producer = Producer(kafka)
    await producer.start()
    n_records = 0
    try:
        for n_records, (key, value) in enumerate(items, start=1):
            await producer.send(topic_name(kafka, topic), key=key, value=value, partition=None)
            if n_records % PUBLISH_MAX == 0:
                await producer.flush()
        await producer.flush()
    finally:
        await producer.stop(Deadline(kafka.request_timeout_s))
    return n_records


async def read_topics(
    settings: Settings,
    topics: Sequence[Topic],
    *,
    from_start: bool = True,
    follow: bool = False,
) -> AsyncIterator[Record]:
    """The records of some topics: in order within a partition, in no promised order across partitions.

    Stops at the end that the topics had when the reading began; with `follow` it goes on for ever.
    Raises BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    kafka = settings.kafka
    await reach(kafka)
    names = {topic_name(kafka, topic): topic for topic in topics}
    with translated(kafka):
        async with _consumer(kafka) as consumer:
            left = await _positioned(consumer, list(names), at_end=not from_start)
            ends: dict[TopicPartition, int] = await consumer.end_offsets(list(left))
            while True:
                if not follow:
                    left = [tp for tp in left if await consumer.position(tp) < ends[tp]]
                    if not left:
                        return
                found = await consumer.getmany(*left, timeout_ms=_POLL_MS)
                for tp, records in found.items():
                    for raw in records:
                        if follow or raw.offset < ends[tp]:
                            yield record_of(names[tp.topic], raw)


def read_topic(
    settings: Settings,
    topic: Topic,
    *,
    from_start: bool = True,
    follow: bool = False,
) -> AsyncIterator[Record]:
    """As `read_topics`, for one topic."""
    return read_topics(settings, [topic], from_start=from_start, follow=follow)


async def latest_facts(settings: Settings) -> dict[str, dict[str, Any]]:
    """The latest body of every fact, by fact id: of each the one with the greatest version."""
    found: dict[str, dict[str, Any]] = {}
    async for record in read_topic(settings, Topic.FACTS):
        if not record.value:  # nothing is kept of it
            found.pop(_decode(record.key)[0] if record.key else "", None)
            continue
        body = _decode(record.value)
        held = found.get(body["fact_id"])
        if held is None or body["version"] > held["version"]:
            found[body["fact_id"]] = body
    return found


async def latest_values(kafka: KafkaSettings, names: Sequence[str]) -> dict[str, dict[bytes, bytes]]:
    """The newest value of every key of some compacted topics, by the topic's full name; small ones."""
    found: dict[str, dict[bytes, bytes]] = {name: {} for name in names}
    with translated(kafka):
        async with _consumer(kafka) as consumer:
            left = await _positioned(consumer, names, at_end=False)
            ends: dict[TopicPartition, int] = await consumer.end_offsets(list(left))
            while left := [tp for tp in left if await consumer.position(tp) < ends[tp]]:
                for tp, records in (await consumer.getmany(*left, timeout_ms=_POLL_MS)).items():
                    values = found[tp.topic]
                    for raw in records:
                        if raw.value is None:
                            values.pop(raw.key, None)
                        else:
                            values[raw.key] = raw.value
    return found


async def ends_of(kafka: KafkaSettings, name: str) -> list[int]:
    """The ends of all partitions of a topic, in order of the partition."""
    with translated(kafka):
        async with _consumer(kafka) as consumer:
            partitions = await _positioned(consumer, [name], at_end=True)
            ends = await consumer.end_offsets(partitions)
    return [ends[tp] for tp in partitions]


def record_of(topic: Topic, raw: Any) -> Record:
    """A record as agents get it. One without a value, where that erases nothing, has an empty one."""
    return Record(
        topic,
        Partition(raw.partition),
        Offset(raw.offset),
        raw.key,
        raw.value or b"",
        Instant(raw.timestamp),
        trace_of(topic, raw.headers) if raw.headers else None,
    )


@contextlib.asynccontextmanager
async def _consumer(kafka: KafkaSettings) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
    try:
        await consumer.start()
        yield consumer
    finally:
        await consumer.stop()


async def _positioned(
    consumer: AIOKafkaConsumer, names: Sequence[str], *, at_end: bool
) -> list[TopicPartition]:
    """Assign all partitions of these topics and go to their beginning or end."""
    found: list[TopicPartition] = []
    for name in names:
        # Asks the broker, and waits: a client that has just started knows no topic yet.
        numbers = await consumer._client._wait_on_metadata(name)  # noqa: SLF001 the public way returns nothing
        found.extend(TopicPartition(name, number) for number in sorted(numbers))
    consumer.assign(found)
    if at_end:
        await consumer.seek_to_end(*found)
    else:
        await consumer.seek_to_beginning(*found)
    return found
