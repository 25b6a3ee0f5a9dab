"""Services that read in turns give way to a rebalance, and outlive a broker that is away for a moment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition

from agents import composition
from agents.audit import due, ends_of_cycle
from streams.kafka import Cycles, topic_name
from streams.kafka.consumer import REVOKE_SHARE
from streams.kafka.cycles_service import CyclesService
from streams.kafka.metrics import Metrics
from streams.kafka.turns import TurnService, join
from streams.settings import KafkaSettings
from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.parts.processes import wait_until

pytestmark = pytest.mark.broker
WAIT_S = 30  # far less than a rebalance that waits for a turn in vain


class Reads(TurnService):
    """A member of a group that begins to read when a rebalance already waits for its turn."""

    what = "Reading"

    def __init__(self, kafka: KafkaSettings, group: str, *, late: bool = False) -> None:
        super().__init__(kafka, halt=self._failed)
        self.group = group
        self.late = late
        self.failures: list[BaseException] = []
        self.owned: set[TopicPartition] = set()
        self.came = asyncio.Event()
        self.rebalancing = asyncio.Event()
        self.n_late = 0

    def _failed(self, error: BaseException) -> None:
        self.failures.append(error)

    async def on_start(self) -> None:
        names = [topic_name(self._kafka, Topic.OBSERVATIONS)]
        self._consumer = await join(self._kafka, self.group, names, Listens(self))

    async def _take_turn(self, consumer: AIOKafkaConsumer) -> None:
        if self.late and self.owned and self.n_late == 0:
            await self.rebalancing.wait()
            self.n_late += 1
        await self._poll(consumer, timeout_ms=100, max_records=10)

    async def revoked(self) -> None:
        if self.came.is_set():
            self.rebalancing.set()
            self.came.clear()
        await super().revoked()


class Listens(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, service: Reads) -> None:
        self.service = service

    async def on_partitions_revoked(self, _revoked: Any) -> None:
        await self.service.revoked()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.service.owned = set(assigned)
        self.service.came.set()


async def _second_joins(kafka: KafkaSettings) -> tuple[Reads, Reads]:
    first, second = Reads(kafka, "readers", late=True), Reads(kafka, "readers")
    await first.start()
    await asyncio.wait_for(first.came.wait(), WAIT_S)
    try:
        await asyncio.wait_for(second.start(), WAIT_S)  # returns when it has joined
        await asyncio.wait_for(second.came.wait(), WAIT_S)
        await asyncio.wait_for(first.came.wait(), WAIT_S)
    finally:
        await second.stop()
        await first.stop()
    return first, second


def test_a_turn_that_reads_while_a_rebalance_waits_for_it_gives_way(
    cluster: Callable[..., Cluster],
) -> None:
    kafka = cluster(partitions=4).kafka
    assert kafka.request_timeout_s * REVOKE_SHARE > WAIT_S

    first, second = asyncio.run(_second_joins(kafka))

    assert first.n_late == 1, "no turn read too late"
    assert (len(first.owned), len(second.owned)) == (2, 2)
    assert not first.failures
    assert not second.failures


async def _take_over_while_the_broker_is_away(found: Cluster, waits: Callable[[], bool]) -> bool:
    service = CyclesService(
        found.settings,
        Cycles(composition.single_agents(found.settings), due=due, ends=ends_of_cycle),
        metrics=Metrics(),
        halt=lambda error: None,
    )
    broker: Any = found.broker
    await asyncio.to_thread(broker.kill)
    taking = asyncio.create_task(service._took_over())
    try:
        await asyncio.to_thread(wait_until, waits, timeout_s=WAIT_S, what="it to wait for the broker")
        assert not taking.done()
    finally:
        await asyncio.to_thread(broker.restart)
    taken = await asyncio.wait_for(taking, WAIT_S)
    assert service._state is not None
    await service._hand_over()
    return taken


def test_who_takes_over_the_clock_waits_for_a_broker_that_is_away(
    cluster: Callable[..., Cluster], caplog: pytest.LogCaptureFixture
) -> None:
    found = cluster(partitions=4)
    if found.broker.origin == "environment":
        pytest.skip("the user's broker is not ours to kill")

    with caplog.at_level(logging.WARNING, "streams.kafka.cycles_service"):
        assert asyncio.run(
            _take_over_while_the_broker_is_away(found, lambda: "wait for the broker" in caplog.text)
        )
