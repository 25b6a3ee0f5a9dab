"""Runs declared agents on the embedded log: one transaction per batch, exactly once.

A batch is appended, every agent reads what is new for it, and its writes, outputs and offsets join the
same transaction, until nothing is unread. Holds no business logic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from state.instants import Instant
from streams.embedded.store import EmbeddedStore
from streams.host import Agent, Effects, Output, Record
from streams.keys import Partition
from streams.topics import SPEC_OF, Topic

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
    ) -> None:
        self.store = store
        self.agents = agents
        self.clock = clock
        self._state = EmbeddedState(store)
        self._agree = agree
        self._started = False

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
    ) -> list[Output]:
        """Append (key, value, recorded_at) records, run every agent on them, and commit.

        `then` joins the same transaction, for a caller that keeps its own place in a file; it gets the
        outputs. Returns all outputs in order. When this returns, everything is durable; when it raises,
        nothing happened.
        """
        return self.publish_each([(topic, items)], then=then)

    def publish_each(
        self, appends: Iterable[tuple[Topic, Items]], *, then: Callable[[list[Output]], None] | None = None
    ) -> list[Output]:
        """As `publish`, for several appends in one transaction; the agents run after each of them.

        `appends` is asked for the next one when all that follows from the one before is in the tables.
        """
        self.start()
        now = self.clock()
        outputs: list[Output] = []
        with self.store.transaction():
            for topic, items in appends:
                stamped = [(key, value, now if at is None else at) for key, value, at in items]
                self.store.append(topic, PARTITION, stamped)
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
                    records = self.store.read(topic, PARTITION, start, READ_MAX)
                    effects = agent.apply(self._state, records)
                    self._write(effects, max(record.recorded_at for record in records))
                    self.store.commit_offset(agent.name, topic, PARTITION, records[-1].offset + 1)
                    outputs.extend(effects.outputs)
                    progress = True
        return outputs

    def _write(self, effects: Effects, recorded_at: Instant) -> None:
        """Apply the effects. What follows from records is as new as the newest of them, not as the last."""
        self.store.write(effects.writes)
        by_topic: dict[Topic, list[tuple[bytes | None, bytes, Instant]]] = {}
        for output in effects.outputs:
            by_topic.setdefault(output.topic, []).append((output.key, output.value, recorded_at))
        for topic, items in by_topic.items():
            assert topic in SPEC_OF
            self.store.append(topic, PARTITION, items)
