"""Intake on Kafka: a service of the Faust app with a consumer group of its own.

Runs a declared agent without tables: reads public topics in micro-batches, sends what the agent makes of
them, and commits when all of it is acknowledged. Nothing is kept between batches, so a crash means that a
batch is read again, perhaps with other borders; claims recognise its observations by their ids.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError

from streams.host import Agent, Effects, Record
from streams.kafka import failpoints
from streams.kafka.connection import translated
from streams.kafka.deadline import Deadline
from streams.kafka.errors import RecordFailed
from streams.kafka.health import Standing
from streams.kafka.metrics import Metrics
from streams.kafka.naming import intake_group_name, topic_name
from streams.kafka.producer import Producer
from streams.kafka.reading import record_of
from streams.kafka.turns import TurnService, join
from streams.settings import Settings
from streams.tracing import OFF, Tracing

_log = logging.getLogger(__name__)
_IDLE_MS: Final = 500  # how long one wait for the first record lasts; a stop is noticed between two


class NoTables:
    """The state of an agent that declares no tables."""

    def __init__(self, n_partitions: int) -> None:
        self.n_partitions = n_partitions

    def get(self, table: str, key: bytes) -> bytes | None:
        """There is nothing to get."""
        raise LookupError(f"{table} is not declared; an agent of intake has no tables")

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """There is nothing to scan."""
        raise LookupError(f"{table} is not declared; an agent of intake has no tables")

    def applied(self, _table: str, _key: bytes, _record: Record) -> bool:
        """Nothing is remembered."""
        return False


class IntakeService(TurnService):
    """Runs the intake agent until it is stopped; the batch under way is finished and committed first."""

    what = "Intake"

    def __init__(
        self,
        settings: Settings,
        agent: Agent,
        producer: Producer,
        *,
        metrics: Metrics,
        halt: Callable[[BaseException], None],
        assigned: Callable[[], None],
        tracing: Tracing = OFF,
        **kwargs: Any,
    ) -> None:
        super().__init__(settings.kafka, halt=halt, **kwargs)
        assert not agent.tables, "intake on Kafka is stateless"
        self._settings = settings
        self._agent = agent
        self._producer = producer
        self._metrics = metrics
        self._assigned = assigned
        self._tracing = tracing
        self._state = NoTables(settings.kafka.partitions)
        self._topics = {topic_name(settings.kafka, topic): topic for topic in agent.inputs}
        self._undone: dict[TopicPartition, int] = {}  # where each partition goes on if the worker dies now

    async def on_start(self) -> None:
        """Join the group."""
        kafka = self._kafka
        self._consumer = await join(
            kafka,
            intake_group_name(kafka),
            self._topics,
            _Listener(self),
            group_instance_id=kafka.group_instance_id,
        )

    async def _take_turn(self, consumer: AIOKafkaConsumer) -> None:
        """1. Read. 2. Apply. 3. Send the outputs and await them. 4. Commit.

        If it fails before 4, the records are read again: observations arrive twice and are recognised by
        id, dead letters have the same id. Nothing is lost, since nothing was committed.
        """
        with translated(self._kafka):
            found = await self._read(consumer)  # 1
        if not found:
            return
        first = found[0]
        try:
            with self._tracing.handling(self._agent.name, found) as handling:
                with self._metrics.applying(self._agent.name):
                    effects = await self._apply(handling.records)  # 2
                failpoints.reach(failpoints.INTAKE_APPLIED)
                await self._producer.send_outputs(handling.emitted(effects.outputs))
                failpoints.reach(failpoints.INTAKE_SENT)
                await self._producer.flush()  # 3
            failpoints.reach(failpoints.INTAKE_ACKNOWLEDGED)
            self._metrics.handled(self._agent.name, found, effects.outputs)
        except Exception as error:
            raise RecordFailed(first.topic.value, first.partition, first.offset, error) from error
        await self._commit(consumer, found)  # 4
        failpoints.reach(failpoints.INTAKE_COMMITTED)

    async def _apply(self, found: Sequence[Record]) -> Effects:
        """Apply a batch; where that may wait for something outside, the loop goes on meanwhile."""
        if self._agent.may_wait:
            return await asyncio.to_thread(self._agent.apply, self._state, found)
        return self._agent.apply(self._state, found)

    async def _read(self, consumer: AIOKafkaConsumer) -> list[Record]:
        """A batch: what is there, filled up for at most `batch_linger_ms` after its first record."""
        batch_max = self._settings.intake_batch_max
        found = self._taken(await self._poll(consumer, timeout_ms=_IDLE_MS, max_records=batch_max))
        linger = Deadline(self._settings.batch_linger_ms / 1000)
        while found and len(found) < batch_max and linger.left_s and not self._is_awaited.is_set():
            more = await self._poll(
                consumer, timeout_ms=round(linger.left_s * 1000), max_records=batch_max - len(found)
            )
            found += self._taken(more)
        return found

    def _taken(self, batches: Mapping[TopicPartition, Sequence[Any]]) -> list[Record]:
        """What was read, as records; from where each partition goes on if the worker dies now is noted."""
        for tp, records in batches.items():
            self._undone.setdefault(tp, records[0].offset)
        return [record_of(self._topics[raw.topic], raw) for records in batches.values() for raw in records]

    async def _commit(self, consumer: AIOKafkaConsumer, found: list[Record]) -> None:
        offsets: dict[TopicPartition, int] = {}
        for record in found:
            tp = TopicPartition(topic_name(self._kafka, record.topic), int(record.partition))
            offsets[tp] = max(offsets.get(tp, 0), record.offset + 1)
        with translated(self._kafka):
            try:
                await consumer.commit(offsets)
                self._undone.update(offsets)
            except (CommitFailedError, IllegalStateError) as error:
                _log.info(
                    "A batch was not committed, because the partitions are being given out anew: %s", error
                )

    async def standings(self) -> list[Standing]:
        """Where this worker's partitions of public input stand, as far as the client knows by now."""
        consumer, group = self._consumer, intake_group_name(self._kafka)
        found: list[Standing] = []
        if consumer is None:
            return found
        # They may go elsewhere while they are looked at: then they have no standing here.
        with contextlib.suppress(IllegalStateError, AssertionError):
            for tp in sorted(consumer.assignment()):
                end, polled = consumer.highwater(tp), consumer.last_poll_timestamp(tp)
                if end is not None:
                    # Before the first record of a partition is read, the position is what is committed.
                    undone = self._undone.get(tp)
                    committed = await consumer.position(tp) if undone is None else undone
                    found.append(Standing(group, tp.topic, tp.partition, committed, end, polled))
        return found

    def assigned(self) -> None:
        """Tell the worker that intake has its partitions."""
        self._undone.clear()
        self._assigned()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, service: IntakeService) -> None:
        self._service = service

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await self._service.revoked()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self._service.assigned()
