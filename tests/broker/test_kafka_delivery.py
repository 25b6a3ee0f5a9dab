"""One record, delivered again; tables that are lost, undone or ahead; a worker that is asked to stop."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from agents.consolidation import CLAIMS_TABLE
from streams.kafka import changelog_name, create_topics, group_name, topic_name
from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options
from streams.kafka.naming import TABLES
from streams.kafka.worker import EXIT_AT_ONCE, STOP_S
from streams.settings import KafkaSettings
from streams.topics import Topic
from tests.broker.cluster import READY_S, Cluster, silence
from tests.broker.feeds import embedded_facts, events, greatest_observed_at, kafka_facts, life, values
from tests.broker.test_kafka_crashes import assert_as_embedded, assert_told_once
from tests.parts.processes import wait_until

pytestmark = pytest.mark.broker


def test_a_record_that_is_delivered_again_tells_nothing_new(kafka_worker: Callable[..., Cluster]) -> None:
    found = kafka_worker()
    found.publish(life(10))
    found.wait_done()
    before = Counter(event["event_id"] for event in events(found.settings))
    assert found.workers[0].terminate() == 0

    asyncio.run(_rewind(found.kafka))
    found.start_worker()
    found.wait_done()

    assert Counter(event["event_id"] for event in events(found.settings)) == before


def test_a_replay_into_new_state_tells_the_same_events_with_the_same_ids(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker()
    lines = life(10)
    found.publish(lines)
    found.wait_done()
    before = Counter(event["event_id"] for event in events(found.settings))
    assert found.workers[0].terminate() == 0

    asyncio.run(_delete_changelogs(found.kafka))  # while the disk still holds what was in them
    gone = {changelog_name(found.kafka, table) for table in TABLES}
    wait_until(lambda: not gone & asyncio.run(_topics(found.kafka)), timeout_s=30, what="them to be gone")
    assert set(asyncio.run(create_topics(found.settings))) == gone
    asyncio.run(_rewind(found.kafka))
    worker = found.start_worker()
    found.wait_done()

    assert "they are ahead" in worker.log_tail()
    twice = Counter(event["event_id"] for event in events(found.settings))
    assert twice == Counter({event_id: 2 * n for event_id, n in before.items()})
    assert_as_embedded(found, lines, tmp_path / "embedded")


@pytest.mark.parametrize("store", ["rocksdb", "memory"])
@pytest.mark.parametrize("disk", ["intact", "lost"])
def test_a_restart_finds_the_tables_again(
    kafka_worker: Callable[..., Cluster], tmp_path: Path, store: str, disk: str
) -> None:
    found = kafka_worker(FACTDRIFT_TABLE_STORE=store)
    lines = life(12)
    half = len(lines) // 2
    found.publish(lines[:half])
    found.wait_done()
    assert found.workers[0].terminate() == 0

    if disk == "lost":
        shutil.rmtree(tmp_path / "data")
    found.start_worker()
    found.publish(lines[half:])
    found.wait_done()

    assert_as_embedded(found, lines, tmp_path / "embedded")


def test_an_old_value_written_over_a_new_one_is_found_out_and_mended(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker()
    lines = life(12)
    half = len(lines) // 2
    found.publish(lines[:half])
    found.wait_done()
    found.publish(lines[half : half + 12])
    found.wait_done()
    assert found.workers[0].terminate() == 0

    changelog = changelog_name(found.kafka, CLAIMS_TABLE)
    oldest, newest = asyncio.run(_write_oldest_again(found.kafka, changelog))
    assert oldest != newest
    shutil.rmtree(tmp_path / "data")
    worker = found.start_worker()
    found.publish(lines[half + 12 :])
    found.wait_done()

    assert "an older value written over a newer one" in worker.log_tail()
    assert_as_embedded(found, lines, tmp_path / "embedded")


def test_a_worker_that_is_asked_to_stop_commits_what_it_did_and_leaves(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    # It commits by itself only once an hour, so what is committed was committed on the way out.
    found = kafka_worker(FACTDRIFT_KAFKA_COMMIT_INTERVAL_S="3600")
    lines = life(20)
    now = greatest_observed_at(lines)
    expected = embedded_facts(lines, tmp_path / "embedded", now=now)
    found.publish(lines)
    worker = found.workers[0]
    worker.wait_for(
        lambda: kafka_facts(found.settings, now=now) == expected, 60, what="all facts to be on the topic"
    )

    assert worker.terminate(timeout_s=60) == 0

    assert sum(p.lag for p in found.progress()) == 0
    assert asyncio.run(_members(found.kafka)) == 0
    assert "Traceback" not in worker.log_tail()


def test_a_worker_that_is_asked_to_stop_finishes_its_batch(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(FACTDRIFT_BATCH_MAX="5")  # many batches, so that a stop meets one
    lines = life(100)
    third = len(lines) // 3
    left_over = []

    for start in (0, third, 2 * third):
        n_done = sum(p.committed for p in found.progress())
        found.publish(lines[start : start + third])
        wait_until(
            lambda n_done=n_done: sum(p.committed for p in found.progress()) > n_done,
            timeout_s=60,
            what="some of it to be committed",
        )
        assert found.workers[-1].terminate(timeout_s=60) == 0
        left_over.append(sum(p.lag for p in found.progress()))
        found.start_worker()
    found.wait_done()

    assert any(left_over), "no stop came in the middle"
    told = Counter(event["event_id"] for event in events(found.settings))
    assert set(told.values()) == {1}, "a batch was begun and done again"
    assert_as_embedded(found, lines, tmp_path / "embedded")


def test_a_second_signal_stops_a_worker_at_once(kafka_worker: Callable[..., Cluster]) -> None:
    found = kafka_worker()
    worker = found.workers[0]

    os.kill(worker.pid, signal.SIGINT)
    os.kill(worker.pid, signal.SIGTERM)

    assert worker.wait_for_exit(60) == EXIT_AT_ONCE
    assert "Stopped at once" in worker.log_tail()


def test_a_worker_that_is_asked_to_stop_ends_though_the_broker_is_silent(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(FACTDRIFT_KAFKA_REQUEST_TIMEOUT_S="5", FACTDRIFT_BATCH_MAX="5")
    lines = life(40)
    found.publish(lines)
    worker = found.workers[0]

    with silence(found.broker):
        os.kill(worker.pid, signal.SIGTERM)
        code = worker.wait_for_exit(2 * STOP_S + READY_S)  # its own deadlines, and what a busy machine adds

    assert code in (0, 3)
    found.start_worker()
    found.wait_done()
    assert_as_embedded(found, lines, tmp_path / "embedded")


def test_partitions_that_move_to_a_second_worker_are_committed_first(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(FACTDRIFT_KAFKA_COMMIT_INTERVAL_S="3600")
    lines = life(20)
    now = greatest_observed_at(lines)
    expected = embedded_facts(lines, tmp_path / "embedded", now=now)
    found.publish(lines)
    found.workers[0].wait_for(
        lambda: kafka_facts(found.settings, now=now) == expected, 60, what="all facts to be on the topic"
    )

    found.start_worker()
    found.wait_shared()

    assert sum(p.lag for p in found.progress()) == 0
    assert_told_once(events(found.settings))


def test_a_batch_that_cannot_be_handled_stops_the_worker_with_its_offset(
    kafka_worker: Callable[..., Cluster],
) -> None:
    found = kafka_worker()
    worker = found.workers[0]
    source = topic_name(found.kafka, Topic.BY_CLAIM)

    asyncio.run(_produce(found.kafka, source, b"no batch", partition=2))
    asyncio.run(_produce(found.kafka, source, b"no batch", partition=2))

    assert worker.wait_for_exit(60) == 3
    assert f"stopped at {source}/2/0, which it could not handle" in worker.log_tail()
    (stuck,) = [p for p in found.progress() if p.topic == source and p.partition == 2]
    assert (stuck.committed, stuck.end) == (0, 2)


def test_a_large_observation_becomes_a_dead_letter_with_all_its_bytes(
    kafka_worker: Callable[..., Cluster],
) -> None:
    found = kafka_worker()
    line = b'"' + b"\x01" * 300 * 1024 + b'"'

    found.publish([line])
    found.wait_done()

    (letter,) = values(found.settings, Topic.DEAD_LETTERS)
    assert letter["code"] == "too_large"
    assert letter["raw"].encode() == line


async def _rewind(kafka: KafkaSettings) -> None:
    """Let the group begin at the first batch again."""
    consumer = AIOKafkaConsumer(**client_options(kafka), group_id=group_name(kafka), enable_auto_commit=False)
    await consumer.start()
    try:
        partitions = [TopicPartition(topic_name(kafka, Topic.BY_CLAIM), n) for n in range(kafka.partitions)]
        consumer.assign(partitions)
        await consumer.commit(dict.fromkeys(partitions, 0))
    finally:
        await consumer.stop()


async def _delete_changelogs(kafka: KafkaSettings) -> None:
    names = [changelog_name(kafka, table) for table in TABLES]
    async with admin_client(kafka) as admin:
        await admin.delete_topics(names)


async def _topics(kafka: KafkaSettings) -> set[str]:
    async with admin_client(kafka) as admin:
        return set(await admin.list_topics())


async def _write_oldest_again(kafka: KafkaSettings, changelog: str) -> tuple[bytes, bytes]:
    """Write the oldest value of a key behind its newest, as a worker that slept would."""
    consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
    await consumer.start()
    try:
        partitions = [TopicPartition(changelog, n) for n in range(kafka.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        seen: dict[tuple[int, bytes], list[bytes]] = {}
        while [tp for tp in partitions if await consumer.position(tp) < ends[tp]]:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for record in records:
                    seen.setdefault((record.partition, record.key), []).append(record.value)
    finally:
        await consumer.stop()
    for (partition, key), written in seen.items():
        await _produce(kafka, changelog, written[0], partition=partition, key=key)
    written = max(seen.values(), key=len)
    return written[0], written[-1]


async def _produce(
    kafka: KafkaSettings, topic: str, value: bytes, *, partition: int, key: bytes | None = None
) -> None:
    producer = AIOKafkaProducer(**client_options(kafka), acks="all")
    await producer.start()
    try:
        await producer.send_and_wait(topic, value, key=key, partition=partition)
    finally:
        await producer.stop()


async def _members(kafka: KafkaSettings) -> int:
    async with admin_client(kafka) as admin:
        (described,) = await admin.describe_consumer_groups([group_name(kafka)])
        return sum(len(group[5]) for group in described.groups)
