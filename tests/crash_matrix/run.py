"""Running one case with one seed: workers as processes, a supervisor that starts them again, what must hold.

The supervisor does what `restart: unless-stopped` does: a worker that ended in whatever way is started again,
as long as the broker answers. Every wait has a bound that only a hang reaches.
"""

from __future__ import annotations

import asyncio
import random
import re
import resource
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatchmethod
from pathlib import Path
from typing import Any

import psutil
from aiokafka import AIOKafkaProducer

from streams.kafka import changelog_name, group_name, publish, topic_name
from streams.kafka.admin import RECORD_BYTES_MAX, admin_client
from streams.kafka.connection import client_options
from streams.kafka.reset import begin_reset
from streams.topics import Topic
from tests.broker.cluster import Cluster, make_cluster, partitions_of
from tests.broker.feeds import (
    Line,
    embedded_facts,
    events,
    facts_told_by,
    greatest_observed_at,
    kafka_facts,
)
from tests.broker.logs import configure_topic, regressions
from tests.crash_matrix import faults
from tests.crash_matrix.faults import Case, Step
from tests.crash_matrix.feed import feed, poison
from tests.parts.kafka import KafkaBroker
from tests.parts.processes import Process, wait_until

STEP_S = 120  # for one step of a case, on a busy machine
HEALED_S = 240  # for everything to be done, once nothing goes wrong any more
KILLED = -9
YEAR_MS = 365 * 86_400_000
SETTINGS = {
    "FACTDRIFT_BATCH_MAX": "25",
    "FACTDRIFT_KAFKA_SESSION_TIMEOUT_S": "3",
    "FACTDRIFT_KAFKA_REQUEST_TIMEOUT_S": "10",
}


@dataclass
class Result:
    """One row of the table. A run that did not hold what it promises has `broken`, in sentences."""

    case: str
    seed: int
    outcome: str
    n_workers: int
    n_kills: int = 0
    n_stops: Counter[str] = field(default_factory=Counter)
    n_facts: int = 0
    n_lost: int = 0
    n_doubled: int = 0
    n_duplicates: int = 0
    took_s: float = 0.0
    broken: list[str] = field(default_factory=list)


