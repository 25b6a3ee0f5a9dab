"""What a group has committed, asked until the broker knows.

A broker that has just started, or has just been given a group, says that it does not know yet. aiokafka's
admin client hands two of these answers on as they come, and the third (the group is still being read) as no
commit at all. Whoever believes that goes on without the tables that a commit promised; so here all of them
are waited out, within one deadline. Commits nothing.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
    for_code,
)
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.deadline import Deadline
from streams.settings import KafkaSettings

_NOT_YET: Final = (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
)
_ASK_AGAIN_S: Final = 0.1


async def committed_offsets(
    admin: AIOKafkaAdminClient, kafka: KafkaSettings, group: str
) -> dict[TopicPartition, OffsetAndMetadata]:
    """The commits of a group, with their notes; empty for a group that has never committed.

    On a cluster without any group the first question makes the broker create the topic of commits, which
    takes it about a second. Raises the last answer, an aiokafka error, when `request_timeout_s` is over.
    """
    deadline = Deadline(kafka.request_timeout_s)
    while True:
        try:
            coordinator = await admin.find_coordinator(group)
            return read_commits(
                await admin._send_request(OffsetFetchRequest(group, None), coordinator)  # noqa: SLF001 see above
            )
        except _NOT_YET:
            if not deadline.left_s:
                raise
        await asyncio.sleep(_ASK_AGAIN_S)


def read_commits(response: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    """The commits in an answer to OffsetFetch. Raises the aiokafka error that it holds, wherever it does."""
    found: dict[TopicPartition, OffsetAndMetadata] = {}
    codes = [getattr(response, "error_code", 0)]  # of the whole answer, from version 2 on
    for topic, partitions in response.topics:
        for partition, offset, note, code in partitions:
            codes.append(code)
            found[TopicPartition(topic, partition)] = OffsetAndMetadata(offset, note)
    for code in codes:
        if code:
            raise for_code(code)
    return found
