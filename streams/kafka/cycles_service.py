"""The clock and the audit of cycles on Kafka: agents that run once for all partitions.

Each reads one topic with one partition. All workers join one consumer group; whoever is given the partitions
owns clock and audit, and keeps their small tables in memory. The tables' truth is their changelogs. One
record at a time; the numbers are those in `CyclesService._handle`. If the worker dies

1. while it applies the record in memory: nothing happened, and the record is read again;
2. while it sends the outputs and awaits them: the same ones, with the same ids and numbers, are sent again;
3. while it writes the changelogs, stage by stage, and awaits them: the record is read again, and the agent
   does it again to what it was done to, which changes nothing;
4. before it keeps the tables in memory: the changelogs are read at the start;
5. before it commits the offset: the record is read again, and the agent finds it taken in.

A new owner takes over before it reads a record: 1. it fences out the old one, which from then on can write to
no changelog; 2. it reads the changelogs to their ends; 3. it goes on where the group has committed.

When its time has come, the owner asks the agent whether a tick is due and appends it to the clock's topic.
Two owners that both believe it is time close one cycle more, and nothing else happens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalStateError
from mode import Service

from streams.host import Agent, Effects, Record, State, Write
from streams.kafka import failpoints
from streams.kafka.connection import translated
from streams.kafka.deadline import Deadline
from streams.kafka.errors import BrokerUnreachable, RecordFailed
from streams.kafka.fence import FencedProducer
from streams.kafka.metrics import Metrics
from streams.kafka.naming import cycles_group_name, single_changelog_name, topic_name
from streams.kafka.reading import ends_of, latest_values, record_of
from streams.kafka.turns import TurnService, join
from streams.keys import Partition
from streams.settings import Settings
from streams.topics import Topic

_log = logging.getLogger(__name__)
_IDLE_MS: Final = 200  # how long one wait for records lasts; a stop is noticed between two
_AGAIN_S: Final = 1.0  # between two tries to reach a broker that is away
_RECORDS_MAX: Final = 20  # handled in one turn: a rebalance waits for so many at most
PARTITION: Final = Partition(0)


class SingleTables:
    """The tables of agents that run once, in memory. Implements `streams.host.State`."""

    def __init__(self, n_partitions: int, tables: dict[str, dict[bytes, bytes]]) -> None:
        self.n_partitions = n_partitions
        self._tables = tables

    def get(self, table: str, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        return self._tables[table].get(key)

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, in order of the key."""
        yield from sorted((k, value) for k, value in self._tables[table].items() if k.startswith(prefix))

    def applied(self, _table: str, _key: bytes, _record: Record) -> bool:
        """False: these agents know by themselves what they have taken in."""
        return False

    def keep(self, writes: Sequence[Write]) -> None:
        """Take over changes that are in the changelogs."""
        for write in writes:
            if write.value is None:
                self._tables[write.table].pop(write.key, None)
            else:
                self._tables[write.table][write.key] = write.value


@dataclass(frozen=True, slots=True)
class Cycles:
    """What runs once for all partitions, and how its owner knows that a tick is due.

    `due` is asked with the tables and whether there was input, and gives what to append to the clock, or
    None. `ends` gives the ends that the partitions had right after the newest closed cycle; none before
    the first.
    """

    agents: Sequence[Agent]
    due: Callable[[State, bool], bytes | None]
    ends: Callable[[State], Sequence[int]]


