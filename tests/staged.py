"""The two stateful agents on a small cluster in memory, whose workers may die between any two writes.

Keeps what the Kafka host promises and no more: outputs are durable before tables, tables stage by stage,
within a stage in either order; a record may be delivered again, with some of those before it; a value carries
the offset that it holds where the host stamps it. Decides nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agents import composition
from agents.audit import audit
from agents.clock import clock, tick_request
from agents.intake import intake
from state.instants import Instant
from streams.host import Agent, Effects, Output, Record
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import Topic
from tests.builders import day

RECORDED_AT = day(300)


class Tables:
    """The tables of one partition of one agent. Implements `streams.host.State`."""

    def __init__(self, n_partitions: int, *, stamped: bool, backwards: bool = False) -> None:
        self.n_partitions = n_partitions
        self._stamped = stamped
        self._step = -1 if backwards else 1
        self._held: dict[tuple[str, bytes], tuple[int, bytes]] = {}

    def get(self, table: str, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        found = self._held.get((table, key))
        return None if found is None else found[1]

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, in order of the key."""
        found = ((k, v) for (name, k), (_, v) in self._held.items() if name == table and k.startswith(prefix))
        yield from sorted(found)

    def applied(self, table: str, key: bytes, record: Record) -> bool:
        """Whether the key holds the record, where the host stamps values."""
        found = self._held.get((table, key))
        return self._stamped and found is not None and found[0] >= record.offset

    def write(
        self, effects: Effects, stages: Sequence[Sequence[str]], offset: int, *, n_max: int | None
    ) -> bool:
        """Write stage by stage, at most `n_max` keys; says whether all of it was written."""
        ordered = [w for stage in stages for w in effects.writes[:: self._step] if w.table in stage]
        assert len(ordered) == len(effects.writes), "a table that the agent does not declare"
        for write in ordered[:n_max]:
            if write.value is None:
                self._held.pop((write.table, write.key), None)
            else:
                self._held[write.table, write.key] = (offset, write.value)
        return n_max is None or len(ordered) <= n_max


class Reader:
    """One partition of an agent's input, and how far it was read."""

    def __init__(self, make: Callable[[], Agent], tables: Tables) -> None:
        self._make = make
        self.agent = make()
        self.tables = tables
        self.next = 0

    def take(self, record: Record, *, n_written: int | None, n_again: int) -> list[Output]:
        """Deliver a record; with `n_written` the worker dies after so many writes, if there are more.

        It then goes on `n_again` records before this one.
        """
        effects = self.agent.apply(self.tables, [record])
        if self.tables.write(effects, self.agent.stages, record.offset, n_max=n_written):
            self.next = record.offset + 1
        else:
            self.agent = self._make()
            self.next = max(0, record.offset - n_again)
        return effects.outputs


class SmallCluster:
    """Topics, and one reader for each partition of a stateful agent."""

    def __init__(
        self,
        n_partitions: int = 2,
        *,
        crashes: Iterable[tuple[int, int]] = (),
        backwards: bool = False,
        recorded_at: Instant = RECORDED_AT,
        settings: Settings | None = None,
    ) -> None:
        """`crashes` says of each delivery in turn how many writes it does, and how many records come again;
        a first number below 0 is a delivery that goes well, as all go that come after them. `backwards` is
        the order of the writes within a stage, `recorded_at` the log's timestamp of every record.
        """
        self._recorded_at = recorded_at
        self.n_partitions = n_partitions
        self.topics: dict[tuple[Topic, int], list[Record]] = defaultdict(list)
        self._crashes = iter(crashes)
        settings = settings or Settings()
        self._intake = intake(batch_bytes_max=settings.batch_bytes_max)
        self._stateless = Tables(n_partitions, stamped=False)
        self.readers: dict[tuple[Topic, int], Reader] = {
            (Topic.BY_CLAIM, number): Reader(
                lambda: composition.agents(settings, keeps_index=False)[1],
                Tables(n_partitions, stamped=True, backwards=backwards),
            )
            for number in range(n_partitions)
        }
        self.readers[Topic.CYCLE_PARTS, 0] = Reader(
            lambda: audit(learns_trust=settings.trust == "learned"),
            Tables(n_partitions, stamped=False, backwards=backwards),
        )

    # -- what goes in -----------------------------------------------------------------------

    def publish(self, *lines: Mapping[str, Any], topic: Topic = Topic.OBSERVATIONS) -> None:
        """One batch of public records, through intake."""
        records = [self._append(topic, 0, None, json.dumps(line).encode()) for line in lines]
        self.emit(self._intake.apply(self._stateless, records).outputs)

    def rule(self, op: str, name: str, **fields: Any) -> None:
        """A command about a rule."""
        self.publish({"op": op, "name": name, **fields}, topic=Topic.RULES)

    def tick(self, now: Instant, *, times: int = 1, is_idle: bool = False) -> None:
        """Close a cycle; with `times` the tick is handed on more than once, as by two owners of the clock."""
        record = self._append(Topic.CLOCK, 0, None, tick_request(now, is_idle=is_idle))
        for _ in range(times):
            self.emit(clock().apply(self._stateless, [record]).outputs)

    def emit(self, outputs: Iterable[Output]) -> None:
        """Append what an agent published."""
        for output in outputs:
            self._append(output.topic, output.partition or 0, output.key, output.value)

    def _append(self, topic: Topic, partition: int, key: bytes | None, value: bytes) -> Record:
        log = self.topics[topic, partition]
        log.append(Record(topic, Partition(partition), Offset(len(log)), key, value, self._recorded_at))
        return log[-1]

    # -- running ----------------------------------------------------------------------------

    def drain(self, *, dead: Iterable[int] = ()) -> None:
        """Let every reader read to the end, but for the dead partitions of claims."""
        alive = [at for at in self.readers if at[0] is Topic.CYCLE_PARTS or at[1] not in set(dead)]
        progress = True
        while progress:
            progress = False
            for at in alive:
                reader, log = self.readers[at], self.topics[at]
                while reader.next < len(log):
                    n_written, n_again = next(self._crashes, (-1, 0))
                    crash = n_written if n_written >= 0 else None
                    self.emit(reader.take(log[reader.next], n_written=crash, n_again=n_again))
                    progress = True

    # -- what came out ----------------------------------------------------------------------

    def values(self, topic: Topic) -> list[dict[str, Any]]:
        """Every record of a topic, repeated ones included."""
        return [
            json.loads(r.value) for (of, _), log in sorted(self.topics.items()) if of is topic for r in log
        ]

    def distinct(self, topic: Topic, by: str = "event_id") -> list[dict[str, Any]]:
        """Every record of a topic once; asserts that repeated ones say the same."""
        found: dict[Any, dict[str, Any]] = {}
        for body in self.values(topic):
            assert found.setdefault(body[by], body) == body, f"{topic} says two things under {body[by]}"
        return list(found.values())
