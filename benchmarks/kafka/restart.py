"""How soon a worker that holds many claims is back: with its disk, and with nothing but the changelogs."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import psutil

from benchmarks.kafka.cluster import Cluster, cluster
from benchmarks.kafka.engines import FACTDRIFT, wait_ready
from benchmarks.kafka.loads import Load
from benchmarks.kafka.rate import until_done
from benchmarks.record import Figure
from streams.kafka import changelog_name
from streams.kafka.naming import TABLES
from tests.parts.kafka import KafkaBroker
from tests.parts.processes import Process

_PUBLISHED_AT_ONCE = 50_000
_STOP_S = 75
_CLEAR_S = 1.0  # joining the group alone varies by about as much: a smaller difference is no rate
MIB = 1024 * 1024


async def restart(broker: KafkaBroker, load: Load, n_claims: int, folder: Path) -> Figure:
    """Bring a worker to `n_claims` claims; stop and start it, once with its disk and once without."""
    async with cluster(broker.bootstrap, folder) as topics:
        worker = FACTDRIFT.start(topics)
        try:
            await asyncio.to_thread(wait_ready, worker)
            lines = load.lines(n_claims)
            for start in range(0, n_claims, _PUBLISHED_AT_ONCE):
                await topics.publish(lines[start : start + _PUBLISHED_AT_ONCE])
            del lines
            memory = await until_done(topics, FACTDRIFT, [worker])
            worker.terminate(_STOP_S)
            worker, with_disk_s = await _started(topics)
            worker.terminate(_STOP_S)
            shutil.rmtree(topics.environment["FACTDRIFT_DATA"])
            worker, without_disk_s = await _started(topics)
            restored = _memory(worker)
        finally:
            worker.kill()
        ends = await topics.ends([changelog_name(topics.kafka, table) for table in TABLES])
    more = {
        "with_disk_s": with_disk_s,
        "without_disk_s": without_disk_s,
        "changelog_records": float(sum(ends.values())),
        "memory_mib": memory / MIB,
        "restored_memory_mib": restored / MIB,
    }
    if without_disk_s > with_disk_s + _CLEAR_S:
        more["restored_records_per_s"] = more["changelog_records"] / (without_disk_s - with_disk_s)
    return Figure(f"kafka/restart/{n_claims}", n_claims, None, more)


async def _started(topics: Cluster) -> tuple[Process, float]:
    """A worker, and the seconds from its start to its being ready."""
    started = time.perf_counter()
    worker = FACTDRIFT.start(topics, number=time.monotonic_ns())
    await asyncio.to_thread(wait_ready, worker)
    return worker, time.perf_counter() - started


def _memory(worker: Process) -> int:
    found: int = psutil.Process(worker.pid).memory_info().rss
    return found
