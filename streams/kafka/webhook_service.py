"""Webhooks from Kafka: one consumer group for each receiver, so that a slow one holds up nobody.

A group commits what its receiver acknowledged, or what is a durable dead letter. Several processes share the
partitions of a group; one that dies is followed by another, which sends again what was not committed, with
the same ids. Order is kept for a subject, because all of it lies in one partition and one process has that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError

from streams.host import Record
from streams.kafka.admin import check_topics
from streams.kafka.connection import reach, translated
from streams.kafka.deadline import Deadline
from streams.kafka.errors import TopicMismatch
from streams.kafka.naming import topic_name, webhook_group_name
from streams.kafka.producer import Producer
from streams.kafka.reading import record_of
from streams.kafka.turns import TurnService, join
from streams.settings import Settings
from streams.topics import Topic
from streams.tracing import OFF, Tracing
from streams.webhook_config import ALERT_TOPICS, Receiver
from streams.webhook_delivery import Delivery

_log = logging.getLogger(__name__)
_IDLE_MS: Final = 500  # how long one wait for the next event lasts; a stop is noticed between two
_LOOK_S: Final = 0.25  # how long one wait for an answer lasts; new events are read between two
_AWAY_MS: Final = 24 * 3_600 * 1_000  # nothing is read while a receiver is away; no reason to leave the group


class WebhookService(TurnService):
    """Carries the events of this process's partitions to one receiver."""

    what = "A webhook"

    def __init__(
        self,
        settings: Settings,
        delivery: Delivery,
        *,
        halt: Callable[[BaseException], None],
        **kwargs: Any,
    ) -> None:
        super().__init__(settings.kafka, halt=halt, **kwargs)
        receiver = delivery.receiver
        self._delivery = delivery
        self._group = webhook_group_name(settings.kafka, receiver.name)
        self._topics = {
            topic_name(settings.kafka, topic): topic
            for topic in ALERT_TOPICS
            if topic.value in receiver.wanted.topics
        }
        self._joined: AIOKafkaConsumer | None = None  # also while it is being left
        self._committed: dict[TopicPartition, int] = {}
        self._is_placed = False  # whether every partition is read from where the group is
        self._assignment = 0  # rises with every one

    async def on_start(self) -> None:
        """Join the group."""
        await self._delivery.start()
        self._consumer = self._joined = await join(
            self._kafka, self._group, self._topics, _Listener(self), max_poll_interval_ms=_AWAY_MS
        )

    async def on_stop(self) -> None:
        """Take in the answers that are awaited, commit, and leave the group."""
        await super().on_stop()
        await self._delivery.stop()

    async def _take_turn(self, consumer: AIOKafkaConsumer) -> None:
        """1. Find out where the group is. 2. Read what there is room for. 3. Send. 4. Commit."""
        delivery = self._delivery
        if not self._is_placed:
            await self._find_places(consumer)  # 1
        assignment, room = self._assignment, delivery.room
        records: list[Record] = []
        if room:
            wait_ms = 0 if delivery.n_waiting else _IDLE_MS
            with translated(self._kafka):
                found = await self._poll(consumer, timeout_ms=wait_ms, max_records=room)  # 2
            records = [record_of(self._topics[raw.topic], raw) for batch in found.values() for raw in batch]
        if assignment != self._assignment or not self._is_placed:
            return  # given out anew meanwhile: whoever has the partitions now reads these again
        delivery.take(records)
        if delivery.n_waiting or not room:
            await delivery.step(0 if records and delivery.room else _LOOK_S)  # 3
        await self._commit(consumer)  # 4

    async def _find_places(self, consumer: AIOKafkaConsumer) -> None:
        """Go to what was committed; where nothing was, to where the receiver begins, and commit that."""
        assignment = self._assignment
        partitions = sorted(consumer.assignment())
        new: dict[TopicPartition, int] = {}
        with translated(self._kafka):
            found = {tp: await consumer.committed(tp) for tp in partitions}
            missing = [tp for tp in partitions if found[tp] is None]
            if missing:
                from_start = self._delivery.receiver.from_start
                new = await (consumer.beginning_offsets if from_start else consumer.end_offsets)(missing)
            if assignment != self._assignment:
                return
            for tp in partitions:
                consumer.seek(tp, new[tp] if found[tp] is None else found[tp])
        self._committed = {tp: at for tp, at in found.items() if at is not None}
        await self._write_places(consumer, new)
        self._is_placed = assignment == self._assignment

    async def _commit(self, consumer: AIOKafkaConsumer) -> None:
        reached = {
            TopicPartition(topic_name(self._kafka, topic), int(partition)): at
            for (topic, partition), at in self._delivery.reached().items()
        }
        await self._write_places(
            consumer, {tp: at for tp, at in reached.items() if at != self._committed.get(tp)}
        )

    async def _write_places(self, consumer: AIOKafkaConsumer, places: dict[TopicPartition, int]) -> None:
        if not places:
            return
        with translated(self._kafka):
            try:
                await consumer.commit(places)
                self._committed |= places
            except (CommitFailedError, IllegalStateError):
                _log.info("The partitions of a webhook are being given out anew; some is sent again.")

    async def _let_go(self) -> None:
        await self._delivery.finish()
        if self._joined is not None and self._is_placed:
            await self._commit(self._joined)
        self.forget_places()

    def forget_places(self) -> None:
        """The partitions are given out anew: ask the group where to go on."""
        self._assignment += 1
        self._is_placed = False
        self._committed = {}
        self._delivery.break_off()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, service: WebhookService) -> None:
        self._service = service

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await self._service.revoked()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self._service.forget_places()


class KafkaWebhooks:
    """Carries the events of a cluster to receivers, from `start` to `stop`."""

    def __init__(
        self,
        settings: Settings,
        receivers: Sequence[Receiver],
        *,
        told: Callable[[str, str], None] = lambda _webhook, _outcome: None,
        tracing: Tracing = OFF,
    ) -> None:
        self._settings = settings
        self._producer = Producer(settings.kafka)
        self._halted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.deliveries = [
            Delivery(receiver, self._keep_letter, told=partial(told, receiver.name), tracing=tracing)
            for receiver in receivers
        ]
        self._services = [WebhookService(settings, delivery, halt=self._halt) for delivery in self.deliveries]

    async def start(self) -> None:
        """Join the groups. Raises BrokerUnreachable, BrokerRefused, TopicMismatch, BadWebhooks."""
        kafka = self._settings.kafka
        await reach(kafka)
        mine = {topic_name(kafka, topic) for topic in (*ALERT_TOPICS, Topic.WEBHOOK_LETTERS)}
        problems = [one for one in await check_topics(self._settings) if one.topic in mine]
        if problems:
            raise TopicMismatch(kafka.bootstrap, problems)
        try:
            await self._producer.start()
            for service in self._services:
                await service.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Take in the answers that are awaited, commit, and leave the groups."""
        await _all(service.stop() for service in self._services)
        await self._producer.stop(Deadline(self._settings.kafka.request_timeout_s))

    async def wait(self) -> None:
        """Return never, and raise what stopped a receiver's service."""
        await asyncio.shield(self._halted)

    def _halt(self, error: BaseException) -> None:
        if not self._halted.done():
            self._halted.set_exception(error)

    async def _keep_letter(self, key: bytes, value: bytes) -> None:
        name = topic_name(self._settings.kafka, Topic.WEBHOOK_LETTERS)
        await self._producer.send(name, key=key, value=value, partition=None)
        await self._producer.flush()


async def _all(works: Iterable[Any]) -> None:
    await asyncio.gather(*works, return_exceptions=True)
