"""Keeping up: what feeds the projection, from the embedded log and from Kafka.

Embedded, records are taken in slices of the internal topic, each with all events that it caused, in the order
of their causes; so the order of application does not depend on when somebody looked. On Kafka each partition
is in order, and what comes from different ones is applied as it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from agents.read_model import migrations, projection
from agents.read_model.database import ReadModel
from state.instants import Instant
from streams.embedded import PARTITION, EmbeddedStore
from streams.host import Record
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import CHANGE_FEED, SPEC_OF, Topic

SLICE_RECORDS: Final = 64
"""Internal records in one transaction: some 32,000 observations.

Ids are random, so a transaction writes most pages of an index however small it is: at 10^5 facts, 16 records
took 84 µs of the processor for an event, 64 take 76 (benchmarks/read_model.py).
"""
_READ_MAX: Final = 1_000


class _Cause(msgspec.Struct):
    """The part of an event that says which internal record caused it, and its place among its siblings."""

    position: str
    fact_id: str
    version: int


_decode_cause: Final = msgspec.json.Decoder(_Cause).decode


def catch_up(model: ReadModel, store: EmbeddedStore) -> int:
    """Apply everything that is new in an embedded log; returns how many records that were.

    Safe to call at any time and from several processes; what is in the log when it begins is applied when it
    returns. Raises ReadModelError.
    """
    with store.transaction():  # one instant for all topics: an event is never seen without its cause
        ends = {topic: store.end(topic, PARTITION) for topic in projection.TOPICS}
        first = store.read(Topic.BY_CLAIM, PARTITION, 0, 1)
    # When its first record was written is what tells one log of a folder from the next.
    log = f"embedded/{first[0].recorded_at}" if first else None
    with model.reading() as connection:
        migrations.refuse_other_log(connection, log)
        reached = projection.applied_offsets(connection)
    starts = {topic: Offset(reached.get((topic.value, PARTITION), 0)) for topic in projection.TOPICS}
    logged = [topic for topic in projection.TOPICS if not SPEC_OF[topic].compacted]
    if all(starts[topic] >= ends[topic] for topic in logged):
        return 0
    if log is not None:
        with model.writing() as connection:
            migrations.note_log(connection, log)
    n_records = 0
    for records in slices(store, starts, ends):
        with model.writing() as connection:
            n_records += projection.project(connection, records)
    with model.writing() as connection:
        for topic in projection.TOPICS:
            if SPEC_OF[topic].compacted:
                projection.keep(connection, _latest(store, topic))
    return n_records


def _latest(store: EmbeddedStore, topic: Topic) -> list[Record]:
    """The records of a compacted topic, of which the embedded log keeps no offsets."""
    return [Record(topic, PARTITION, Offset(0), key, value, Instant(0)) for key, value in store.latest(topic)]


def slices(
    store: EmbeddedStore, starts: Mapping[Topic, Offset], ends: Mapping[Topic, Offset]
) -> Iterator[list[Record]]:
    """The records from `starts` to `ends`, a few causes at a time, at last what else there is."""
    feeds = [_Feed(store, topic, starts[topic], ends[topic]) for topic in CHANGE_FEED]
    start, end = starts[Topic.BY_CLAIM], ends[Topic.BY_CLAIM]
    while start < end:
        n_records = min(SLICE_RECORDS, end - start)
        causes = store.read(Topic.BY_CLAIM, PARTITION, start, n_records)
        start = Offset(causes[-1].offset + 1)
        yield [*causes, *_in_order(feeds, before=start)]
    yield _in_order(feeds, before=None)
    for topic in ends:
        if topic not in (*CHANGE_FEED, Topic.BY_CLAIM) and not SPEC_OF[topic].compacted:
            yield from _chunks(store, topic, starts[topic], ends[topic])


def _chunks(store: EmbeddedStore, topic: Topic, start: Offset, end: Offset) -> Iterator[list[Record]]:
    while start < end:
        records = store.read(topic, PARTITION, start, min(_READ_MAX, end - start))
        start = Offset(records[-1].offset + 1)
        yield records


class _Feed:
    """One topic of the change feed, read up to a cause."""

    def __init__(self, store: EmbeddedStore, topic: Topic, start: Offset, end: Offset) -> None:
        self._chunks = _chunks(store, topic, start, end)
        self._waiting: list[tuple[int, str, int, Record]] = []

    def until(self, before: int | None) -> list[tuple[int, str, int, Record]]:
        """The events caused by records before this offset, each with what orders it."""
        found: list[tuple[int, str, int, Record]] = []
        while self._waiting or self._fill():
            n_ready = sum(before is None or waiting[0] < before for waiting in self._waiting)
            found += self._waiting[:n_ready]
            del self._waiting[:n_ready]
            if self._waiting:
                break
        return found

    def _fill(self) -> bool:
        while not self._waiting and (records := next(self._chunks, [])):
            self._take(records)
        return bool(self._waiting)

    def _take(self, records: list[Record]) -> None:
        for record in records:
            if not record.value:
                continue  # erased
            cause = _decode_cause(record.value)
            offset = int(cause.position.rpartition("/")[2])
            self._waiting.append((offset, cause.fact_id, cause.version, record))


def _in_order(feeds: list[_Feed], *, before: int | None) -> list[Record]:
    found = [event for feed in feeds for event in feed.until(before)]
    found.sort(key=lambda event: event[:3])
    return [record for _, _, _, record in found]


async def follow_kafka(
    model: ReadModel,
    settings: Settings,
    *,
    to_end: bool = False,
    applied: Callable[[], None] = lambda: None,
) -> int:
    """Apply what is new on Kafka, for ever, or with `to_end` up to the present ends; returns how many.

    Goes on where the database says. `applied` is called after each batch. Raises ReadModelError,
    BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    from streams.kafka.tailing import tail

    with model.reading() as connection:
        migrations.refuse_unfinished(connection)
        reached = projection.applied_offsets(connection)
    with model.writing() as connection:
        migrations.note_log(connection, f"kafka/{settings.kafka.prefix}")
    starts = {(Topic(topic), Partition(p)): Offset(o) for (topic, p), o in reached.items()}
    n_records = 0
    async for records in tail(settings, projection.TOPICS, starts, follow=not to_end):
        n_records += await asyncio.to_thread(apply, model, records)
        applied()
    return n_records


def apply(model: ReadModel, records: list[Record]) -> int:
    """Apply records in a transaction of their own; returns how many were new."""
    with model.writing() as connection:
        return projection.project(connection, records)
