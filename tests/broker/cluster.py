"""A broker with a test's own topics and groups, and the workers on it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from streams.kafka import Progress, create_topics, group_name, progress, publish
from streams.kafka.admin import admin_client
from streams.settings import KafkaSettings, Settings
from streams.topics import Topic
from tests.parts.kafka import KafkaBroker
from tests.parts.processes import Process, start_process, wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
READY_S = 60  # measured: 3 s on two idle cores
DONE_S = 240  # for the largest feed, on a busy machine
SESSION_S = 6.0  # a killed worker is missed after this


@dataclass
class Cluster:
    """A broker with this test's own topics, and the workers on them."""

    broker: KafkaBroker
    kafka: KafkaSettings
    folder: Path
    environment: dict[str, str]
    workers: list[Process] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        """What a command on this cluster would be given."""
        return Settings(kafka=self.kafka)

    def start_worker(
        self,
        *,
        wait: bool = True,
        module: str = "agents.worker",
        arguments: Sequence[str] = (),
        **environment: str,
    ) -> Process:
        """Start one more worker; with `wait`, return when it says that it is ready."""
        number = len(self.workers)
        worker = start_process(
            [sys.executable, "-m", module, *arguments],
            name=f"worker {number}",
            log=self.folder / f"worker-{number}.log",
            environment={**self.environment, **environment},
            folder=REPOSITORY,
        )
        self.workers.append(worker)
        if wait:
            worker.wait_for_line(r"^factdrift worker ready", READY_S)
        return worker

    def wait_shared(self) -> None:
        """Return when every running worker's last ready line says that together they have every partition."""

        def shared() -> bool:
            last = [partitions_of(worker) for worker in self.workers if worker.running]
            return sorted(number for found in last for number in found) == list(range(self.kafka.partitions))

        wait_until(shared, timeout_s=READY_S, what="the workers to share all partitions")

    def publish(self, lines: Sequence[bytes], *, key: bytes | None = None) -> None:
        """Publish lines to `observations`."""
        items = [(key, line) for line in lines]
        assert asyncio.run(publish(self.settings, Topic.OBSERVATIONS, items)) == len(lines)

    def progress(self) -> list[Progress]:
        """How far the workers have committed."""
        return asyncio.run(progress(self.settings))

    def wait_done(self, timeout_s: float = DONE_S) -> None:
        """Return when intake and consolidation have committed everything that is there."""

        def done() -> bool:
            assert any(worker.running for worker in self.workers), self.workers[-1].log_tail()
            # Intake first: what it has not read will still become batches.
            found = self.progress()
            intake = [p for p in found if p.group != group_name(self.kafka)]
            batches = [p for p in found if p.group == group_name(self.kafka)]
            return sum(p.lag for p in intake) == 0 and sum(p.lag for p in batches) == 0

        wait_until(done, timeout_s=timeout_s, what="every record to be committed")

    def remove(self) -> None:
        """End the workers, and delete this test's topics and data."""
        for worker in self.workers:
            worker.kill()
        asyncio.run(_delete_topics(self.kafka))
        shutil.rmtree(self.folder / "data", ignore_errors=True)


def make_cluster(
    broker: KafkaBroker, folder: Path, *, partitions: int = 4, topics: bool = True, **environment: str
) -> Cluster:
    """A cluster with topics of its own and no worker yet."""
    prefix = f"t{uuid.uuid4().hex[:10]}-"
    kafka = KafkaSettings(
        bootstrap=broker.bootstrap, prefix=prefix, partitions=partitions, session_timeout_s=SESSION_S
    )
    found = Cluster(
        broker,
        kafka,
        folder,
        {
            "FACTDRIFT_KAFKA_BOOTSTRAP": kafka.bootstrap,
            "FACTDRIFT_KAFKA_PREFIX": prefix,
            "FACTDRIFT_KAFKA_PARTITIONS": str(partitions),
            "FACTDRIFT_KAFKA_SESSION_TIMEOUT_S": str(SESSION_S),
            "FACTDRIFT_KAFKA_COMMIT_INTERVAL_S": "0.2",
            "FACTDRIFT_DATA": str(folder / "data"),
            **environment,
        },
    )
    if topics:
        asyncio.run(create_topics(found.settings))
    return found


@contextlib.contextmanager
def silence(broker: KafkaBroker) -> Iterator[None]:
    """The broker stands still: connections stay, nothing is answered."""
    if broker.origin != "jvm":
        pytest.skip("only a broker on the local JVM can be paused")
    paused: Any = broker
    paused.pause()
    try:
        yield
    finally:
        paused.resume()


async def _delete_topics(kafka: KafkaSettings) -> None:
    async with admin_client(kafka) as admin:
        names = [name for name in await admin.list_topics() if name.startswith(kafka.prefix)]
        if names:
            await admin.delete_topics(names)


def partitions_of(worker: Process) -> list[int]:
    """The partitions of the worker's last ready line."""
    lines = re.findall(r"^factdrift worker ready partitions=\[(.*)\]$", worker.log.read_text(), re.MULTILINE)
    return [int(number) for number in lines[-1].split(",") if number.strip()] if lines else []