class Run:
    """One case on a cluster of its own."""

    def __init__(self, broker: KafkaBroker, case: Case, seed: int, folder: Path) -> None:
        self.case = case
        self.random = random.Random(f"{case.name}/{seed}")
        self.lines = feed(self.random)
        self.published: list[bytes] = []
        self.result = Result(case.name, seed, case.outcome, case.n_workers)
        self._folder = folder
        self._cluster = make_cluster(broker, folder, partitions=4, **SETTINGS)
        self._broker_is_there = True
        self._expendable: set[int] = set()  # workers that were ended on purpose, and are not started again
        self._n_fed = 0
        self._seen_codes: list[str] = []
        self._began = time.monotonic()

    @property
    def cluster(self) -> Cluster:
        """The cluster of this run."""
        return self._cluster

    def run(self) -> Result:
        """Run the case, heal everything, and judge."""
        try:
            for _ in range(self.case.n_workers):
                self._cluster.start_worker()
            for step in self.case.steps:
                self.do(step)
            self._finish()
            self._judge()
        except (AssertionError, TimeoutError, RuntimeError) as error:
            self.result.broken.append(f"{type(error).__name__}: {error}")
        finally:
            self.result.took_s = time.monotonic() - self._began
            self._cluster.remove()
        return self.result

    # -- steps ------------------------------------------------------------------------------

    @singledispatchmethod
    def do(self, step: Step) -> None:
        """Do one step of a case."""
        raise NotImplementedError(step)

    @do.register
    def _(self, step: faults.Publish) -> None:
        self._publish(self._next_share(step.share))

    @do.register
    def _(self, step: faults.SomeDone) -> None:
        left = sum(p.lag for p in self._progress())
        aim = self._n_committed() + self.random.randint(1, max(1, left // 2))
        self._await(lambda: self._n_committed() >= aim or self._all_done(), "some of it to be committed")

    @do.register
    def _(self, step: faults.Kill) -> None:
        self.result.n_kills += 1
        worker = self._choose()
        worker.kill()
        self._tend()

    @do.register
    def _(self, step: faults.Terminate) -> None:
        worker = self._choose()
        self._let_settle(worker)
        code = worker.terminate(timeout_s=STEP_S)
        if code != 0:
            self._judge_exit(worker)
        self._tend()

    @do.register
    def _(self, step: faults.Doomed) -> None:
        old = self._choose()
        self._expendable.add(old.pid)
        old.terminate(timeout_s=STEP_S)
        how = ":pause" if step.pause else ""
        failpoint = f"{step.step}:{self.random.randint(1, 4)}{how}"
        doomed = self._cluster.start_worker(wait=False, FACTDRIFT_FAILPOINT=failpoint)
        lines = self._next_share(step.share)
        self._publish(lines)

        def met() -> bool:
            if doomed.paused or not doomed.running:
                return True
            if self._all_done():  # the others did it all: it has to get something
                self._publish(lines[:50])
            return False

        self._await(met, f"a worker to meet {failpoint}")
        if step.pause:
            self._await_taken_over()
        else:
            self.result.n_kills += 1
            assert doomed.exit_code == KILLED, f"it ended with {doomed.exit_code}: {doomed.log_tail()}"
        self._tend()

    @do.register
    def _(self, step: faults.Pause) -> None:
        self._choose().pause()
        self._await_taken_over()

    @do.register
    def _(self, step: faults.Resume) -> None:
        for worker in self._cluster.workers:
            if worker.paused:
                worker.resume()

    @do.register
    def _(self, step: faults.AddWorker) -> None:
        self._cluster.start_worker(wait=False)

    @do.register
    def _(self, step: faults.RemoveWorker) -> None:
        worker = self._choose()
        self._let_settle(worker)
        self._expendable.add(worker.pid)
        assert worker.terminate(timeout_s=STEP_S) == 0, worker.log_tail()

    @do.register
    def _(self, step: faults.BrokerDies) -> None:
        self._broker_is_there = False
        broker = self._cluster.broker
        pid = broker.pid
        if step.disk_full and pid is not None:
            # A disk that takes no more: whatever the broker appends from now on fails.
            psutil.Process(pid).rlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            wait_until(lambda: broker.pid is None, timeout_s=STEP_S, what="the broker to give up its disk")
        else:
            broker.kill()

    @do.register
    def _(self, step: faults.BrokerReturns) -> None:
        self._cluster.broker.restart()
        self._broker_is_there = True
        self._tend()

    @do.register
    def _(self, step: faults.ReadOnly) -> None:
        configure_topic(self._cluster.kafka, self._name(step.topic), {"max.message.bytes": "100"})

    @do.register
    def _(self, step: faults.Writable) -> None:
        for topic in (Topic.FACTS, "claims", "subjects"):
            configure_topic(
                self._cluster.kafka, self._name(topic), {"max.message.bytes": str(RECORD_BYTES_MAX)}
            )

    @do.register
    def _(self, step: faults.Poison) -> None:
        self._publish(poison(self.random, step.n_records))

    @do.register
    def _(self, step: faults.ClockJumps) -> None:
        lines = self._next_share(step.share)
        self.published.extend(lines)
        asyncio.run(self._publish_at(lines))

    @do.register
    def _(self, step: faults.ChangelogDeleted) -> None:
        asyncio.run(self._delete(changelog_name(self._cluster.kafka, step.table)))

    @do.register
    def _(self, step: faults.StoppedWith) -> None:
        self._await(lambda: step.code in self._codes(), f"a worker to stop with [{step.code}]")

    @do.register
    def _(self, step: faults.Reset) -> None:
        for worker in self._cluster.workers:
            worker.kill()

        def reset() -> bool:
            try:
                asyncio.run(begin_reset(self._cluster.settings, offset=None, at=None))
            except Exception as error:
                if getattr(error, "code", "") == "reset_refused":  # sessions of the killed are not over yet
                    return False
                raise
            return True

        wait_until(reset, timeout_s=STEP_S, what="the reset to begin")
        self._tend()

    # -- helpers ----------------------------------------------------------------------------

    def _next_share(self, share: float) -> list[bytes]:
        first = self._n_fed
        self._n_fed = min(len(self.lines), first + round(share * len(self.lines)))
        return self.lines[first : self._n_fed]

    def _publish(self, lines: list[bytes]) -> None:
        self.published.extend(lines)
        asyncio.run(publish(self._cluster.settings, Topic.OBSERVATIONS, [(None, line) for line in lines]))

    async def _publish_at(self, lines: list[bytes]) -> None:
        producer = AIOKafkaProducer(**client_options(self._cluster.kafka), acks="all")
        await producer.start()
        try:
            for line in lines:
                jumped = round(time.time() * 1000) + self.random.choice((-30, -1, 1, 30)) * YEAR_MS
                name = topic_name(self._cluster.kafka, Topic.OBSERVATIONS)
                await producer.send(name, line, timestamp_ms=jumped)
            await producer.flush()
        finally:
            await producer.stop()

    def _choose(self) -> Process:
        return self.random.choice([w for w in self._cluster.workers if w.running and not w.paused])

    def _let_settle(self, worker: Process) -> None:
        """Wait until a worker is ready: one that still starts has no groups to leave."""
        worker.wait_for_line(r"^factdrift worker ready", STEP_S)

    def _tend(self) -> None:
        """Start as many workers as there were, if the broker is there."""
        if not self._broker_is_there:
            return
        for worker in list(self._cluster.workers):
            if not worker.running and worker.pid not in self._expendable:
                self._expendable.add(worker.pid)
                self._judge_exit(worker)
                self._cluster.start_worker(wait=False)

    def _judge_exit(self, worker: Process) -> None:
        if worker.exit_code in (0, KILLED):
            return
        code = _code_of(worker)
        self.result.n_stops[code or "no answer"] += 1
        self._seen_codes.append(code)
        if worker.exit_code != 3 or code not in self.case.stops_with:
            self.result.broken.append(f"{worker.name} ended with {worker.exit_code}: {worker.log_tail(5)}")

    def _codes(self) -> list[str]:
        self._tend()
        return self._seen_codes

    def _await(self, condition: Callable[[], Any], what: str, timeout_s: float = STEP_S) -> None:
        def ask() -> Any:
            self._tend()
            return condition()

        wait_until(ask, timeout_s=timeout_s, what=f"{what} ({self.case.name}, seed {self.result.seed})")

    def _await_taken_over(self) -> None:
        """Wait until workers that do not stand still say that together they have every partition."""

        def taken_over() -> bool:
            active = [w for w in self._cluster.workers if w.running and not w.paused]
            held = [number for worker in active for number in partitions_of(worker)]
            return sorted(held) == list(range(self._cluster.kafka.partitions))

        self._await(taken_over, "the others to take over")

    def _progress(self) -> list[Any]:
        return self._cluster.progress()

    def _n_committed(self) -> int:
        return sum(p.committed for p in self._progress())

    def _all_done(self) -> bool:
        found = self._progress()  # intake first: what it has not read will still become batches
        batches = group_name(self._cluster.kafka)
        return not any(p.lag for p in sorted(found, key=lambda p: p.group == batches))

    def _name(self, topic: str) -> str:
        kafka = self._cluster.kafka
        return topic_name(kafka, topic) if isinstance(topic, Topic) else changelog_name(kafka, topic)

    async def _delete(self, name: str) -> None:
        async with admin_client(self._cluster.kafka) as admin:
            await admin.delete_topics([name])

    # -- the end ----------------------------------------------------------------------------

    def _finish(self) -> None:
        """Publish what is left, wait until all is done, and ask the workers to stop."""
        rest = self._next_share(1.0)
        if rest:
            self._publish(rest)
        self._await(self._all_done, "everything to be done", HEALED_S)
        self._tend()
        for worker in self._cluster.workers:
            if worker.running and worker.pid not in self._expendable:
                self._expendable.add(worker.pid)
                self._await(lambda worker=worker: _settled(worker), "a worker to settle")
                worker.terminate(timeout_s=STEP_S)
                self._judge_exit(worker)
            elif worker.pid not in self._expendable:
                self._judge_exit(worker)

    def _judge(self) -> None:
        """Facts, events and tables are those of a run without faults."""
        now = greatest_observed_at(self.lines)
        expected = embedded_facts(self.published, self._folder / "embedded", now=now)
        told = events(self._cluster.settings)
        found = kafka_facts(self._cluster.settings, now=now)
        self.result.n_facts = len(expected)
        self.result.n_lost = sum(1 for fact in expected if fact not in found)
        ids = _ids(told)
        self.result.n_doubled = sum(len(of_version) - 1 for of_version in ids.values())
        self.result.n_duplicates = len(told) - sum(len(of_version) for of_version in ids.values())
        self._promise(found == expected, "the facts differ from those of an undisturbed run")
        self._promise(facts_told_by(told, now=now) == expected, "the events tell other facts")
        self._promise(self.result.n_doubled == 0, "a version was told with two ids")
        self._promise(_complete(ids), "a version was never told")
        behind = regressions(self._cluster.kafka)
        self._promise(not behind, f"older values were written behind newer ones: {behind[:3]}")

    def _promise(self, held: bool, otherwise: str) -> None:
        if not held:
            self.result.broken.append(otherwise)


def _settled(worker: Process) -> bool:
    return not worker.running or b"\nfactdrift worker ready" in b"\n" + worker.log.read_bytes()


def _code_of(worker: Process) -> str:
    """The code in the sentence with which a worker stopped. Libraries may have had a word after it."""
    found: list[str] = re.findall(r"\[([a-z]+_[a-z_]+)\]", worker.log_tail(12))
    return found[-1] if found else ""


def _ids(told: list[Line]) -> dict[tuple[str, int], set[str]]:
    found: dict[tuple[str, int], set[str]] = {}
    for event in told:
        found.setdefault((event["fact_id"], event["version"]), set()).add(event["event_id"])
    return found


def _complete(ids: dict[tuple[str, int], set[str]]) -> bool:
    """Whether the versions of every fact are 1, 2, 3 …"""
    versions: dict[str, list[int]] = {}
    for fact_id, version in ids:
        versions.setdefault(fact_id, []).append(version)
    return all(sorted(held) == list(range(1, len(held) + 1)) for held in versions.values())
