"""Every record that a worker wrote, kept in a file, so that raw aiokafka can write the same bytes."""

from __future__ import annotations

from pathlib import Path

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.kafka.connection import client_options
from streams.settings import KafkaSettings

Kept = tuple[str, int, bytes | None, bytes | None]
"""One record: topic without prefix, partition, key, value."""


class Written(msgspec.Struct):
    """Records in the order of their time, and how many observations led to them."""

    n_observations: int
    records: list[Kept]


async def read_since(
    kafka: KafkaSettings, since: dict[TopicPartition, int], *, n_observations: int
) -> Written:
    """All records from `since` on of the partitions named there."""
    found: list[tuple[int, str, int, bytes | None, bytes | None]] = []
    consumer = AIOKafkaConsumer(
        **client_options(kafka), enable_auto_commit=False, max_partition_fetch_bytes=8 * 1024 * 1024
    )
    await consumer.start()
    try:
        ends = await consumer.end_offsets(list(since))
        left = {tp for tp, start in since.items() if start < ends[tp]}
        consumer.assign(list(left))
        for tp in left:
            consumer.seek(tp, since[tp])
        while left:
            for tp, records in (await consumer.getmany(*left, timeout_ms=500)).items():
                name = tp.topic.removeprefix(kafka.prefix)
                found.extend((r.timestamp, name, tp.partition, r.key, r.value) for r in records)
            done = {tp for tp in left if await consumer.position(tp) >= ends[tp]}
            consumer.pause(*done)
            left -= done
    finally:
        await consumer.stop()
    found.sort(key=lambda record: record[0])
    return Written(n_observations, [record[1:] for record in found])


def keep(written: Written, file: Path) -> None:
    """Write it down."""
    file.write_bytes(msgspec.msgpack.encode(written))


def read_kept(file: Path) -> Written:
    """What `keep` wrote down."""
    return msgspec.msgpack.decode(file.read_bytes(), type=Written)
