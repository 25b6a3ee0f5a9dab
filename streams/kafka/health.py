"""Whether a worker is alive and ready, decided from its vital signs.

The signs are taken once a second by a task of the worker (`Watch`) and read by whoever asks, from any thread.
A worker is healthy while nothing that must go on has stood still for longer than a session: by then Kafka has
given its partitions to others anyway. It is ready while it has its partitions and their tables are restored.
Decides nothing about what to do: `docs/kafka-operations.md` does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streams.kafka.metrics import Metrics
from streams.settings import KafkaSettings

LOOK_S: Final = 1.0  # between two looks; what is shown is at most this old while the event loop is alive
LIMIT_LEAST_S: Final = 5.0
"""However short a session is: an answered fetch may take 1.5 s and is seen up to a look later."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one partition stands: what is committed, where the log ends, and the client's last answer.

    `polled` changes whenever the broker answered a fetch of this partition; what it counts does not matter.
    """

    group: str
    topic: str
    partition: int
    committed: int
    end: int
    polled: object

    @property
    def lag(self) -> int:
        """Records that are still to be done."""
        return max(0, self.end - self.committed)


@dataclass(slots=True)
class PartitionSigns:
    """A standing, and since when (monotonic seconds) it has not moved on."""

    standing: Standing
    moved_at: float
    polled_at: float

    def commit_age_s(self, now: float) -> float:
        """How long there has been something to commit without a commit; 0 where nothing is left to do."""
        return max(0.0, now - self.moved_at) if self.standing.lag else 0.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was judged. `why` says in a sentence what was found, well or not."""

    name: str
    ok: bool
    why: str


@dataclass(slots=True)
class Vitals:
    """The vital signs of one worker. Instants are monotonic seconds; None is "not yet".

    Every field is replaced as a whole: another thread reads an old value or a new one, nothing between.
    """

    limit_s: float
    commit_limit_s: float
    metrics: Metrics
    started_at: float
    loop_at: float | None = None
    broker_at: float | None = None
    beat_age_s: Callable[[], float | None] = lambda: None
    partitions: Mapping[tuple[str, str, int], PartitionSigns] = field(default_factory=dict)
    assigned: Sequence[int] | None = None
    intake_assigned: bool = False
    stopping: str = ""

    def loop_age_s(self, now: float) -> float:
        """Seconds since the event loop came round, or since the start."""
        return max(0.0, now - (self.started_at if self.loop_at is None else self.loop_at))

    def broker_silent_s(self, now: float) -> float:
        """Seconds since a broker answered, or since the start."""
        return max(0.0, now - (self.started_at if self.broker_at is None else self.broker_at))

    def health(self, now: float) -> list[Check]:
        """What `/healthz` says: healthy when every check is."""
        checks = [
            _age("event_loop", "It last came round", self.loop_age_s(now), self.limit_s),
            _age("heartbeats", "The heartbeat thread last ran", self.beat_age_s(), self.limit_s),
            _age("broker", "Kafka last answered", self.broker_silent_s(now), self.limit_s),
            self._commits(now),
            self._fetches(now),
        ]
        if self.stopping:
            checks.append(Check("running", ok=False, why=self.stopping))
        return checks

    def readiness(self, _now: float) -> list[Check]:
        """What `/readyz` says: ready when every check is."""
        recovery = self.metrics.recovery
        consolidation = Check(
            "consolidation",
            ok=self.assigned is not None,
            why="No partitions yet." if self.assigned is None else f"Partitions {list(self.assigned)}.",
        )
        checks = [
            Check(
                "intake",
                self.intake_assigned,
                "In its group." if self.intake_assigned else "Not in its group yet.",
            ),
            consolidation,
            Check(
                "tables",
                ok=self.assigned is not None and not recovery.running,
                why=f"Being restored, about {sum(recovery.left.copy().values())} records to go."
                if recovery.running
                else "Restored."
                if self.assigned is not None
                else "Waiting for partitions.",
            ),
        ]
        if self.stopping:
            checks.append(Check("running", ok=False, why=self.stopping))
        return checks

    def _commits(self, now: float) -> Check:
        ages = [(signs.commit_age_s(now), signs.standing) for signs in self.partitions.values()]
        if not ages:
            return Check("commits", ok=True, why="No partition is read at present.")
        age_s, worst = max(ages, key=lambda pair: pair[0])
        return Check(
            "commits",
            ok=age_s <= self.commit_limit_s,
            why=f"{worst.topic}/{worst.partition} has waited {age_s:.1f} s for a commit, {worst.lag} records "
            f"to go; {self.commit_limit_s:g} s are allowed."
            if age_s
            else "Everything that was read is committed.",
        )

    def _fetches(self, now: float) -> Check:
        """Where nothing is left to do the consumer must ask for more; where something is, commits tell."""
        idle = [(now - s.polled_at, s.standing) for s in self.partitions.values() if not s.standing.lag]
        if not idle:
            return Check("fetches", ok=True, why="No partition waits for records at present.")
        age_s, worst = max(idle, key=lambda pair: pair[0])
        where = f"{worst.topic}/{worst.partition}"
        return _age("fetches", f"{where} was last answered", max(0.0, age_s), self.limit_s)


