"""Single records by their place: for commands that were told where something stands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.host import Record
from streams.kafka.connection import client_options, reach, translated
from streams.kafka.naming import topic_name
from streams.kafka.reading import record_of
from streams.settings import Settings
from streams.topics import Topic

Where = tuple[Topic, int, int]
"""Topic, partition and offset."""


async def records_at(settings: Settings, places: Iterable[Where]) -> dict[Where, Record]:
    """The records at these places; those that retention has removed are missing.

    Raises BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    kafka = settings.kafka
    await reach(kafka)
    found: dict[Where, Record] = {}
    with translated(kafka):
        consumer = AIOKafkaConsumer(
            **client_options(kafka), enable_auto_commit=False, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            for topic, partition, offset in sorted(set(places)):
                tp = TopicPartition(topic_name(kafka, topic), partition)
                consumer.assign([tp])
                first, end = await consumer.beginning_offsets([tp]), await consumer.end_offsets([tp])
                if not first[tp] <= offset < end[tp]:
                    continue
                consumer.seek(tp, offset)
                async with asyncio.timeout(kafka.request_timeout_s):
                    raw = await consumer.getone(tp)
                if raw.offset == offset:
                    found[topic, partition, offset] = record_of(topic, raw)
        finally:
            await consumer.stop()
    return found
