"""How far the workers have got: what their groups have committed, against the ends of what they read."""

from __future__ import annotations

from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options
from streams.kafka.naming import group_name, intake_group_name, newest_state, topic_name
from streams.kafka.offsets import committed_offsets
from streams.settings import Settings
from streams.topics import Topic


@dataclass(frozen=True, slots=True)
class Progress:
    """One partition of one topic that a group of workers reads. `committed` is where the group goes on."""

    group: str
    topic: str
    partition: int
    committed: int
    end: int

    @property
    def lag(self) -> int:
        """Records that are still to be done."""
        return self.end - self.committed


async def progress(settings: Settings) -> list[Progress]:
    """Every partition that workers read: public input by intake, batches by consolidation.

    Raises BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    found: list[Progress] = []
    async with admin_client(settings.kafka) as admin:
        described = {topic["topic"]: topic for topic in await admin.describe_topics()}
        kafka = newest_state(settings.kafka, described)
        read_by = {
            intake_group_name(kafka): [
                topic_name(kafka, Topic.OBSERVATIONS),
                topic_name(kafka, Topic.CORRECTIONS),
            ],
            group_name(kafka): [topic_name(kafka, Topic.BY_CLAIM)],
        }
        consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
        try:
            await consumer.start()
            for group, names in read_by.items():
                committed = await committed_offsets(admin, kafka, group)
                offsets = {(tp.topic, tp.partition): held.offset for tp, held in committed.items()}
                found.extend(
                    Progress(
                        group, tp.topic, tp.partition, max(0, offsets.get((tp.topic, tp.partition), 0)), end
                    )
                    for tp, end in (await _ends(consumer, described, names)).items()
                )
        finally:
            await consumer.stop()
    return sorted(found, key=lambda p: (p.group, p.topic, p.partition))


async def _ends(
    consumer: AIOKafkaConsumer, described: dict[str, dict[str, object]], names: list[str]
) -> dict[TopicPartition, int]:
    partitions: list[TopicPartition] = []
    for name in names:
        listed = described[name]["partitions"] if name in described else []
        assert isinstance(listed, list)
        partitions.extend(TopicPartition(name, number) for number in range(len(listed)))
    ends: dict[TopicPartition, int] = await consumer.end_offsets(partitions)
    return ends
