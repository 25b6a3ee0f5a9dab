"""What an agent declares and what a host gives it: one declaration, two hosts.

An agent is a name, its input topics, its tables and one function from state and records to writes and
outputs. The embedded host runs it inside an SQLite transaction, the Kafka host inside a Faust worker;
the agent knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import msgspec

from state.instants import Instant
from streams.keys import Offset, Partition
from streams.topics import Topic

if TYPE_CHECKING:
    from prometheus_client.registry import Collector


class Record(msgspec.Struct, frozen=True):
    """One record of a log, as it was read. `recorded_at` is the log's own timestamp.

    `trace` is the header that says to which trace the record belongs (`streams.trace_headers`), where it has
    one. Nothing but other headers may depend on it.
    """

    topic: Topic
    partition: Partition
    offset: Offset
    key: bytes | None
    value: bytes
    recorded_at: Instant
    trace: bytes | None = None

    @property
    def position(self) -> str:
        """Where the record stands, as text; with it the ids of events are derived."""
        return f"{self.topic.value}/{self.partition}/{self.offset}"


class Output(msgspec.Struct, frozen=True):
    """One record to be written. Without `partition` the key decides, as in Java's default partitioner.

    An empty value, on a compacted topic, says that nothing is kept of the key. `trace` is written beside it,
    as of a `Record`; `linked` are the traceparents of whatever else caused it, and are not written.
    """

    topic: Topic
    key: bytes | None
    value: bytes
    partition: Partition | None = None
    trace: bytes | None = None
    linked: tuple[bytes, ...] = ()


class Write(msgspec.Struct, frozen=True):
    """One change of a table; a value of None deletes the key."""

    table: str
    key: bytes
    value: bytes | None


@dataclass(slots=True)
class Effects:
    """What a handler wants to happen, all of it or nothing of it.

    A host that cannot write all tables at once makes them durable by the agent's stages. With `reclaim` what
    is deleted is to leave the disk as well, once it is durable: somebody asked for it to be forgotten.
    """

    writes: list[Write] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    reclaim: bool = False


class State(Protocol):
    """The tables of an agent as they are before the records at hand."""

    n_partitions: int
    """How many partitions the stateful topics have."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """The stored value, or None."""
        ...

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, in order of the key."""
        ...

    def applied(self, table: str, key: bytes, record: Record) -> bool:
        """Whether this key already holds what the record did to it.

        True only where the host may deliver a record twice; then what the record caused elsewhere is
        durable too, and the key must be left alone.
        """
        ...


class Tables:
    """The tables as they are after what one call has put into them so far.

    Several records are handled in one call on one state; each must see what those before it wrote.
    """

    def __init__(self, state: State) -> None:
        self.n_partitions = state.n_partitions
        self._state = state
        self._changes: dict[str, dict[bytes, bytes | None]] = {}

    def get(self, table: str, key: bytes) -> bytes | None:
        """The value of a key as of now, or None."""
        changes = self._changes.get(table)
        if changes is not None and key in changes:
            return changes[key]
        return self._state.get(table, key)

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, as of now, in order of the key."""
        changes = self._changes.get(table, {})
        found = {key: value for key, value in self._state.scan(table, prefix) if key not in changes}
        found |= {k: value for k, value in changes.items() if value is not None and k.startswith(prefix)}
        yield from sorted(found.items())

    def put(self, table: str, key: bytes, value: bytes | None) -> None:
        """Write a key; None deletes it."""
        self._changes.setdefault(table, {})[key] = value

    def applied(self, table: str, key: bytes, record: Record) -> bool:
        """Whether what is stored under the key already holds what the record did (`State.applied`)."""
        return self._state.applied(table, key, record)

    def writes(self) -> list[Write]:
        """All changes, in order of table and key."""
        return [
            Write(table, key, value)
            for table, changes in sorted(self._changes.items())
            for key, value in sorted(changes.items())
        ]


Handler = Callable[[State, Sequence[Record]], Effects]


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that tables are built with and that settings can change, such as a model of vectors.

    A host notes `value` with the tables and looks at the note before it goes on with them. Where it is
    another one it calls `met` with where the tables are and what they were built with: that raises to refuse,
    or says so and returns. `unmarked` is what tables without a note were built with; None: nobody knows.
    """

    name: str
    value: str
    met: Callable[[str, str], None]
    unmarked: str | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """What happens to a message, declared once.

    `apply` gets records of one partition in the order of their offsets. It may see a record twice, and
    must then return the same outputs. It must not raise for anything that a record contains: an
    exception stops the host with the offset named, since a skipped record would be a lost one.

    `stages` groups the tables: what a record writes to an earlier stage is durable before anything that
    it writes to a later one. A key of an early stage that already holds the record may therefore be left
    alone, and one that does not tells that nothing of the later stages is there.

    `may_wait` says that `apply` may wait for something outside, such as a model of vectors. A host with an
    event loop then calls it in another thread, one call at a time, so that heartbeats go on.

    `collectors` are what Prometheus may ask of it, beside what the host counts of every agent.
    """

    name: str
    inputs: tuple[Topic, ...]
    stages: tuple[tuple[str, ...], ...]
    apply: Handler
    may_wait: bool = False
    collectors: tuple[Collector, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """Every table, in the order of the stages."""
        return tuple(table for stage in self.stages for table in stage)
