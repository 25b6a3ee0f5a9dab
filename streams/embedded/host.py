"""Runs declared agents on the embedded log: one transaction per batch, exactly once.

A batch is appended, every agent reads what is new for it, and its writes, outputs and offsets join the
same transaction, until nothing is unread. Holds no business logic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from state.instants import Instant
from streams.embedded.store import NO_TRACES, EmbeddedStore
from streams.host import Agent, Effects, Output, Record
from streams.keys import Offset, Partition
from streams.topics import SPEC_OF, Topic
from streams.tracing import OFF, Tracing

PARTITION: Final = Partition(0)
READ_MAX: Final = 2_000  # records handed to an agent at once

Items = Iterable[tuple[bytes | None, bytes, Instant | None]]
"""Records to be appended: key, value, and the recorded time where they bring one along."""


class EmbeddedState:
    """The tables of the store as agents see them. Nothing is ever delivered twice here."""

    n_partitions = 1

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store

    def get(self, table: str, key: bytes) -> bytes | None:
        """The stored value of a key, or None."""
        return self._store.get(table, key)

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, in order of the key."""
        return self._store.items(table, prefix)

    def applied(self, _table: str, _key: bytes, _record: Record) -> bool:
        """False: a record's offset moves in the transaction that applies it."""
        return False


class EmbeddedHost:
    """One log with its agents. `clock` gives the recorded time of records that bring none along.

    `agree` is asked once, before any agent runs: whether the settings of today may go on with these tables,
    or, called with True, that they shall. It refuses by raising.
    """

    def __init__(
        self,
        store: EmbeddedStore,
        agents: Sequence[Agent],
        *,
        clock: Callable[[], Instant],
        agree: Callable[[bool], None] = lambda _accept_model_change: None,
        tracing: Tracing = OFF,
    ) -> None:
        self.store = store
        self.agents = agents
        self.clock = clock
        self._state = EmbeddedState(store)
        self._agree = agree
        self._tracing = tracing
        self._started = False
        self._read_topics = frozenset(topic for agent in agents for topic in agent.inputs)
        assert not any(SPEC_OF[topic].compacted for topic in self._read_topics), "agents read logs"
        self._fresh: dict[Topic, list[Record]] = {}

    def start(self, *, accept_model_change: bool = False) -> None:
        """Make sure that the agents may go on with the tables; a second call does nothing.

        Called by `publish` if by nobody before. A service calls it, so that it refuses before it listens.
        Raises what `agree` raises.
        """
        if not self._started:
            self._agree(accept_model_change)
            self._started = True

    def publish(
        self,
        topic: Topic,
        items: Items,
        *,
        then: Callable[[list[Output]], None] | None = None,
        traces: Mapping[int, bytes] = NO_TRACES,
    ) -> list[Output]:
        """Append (key, value, recorded_at) records, run every agent on them, and commit.

        `then` joins the same transaction, for a caller that keeps its own place in a file; it gets the
        outputs. `traces` are the traceparents of the records that have one, by their number. Returns all
        outputs in order. When this returns, everything is durable; when it raises, nothing happened.
        """
        return self.publish_each([(topic, items)], then=then, traces=traces)

    def publish_each(
        self,
        appends: Iterable[tuple[Topic, Items]],
        *,
        then: Callable[[list[Output]], None] | None = None,
        traces: Mapping[int, bytes] = NO_TRACES,
    ) -> list[Output]:
        """As `publish`, for several appends in one transaction; the agents run after each of them.

        `appends` is asked for the next one when all that follows from the one before is in the tables.
        `traces` are those of the first.
        """
        self.start()
        now = self.clock()
        outputs: list[Output] = []
        with self.store.transaction():
            for topic, items in appends:
                stamped = [(key, value, now if at is None else at) for key, value, at in items]
                self._fresh = {}  # also what a transaction left behind that was taken back
                self._append(topic, stamped, traces)
                traces = NO_TRACES
                outputs += self._drain(now)
            if then is not None:
                then(outputs)
        return outputs

    def _drain(self, now: Instant) -> list[Output]:
        """Let the agents run until none of them has anything left to read."""
        outputs: list[Output] = []
        progress = True
        while progress:
            progress = False
            for agent in self.agents:
                for topic in agent.inputs:
                    start = self.store.next_offset(agent.name, topic, PARTITION)
                    if start >= self.store.end(topic, PARTITION):
                        continue
                    records = self._read(topic, start)
                    with self._tracing.handling(agent.name, records) as handling:
                        effects = agent.apply(self._state, handling.records)
                        effects.outputs = handling.emitted(effects.outputs)
                        self._write(effects, max(record.recorded_at for record in records))
                    self.store.commit_offset(agent.name, topic, PARTITION, records[-1].offset + 1)
                    outputs.extend(effects.outputs)
                    progress = True
        return outputs

    def _write(self, effects: Effects, recorded_at: Instant) -> None:
        """Apply the effects. What follows from records is as new as the newest of them, not as the last."""
        self.store.write(effects.writes)
        by_topic: dict[Topic, list[tuple[bytes | None, bytes, Instant]]] = {}
        traces: dict[Topic, dict[int, bytes]] = {}
        for output in effects.outputs:
            items = by_topic.setdefault(output.topic, [])
            if output.trace is not None:
                traces.setdefault(output.topic, {})[len(items)] = output.trace
            items.append((output.key, output.value, recorded_at))
        for topic, items in by_topic.items():
            assert topic in SPEC_OF
            self._append(topic, items, traces.get(topic, NO_TRACES))

    def _append(
        self, topic: Topic, items: Sequence[tuple[bytes | None, bytes, Instant]], traces: Mapping[int, bytes]
    ) -> None:
        """Append records, and keep at hand those that an agent is about to read."""
        start = self.store.append(topic, PARTITION, items, traces)
        if topic in self._read_topics:
            self._fresh.setdefault(topic, []).extend(
                Record(topic, PARTITION, Offset(start + number), key, value, at, traces.get(number))
                for number, (key, value, at) in enumerate(items)
            )

    def _read(self, topic: Topic, start: Offset) -> list[Record]:
        """What an agent has not read: as it was just appended, or from the file where there is more."""
        fresh = self._fresh.get(topic)
        if fresh and fresh[0].offset <= start:
            first = start - fresh[0].offset
            return fresh[first : first + READ_MAX]
        return self.store.read(topic, PARTITION, start, READ_MAX)
