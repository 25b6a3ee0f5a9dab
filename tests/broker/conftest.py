"""A real broker for a session of tests, and workers as processes of their own.

Each test gets a prefix, so topics and groups are its own even on a broker that holds anything else.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streams.kafka import create_topics
from streams.kafka.admin import admin_client
from streams.settings import KafkaSettings
from tests.broker.cluster import SESSION_S, Cluster
from tests.parts import or_skip
from tests.parts.kafka import KafkaBroker, start_kafka


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that answers. Missing: a skip on a user's machine, a failure in CI."""
    found = or_skip(lambda: start_kafka(tmp_path_factory.mktemp("broker")))
    yield found
    found.stop()


@pytest.fixture
def cluster(broker: KafkaBroker, tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Makes a cluster with topics of its own. Workers end with the test."""
    made: list[Cluster] = []

    def make(*, partitions: int = 4, topics: bool = True, **environment: str) -> Cluster:
        prefix = f"t{uuid.uuid4().hex[:10]}-"
        kafka = KafkaSettings(
            bootstrap=broker.bootstrap, prefix=prefix, partitions=partitions, session_timeout_s=SESSION_S
        )
        found = Cluster(
            broker,
            kafka,
            tmp_path,
            {
                "FACTDRIFT_KAFKA_BOOTSTRAP": kafka.bootstrap,
                "FACTDRIFT_KAFKA_PREFIX": prefix,
                "FACTDRIFT_KAFKA_PARTITIONS": str(partitions),
                "FACTDRIFT_KAFKA_SESSION_TIMEOUT_S": str(SESSION_S),
                "FACTDRIFT_KAFKA_COMMIT_INTERVAL_S": "0.2",
                "FACTDRIFT_DATA": str(tmp_path / "data"),
                **environment,
            },
        )
        made.append(found)
        if topics:
            asyncio.run(create_topics(found.settings))
        return found

    yield make
    for found in made:
        for worker in found.workers:
            worker.kill()
        asyncio.run(_delete_topics(found.kafka))
    shutil.rmtree(tmp_path / "data", ignore_errors=True)


async def _delete_topics(kafka: KafkaSettings) -> None:
    async with admin_client(kafka) as admin:
        names = [name for name in await admin.list_topics() if name.startswith(kafka.prefix)]
        if names:
            await admin.delete_topics(names)


@pytest.fixture
def kafka_worker(cluster: Callable[..., Cluster]) -> Callable[..., Cluster]:
    """Makes a cluster with `n` workers that are ready and share its partitions."""

    def start(*, partitions: int = 4, n: int = 1, **environment: str) -> Cluster:
        found = cluster(partitions=partitions, **environment)
        for _ in range(n):
            found.start_worker()
        found.wait_shared()
        return found

    return start
