"""`factdrift reset`: derive the tables again from the log, into a new state beside the old one.

A state is a set of changelogs and a group with its offsets. The newest one is used by every worker that
starts, so a reset is done when the changelogs of a new state are there; the old one is left as it is, until
`confirm_reset` deletes it or `cancel_reset` goes back to it. Changes no record of the log and no public
topic: the new state publishes the same events again, with the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import for_code

from state.instants import Instant
from streams.kafka.admin import admin_client, create_topics
from streams.kafka.connection import client_options, translated
from streams.kafka.errors import BrokerFailed, ResetRefused
from streams.kafka.naming import (
    TABLES,
    changelog_name,
    group_name,
    newest_state,
    present_states,
    topic_name,
)
from streams.kafka.offsets import committed_offsets
from streams.settings import KafkaSettings, Settings
from streams.topics import Topic

_MEMBERS: Final = 5  # where the members of a group are, in Kafka's description of it
_LOOK_AGAIN: Final = "Stop them (a killed one is a member until its session has run out), and run this again."


@dataclass(frozen=True, slots=True)
class Reset:
    """A state that was begun: `starts` says at which offset of each partition of the log."""

    state: int
    starts: dict[int, int]
    n_records: int


async def with_newest_state(settings: Settings) -> Settings:
    """The settings for the state that workers use. Raises BrokerUnreachable, BrokerRefused, BrokerFailed."""
    async with admin_client(settings.kafka) as admin:
        kafka = newest_state(settings.kafka, await admin.list_topics())
    return settings.model_copy(update={"kafka": kafka})


async def begin_reset(settings: Settings, *, offset: int | None, at: Instant | None) -> Reset:
    """Begin a new state that starts at this offset of every partition, or at the first record that was
    recorded at or after `at`, or else at the beginning.

    1. Commit the starts for the new group. 2. Make the changelogs, with which the state is there. If it fails
    in 1, nothing has happened. If it fails in 2, workers ask for the topics that are missing.
    Raises ResetRefused while workers run or a reset is not confirmed yet, BrokerUnreachable, BrokerRefused,
    BrokerFailed.
    """
    async with admin_client(settings.kafka) as admin:
        topics = await admin.list_topics()
        old = newest_state(settings.kafka, topics)
        await _refuse_members(admin, old)
        if len(present_states(old, topics)) > 1:
            raise ResetRefused(
                "A reset is under way already: its old state is still kept. Run factdrift reset --confirm or "
                "--cancel first."
            )
    new = old.with_state(max(int(datetime.now(UTC).strftime("%Y%m%d%H%M%S")), old.state + 1))
    starts, n_records = await _commit_starts(new, offset=offset, at=at)  # 1
    await create_topics(settings, state=new.state)  # 2
    return Reset(new.state, starts, n_records)


async def confirm_reset(settings: Settings) -> list[str]:
    """Delete the changelogs of every older state, and return their names.

    Raises ResetRefused where the newest state is not as far as the one before it was.
    """
    async with admin_client(settings.kafka) as admin:
        topics = await admin.list_topics()
        new = newest_state(settings.kafka, topics)
        older = [number for number in present_states(new, topics) if number != new.state]
        behind = 0
        for number in older:
            behind = max(behind, await _behind(admin, new, new.with_state(number)))
        if behind:
            raise ResetRefused(
                f"The new state is {behind} batches behind the old one. Let the workers go on, and run this "
                "again; factdrift doctor shows the lag."
            )
        return await _delete(admin, new, older, topics)


async def cancel_reset(settings: Settings) -> list[str]:
    """Delete the changelogs of the newest state, so that workers use the one before; return their names.

    Raises ResetRefused while workers run, and where there is no state before.
    """
    async with admin_client(settings.kafka) as admin:
        topics = await admin.list_topics()
        new = newest_state(settings.kafka, topics)
        if len(present_states(new, topics)) < 2:
            raise ResetRefused("There is no older state to go back to, so nothing was deleted.")
        await _refuse_members(admin, new)
        return await _delete(admin, new, [new.state], topics)


async def _refuse_members(admin: AIOKafkaAdminClient, kafka: KafkaSettings) -> None:
    (described,) = await admin.describe_consumer_groups([group_name(kafka)])
    n_members = sum(len(group[_MEMBERS]) for group in described.groups)
    if n_members:
        are = "worker is" if n_members == 1 else "workers are"
        raise ResetRefused(f"{n_members} {are} still in the group {group_name(kafka)}. {_LOOK_AGAIN}")


async def _commit_starts(
    kafka: KafkaSettings, *, offset: int | None, at: Instant | None
) -> tuple[dict[int, int], int]:
    """Let a new group begin there; returns the offsets and how many records follow them."""
    source = topic_name(kafka, Topic.BY_CLAIM)
    consumer = AIOKafkaConsumer(**client_options(kafka), group_id=group_name(kafka), enable_auto_commit=False)
    with translated(kafka):
        try:
            await consumer.start()
            numbers = await consumer._client._wait_on_metadata(source)  # noqa: SLF001 the public way returns nothing
            partitions = [TopicPartition(source, number) for number in sorted(numbers)]
            consumer.assign(partitions)
            firsts: dict[TopicPartition, int] = await consumer.beginning_offsets(partitions)
            ends: dict[TopicPartition, int] = await consumer.end_offsets(partitions)
            starts = dict(firsts)
            if offset is not None:
                starts = {tp: min(max(offset, firsts[tp]), ends[tp]) for tp in partitions}
            elif at is not None:
                found = await consumer.offsets_for_times(dict.fromkeys(partitions, int(at)))
                starts = {tp: ends[tp] if found[tp] is None else found[tp].offset for tp in partitions}
            await consumer.commit(starts)
        finally:
            await consumer.stop()
    n_records = sum(ends[tp] - starts[tp] for tp in partitions)
    return {tp.partition: start for tp, start in starts.items()}, n_records


async def _behind(admin: AIOKafkaAdminClient, new: KafkaSettings, old: KafkaSettings) -> int:
    """How many batches of the log the old state has done and the new one has not."""
    done = await committed_offsets(admin, new, group_name(new))
    was = await committed_offsets(admin, old, group_name(old))
    return sum(max(0, held.offset - max(0, done[tp].offset if tp in done else 0)) for tp, held in was.items())


async def _delete(
    admin: AIOKafkaAdminClient, kafka: KafkaSettings, states: Iterable[int], present: Iterable[str]
) -> list[str]:
    there = set(present)
    named = [changelog_name(kafka.with_state(number), table) for number in states for table in TABLES]
    names = sorted(name for name in named if name in there)
    if names:
        response = await admin.delete_topics(names)
        for name, code in response.topic_error_codes:
            if code:
                raise BrokerFailed(f"{name} could not be deleted: {for_code(code).__name__}.")
    return names
