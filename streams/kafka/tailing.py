"""Reading topics from where a reader's own store says: for projections that keep their offsets themselves.

Joins no group and commits nothing. Every partition belongs to whoever reads, so two readers of one store must
agree between themselves who applies a record.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.host import Record
from streams.kafka.connection import client_options, reach, translated
from streams.kafka.naming import topic_name
from streams.kafka.reading import record_of
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import Topic

BATCH_RECORDS: Final = 5_000
_POLL_MS: Final = 500

Places = Mapping[tuple[Topic, Partition], Offset]


async def tail(
    settings: Settings, topics: Sequence[Topic], starts: Places, *, follow: bool
) -> AsyncIterator[list[Record]]:
    """Records in batches, those of a partition in order, from these offsets on, else from the oldest kept.

    Where retention has removed records, it goes on with the oldest that is left. Without `follow` it stops at
    the ends that the partitions had when it began. Raises BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    kafka = settings.kafka
    await reach(kafka)
    topic_of = {topic_name(kafka, topic): topic for topic in topics}
    with translated(kafka):
        consumer = AIOKafkaConsumer(
            **client_options(kafka), enable_auto_commit=False, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            left = await _positioned(consumer, topic_of, starts)
            ends: dict[TopicPartition, int] = await consumer.end_offsets(left)
            while True:
                if not follow:
                    left = [tp for tp in left if await consumer.position(tp) < ends[tp]]
                    if not left:
                        return
                found = await consumer.getmany(*left, timeout_ms=_POLL_MS, max_records=BATCH_RECORDS)
                records = [
                    record_of(topic_of[tp.topic], raw)
                    for tp, raws in found.items()
                    for raw in raws
                    if follow or raw.offset < ends[tp]
                ]
                if records:
                    yield records
        finally:
            await consumer.stop()


async def bounds(
    settings: Settings, topics: Sequence[Topic]
) -> dict[tuple[Topic, Partition], tuple[Offset, Offset]]:
    """For each partition of these topics the oldest offset that is kept, and the one behind the newest.

    Raises BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    kafka = settings.kafka
    await reach(kafka)
    topic_of = {topic_name(kafka, topic): topic for topic in topics}
    with translated(kafka):
        consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
        await consumer.start()
        try:
            places = await _places(consumer, list(topic_of))
            firsts: dict[TopicPartition, int] = await consumer.beginning_offsets(places)
            ends: dict[TopicPartition, int] = await consumer.end_offsets(places)
        finally:
            await consumer.stop()
    return {
        (topic_of[tp.topic], Partition(tp.partition)): (Offset(firsts[tp]), Offset(ends[tp])) for tp in places
    }


async def _positioned(
    consumer: AIOKafkaConsumer, topic_of: Mapping[str, Topic], starts: Places
) -> list[TopicPartition]:
    places = await _places(consumer, list(topic_of))
    consumer.assign(places)
    firsts: dict[TopicPartition, int] = await consumer.beginning_offsets(places)
    for tp in places:
        start = starts.get((topic_of[tp.topic], Partition(tp.partition)), Offset(0))
        consumer.seek(tp, max(start, firsts[tp]))
    return places


async def _places(consumer: AIOKafkaConsumer, names: Sequence[str]) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    for name in names:
        # Asks the broker, and waits: a client that has just started knows no topic yet.
        numbers = await consumer._client._wait_on_metadata(name)  # noqa: SLF001 the public way returns nothing
        found.extend(TopicPartition(name, number) for number in sorted(numbers))
    return found
