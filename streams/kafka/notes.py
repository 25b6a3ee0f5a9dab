"""What a commit says beside its offset: how far the changelogs were, and what the tables were built with.

A group goes on behind its committed offset, so its tables must hold everything before it. A changelog that
was deleted and made anew, or cut off by a broker that lost its disk, no longer says so by itself: it is just
shorter. The note of the last commit tells, in the same record as the offset. Repairs nothing: a worker that
finds a changelog short refuses, and names the command that derives the tables again. Whether tables that were
built with something else, such as another model, may be gone on with is for their `Mark` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.host import Mark
from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options, translated
from streams.kafka.errors import ChangelogLost
from streams.kafka.naming import RESET, changelog_name, group_name, read_marks, read_note, topic_name
from streams.kafka.offsets import committed_offsets
from streams.settings import KafkaSettings
from streams.topics import Topic


@dataclass(frozen=True, slots=True)
class Commit:
    """What the group committed last for one partition of its source, and what it noted with it."""

    offset: int
    note: str


async def committed(kafka: KafkaSettings, partitions: Iterable[int] | None = None) -> dict[int, Commit]:
    """The commits of these partitions, of all without any; a partition that has none is not there.

    Raises BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    source = topic_name(kafka, Topic.BY_CLAIM)
    wanted = None if partitions is None else set(partitions)
    async with admin_client(kafka) as admin:
        found = await committed_offsets(admin, kafka, group_name(kafka))
    return {
        tp.partition: Commit(held.offset, held.metadata)
        for tp, held in found.items()
        if tp.topic == source and held.offset >= 0 and (wanted is None or tp.partition in wanted)
    }


async def check_changelogs(kafka: KafkaSettings, commits: Mapping[int, Commit]) -> None:
    """Return when every changelog of these partitions still holds what the last commit noted.

    Raises ChangelogLost, BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    noted = {
        TopicPartition(changelog_name(kafka, table), partition): offset
        for partition, commit in commits.items()
        for table, offset in read_note(commit.note).items()
    }
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


def check_marks(commits: Mapping[int, Commit], marks: Sequence[Mark]) -> dict[int, int]:
    """The partitions whose note says something else than the marks of today, with their offsets.

    Every mark that differs is met. Raises what `Mark.met` raises.
    """
    outdated = {}
    for partition, commit in sorted(commits.items()):
        noted = read_marks(commit.note)
        if noted != {mark.name: mark.value for mark in marks}:
            outdated[partition] = commit.offset
        for mark in marks:
            built_with = noted.get(mark.name, mark.unmarked)
            if built_with is not None and built_with != mark.value:
                mark.met(f"of partition {partition}", built_with)
    return outdated
