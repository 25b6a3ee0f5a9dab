"""Services that share a consumer group and read in turns: intake, the clock with its audit, the projection.

Holds what joining a group means for each of them, and how a turn gives way: a rebalance and a stop wait for
the turn under way. What a turn does is the service's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from mode import Service

from streams.kafka.connection import client_options, translated
from streams.kafka.consumer import REVOKE_SHARE, heartbeat_s
from streams.kafka.deadline import Deadline
from streams.settings import KafkaSettings

_log = logging.getLogger(__name__)


async def join(
    kafka: KafkaSettings,
    group: str,
    names: Iterable[str],
    listener: ConsumerRebalanceListener,
    **options: Any,
) -> AIOKafkaConsumer:
    """A started consumer of topics, by name, in a group; it commits only when it is told to.

    `options` are aiokafka's, beside those that all groups share. Raises BrokerFailed and its kin.
    """
    with translated(kafka):
        consumer = AIOKafkaConsumer(
            **client_options(kafka),
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=round(kafka.session_timeout_s * 1000),
            heartbeat_interval_ms=round(heartbeat_s(kafka.session_timeout_s) * 1000),
            rebalance_timeout_ms=round(kafka.request_timeout_s * 1000),
            **options,
        )
        consumer.subscribe(list(names), listener=listener)
        try:
            await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
    return consumer


class TurnService(Service):
    """A service that takes turns at reading until it is stopped; an error in a turn halts the worker.

    `what` names it in the log.
    """

    what: ClassVar[str]

    def __init__(self, kafka: KafkaSettings, *, halt: Callable[[BaseException], None], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._kafka = kafka
        self._halt = halt
        self._turn = asyncio.Lock()  # held for one turn; a rebalance waits for it
        self._is_awaited = asyncio.Event()  # a rebalance or a stop waits for the turn under way
        self._consumer: AIOKafkaConsumer | None = None

    async def _take_turn(self, consumer: AIOKafkaConsumer) -> None:
        """Read some records, and handle them."""
        raise NotImplementedError

    async def _let_go(self) -> None:
        """Own nothing any more; called between two turns."""

    async def _poll(
        self, consumer: AIOKafkaConsumer, *, timeout_ms: int, max_records: int
    ) -> Mapping[TopicPartition, Sequence[Any]]:
        """Records by partition, as aiokafka's `getmany`; none once a rebalance or a stop waits for the turn.

        While a rebalance is under way `getmany` returns after it, whatever its own limit, and a rebalance
        begins by waiting for the turn: the two would wait for each other.
        """
        reading = asyncio.ensure_future(consumer.getmany(timeout_ms=timeout_ms, max_records=max_records))
        awaited = asyncio.ensure_future(self._is_awaited.wait())
        try:
            await asyncio.wait((reading, awaited), return_when=asyncio.FIRST_COMPLETED)
        finally:
            awaited.cancel()
            reading.cancel()  # records are taken out and returned in one step: it has them all, or none
        await asyncio.wait((reading,))
        return {} if reading.cancelled() else reading.result()

    async def on_stop(self) -> None:
        """Finish the turn under way, let go, and leave the group."""
        self._is_awaited.set()
        async with self._turn:
            consumer, self._consumer = self._consumer, None
            await self._let_go()
        if consumer is not None:
            await consumer.stop()

    @Service.task
    async def _run(self) -> None:
        while not self.should_stop:
            async with self._turn:
                if self._consumer is None or self.should_stop:
                    return
                try:
                    await self._take_turn(self._consumer)
                except Exception as error:
                    _log.exception("%s failed", self.what)
                    self._halt(error)
                    return
            await asyncio.sleep(0)  # a rebalance that waits for its turn gets it

    async def revoked(self) -> None:
        """Let the turn under way finish and commit, before the partitions go elsewhere."""
        deadline = Deadline(self._kafka.request_timeout_s * REVOKE_SHARE)
        self._is_awaited.set()
        try:
            async with asyncio.timeout(deadline.left_s), self._turn:
                await self._let_go()
        except TimeoutError:
            _log.warning(
                "%s was not finished before a rebalance; what is under way is read again elsewhere.",
                self.what,
            )
        finally:
            if not self.should_stop:
                self._is_awaited.clear()
