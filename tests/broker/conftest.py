"""A real broker for a session of tests, and workers as processes of their own.

Each test gets a prefix, so topics and groups are its own even on a broker that holds anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.broker.cluster import Cluster, make_cluster
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
        found = make_cluster(broker, tmp_path, partitions=partitions, topics=topics, **environment)
        made.append(found)
        return found

    yield make
    for found in made:
        found.remove()


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