def _age(name: str, what: str, age_s: float | None, limit_s: float) -> Check:
    if age_s is None:
        return Check(name, ok=True, why="Not started yet.")
    return Check(name, ok=age_s <= limit_s, why=f"{what} {age_s:.1f} s ago; {limit_s:g} s are allowed.")


def followed(
    before: Mapping[tuple[str, str, int], PartitionSigns], standings: Iterable[Standing], now: float
) -> dict[tuple[str, str, int], PartitionSigns]:
    """The signs after one more look: what moved since the last one moved now.

    A partition that was not there before, or had nothing left to do, moves now too: the clock of something
    that waits starts when it is first seen waiting. What is no longer there is forgotten.
    """
    found: dict[tuple[str, str, int], PartitionSigns] = {}
    for standing in standings:
        key = (standing.group, standing.topic, standing.partition)
        old = before.get(key)
        if old is None:
            found[key] = PartitionSigns(standing, moved_at=now, polled_at=now)
            continue
        stands = old.standing.lag > 0 and old.standing.committed == standing.committed
        found[key] = PartitionSigns(
            standing,
            moved_at=old.moved_at if stands else now,
            polled_at=old.polled_at if old.standing.polled == standing.polled else now,
        )
    return found


class Watch:
    """Takes the vital signs once a second, on the event loop that it watches."""

    def __init__(self, kafka: KafkaSettings, metrics: Metrics) -> None:
        limit_s = max(kafka.session_timeout_s, LIMIT_LEAST_S)
        self.vitals = Vitals(
            limit_s=limit_s,
            commit_limit_s=limit_s + kafka.commit_interval_s,
            metrics=metrics,
            started_at=time.monotonic(),
        )
        self._late = metrics.loop_late_seconds
        metrics.registry.register(_VitalsCollector(self.vitals))

    async def run(
        self,
        *,
        standings: Callable[[], Awaitable[Iterable[Standing]]],
        ping: Callable[[], Awaitable[bool]],
        silent: Callable[[], Awaitable[None]],
    ) -> None:
        """Look until cancelled.

        `ping` is true when a broker answered; it may take as long as it likes. `silent` is called again and
        again once none has answered for a session: clients go on trying for ever, also where a broker is
        there and will never let them in again.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tick())
            tasks.create_task(self._ask_broker(ping, silent))
            tasks.create_task(self._look(standings))

    async def _tick(self) -> None:
        while True:
            due = time.monotonic() + LOOK_S
            await asyncio.sleep(LOOK_S)
            self.vitals.loop_at = time.monotonic()
            self._late.observe(max(0.0, self.vitals.loop_at - due))

    async def _ask_broker(
        self, ping: Callable[[], Awaitable[bool]], silent: Callable[[], Awaitable[None]]
    ) -> None:
        while True:
            if await ping():
                self.vitals.broker_at = time.monotonic()
            elif self.vitals.broker_silent_s(time.monotonic()) > self.vitals.limit_s:
                await silent()
            await asyncio.sleep(LOOK_S)

    async def _look(self, standings: Callable[[], Awaitable[Iterable[Standing]]]) -> None:
        while True:
            found = list(await standings())
            self.vitals.partitions = followed(self.vitals.partitions, found, time.monotonic())
            await asyncio.sleep(LOOK_S)


class _VitalsCollector(Collector):
    """The vital signs as gauges, made when they are asked for: a partition that is gone is not shown."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals

    def collect(self) -> Iterator[Metric]:
        vitals, now = self._vitals, time.monotonic()
        lag = GaugeMetricFamily(
            "factdrift_lag_records", "Records still to be done.", labels=("group", "topic", "partition")
        )
        age = GaugeMetricFamily(
            "factdrift_commit_age_seconds",
            "How long there has been something to commit without a commit.",
            labels=("group", "topic", "partition"),
        )
        for (group, topic, partition), signs in vitals.partitions.items():
            lag.add_metric((group, topic, str(partition)), signs.standing.lag)
            age.add_metric((group, topic, str(partition)), signs.commit_age_s(now))
        yield from (lag, age)
        left = GaugeMetricFamily(
            "factdrift_recovery_records_left",
            "Changelog records to be read before the worker is ready, about.",
            labels=("topic", "partition"),
        )
        for (topic, partition), n in sorted(vitals.metrics.recovery.left.copy().items()):
            left.add_metric((topic, str(partition)), n)
        yield left
        yield from self._ages(now)
        healthy = all(check.ok for check in vitals.health(now))
        ready = all(check.ok for check in vitals.readiness(now))
        yield GaugeMetricFamily("factdrift_healthy", "1 where /healthz says so.", value=healthy)
        yield GaugeMetricFamily("factdrift_ready", "1 where /readyz says so.", value=ready)
        yield GaugeMetricFamily(
            "factdrift_stand_still_limit_seconds",
            "What must go on may stand still this long.",
            value=vitals.limit_s,
        )

    def _ages(self, now: float) -> Iterator[Metric]:
        vitals = self._vitals
        ages = (
            ("event_loop_age", "Since the event loop last came round.", vitals.loop_age_s(now)),
            ("broker_silent", "Since Kafka last answered.", vitals.broker_silent_s(now)),
            ("heartbeat_age", "Since the thread of the heartbeats last ran.", vitals.beat_age_s()),
        )
        for name, meaning, age_s in ages:
            if age_s is not None:
                yield GaugeMetricFamily(f"factdrift_{name}_seconds", meaning, value=age_s)
