"""Records of one partition follow each other; those of several lie side by side."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import hypothesis.strategies as st
import pytest
from hypothesis import given

from streams.kafka.deadline import Deadline
from streams.kafka.lanes import Lanes


@dataclass(frozen=True)
class Message:
    partition: int
    offset: int


@dataclass
class Handling:
    """Handles each record when it is told to, and notes what is under way beside it."""

    begun: list[Message] = field(default_factory=list)
    under_way: set[Message] = field(default_factory=set)
    most_at_once: int = 0
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, message: Message) -> None:
        assert message.partition not in {other.partition for other in self.under_way}
        self.begun.append(message)
        self.under_way.add(message)
        self.most_at_once = max(self.most_at_once, len(self.under_way))
        await self.may_end.wait()
        self.under_way.remove(message)


@given(st.lists(st.integers(0, 3), max_size=40))
def test_each_partition_keeps_its_order_and_has_one_record_under_way(partitions: list[int]) -> None:
    async def run() -> None:
        handling = Handling()
        handling.may_end.set()
        lanes = Lanes(handling.handle)
        given_out = [Message(partition, offset) for offset, partition in enumerate(partitions)]
        for message in given_out:
            await lanes.start(message)
        assert await lanes.idle(Deadline(60))
        assert not handling.under_way
        for partition in set(partitions):
            of_one = [m for m in handling.begun if m.partition == partition]
            assert of_one == [m for m in given_out if m.partition == partition]
        assert len(handling.begun) == len(given_out)

    asyncio.run(run())


@pytest.mark.asyncio
async def test_records_of_several_partitions_are_under_way_together() -> None:
    handling = Handling()
    lanes = Lanes(handling.handle)
    for partition in range(3):
        await lanes.start(Message(partition, 0))
    await asyncio.sleep(0)  # the tasks begin
    assert len(handling.under_way) == 3
    waiting = asyncio.create_task(lanes.start(Message(1, 1)))
    await asyncio.sleep(0)
    assert not waiting.done()
    handling.may_end.set()
    await waiting
    assert await lanes.idle(Deadline(60))
    assert handling.most_at_once == 3


@pytest.mark.asyncio
async def test_a_record_that_comes_while_the_lanes_are_shut_is_let_go() -> None:
    handling = Handling()
    handling.may_end.set()
    lanes = Lanes(handling.handle)
    lanes.shut()
    await lanes.start(Message(0, 0))
    assert await lanes.idle(Deadline(60))
    lanes.open()
    await lanes.start(Message(0, 1))
    assert await lanes.idle(Deadline(60))
    assert handling.begun == [Message(0, 1)]


@pytest.mark.asyncio
async def test_a_record_that_waits_for_its_turn_is_let_go_when_the_lanes_are_shut_meanwhile() -> None:
    handling = Handling()
    lanes = Lanes(handling.handle)
    await lanes.start(Message(0, 0))
    waiting = asyncio.create_task(lanes.start(Message(0, 1)))
    await asyncio.sleep(0)
    lanes.shut()
    handling.may_end.set()
    await waiting
    assert await lanes.idle(Deadline(60))
    assert handling.begun == [Message(0, 0)]


@pytest.mark.asyncio
async def test_a_record_that_takes_longer_than_the_deadline_is_told() -> None:
    handling = Handling()
    lanes = Lanes(handling.handle)
    await lanes.start(Message(0, 0))
    assert not await lanes.idle(Deadline(0))
    handling.may_end.set()
    assert await lanes.idle(Deadline(60))
