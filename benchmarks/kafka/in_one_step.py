"""The declared agents joined into one function, for engines that handle one record at a time.

From a public record straight to table writes and outputs: no internal topic, which spares such an engine a
second way through Kafka. It also spares it what the internal topic is for: one order of all input that can be
replayed, and input whose key is anything. Knows no engine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from agents import composition
from benchmarks.kafka.loads import WARM_UP, Line
from state.instants import Instant
from streams.host import Effects, Record, State
from streams.kafka.intake_service import NoTables
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import TOPICS, Topic
from streams.wire import fact_line

Facts = dict[str, dict[str, object]]
"""Facts by id, without what depends on how the evidence was cut."""

OUTPUTS: tuple[Topic, ...] = tuple(
    spec.topic for spec in TOPICS if spec.topic not in {Topic.OBSERVATIONS, Topic.CORRECTIONS, Topic.BY_CLAIM}
)
"""What a host must be able to write to."""

LATE = Instant(4_102_444_800_000)  # 2100: after all evidence, so that every end that is known has come


class OneStep:
    """Both agents, one after the other."""

    def __init__(self, settings: Settings) -> None:
        self.intake, self.consolidation = composition.agents(settings, keeps_index=False)
        self.n_partitions = settings.kafka.partitions
        self._no_tables = NoTables(self.n_partitions)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the host must keep."""
        return self.consolidation.tables

    def apply(self, state: State, record: Record) -> Effects:
        """What one public record leads to."""
        taken_in = self.intake.apply(self._no_tables, [record])
        effects = Effects()
        for output in taken_in.outputs:
            if output.topic is Topic.BY_CLAIM:
                inner = Record(
                    Topic.BY_CLAIM, record.partition, record.offset, None, output.value, record.recorded_at
                )
                consolidated = self.consolidation.apply(state, [inner])
                effects.writes += consolidated.writes
                effects.outputs += consolidated.outputs
            else:
                effects.outputs.append(output)
        return effects


def settings_from_environment() -> Settings:
    """The settings of a host, the same as a worker would read; and the collector as every process sets it."""
    composition.collect_rarely()
    return Settings()


def state_folder(settings: Settings) -> Path:
    """Where a host of one process keeps its state; it exists."""
    folder = settings.data / str(os.getpid())
    folder.mkdir(parents=True)
    return folder


# -- what has to come out --------------------------------------------------------------------


class _Dictionary:
    """The tables of one partition in memory."""

    def __init__(self, n_partitions: int) -> None:
        self.n_partitions = n_partitions
        self._values: dict[tuple[str, bytes], bytes] = {}

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._values.get((table, key))

    def applied(self, _table: str, _key: bytes, _record: Record) -> bool:
        return False

    def take(self, effects: Effects) -> None:
        for write in effects.writes:
            if write.value is None:
                self._values.pop((write.table, write.key), None)
            else:
                self._values[write.table, write.key] = write.value


def expected_facts(lines: Iterable[Line], *, batch: int = 500) -> Facts:
    """The facts that these records lead to, worked out in memory by the same agents."""
    settings = Settings()
    intake, consolidation = composition.agents(settings, keeps_index=False)
    state, latest = _Dictionary(1), {}
    now = composition.wall_clock()  # as the broker's: an observation from its future is refused
    records = [
        Record(Topic.OBSERVATIONS, Partition(0), Offset(number), key, value, now)
        for number, (key, value) in enumerate(lines)
    ]
    for start in range(0, len(records), batch):
        taken_in = intake.apply(NoTables(1), records[start : start + batch])
        for output in taken_in.outputs:
            if output.topic is Topic.BY_CLAIM:
                inner = Record(Topic.BY_CLAIM, Partition(0), Offset(start), None, output.value, now)
                effects = consolidation.apply(state, [inner])
                state.take(effects)
                latest.update({o.key: o.value for o in effects.outputs if o.topic is Topic.FACTS})
    return comparable(msgspec.json.decode(value) for value in latest.values())


def comparable(bodies: Iterable[dict[str, object]]) -> Facts:
    """Bodies from the topic `facts` as facts that two hosts can be compared by."""
    return {
        str(body["fact_id"]): fact_line(body, now=LATE)
        for body in bodies
        if body["reason"] != "withdrawn" and body["namespace"] != WARM_UP
    }
