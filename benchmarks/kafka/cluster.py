"""Topics of a benchmark's own on the broker, what is published to them, and how far engines have come.

Measures nothing itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from benchmarks.kafka.loads import Line
from streams.kafka import create_topics, group_name, intake_group_name, latest_facts, topic_name
from streams.kafka.connection import client_options
from streams.settings import KafkaSettings, Settings
from streams.topics import CHANGE_FEED, Topic

PARTITIONS = 4
SESSION_S = 120.0  # an engine stands still while its input is published; it must not lose its partitions
COMMIT_INTERVAL_S = 1.0  # the same for every engine: what is measured ends with a commit


@dataclass
class Cluster:
    """Topics with a prefix of their own, and connections to look at them."""

    kafka: KafkaSettings
    admin: AIOKafkaAdminClient
    consumer: AIOKafkaConsumer
    folder: Path
    environment: Mapping[str, str]
    inputs: dict[TopicPartition, int] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        """What a command on this cluster would be given."""
        return Settings(kafka=self.kafka)

    async def publish(self, lines: Sequence[Line]) -> None:
        """Publish to `observations`, and return when all of it is there."""
        name = topic_name(self.kafka, Topic.OBSERVATIONS)
        producer = AIOKafkaProducer(
            **client_options(self.kafka), acks="all", enable_idempotence=True, linger_ms=5,
            max_batch_size=512 * 1024,
        )  # fmt: skip
        await producer.start()
        try:
            futures = [await producer.send(name, value, key=key) for key, value in lines]
            await asyncio.gather(*futures)
        finally:
            await producer.stop()
        self.inputs = await self.ends([name])

    async def ends(self, names: Sequence[str]) -> dict[TopicPartition, int]:
        """Where each partition of these topics ends."""
        partitions = [TopicPartition(name, number) for name in names for number in range(PARTITIONS)]
        found: dict[TopicPartition, int] = await self.consumer.end_offsets(partitions)
        return found

    async def all_ends(self) -> dict[TopicPartition, int]:
        """Where each partition of every topic of this cluster ends, changelogs included."""
        prefix = self.kafka.prefix
        names = [name for name in await self.admin.list_topics() if prefix in name and name[0] != "_"]
        described = await self.admin.describe_topics(names)
        partitions = [
            TopicPartition(topic["topic"], partition["partition"])
            for topic in described
            for partition in topic["partitions"]
        ]
        found: dict[TopicPartition, int] = await self.consumer.end_offsets(partitions)
        return found

    async def committed_to_end(self, *, two_steps: bool) -> bool:
        """Whether all input is done and committed; of a worker also the batches that intake made of it."""
        first = intake_group_name(self.kafka) if two_steps else group_name(self.kafka)
        if not await self._reached(first, self.inputs):
            return False
        if not two_steps:
            return True
        batches = await self.ends([topic_name(self.kafka, Topic.BY_CLAIM)])
        return await self._reached(group_name(self.kafka), batches)

    async def _reached(self, group: str, ends: Mapping[TopicPartition, int]) -> bool:
        held = await self.admin.list_consumer_group_offsets(group)
        return all(end == 0 or (tp in held and held[tp].offset >= end) for tp, end in ends.items())

    async def last_written_at(self, since: Mapping[TopicPartition, int]) -> float:
        """When the broker took the last record of the output topics, in seconds of its clock."""
        ends = await self.ends([topic_name(self.kafka, topic) for topic in _OUTPUTS])
        grown = [tp for tp, end in ends.items() if end > since.get(tp, 0)]
        consumer = AIOKafkaConsumer(**client_options(self.kafka), enable_auto_commit=False)
        await consumer.start()
        try:
            consumer.assign(grown)
            for tp in grown:
                consumer.seek(tp, ends[tp] - 1)
            newest = 0.0
            for tp in grown:
                newest = max(newest, (await consumer.getone(tp)).timestamp / 1000)
            return newest
        finally:
            await consumer.stop()

    async def facts(self) -> list[dict[str, object]]:
        """The latest body of every fact."""
        return list((await latest_facts(self.settings)).values())


_OUTPUTS = (*CHANGE_FEED, Topic.FACTS)


async def _groups_ready(admin: AIOKafkaAdminClient, group: str) -> None:
    """A broker that has just started makes its topic of offsets at the first question about a group."""
    async with asyncio.timeout(SESSION_S):
        while True:
            try:
                await admin.list_consumer_group_offsets(group)
            except KafkaError:
                await asyncio.sleep(0.1)
            else:
                return


@contextlib.asynccontextmanager
async def cluster(bootstrap: str, folder: Path) -> AsyncIterator[Cluster]:
    """Topics of one run, deleted after it."""
    prefix = f"b{uuid.uuid4().hex[:8]}-"
    kafka = KafkaSettings(
        bootstrap=bootstrap, prefix=prefix, partitions=PARTITIONS, session_timeout_s=SESSION_S,
        commit_interval_s=COMMIT_INTERVAL_S,
    )  # fmt: skip
    environment = {
        "FACTDRIFT_KAFKA_BOOTSTRAP": bootstrap,
        "FACTDRIFT_KAFKA_PREFIX": prefix,
        "FACTDRIFT_KAFKA_PARTITIONS": str(PARTITIONS),
        "FACTDRIFT_KAFKA_SESSION_TIMEOUT_S": str(SESSION_S),
        "FACTDRIFT_KAFKA_COMMIT_INTERVAL_S": str(COMMIT_INTERVAL_S),
        "FACTDRIFT_DATA": str(folder / prefix / "data"),
        "FACTDRIFT_LOG_LEVEL": "warning",
    }
    await create_topics(Settings(kafka=kafka))
    admin = AIOKafkaAdminClient(**client_options(kafka))
    consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
    await admin.start()
    await consumer.start()
    await _groups_ready(admin, prefix)
    try:
        yield Cluster(kafka, admin, consumer, folder / prefix, environment)
    finally:
        names = [name for name in await admin.list_topics() if prefix in name and name[0] != "_"]
        await admin.delete_topics(names)
        await consumer.stop()
        await admin.close()
