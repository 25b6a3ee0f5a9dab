"""Topics looked at, and changed, from outside: what a worker does not see."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.kafka import changelog_name
from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options
from streams.kafka.naming import TABLES
from streams.kafka.reset import with_newest_state
from streams.kafka.tables import watermark_of
from streams.settings import KafkaSettings, Settings
from tests.parts.processes import wait_until

_SET_ON_TOPIC = 1  # where a setting comes from, in Kafka's answer: the topic itself


def regressions(kafka: KafkaSettings) -> list[tuple[str, int, bytes]]:
    """Every key of every changelog behind whose newer value an older one was written."""
    newest = asyncio.run(with_newest_state(Settings(kafka=kafka)))
    return asyncio.run(_regressions(newest.kafka))


async def _regressions(kafka: KafkaSettings) -> list[tuple[str, int, bytes]]:
    found: list[tuple[str, int, bytes]] = []
    consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
    await consumer.start()
    try:
        partitions = [
            TopicPartition(changelog_name(kafka, table), number)
            for table in TABLES
            for number in range(kafka.partitions)
        ]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        newest: dict[tuple[str, int, bytes], int] = {}
        while [tp for tp in partitions if await consumer.position(tp) < ends[tp]]:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for record in records:
                    if record.value is None:
                        continue
                    at, key = watermark_of(record.value), (record.topic, record.partition, record.key)
                    if at < newest.get(key, 0):
                        found.append(key)
                    newest[key] = max(at, newest.get(key, 0))
    finally:
        await consumer.stop()
    return found


def configure_topic(kafka: KafkaSettings, name: str, values: dict[str, str]) -> None:
    """Change settings of a topic, and leave the others as they are."""

    async def alter() -> None:
        async with admin_client(kafka) as admin:
            # All that was set is given again: what is not named falls back to the broker's own.
            kept = {entry[0]: entry[1] for entry in await _settings(admin, name) if entry[3] == _SET_ON_TOPIC}
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, {**kept, **values})])

    async def altered() -> bool:
        async with admin_client(kafka) as admin:
            shown = {entry[0]: entry[1] for entry in await _settings(admin, name)}
        return values.items() <= shown.items()

    asyncio.run(alter())
    wait_until(lambda: asyncio.run(altered()), timeout_s=30, what=f"the broker to have heard of {values}")


async def _settings(admin: AIOKafkaAdminClient, name: str) -> list[Any]:
    (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
    (described,) = answer.resources
    entries: list[Any] = described[4]
    return entries
