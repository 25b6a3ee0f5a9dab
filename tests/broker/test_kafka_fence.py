"""A worker that wakes after its partitions went to another: the broker refuses what it wants to write."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.kafka import OwnershipLost, changelog_name, topic_name
from streams.kafka.deadline import Deadline
from streams.kafka.failpoints import (
    CHANGELOG_ACKNOWLEDGED,
    CHANGELOG_SENT,
    OUTPUTS_ACKNOWLEDGED,
    OUTPUTS_SENT,
    TABLE_WRITTEN,
)
from streams.kafka.fence import PartitionProducers
from streams.kafka.naming import TABLES
from streams.kafka.producer import Producer
from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.broker.feeds import life
from tests.broker.logs import regressions
from tests.broker.test_kafka_crashes import SHORT, assert_as_embedded
from tests.parts.processes import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]


@pytest.mark.parametrize(
    ("step", "times", "stopped_by"),
    [
        # What it has sent leaves as soon as it wakes, before its own clock can stop it.
        (OUTPUTS_SENT, 3, "broker"),
        (CHANGELOG_SENT, 3, "broker"),
        (CHANGELOG_SENT, 4, "broker"),
        (OUTPUTS_ACKNOWLEDGED, 3, "clock"),
        (CHANGELOG_ACKNOWLEDGED, 3, "clock"),
        (TABLE_WRITTEN, 4, "clock"),
    ],
)
def test_a_worker_that_wakes_in_mid_batch_writes_nothing_behind_the_new_owner(
    cluster: Callable[..., Cluster], tmp_path: Path, step: str, times: int, stopped_by: str
) -> None:
    found = cluster(partitions=2, FACTDRIFT_BATCH_MAX="20", **SHORT)
    lines = life(30)
    half = len(lines) // 2
    found.publish(lines[:half])
    sleeper = found.start_worker(wait=False, FACTDRIFT_FAILPOINT=f"{step}:{times}:pause")
    sleeper.wait_for(lambda: sleeper.paused, 60, what=f"it to stand still at {step}")

    found.start_worker()  # ready only when the sleeper's session has run out
    n_done = sum(p.committed for p in found.progress())
    found.publish(lines[half:])
    wait_until(
        lambda: sum(p.committed for p in found.progress()) > n_done,
        timeout_s=60,
        what="the new owner to be in the middle of it",
    )
    sleeper.resume()
    assert sleeper.wait_for_exit(60) == 3
    found.wait_done()

    assert regressions(found.kafka) == []
    said = {"broker": "because another worker owns the partition", "clock": "This worker stood still"}
    assert said[stopped_by] in sleeper.log_tail()
    assert_as_embedded(found, lines, tmp_path / "embedded")

    # And rebuilt from the changelogs alone, it is the same state: everything again changes nothing.
    assert found.workers[-1].terminate() == 0
    shutil.rmtree(tmp_path / "data")
    rebuilt = found.start_worker()
    found.publish(lines)
    found.wait_done()

    assert "older value written over" not in rebuilt.log.read_text()
    assert_as_embedded(found, lines, tmp_path / "embedded again")


async def written(producer: Producer, topic: str, value: bytes, *, partition: int = 0) -> None:
    await producer.send(topic, key=b"k", value=value, partition=partition)
    await producer.flush()


def test_the_newest_owner_of_a_partition_is_its_only_writer(cluster: Callable[..., Cluster]) -> None:
    found = cluster(partitions=2)
    topics = [changelog_name(found.kafka, "claims"), topic_name(found.kafka, Topic.FACTS)]

    async def scenario() -> None:
        old, new = PartitionProducers(found.kafka, topics), PartitionProducers(found.kafka, topics)
        deadline = Deadline(found.kafka.request_timeout_s)
        try:
            await old.take([0, 1])
            await written(old.of(0), topics[0], b"old")
            await new.take([0])

            for topic in topics:
                with pytest.raises(OwnershipLost, match="another worker owns the partition"):
                    await written(old.of(0), topic, b"late")
            await written(old.of(1), topics[0], b"its own", partition=1)
            await written(new.of(0), topics[0], b"new")
        finally:
            await old.stop(deadline)
            await new.stop(deadline)

    asyncio.run(scenario())


def test_what_an_owner_has_in_its_buffer_is_refused_from_the_moment_the_next_one_is_there(
    cluster: Callable[..., Cluster],
) -> None:
    # Markers are written after Kafka has answered: an owner that did not wait for them would let some pass.
    found = cluster(partitions=1)
    topics = [changelog_name(found.kafka, table) for table in TABLES]

    async def scenario() -> None:
        producers = PartitionProducers(found.kafka, topics)
        deadline = Deadline(found.kafka.request_timeout_s)
        try:
            await producers.take([0])
            for _ in range(10):
                following = PartitionProducers(found.kafka, topics)
                await following.take([0])
                for topic in topics:
                    with pytest.raises(OwnershipLost):
                        await written(producers.of(0), topic, b"late")
                await producers.stop(deadline)
                producers = following
        finally:
            await producers.stop(deadline)

    asyncio.run(scenario())
