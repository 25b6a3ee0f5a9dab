"""An answer about commits counts only when it holds no error, in whichever place the broker put it."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import GroupLoadInProgressError, NotCoordinatorForGroupError
from aiokafka.protocol.commit import OffsetFetchResponse_v1, OffsetFetchResponse_v3
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.offsets import read_commits


def test_commits_come_with_their_notes() -> None:
    answer = OffsetFetchResponse_v3(0, [("log", [(0, 7, "noted", 0), (3, -1, "", 0)])], 0)
    assert read_commits(answer) == {
        TopicPartition("log", 0): OffsetAndMetadata(7, "noted"),
        TopicPartition("log", 3): OffsetAndMetadata(-1, ""),
    }


def test_a_group_without_commits_has_none() -> None:
    assert read_commits(OffsetFetchResponse_v3(0, [], 0)) == {}


def test_a_group_that_is_still_being_read_is_not_one_without_commits() -> None:
    with pytest.raises(GroupLoadInProgressError):
        read_commits(OffsetFetchResponse_v3(0, [], GroupLoadInProgressError.errno))


def test_the_error_of_one_partition_is_an_error() -> None:
    answer = OffsetFetchResponse_v1(
        [("log", [(0, 7, "", 0), (1, -1, "", NotCoordinatorForGroupError.errno)])]
    )
    with pytest.raises(NotCoordinatorForGroupError):
        read_commits(answer)
