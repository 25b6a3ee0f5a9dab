"""How many observations a second an engine takes in, from the first it reads to the last commit.

The engine is started and given a few records, so that everything is loaded. Then it is stopped in mid-step
(SIGSTOP), its input is published while nothing else runs, and it is let go again: the clock starts there. It
ends when the group has committed the end of all input, which an engine does after its outputs are
acknowledged. Processor time and memory are those of the engine's processes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from aiokafka import TopicPartition

from benchmarks.kafka import written
from benchmarks.kafka.cluster import Cluster, cluster
from benchmarks.kafka.engines import FACTDRIFT, Engine, wait_ready
from benchmarks.kafka.in_one_step import Facts, comparable
from benchmarks.kafka.loads import Line, warm_up
from benchmarks.record import Figure
from tests.parts.kafka import KafkaBroker
from tests.parts.processes import Process

N_WARM_UP = 2_000
_POLL_S = 0.1
_DONE_S = 1_800.0
MIB = 1024 * 1024


@dataclass(slots=True)
class Measured:
    """One run of one engine."""

    engine: str
    n: int
    seconds: float
    durable_s: float
    cpu_s: float
    broker_cpu_s: float | None
    memory_bytes: int
    n_written: int
    facts: Facts

    def figure(self, name: str, note: str = "") -> Figure:
        """As a figure."""
        more = {
            "durable_observations_per_s": self.n / self.durable_s if self.durable_s > 0 else 0.0,
            "cpu_us_per_observation": self.cpu_s * 1e6 / self.n,
            "memory_peak_mib": self.memory_bytes / MIB,
            "records_written_per_observation": self.n_written / self.n,
        }
        if self.broker_cpu_s is not None:
            more["broker_cpu_us_per_observation"] = self.broker_cpu_s * 1e6 / self.n
        return Figure(f"kafka/{name}/{self.engine}", self.n, self.seconds, more, note)


async def measure(
    broker: KafkaBroker,
    engine: Engine,
    lines: Sequence[Line],
    folder: Path,
    *,
    n_processes: int = 1,
    keep: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Measured:
    """Run an engine over these records. With `keep`, what it wrote is kept there.

    Raises TimeoutError or ProcessEnded where the engine does not get through.
    """
    async with cluster(broker.bootstrap, folder) as topics:
        processes = [engine.start(topics, number, environment) for number in range(n_processes)]
        try:
            await _warm(topics, engine, processes)
            before = await topics.all_ends()
            for process in processes:
                process.pause()
            await topics.publish(lines)
            found = await _timed(topics, engine, processes, broker, lines, before)
            if keep is not None:
                since = {tp: before.get(tp, 0) for tp in _outputs(await topics.all_ends(), topics)}
                written.keep(await written.read_since(topics.kafka, since, n_observations=len(lines)), keep)
            return found
        finally:
            for process in processes:
                process.kill()


async def _warm(topics: Cluster, engine: Engine, processes: list[Process]) -> None:
    if engine is FACTDRIFT:
        for process in processes:
            await asyncio.to_thread(wait_ready, process)
    await topics.publish(warm_up(N_WARM_UP))
    await until_done(topics, engine, processes)


async def until_done(topics: Cluster, engine: Engine, processes: list[Process]) -> int:
    """Wait until everything is committed; returns the most memory seen, of all processes together."""
    deadline = time.monotonic() + _DONE_S
    watched = [psutil.Process(process.pid) for process in processes]
    most = 0
    while True:
        for process in processes:
            if not process.running:
                message = f"{process.name} ended with {process.exit_code}:\n{process.log_tail()}"
                raise RuntimeError(message)
        most = max(most, sum(process.memory_info().rss for process in watched))
        if await topics.committed_to_end(two_steps=engine.two_steps):
            return most
        if time.monotonic() > deadline:
            message = f"{engine.name} was not through after {_DONE_S:g} s:\n{processes[0].log_tail()}"
            raise TimeoutError(message)
        await asyncio.sleep(_POLL_S)


async def _timed(
    topics: Cluster,
    engine: Engine,
    processes: list[Process],
    broker: KafkaBroker,
    lines: Sequence[Line],
    before: Mapping[TopicPartition, int],
) -> Measured:
    pids = [process.pid for process in processes]
    cpu, broker_cpu = _cpu_s(pids), _broker_cpu_s(broker)
    started_at, started = time.time(), time.perf_counter()
    for process in processes:
        process.resume()
    memory = await until_done(topics, engine, processes)
    seconds = time.perf_counter() - started
    used, broker_used = _cpu_s(pids) - cpu, _broker_cpu_s(broker)
    after = await topics.all_ends()
    n_written = sum(end - before.get(tp, 0) for tp, end in _outputs(after, topics).items())
    return Measured(
        engine=engine.name,
        n=len(lines),
        seconds=seconds,
        durable_s=await topics.last_written_at(before) - started_at,
        cpu_s=used,
        broker_cpu_s=None if broker_cpu is None or broker_used is None else broker_used - broker_cpu,
        memory_bytes=memory,
        n_written=n_written,
        facts=comparable(await topics.facts()) if engine.makes_facts else {},
    )


def _outputs(ends: Mapping[TopicPartition, int], topics: Cluster) -> dict[TopicPartition, int]:
    """Those of the topics that an engine writes."""
    read = {tp.topic for tp in topics.inputs}
    return {tp: end for tp, end in ends.items() if tp.topic not in read}


def _cpu_s(pids: Sequence[int]) -> float:
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(found.user + found.system for found in times)


def _broker_cpu_s(broker: KafkaBroker) -> float | None:
    return None if broker.pid is None else _cpu_s([broker.pid])
