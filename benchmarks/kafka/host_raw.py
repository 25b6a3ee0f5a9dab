"""Raw aiokafka, the ceiling: reads what the others read, and writes bytes without looking at them.

    python -m benchmarks.kafka.host_raw echo
    python -m benchmarks.kafka.host_raw FILE
    python -m benchmarks.kafka.host_raw FILE send

`echo` writes every record that it reads once more, to `facts`. With a file (`benchmarks.kafka.written`) it
writes, in step with its reading, exactly the records that a factdrift worker wrote for the same input. Both
write batches of a partition, which is aiokafka's cheapest way; with `send` each record is handed over by
itself, as programs do it. Same producer settings as the worker, everything acknowledged before the offsets
are committed. No validation, no state, no recovery: nobody can use it for anything.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.kafka.in_one_step import settings_from_environment
from benchmarks.kafka.loads import WARM_UP
from benchmarks.kafka.written import Kept, Written, read_kept
from streams.kafka import group_name, topic_name
from streams.kafka.connection import client_options
from streams.kafka.producer import BATCH_BYTES, LINGER_MS
from streams.settings import Settings
from streams.topics import Topic

READ_MAX = 4_000


async def run(settings: Settings, written: Written | None, *, sends: bool) -> None:
    """Read, write, wait for every acknowledgement, commit; until a signal ends it."""
    kafka = settings.kafka
    producer = AIOKafkaProducer(
        **client_options(kafka), enable_idempotence=True, acks="all", linger_ms=LINGER_MS,
        max_batch_size=BATCH_BYTES, max_request_size=16 * 1024 * 1024,
    )  # fmt: skip
    consumer = AIOKafkaConsumer(
        topic_name(kafka, Topic.OBSERVATIONS), **client_options(kafka), group_id=group_name(kafka),
        enable_auto_commit=False, auto_offset_reset="earliest",
        session_timeout_ms=round(kafka.session_timeout_s * 1000), max_partition_fetch_bytes=4 * 1024 * 1024,
    )  # fmt: skip
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await producer.start()
    await consumer.start()
    n_read = at = 0
    while not stop.is_set():
        found = await consumer.getmany(timeout_ms=200, max_records=READ_MAX)
        records = [record for some in found.values() for record in some]
        echoed = [r for r in records if written is None or WARM_UP.encode() in r.value]
        handed = [(Topic.FACTS.value, r.partition, r.key, r.value) for r in echoed]
        if written is not None:
            n_read += len(records) - len(echoed)
            until = len(written.records) * n_read // written.n_observations
            handed += written.records[at:until]
            at = until
        await (_send if sends else _write)(producer, kafka.prefix, handed)
        if records:
            await consumer.commit()
    await consumer.stop()
    await producer.stop()


async def _write(producer: AIOKafkaProducer, prefix: str, handed: list[Kept]) -> None:
    """Write records in batches of one partition, aiokafka's cheapest way, and wait until all are there."""
    together: dict[tuple[str, int], list[Kept]] = {}
    for record in handed:
        together.setdefault(record[:2], []).append(record)
    futures: list[Any] = []
    for (topic, partition), records in together.items():
        batch = producer.create_batch()
        for _, _, key, value in records:
            if batch.append(timestamp=None, key=key, value=value) is None:
                futures.append(await producer.send_batch(batch, prefix + topic, partition=partition))
                batch = producer.create_batch()
                batch.append(timestamp=None, key=key, value=value)
        batch.close()
        futures.append(await producer.send_batch(batch, prefix + topic, partition=partition))
    await asyncio.gather(*futures)


async def _send(producer: AIOKafkaProducer, prefix: str, handed: list[Kept]) -> None:
    """Hand over each record by itself, and wait until all are there."""
    futures = [
        await producer.send(prefix + topic, value, key, partition) for topic, partition, key, value in handed
    ]
    await asyncio.gather(*futures)


def main() -> None:
    """Run with settings from the environment."""
    what, *how = sys.argv[1:]
    written = None if what == "echo" else read_kept(Path(what))
    settings = settings_from_environment()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, written, sends=how == ["send"]))


if __name__ == "__main__":
    main()