class CyclesService(TurnService):
    """Runs the agents while this worker owns them; the record under way is finished first."""

    what = "The clock or the audit"

    def __init__(
        self,
        settings: Settings,
        cycles: Cycles,
        *,
        metrics: Metrics,
        halt: Callable[[BaseException], None],
        **kwargs: Any,
    ) -> None:
        super().__init__(settings.kafka, halt=halt, **kwargs)
        self._settings = settings
        self._cycles = cycles
        self._agent_of = {topic: agent for agent in cycles.agents for topic in agent.inputs}
        self._topics = {topic_name(self._kafka, topic): topic for topic in self._agent_of}
        self._changelogs = {
            table: single_changelog_name(self._kafka, table)
            for agent in cycles.agents
            for table in agent.tables
        }
        self._metrics = metrics
        self._owns = False
        self._state: SingleTables | None = None
        self._producer: FencedProducer | None = None
        self._ends_at_tick: list[int] | None = None  # of the partitions of batches, when a tick was appended
        self._n_told = 0  # internal records sent to each of them since

    # -- the group --------------------------------------------------------------------------

    async def on_start(self) -> None:
        """Join the group."""
        self._consumer = await join(
            self._kafka,
            cycles_group_name(self._kafka),
            self._topics,
            _Listener(self),
            # By range, one member is given the only partition of every topic.
            partition_assignment_strategy=(RangePartitionAssignor,),
        )

    def assigned(self, partitions: Sequence[Any]) -> None:
        """Own clock and audit from now on, or not."""
        self._owns = bool(partitions)

    async def _let_go(self) -> None:
        self._owns = False
        await self._hand_over()

    async def _hand_over(self) -> None:
        producer, self._producer, self._state = self._producer, None, None
        if producer is not None:
            await producer.stop(Deadline(self._kafka.request_timeout_s))

    async def _took_over(self) -> bool:
        """Take over, again and again while the broker is away, for as long as every other request waits.

        False where the service is stopped meanwhile. Raises BrokerUnreachable at the end of that time.
        """
        deadline = Deadline(self._kafka.request_timeout_s)
        while not self.should_stop:
            try:
                with translated(self._kafka):
                    await self._take_over()
            except BrokerUnreachable as error:
                await self._hand_over()
                if not deadline.left_s:
                    raise
                _log.warning("The clock and the audit wait for the broker: %s", error)
                await self.sleep(_AGAIN_S)
            else:
                return True
        return False

    async def _take_over(self) -> None:
        """1. Fence out the old owner. 2. Read the changelogs."""
        names = list(self._changelogs.values())
        producer = FencedProducer(self._kafka, PARTITION, names, identity=cycles_group_name(self._kafka))
        await producer.start()  # 1
        self._producer = producer
        held = await latest_values(self._kafka, names)  # 2
        tables = {table: held[name] for table, name in self._changelogs.items()}
        self._state = SingleTables(self._kafka.partitions, tables)
        self._ends_at_tick, self._n_told = None, 0

    # -- records ----------------------------------------------------------------------------

    async def _take_turn(self, consumer: AIOKafkaConsumer) -> None:
        with translated(self._kafka):
            found = await self._poll(consumer, timeout_ms=_IDLE_MS, max_records=_RECORDS_MAX)
            # Looked at afterwards: the partitions may have come while it waited for records.
            if self._owns and self._state is None and not await self._took_over():
                return
        for tp, records in found.items():
            for raw in records:
                record = record_of(self._topics[tp.topic], raw)
                try:
                    await self._handle(record)
                except Exception as error:
                    raise RecordFailed(tp.topic, tp.partition, raw.offset, error) from error
                await self._commit(consumer, tp, raw.offset + 1)  # 5

    async def _handle(self, record: Record) -> None:
        """1. Apply. 2. Send the outputs and await them. 3. Write the changelogs, stage by stage, and await
        them. 4. Keep the tables. What each step means for a crash is in the docstring of the module.
        """
        assert self._state is not None
        agent = self._agent_of[record.topic]
        with self._metrics.applying(agent.name):
            effects = agent.apply(self._state, [record])  # 1
        failpoints.reach(failpoints.CYCLES_APPLIED)
        await self._send(effects)  # 2
        failpoints.reach(failpoints.CYCLES_SENT)
        for stage in agent.stages:
            await self._write([write for write in effects.writes if write.table in stage])  # 3
            failpoints.reach(failpoints.CYCLES_STAGE_WRITTEN)
        self._state.keep(effects.writes)  # 4
        failpoints.reach(failpoints.CYCLES_WRITTEN)
        self._n_told += sum(output.topic is Topic.BY_CLAIM for output in effects.outputs)
        self._metrics.handled(agent.name, [record], effects.outputs)

    async def _send(self, effects: Effects) -> None:
        assert self._producer is not None
        for output in effects.outputs:
            await self._producer.send(
                topic_name(self._kafka, output.topic),
                key=output.key,
                value=output.value,
                partition=output.partition,
            )
        await self._producer.flush()

    async def _write(self, writes: Sequence[Write]) -> None:
        assert self._producer is not None
        for write in writes:
            name = self._changelogs[write.table]
            await self._producer.send(name, key=write.key, value=write.value, partition=PARTITION)
        await self._producer.flush()

    async def _commit(self, consumer: AIOKafkaConsumer, tp: TopicPartition, offset: int) -> None:
        with translated(self._kafka):
            try:
                await consumer.commit({tp: offset})
            except (CommitFailedError, IllegalStateError) as error:
                _log.info("Clock and audit have a new owner, which reads the record again: %s", error)

    # -- ticks ------------------------------------------------------------------------------

    @Service.task
    async def _tick(self) -> None:
        while not self.should_stop:
            await self.sleep(self._settings.tick_s)
            async with self._turn:
                if self._consumer is None or self._state is None or self.should_stop:
                    continue
                try:
                    await self._tick_if_due(self._state)
                except Exception as error:
                    _log.exception("The clock failed")
                    self._halt(error)
                    return

    async def _tick_if_due(self, state: SingleTables) -> None:
        """Append a tick if one is due; it is told to the partitions when it is read.

        What came between the look at the ends and the tick counts as input of the next cycle too: that one
        may then be closed empty, and no input waits for more.
        """
        assert self._producer is not None
        ends = await ends_of(self._kafka, topic_name(self._kafka, Topic.BY_CLAIM))
        known = self._ends_at_tick
        if known is None:
            known = list(self._cycles.ends(state)) or [0] * len(ends)
            self._n_told = 0
        n_each = self._n_told // len(ends)
        request = self._cycles.due(
            state, any(now > before + n_each for now, before in zip(ends, known, strict=True))
        )
        if request is not None:
            await self._producer.send(
                topic_name(self._kafka, Topic.CLOCK), key=None, value=request, partition=PARTITION
            )
            await self._producer.flush()
            self._ends_at_tick, self._n_told = ends, 0


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, service: CyclesService) -> None:
        self._service = service

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await self._service.revoked()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self._service.assigned(list(assigned))
