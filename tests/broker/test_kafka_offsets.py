"""What a group has committed is known from the first moment on which a broker answers at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options
from streams.kafka.offsets import committed_offsets
from streams.settings import KafkaSettings
from tests.parts import or_skip
from tests.parts.kafka import JvmBroker, MoreListeners, start_kafka_on_jvm

pytestmark = pytest.mark.broker
COMMITS = {
    TopicPartition("log", number): OffsetAndMetadata(number + 1, f"note {number}") for number in range(3)
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[JvmBroker]:
    """A broker that no group has ever asked anything."""
    started = or_skip(lambda: start_kafka_on_jvm(tmp_path, MoreListeners()))
    try:
        yield started
    finally:
        started.stop()


def ask(broker: JvmBroker) -> dict[TopicPartition, OffsetAndMetadata]:
    async def once() -> dict[TopicPartition, OffsetAndMetadata]:
        kafka = KafkaSettings(bootstrap=broker.bootstrap)
        async with admin_client(kafka) as admin:
            return await committed_offsets(admin, kafka, "group")

    return asyncio.run(once())


async def commit(broker: JvmBroker) -> None:
    kafka = KafkaSettings(bootstrap=broker.bootstrap)
    async with admin_client(kafka) as admin:
        await admin.create_topics([NewTopic("log", 3, 1)])
    consumer = AIOKafkaConsumer(**client_options(kafka), group_id="group", enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign(list(COMMITS))
        await consumer.commit({tp: (held.offset, held.metadata) for tp, held in COMMITS.items()})
    finally:
        await consumer.stop()


def test_commits_are_known_on_a_new_broker_and_at_once_after_it_died(broker: JvmBroker) -> None:
    assert ask(broker) == {}
    asyncio.run(commit(broker))
    broker.kill()
    broker.restart()
    assert ask(broker) == COMMITS
