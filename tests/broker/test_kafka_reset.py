"""Tables whose changelogs are lost: refused by name, and derived again from the log by one command."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from typer.testing import CliRunner, Result

from agents.main import app
from state.instants import Instant
from streams.host import Record
from streams.kafka import changelog_name, create_topics, read_topic, topic_name
from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options
from streams.kafka.errors import ResetRefused
from streams.kafka.naming import TABLES, present_states
from streams.kafka.reset import begin_reset, cancel_reset, confirm_reset, with_newest_state
from streams.settings import KafkaSettings
from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.broker.feeds import events, greatest_observed_at, kafka_facts, life
from tests.broker.test_kafka_crashes import assert_as_embedded
from tests.parts.processes import Process, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]


def topics_of(kafka: KafkaSettings) -> set[str]:
    async def listed() -> set[str]:
        async with admin_client(kafka) as admin:
            return set(await admin.list_topics())

    return asyncio.run(listed())


def delete(kafka: KafkaSettings, names: list[str]) -> None:
    """Delete topics, and return when the broker shows them no more."""

    async def deleted() -> None:
        async with admin_client(kafka) as admin:
            await admin.delete_topics(names)

    asyncio.run(deleted())
    wait_until(lambda: not set(names) & topics_of(kafka), timeout_s=30, what="topics to be gone")


def command(found: Cluster, *words: str) -> Result:
    return CliRunner().invoke(app, ["reset", *words], env=found.environment)


def stopped_with(found: Cluster, code: str) -> Process:
    worker = found.start_worker(wait=False)
    assert worker.wait_for_exit(60) == 3
    assert f"[{code}]" in worker.log_tail()
    return worker


@pytest.mark.parametrize(
    ("table", "made_anew"),
    [("claims", False), ("claims", True), ("claim-pieces", True), ("subjects", True)],
)
def test_a_changelog_that_is_lost_is_refused_by_name_and_derived_again_by_the_command_it_names(
    kafka_worker: Callable[..., Cluster], tmp_path: Path, table: str, made_anew: bool
) -> None:
    found = kafka_worker(partitions=2)
    lines = life(10)
    half = len(lines) // 2
    found.publish(lines[:half])
    found.wait_done()
    assert found.workers[0].terminate() == 0

    delete(found.kafka, [changelog_name(found.kafka, table)])
    if made_anew:
        asyncio.run(create_topics(found.settings))
    worker = stopped_with(found, "changelog_lost")
    assert "factdrift reset" in worker.log_tail()
    assert changelog_name(found.kafka, table) in worker.log_tail()

    result = command(found)
    assert result.exit_code == 0, result.output
    found.start_worker()
    found.publish(lines[half:])
    found.wait_done()

    assert_as_embedded(found, lines, tmp_path / "embedded")


def test_a_reset_keeps_the_old_state_until_it_is_confirmed(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(partitions=2)
    lines = life(10)
    found.publish(lines)
    found.wait_done()
    with pytest.raises(ResetRefused, match="1 worker is still in the group"):
        asyncio.run(begin_reset(found.settings, offset=None, at=None))
    assert found.workers[0].terminate() == 0
    before = Counter(event["event_id"] for event in events(found.settings))

    reset = asyncio.run(begin_reset(found.settings, offset=None, at=None))
    assert reset.starts == {0: 0, 1: 0}
    assert reset.n_records == len(log_of(found))
    assert present_states(found.kafka, topics_of(found.kafka)) == [0, reset.state]
    with pytest.raises(ResetRefused, match="under way already"):
        asyncio.run(begin_reset(found.settings, offset=None, at=None))
    with pytest.raises(ResetRefused, match="batches behind the old one"):
        asyncio.run(confirm_reset(found.settings))

    found.start_worker()
    found.wait_done()
    gone = asyncio.run(confirm_reset(found.settings))
    assert gone == sorted(changelog_name(found.kafka, table) for table in TABLES)
    wait_until(
        lambda: present_states(found.kafka, topics_of(found.kafka)) == [reset.state],
        timeout_s=30,
        what="the old state to be gone",
    )
    twice = Counter(event["event_id"] for event in events(found.settings))
    assert twice == Counter({event_id: 2 * n for event_id, n in before.items()})
    assert_as_embedded(found, lines, tmp_path / "embedded")
    with pytest.raises(ResetRefused, match="no older state"):
        asyncio.run(cancel_reset(found.settings))


def test_a_reset_that_is_cancelled_leaves_everything_as_it_was(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(partitions=2)
    lines = life(10)
    half = len(lines) // 2
    found.publish(lines[:half])
    found.wait_done()
    assert found.workers[0].terminate() == 0

    assert command(found).exit_code == 0
    assert asyncio.run(with_newest_state(found.settings)).kafka.state > 0
    assert command(found, "--cancel").exit_code == 0
    wait_until(
        lambda: present_states(found.kafka, topics_of(found.kafka)) == [0],
        timeout_s=30,
        what="the new state to be gone",
    )
    found.start_worker()
    found.publish(lines[half:])
    found.wait_done()

    told = Counter(event["event_id"] for event in events(found.settings))
    assert set(told.values()) == {1}, "something was replayed"
    assert_as_embedded(found, lines, tmp_path / "embedded")


@pytest.mark.parametrize("by", ["offset", "time"])
def test_a_reset_from_the_middle_knows_only_what_came_after(
    kafka_worker: Callable[..., Cluster], by: str
) -> None:
    found = kafka_worker(partitions=1)
    first, second = life(2, n_years=1), [line.replace(b"person", b"other") for line in life(2, n_years=1)]
    found.publish(first)
    found.wait_done()
    middle = len(log_of(found))
    found.publish(second)
    found.wait_done()
    assert found.workers[0].terminate() == 0
    at = asyncio.run(recorded_at(found.kafka, middle)) if by == "time" else None

    made = asyncio.run(begin_reset(found.settings, offset=middle if by == "offset" else None, at=at))
    assert made.starts == {0: middle}
    found.start_worker()
    found.wait_done()
    found.publish(first)
    found.wait_done()

    # Of the second half nothing changed; of the first, the new state learnt only now, once more from nothing.
    now = greatest_observed_at([*first, *second])
    assert {line["subject"] for line in kafka_facts(found.settings, now=now)} == {
        "person 0", "person 1", "other 0", "other 1",
    }  # fmt: skip
    told = Counter(event["event_id"] for event in events(found.settings))
    assert set(told.values()) == {1, 2}


@pytest.mark.parametrize("words", [["--confirm", "--cancel"], ["--from-offset", "-1"], ["--from-time", "x"]])
def test_a_wrong_use_of_reset_is_refused(words: list[str]) -> None:
    assert CliRunner().invoke(app, ["reset", *words]).exit_code == 2


def log_of(found: Cluster) -> list[Record]:
    """Every batch of the log."""

    async def read() -> list[Record]:
        return [record async for record in read_topic(found.settings, Topic.BY_CLAIM)]

    return asyncio.run(read())


async def recorded_at(kafka: KafkaSettings, offset: int) -> Instant:
    """When the broker took this record of partition 0."""
    consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
    await consumer.start()
    try:
        tp = TopicPartition(topic_name(kafka, Topic.BY_CLAIM), 0)
        consumer.assign([tp])
        consumer.seek(tp, offset)
        return Instant((await consumer.getone()).timestamp)
    finally:
        await consumer.stop()
