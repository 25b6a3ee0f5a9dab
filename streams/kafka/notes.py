"""What a commit says beside its offset: how far the changelogs were. And whether they still are.

A group goes on behind its committed offset, so its tables must hold everything before it. A changelog that
was deleted and made anew, or cut off by a broker that lost its disk, no longer says so by itself: it is just
shorter. The note of the last commit tells, in the same record as the offset. Repairs nothing: a worker that
finds a changelog short refuses, and names the command that derives the tables again.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options, translated
from streams.kafka.errors import ChangelogLost
from streams.kafka.naming import RESET, changelog_name, group_name, read_note, topic_name
from streams.settings import KafkaSettings
from streams.topics import Topic


async def check_changelogs(kafka: KafkaSettings, partitions: Iterable[int]) -> None:
    """Return when every changelog of these partitions still holds what the last commit noted.

    Raises ChangelogLost, BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    noted = await _notes(kafka, set(partitions))
    if not noted:
        return
    with translated(kafka):
        consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
        try:
            await consumer.start()
            ends: dict[TopicPartition, int] = await consumer.end_offsets(list(noted))
        finally:
            await consumer.stop()
    for tp, offset in noted.items():
        if offset >= ends[tp]:
            raise ChangelogLost(
                f"{tp.topic}/{tp.partition} ends at offset {ends[tp]}, but held offset {offset} when the "
                "group last committed: it was made anew or cut off, and to go on would lose facts. Stop all "
                f"workers, run: {RESET}  (it derives the tables again from the log), and start again."
            )


async def _notes(kafka: KafkaSettings, partitions: set[int]) -> dict[TopicPartition, int]:
    """The last changelog offset that was noted, for each changelog partition of these numbers."""
    async with admin_client(kafka) as admin:
        committed = await admin.list_consumer_group_offsets(group_name(kafka))
    source = topic_name(kafka, Topic.BY_CLAIM)
    return {
        TopicPartition(changelog_name(kafka, table), tp.partition): offset
        for tp, held in committed.items()
        if tp.topic == source and tp.partition in partitions
        for table, offset in read_note(held.metadata).items()
    }
