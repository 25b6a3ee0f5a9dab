"""Reading every byte that topics hold, and taking dead letters out: for what must be forgotten.

Reads compacted topics as they lie there, older values among them, since those are what a forget is about.
Joins no group and commits nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options, reach, translated
from streams.kafka.deadline import Deadline
from streams.kafka.naming import topic_name
from streams.kafka.producer import Producer
from streams.settings import KafkaSettings, Settings
from streams.topics import TOPICS, Topic

_POLL_MS: Final = 500

Held = tuple[str, int, int, bytes, bytes, int]
"""Topic, partition, offset, key, value, timestamp; b"" where there is none."""


async def names_of(settings: Settings) -> list[str]:
    """All topics of this installation on the cluster, changelogs of every state among them."""
    kafka = settings.kafka
    ours = {topic_name(kafka, spec.topic) for spec in TOPICS}
    async with admin_client(kafka) as admin:
        found = await admin.list_topics()
    first = f"{kafka.prefix}{kafka.group}"
    return sorted(
        name for name in found if name in ours or (name.startswith(first) and name.endswith("-changelog"))
    )


async def retentions(settings: Settings) -> dict[Topic, int]:
    """The retention that the topics have on the cluster, in milliseconds; -1: without limit."""
    kafka = settings.kafka
    topic_of = {topic_name(kafka, spec.topic): spec.topic for spec in TOPICS}
    found: dict[Topic, int] = {}
    async with admin_client(kafka) as admin:
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topic_of]
        for response in await admin.describe_configs(resources):
            for code, _message, _kind, name, entries in response.resources:
                if not code:
                    found[topic_of[name]] = int({e[0]: e[1] for e in entries}["retention.ms"])
    return found


async def everything(settings: Settings, names: Sequence[str]) -> AsyncIterator[list[Held]]:
    """All records of these topics up to their present ends. Raises BrokerUnreachable, BrokerFailed."""
    kafka = settings.kafka
    await reach(kafka)
    with translated(kafka):
        consumer = AIOKafkaConsumer(
            **client_options(kafka), enable_auto_commit=False, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            left: list[TopicPartition] = []
            for name in names:
                numbers = await consumer._client._wait_on_metadata(name)  # noqa: SLF001 as in `reading`
                left.extend(TopicPartition(name, number) for number in sorted(numbers))
            consumer.assign(left)
            await consumer.seek_to_beginning(*left)
            ends: dict[TopicPartition, int] = await consumer.end_offsets(left)
            while left := [tp for tp in left if await consumer.position(tp) < ends[tp]]:
                found = await consumer.getmany(*left, timeout_ms=_POLL_MS)
                held = [_held(tp, raw) for tp, raws in found.items() for raw in raws]
                if held:
                    yield held
        finally:
            await consumer.stop()


def _held(tp: TopicPartition, raw: Any) -> Held:
    return (tp.topic, tp.partition, raw.offset, raw.key or b"", raw.value or b"", raw.timestamp)


async def erase_letters(settings: Settings, is_forgotten: Callable[[bytes], bool]) -> int:
    """Take dead letters out of their topic; returns how many.

    The others of their partition are appended again, under the ids that they have, before everything up to
    the old end is deleted. A crash in between leaves letters twice, and the next try takes them out.
    """
    name = topic_name(settings.kafka, Topic.DEAD_LETTERS)
    by_partition: dict[int, list[Held]] = {}
    async for batch in everything(settings, [name]):
        for held in batch:
            by_partition.setdefault(held[1], []).append(held)
    n_gone = 0
    producer = Producer(settings.kafka)
    await producer.start()
    ends: dict[TopicPartition, RecordsToDelete] = {}
    try:
        for partition, letters in by_partition.items():
            gone = [held for held in letters if is_forgotten(held[4])]
            if not gone:
                continue
            n_gone += len(gone)
            for _, _, _, key, value, _ in (held for held in letters if held not in gone):
                await producer.send(name, key=key or None, value=value, partition=partition)
            ends[TopicPartition(name, partition)] = RecordsToDelete(letters[-1][2] + 1)
        await producer.flush()
    finally:
        await producer.stop(Deadline(settings.kafka.request_timeout_s))
    if ends:
        await _delete(settings.kafka, ends)
    return n_gone


async def _delete(kafka: KafkaSettings, ends: dict[TopicPartition, RecordsToDelete]) -> None:
    async with admin_client(kafka) as admin:
        with translated(kafka):
            await admin.delete_records(ends)
