"""The projection of drift on Kafka: a service of the worker with a consumer group of its own.

Reads what says who is in flux and keeps it in a store that readers ask (`streams.drift`). The store may be
away, slow, full, emptied or behind: facts go on meanwhile, and it is caught up from where it says it is, or
filled anew. How far it is stands in the store itself; what this group commits only shows the lag.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError
from mode import Service

from streams.drift import DriftStore, DriftStoreEmptied, DriftUnavailable, Filler, inputs
from streams.host import Record
from streams.kafka.connection import translated
from streams.kafka.naming import drift_group_name, topic_name
from streams.kafka.reading import record_of
from streams.kafka.turns import join
from streams.settings import KafkaSettings

_log = logging.getLogger(__name__)
_IDLE_MS: Final = 500  # how long one wait for the next records lasts; a stop is noticed between two
_BATCH_MAX: Final = 2_000
_AWAY_MS: Final = 24 * 3_600 * 1_000  # nothing is read while the store is away; that is no reason to leave
_FETCH_BYTES: Final = 128 * 1024  # of one partition at once; what is fetched is held while the store is away
_AGAIN_S: Final = 1.0  # between two attempts on a store that is away


class DriftService(Service):
    """Keeps a `DriftStore` up to date until it is stopped; closes it then.

    `degraded` is called with True when the store stops answering, and with False when it is caught up.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        store: DriftStore,
        *,
        halt: Callable[[BaseException], None],
        degraded: Callable[[bool], None] = lambda _is_degraded: None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kafka = kafka
        self._store = store
        self._halt = halt
        self._tell = degraded
        self._is_degraded = False
        self._topics = {topic_name(kafka, topic): topic for topic in inputs()}
        self._consumer: AIOKafkaConsumer | None = None
        self._filler = Filler(store)
        self._is_placed = False  # whether every partition is read from where the store is
        self._assignment = 0  # rises with every one

    async def on_start(self) -> None:
        """Join the group."""
        self._consumer = await join(
            self._kafka,
            drift_group_name(self._kafka),
            self._topics,
            _Listener(self),
            max_poll_interval_ms=_AWAY_MS,
            max_partition_fetch_bytes=_FETCH_BYTES,
        )

    async def on_stop(self) -> None:
        """Leave the group. What the store has taken in is told by the store."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await consumer.stop()
        await asyncio.to_thread(self._store.close)

    @Service.task
    async def _run(self) -> None:
        while not self.should_stop:
            consumer = self._consumer
            if consumer is None:
                return
            try:
                await self._step(consumer)
            except DriftStoreEmptied as error:
                _log.warning("%s It is filled again from where it is now.", error)
                self._is_placed = False
            except DriftUnavailable as error:
                self._note(error)
                self._is_placed = False
                await self.sleep(_AGAIN_S)
            except Exception as error:
                if self._consumer is None:  # stopped while it waited
                    return
                _log.exception("The projection of drift failed")
                self._halt(error)
                return

    async def _step(self, consumer: AIOKafkaConsumer) -> None:
        """1. Find out where the store is. 2. Read on from there. 3. Let it take that in. 4. Commit.

        A store that fails in 3 has taken in some of it or nothing; it is asked again from 1 on.
        """
        if not self._is_placed:
            await self._find_places(consumer)  # 1
        assignment = self._assignment
        with translated(self._kafka):
            found = await consumer.getmany(timeout_ms=_IDLE_MS, max_records=_BATCH_MAX)  # 2
        records = [record_of(self._topics[raw.topic], raw) for batch in found.values() for raw in batch]
        if assignment != self._assignment:
            return  # given out anew meanwhile: whoever has the partitions now reads these again
        if records:
            await asyncio.to_thread(self._filler.take, records)  # 3
            await self._commit(consumer, records)  # 4
        self._note(None)

    async def _find_places(self, consumer: AIOKafkaConsumer) -> None:
        assignment = self._assignment
        await asyncio.to_thread(self._filler.begin)
        if assignment != self._assignment:
            return
        with translated(self._kafka):
            for tp in consumer.assignment():
                at = self._filler.positions.get((self._topics[tp.topic], tp.partition))
                if at is None:
                    await consumer.seek_to_beginning(tp)
                else:
                    consumer.seek(tp, at)
        self._is_placed = assignment == self._assignment

    async def _commit(self, consumer: AIOKafkaConsumer, records: list[Record]) -> None:
        offsets: dict[TopicPartition, int] = {}
        for record in records:
            offsets[TopicPartition(topic_name(self._kafka, record.topic), record.partition)] = (
                record.offset + 1
            )
        with translated(self._kafka):
            try:
                await consumer.commit(offsets)
            except (CommitFailedError, IllegalStateError):
                _log.info("The partitions of the projection of drift are being given out anew.")

    def _note(self, error: DriftUnavailable | None) -> None:
        """Say when the store goes away, and when it is back; once each."""
        is_degraded = error is not None
        if is_degraded == self._is_degraded:
            return
        self._is_degraded = is_degraded
        self._tell(is_degraded)
        if error is not None:
            _log.warning("Drift is degraded: %s", error)
        else:
            _log.warning("The Redis of drift answers again, and is being caught up.")

    def forget_places(self) -> None:
        """The partitions are given out anew: ask the store where to go on."""
        self._assignment += 1
        self._is_placed = False


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, service: DriftService) -> None:
        self._service = service

    async def on_partitions_revoked(self, revoked: Any) -> None:
        self._service.forget_places()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self._service.forget_places()
