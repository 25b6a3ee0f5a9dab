"""One way to write to a log and to read from it, whichever log it is: the embedded file or Kafka."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from agents import composition
from agents.intake import CLOCK_TABLE, NOW_KEY, replay_now
from state.errors import FactdriftError
from state.instants import Instant
from streams.embedded import PARTITION, EmbeddedHost
from streams.embedded.store import FILE_NAME
from streams.host import Record
from streams.settings import Settings
from streams.topics import Topic

POLL_S = 0.2  # how soon a watcher of the embedded log sees a new record; SQLite has no notification
READ_MAX = 1_000


class NoSuchLog(FactdriftError):
    """A folder that holds no embedded log."""


class Log(Protocol):
    """What the commands need of a log."""

    def publish(self, topic: Topic, values: Sequence[bytes], key: bytes | None = None) -> None:
        """Append values; returns when they are durable."""
        ...

    def read(self, topics: Sequence[Topic], *, from_start: bool, follow: bool) -> Iterator[Record]:
        """Records of the topics; without `follow` up to the present ends, with it for ever."""
        ...

    @property
    def n_partitions(self) -> int:
        """How many partitions the stateful topics have."""
        ...

    def single_table(self, name: str) -> dict[bytes, bytes]:
        """A table of the agents that run once for all partitions, as it is now."""
        ...

    def n_ticks(self) -> int:
        """How many records the clock has: the number of its newest tick."""
        ...

    def now(self) -> Instant | None:
        """What a tick that somebody asks for takes for the time; None: the log's own timestamp of it."""
        ...

    def close(self) -> None:
        """Let go of the log."""
        ...


class EmbeddedLog:
    """The embedded log in a folder, with its agents."""

    def __init__(self, host: EmbeddedHost) -> None:
        self.host = host

    def publish(self, topic: Topic, values: Sequence[bytes], key: bytes | None = None) -> None:
        """Append values and run the agents on them; returns when all of it is durable."""
        self.host.publish(topic, [(key, value, None) for value in values])

    def read(self, topics: Sequence[Topic], *, from_start: bool, follow: bool) -> Iterator[Record]:
        """Records of the topics, merged in the order of their causes; those of one topic in their order."""
        store = self.host.store
        starts = {topic: 0 if from_start else store.end(topic, PARTITION) for topic in topics}
        while True:
            n_read = 0
            for record in heapq.merge(*(self._unread(topic, starts) for topic in topics), key=_cause):
                n_read += 1
                yield record
            if n_read == 0:
                if not follow:
                    return
                time.sleep(POLL_S)

    def _unread(self, topic: Topic, starts: dict[Topic, int]) -> Iterator[Record]:
        """Records of one topic from where its reader is, up to its present end."""
        end = self.host.store.end(topic, PARTITION)
        while starts[topic] < end:
            for record in self.host.store.read(topic, PARTITION, starts[topic], READ_MAX):
                starts[topic] = record.offset + 1
                if record.value:  # else it was erased
                    yield record

    n_partitions = 1

    def single_table(self, name: str) -> dict[bytes, bytes]:
        """A table of the store."""
        return dict(self.host.store.items(name))

    def n_ticks(self) -> int:
        """The number of the newest tick."""
        return self.host.store.end(Topic.CLOCK, PARTITION)

    def now(self) -> Instant | None:
        """The greatest observed_at in the log, as for a replay; None where nothing was observed."""
        return replay_now(self.host.store.get(CLOCK_TABLE, NOW_KEY))

    def close(self) -> None:
        """Close the file."""
        self.host.store.close()


def _cause(record: Record) -> tuple[int, int, int]:
    """When a record was caused, by which internal record, and which version of a fact it is."""
    body = _decode(record.value)
    position = body.position.rsplit("/", 1)[-1]
    return (record.recorded_at, int(position) if position.isdigit() else 0, body.version)


class _Cause(msgspec.Struct):
    """The part of an event that tells its place among others; absent from other records."""

    position: str = ""
    version: int = 0


_decode = msgspec.json.Decoder(_Cause).decode


class KafkaLog:
    """The topics on a Kafka cluster."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._runner = asyncio.Runner()

    def publish(self, topic: Topic, values: Sequence[bytes], key: bytes | None = None) -> None:
        """Append values; returns when the brokers have acknowledged all of them."""
        from streams.kafka import publish

        self._runner.run(publish(self._settings, topic, [(key, value) for value in values]))

    def read(self, topics: Sequence[Topic], *, from_start: bool, follow: bool) -> Iterator[Record]:
        """Records of the topics in the order in which they arrive here."""
        from streams.kafka import read_topics

        records = read_topics(self._settings, topics, from_start=from_start, follow=follow)
        while (record := self._runner.run(_next(records))) is not None:
            if record.value:  # else it says that nothing is kept of its key
                yield record

    @property
    def n_partitions(self) -> int:
        """As the settings say."""
        return self._settings.kafka.partitions

    def single_table(self, name: str) -> dict[bytes, bytes]:
        """What its changelog holds."""
        from streams.kafka import latest_values, single_changelog_name

        kafka = self._settings.kafka
        topic = single_changelog_name(kafka, name)
        return self._runner.run(latest_values(kafka, [topic]))[topic]

    def n_ticks(self) -> int:
        """The end of the clock's one partition."""
        from streams.kafka import ends_of, topic_name

        kafka = self._settings.kafka
        (end,) = self._runner.run(ends_of(kafka, topic_name(kafka, Topic.CLOCK)))
        return end

    def now(self) -> Instant | None:
        """The broker says when it took a record."""
        return None

    def close(self) -> None:
        """Close the connections."""
        self._runner.close()


async def _next(records: AsyncIterator[Record]) -> Record | None:
    return await anext(records, None)


def open_log(settings: Settings, data: Path | None, *, create: bool) -> Log:
    """The embedded log in `data`, or without it the Kafka cluster of the settings.

    Raises NoSuchLog where `data` holds none and `create` does not allow to make it.
    """
    if data is None:
        return KafkaLog(settings)
    if not create and not (data / FILE_NAME).is_file():
        raise NoSuchLog(f"{data} holds no factdrift log. Make one with: factdrift replay FILE --data {data}")
    return EmbeddedLog(composition.embedded(settings, data))
