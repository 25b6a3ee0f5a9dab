"""Forgetting on Kafka: nothing is left where nothing may be; append-only topics say how long they hold."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from sqlalchemy import URL

from agents.forget import erase_fulfilled, forget_kafka, verify_kafka
from agents.proving import Proof, Words
from agents.read_model import follow_kafka, open_url
from state.instants import DAY_MS, INSTANT_MAX
from streams.kafka import latest_facts
from streams.kafka.admin import RECORD_BYTES_MAX, admin_client
from streams.kafka.deadline import Deadline
from streams.kafka.naming import TABLES, changelog_name, topic_name
from streams.kafka.producer import Producer
from streams.settings import Settings
from streams.topics import Topic
from tests.broker.cluster import REPOSITORY, Cluster
from tests.cases.world import observe
from tests.parts.processes import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]

NAME = "Kim Secretname"
N = 1_000
CLEANED_S = 480  # the broker's cleaner wakes every 15 s, for one log after the other


def test_of_a_forgotten_subject_nothing_is_left_in_tables_compacted_topics_read_model_and_dead_letters(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = kafka_worker(partitions=1, n=1, FACTDRIFT_BATCH_MAX="50", FACTDRIFT_LINKS="all")
    cluster.publish([json.dumps(line).encode() for line in history()])
    cluster.publish([b'{"subject": "Kim Secretname", broken', b'{"subject": "Bob", broken'])
    cluster.wait_done()
    asyncio.run(compact_soon(cluster.settings))
    model = open_url(URL.create("sqlite", database=str(tmp_path / "model" / "read-model.sqlite")))
    asyncio.run(follow_kafka(model, cluster.settings, to_end=True))
    fields = {"scope": "subject", "subject": NAME, "reason": "asked for"}
    assert {"changelog", "topic", "file"} <= {
        found.where.split()[0] for found in proof_of(cluster, tmp_path).left
    }

    told = asyncio.run(forget_kafka(cluster.settings, fields, now=INSTANT_MAX))
    cluster.wait_done()
    asyncio.run(follow_kafka(model, cluster.settings, to_end=True))
    assert asyncio.run(erase_fulfilled(model, cluster.settings)) == 0

    assert (told["asked"], told["letters"]) == (True, 1)

    left: list[str] = []

    def is_clean() -> bool:
        asyncio.run(nudge(cluster.settings))
        left[:] = [found.where for found in proof_of(cluster, tmp_path).left]
        return not left

    with contextlib.closing(model):
        try:
            wait_until(is_clean, timeout_s=CLEANED_S, what="compaction to remove what was forgotten")
        except TimeoutError as error:
            raise AssertionError(f"left at last: {left}") from error
    proof = proof_of(cluster, tmp_path)
    until = {found.where: found.until for found in proof.append_only}
    assert set(until) >= {"topic observations", "topic observations-by-claim", "topic fact-created"}
    assert until["topic observations-by-claim"] is None
    lasting = until["topic fact-created"], until["topic observations"]
    assert all(at is not None for at in lasting)
    assert lasting[0] - lasting[1] > 30 * DAY_MS  # type: ignore[operator]
    command = [sys.executable, "-m", "agents.main", "forget", "subject", NAME, "--verify", "--json",
               "--text", "Secretville", "--files", str(cluster.folder / "data"),
               "--files", str(tmp_path / "model")]  # fmt: skip
    verified = subprocess.run(
        command, capture_output=True, cwd=REPOSITORY, env={**os.environ, **cluster.environment}, check=False
    )
    assert verified.returncode == 0, verified.stderr.decode()
    told_until = {one["where"]: one["until"] for one in json.loads(verified.stdout)["proof"]["append_only"]}
    assert told_until.keys() == until.keys()
    assert told_until["topic observations-by-claim"] is None
    facts = asyncio.run(latest_facts(cluster.settings))
    assert {fact["subject"] for fact in facts.values()} == {"Bob"}


def history() -> list[dict[str, object]]:
    lines = [
        observe(
            ["Oslo", "Bergen", "Secretville"][n // 40 % 3] if n % 5 else f"plan {n % 60}",
            n / 10,
            id=f"o{n}",
            document=f"paper-{n % 90}",
            subject=NAME,
            predicate="lives_in" if n % 5 else "works_on",
        )
        for n in range(N)
    ]
    bob = [observe("Oslo", n, id=f"b{n}", subject="Bob", predicate="lives_in") for n in range(20)]
    return [*lines, *bob]


def proof_of(cluster: Cluster, folder: Path) -> Proof:
    words = Words([NAME, "Secretville"])
    folders = [cluster.folder / "data", folder / "model"]
    return asyncio.run(verify_kafka(cluster.settings, words, [f for f in folders if f.is_dir()]))


def compacted(settings: Settings) -> list[str]:
    kafka = settings.kafka
    topics = [topic_name(kafka, topic) for topic in (Topic.FACTS, Topic.FACT_LINKS)]
    return [*topics, *(changelog_name(kafka, table) for table in TABLES)]


async def compact_soon(settings: Settings) -> None:
    """Let the broker compact at once: workers start only where it waits a day, and these have started."""
    wanted = {
        "cleanup.policy": "compact", "min.compaction.lag.ms": "0", "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.001", "delete.retention.ms": "0",
        "message.timestamp.type": "LogAppendTime", "max.message.bytes": str(RECORD_BYTES_MAX),
    }  # fmt: skip
    async with admin_client(settings.kafka) as admin:
        await admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, name, configs=wanted) for name in compacted(settings)]
        )


async def nudge(settings: Settings) -> None:
    """One more record on every compacted topic: the newest segment is never compacted."""
    producer = Producer(settings.kafka)
    await producer.start()
    try:
        for name in compacted(settings):
            await producer.send(name, key=b'["~"]', value=None, partition=0)
        await producer.flush()
    finally:
        await producer.stop(Deadline(10))
