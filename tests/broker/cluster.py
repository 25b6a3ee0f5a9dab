"""A broker with a test's own topics and groups, and the workers on it."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streams.kafka import Progress, group_name, progress, publish
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

    def start_worker(self, *, wait: bool = True, **environment: str) -> Process:
        """Start one more worker; with `wait`, return when it says that it is ready."""
        number = len(self.workers)
        worker = start_process(
            [sys.executable, "-m", "agents.worker"],
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
            last = [_partitions(worker) for worker in self.workers if worker.running]
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


def _partitions(worker: Process) -> list[int]:
    lines = re.findall(r"^factdrift worker ready partitions=\[(.*)\]$", worker.log.read_text(), re.MULTILINE)
    return [int(number) for number in lines[-1].split(",") if number.strip()] if lines else []
