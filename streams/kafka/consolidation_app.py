"""The Faust app: one agent over `observations-by-claim`, one event at a time, effectively once.

Runs a declared agent (`streams.host.Agent`) and knows nothing of what it does. The order in which one
record takes effect is in `_handle`, with the numbers of docs/kafka-host.md.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import faust
from faust.auth import SASLCredentials
from mode import Service
from yarl import URL

from state.errors import OutOfOrder
from state.instants import Instant
from streams.host import Agent, Effects, Mark, Record
from streams.kafka import failpoints
from streams.kafka.connection import security_options
from streams.kafka.consumer import OrderedConsumer, Transport, heartbeat_s
from streams.kafka.deadline import Deadline
from streams.kafka.errors import OwnershipLost, RecordFailed
from streams.kafka.fence import PartitionProducers
from streams.kafka.health import Standing
from streams.kafka.lanes import Lanes
from streams.kafka.lease import Lease
from streams.kafka.metrics import Metrics
from streams.kafka.naming import changelog_name, group_name, note_of, topic_name
from streams.kafka.recovery import BulkTableManager
from streams.kafka.store import OpenStore
from streams.kafka.tables import StampedTable, by_stage
from streams.keys import Offset, Partition
from streams.settings import KafkaSettings
from streams.topics import TOPICS
from streams.trace_headers import trace_of
from streams.tracing import OFF, Handling, Tracing

_log = logging.getLogger(__name__)
_BUFFERED_MAX: Final = 64  # events in memory, each up to 512 KiB; the rest waits in Kafka


class PartitionState:
    """The tables of an agent, as they are in one partition."""

    def __init__(self, tables: dict[str, StampedTable], partition: Partition, n_partitions: int) -> None:
        self.n_partitions = n_partitions
        self._tables = tables
        self._partition = partition
        self.n_found_applied = 0
        """How often a key turned out to hold the record already."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """The stored value, or None."""
        return self._tables[table].read(self._partition, key)

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, in order of the key."""
        return self._tables[table].scan(self._partition, prefix)

    def applied(self, table: str, key: bytes, record: Record) -> bool:
        """Whether this key already holds what the record did; then its outputs are durable too."""
        applied = self._tables[table].applied(self._partition, key, record.offset)
        self.n_found_applied += applied
        return applied


class ConsolidationApp(faust.App):
    """A Faust app that runs one agent, and the services that are given to it.

    `marks` are noted with every commit, and met before the tables of a partition are touched. `halt` stops
    the worker: it is called at most with the first error, and afterwards no record is handled any more.
    `ready` is called with the partitions of each new assignment, once their tables are restored.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        agent: Agent,
        *,
        metrics: Metrics,
        open_store: OpenStore,
        services: Iterable[Service],
        halt: Callable[[BaseException], None],
        ready: Callable[[list[int]], None],
        data: str,
        marks: Sequence[Mark] = (),
        tracing: Tracing = OFF,
    ) -> None:
        super().__init__(
            group_name(kafka), datadir=data, TableManager=BulkTableManager, **_faust_settings(kafka)
        )
        self.kafka = kafka
        self.lease = Lease(kafka.session_timeout_s)
        self.marks = tuple(marks)
        self._tracing = tracing
        self._agent = agent
        self.producers = PartitionProducers(kafka, _written_topics(kafka, agent))
        self.metrics = metrics
        self._services = list(services)
        self._halt = halt
        self._ready = ready
        self._halted = False
        self._draining = False
        self._lanes = Lanes(self._take)
        self._one_applies = asyncio.Lock()
        self._expected: dict[int, int] = {}
        (source,) = agent.inputs
        self._source = source
        self._stamped = {name: self._table(name, open_store) for name in agent.tables}
        channel = self.topic(self.source_topic, **_RAW)
        self.agent(channel, name=agent.name, concurrency=1)(self._consume)

    def _table(self, name: str, open_store: OpenStore) -> StampedTable:
        changelog = self.topic(
            changelog_name(self.kafka, name), **_RAW, acks=False, internal=True, allow_empty=True
        )
        table = StampedTable(
            self,
            name=name,
            open_store=open_store,
            producers=self.producers,
            partitions=self.kafka.partitions,
            changelog_topic=changelog,
            key_type=bytes,
            value_type=bytes,
        )
        self.tables.add(table)
        return table

    # -- one record -------------------------------------------------------------------------

    async def _consume(self, stream: faust.StreamT[bytes]) -> None:
        async for _ in stream:
            event = stream.current_event
            assert event is not None
            await self._lanes.start(event.message)
            if self._halted or self._draining:
                await asyncio.Event().wait()  # until the app is stopped; nothing more is handled

    async def _take(self, message: Any) -> None:
        """Handle one record, or stop the worker; a record that failed is never passed over.

        One that was read before the partitions were given out anew is let go: it is read again, after what
        comes before it. Handled now, it would tell of a state without that.
        """
        if self._halted or self._draining or message.generation_id != self.consumer_generation_id:
            return
        try:
            await self._handle(message)
        except Exception as error:
            where = {"topic": message.topic, "partition": message.partition, "offset": message.offset}
            _log.exception("Record %s/%d/%d failed", *where.values(), extra=where)
            failure = RecordFailed(message.topic, message.partition, message.offset, error)
            failure.__cause__ = error
            self.halt(failure)

    async def _handle(self, message: Any) -> None:
        """1. Apply in memory. 2. Send the outputs and await them. 3. Write the changelogs and await them,
        stage by stage. 4. Write the tables of the stage on this machine. 5. Say that it is done, so that
        the offset may be committed.

        If it fails at 1 or in 2, outputs may be there; the record is read again and gives the same ones,
        with the same ids. If it fails in 3, some keys are written; the record is read again, finds those
        applied and does the rest. If it fails at 4, recovery reads the changelog. If it fails at 5, the
        record is read again and finds everything applied.
        """
        record = Record(
            self._source,
            Partition(message.partition),
            Offset(message.offset),
            message.key,
            message.value,
            Instant(round(message.timestamp * 1000)),
            trace_of(self._source, message.headers) if message.headers else None,
        )
        self._check_order(record)
        with self._tracing.handling(self._agent.name, [record]) as handling:
            await self._take_effect(message, handling)

    async def _take_effect(self, message: Any, handling: Handling) -> None:
        """The steps of `_handle`."""
        (record,) = handling.records
        state = PartitionState(self._stamped, record.partition, self.kafka.partitions)
        with self.metrics.applying(self._agent.name):
            effects = await self._apply(state, record)  # 1
        effects.outputs = handling.emitted(effects.outputs)
        failpoints.reach(failpoints.APPLIED)
        await self._send_outputs(record.partition, effects)  # 2
        failpoints.reach(failpoints.OUTPUTS_ACKNOWLEDGED)
        for stage in by_stage(effects.writes, self._agent.stages, record.offset):
            self._check_ownership(message)
            await self._write_stage(record.partition, stage)  # 3, 4
        if effects.reclaim:
            await asyncio.to_thread(self._reclaim, record.partition)
        self._check_ownership(message)
        self.ordered_consumer.mark_done(message.tp, record.offset + 1)  # 5
        self.metrics.handled(self._agent.name, [record], effects.outputs)
        self.metrics.placed(record, n_found_applied=state.n_found_applied, n_outputs=len(effects.outputs))
        failpoints.reach(failpoints.DONE)

    async def _apply(self, state: PartitionState, record: Record) -> Effects:
        """Apply a record; where that may wait for something outside, the loop goes on meanwhile.

        The tables stay as they are until then: nothing else writes them, and partitions move only when no
        record is under way.
        """
        if self._agent.may_wait:
            async with self._one_applies:  # what an agent keeps in use is for one call at a time
                return await asyncio.to_thread(self._agent.apply, state, [record])
        return self._agent.apply(state, [record])

    async def _write_stage(self, partition: int, stage: dict[str, dict[bytes, bytes | None]]) -> None:
        """Make the changes of some tables durable together, then keep them here: steps 3 and 4."""
        sent = {
            name: await self._stamped[name].send_changes(partition, changes)
            for name, changes in stage.items()
        }
        failpoints.reach(failpoints.CHANGELOG_SENT)
        await self.producers.of(partition).flush()
        failpoints.reach(failpoints.CHANGELOG_ACKNOWLEDGED)
        for name, changes in stage.items():
            logged_offset = max(batch.last_offset for batch in sent[name])
            self._stamped[name].keep_changes(partition, changes, logged_offset)
        failpoints.reach(failpoints.TABLE_WRITTEN)

    def _reclaim(self, partition: int) -> None:
        """Let what is deleted leave the disk of this machine. A crash before or in it does it again."""
        for table in self._stamped.values():
            table.compact(partition)

    async def _send_outputs(self, partition: int, effects: Effects) -> None:
        producer = self.producers.of(partition)
        await producer.send_outputs(effects.outputs)
        failpoints.reach(failpoints.OUTPUTS_SENT)
        await producer.flush()

    def _check_order(self, record: Record) -> None:
        """A record that was passed over would be a lost one. One that comes again is harmless."""
        expected = self._expected.get(record.partition)
        if expected is not None and record.offset > expected:
            raise OutOfOrder(
                f"Offset {record.offset} came where {expected} was expected; those between are missing."
            )
        self._expected[record.partition] = record.offset + 1

    def _check_ownership(self, message: Any) -> None:
        self.lease.check()
        if message.generation_id != self.consumer_generation_id:
            raise OwnershipLost("The partitions were given out anew while a batch was under way.")

    # -- what the consumer and the worker ask for -------------------------------------------

    @property
    def ordered_consumer(self) -> OrderedConsumer:
        """The consumer, with its own type."""
        consumer = self.consumer
        assert isinstance(consumer, OrderedConsumer)
        return consumer

    def halt(self, error: BaseException) -> None:
        """Stop the worker because of this error. From now on no record is handled."""
        if not self._halted:
            self._halted = True
            self._halt(error)

    async def wait_idle(self, deadline: Deadline) -> bool:
        """Wait until no record is under way; False, and the worker stops, where that takes too long."""
        self._lanes.shut()
        if not await self._lanes.idle(deadline):
            self.halt(
                OwnershipLost(
                    f"A batch was still under way {deadline.after_s:g} s after its partitions were to be "
                    "handed over. Nothing of it was committed. Start again; if that happens once more, "
                    "lower FACTDRIFT_BATCH_MAX."
                )
            )
            return False
        return True

    async def drain(self, deadline: Deadline) -> None:
        """End the record under way, take no other, and commit what is done."""
        self._draining = True
        if await self.wait_idle(deadline):
            try:
                async with asyncio.timeout(deadline.left_s):
                    await self.ordered_consumer.commit_done()
            except TimeoutError:
                _log.warning(
                    "Offsets were not committed in time; their records are read again at the next start."
                )

    @property
    def source_topic(self) -> str:
        """The name of the topic that the agent reads."""
        return topic_name(self.kafka, self._source)

    def standings(self) -> list[Standing]:
        """Where this worker's partitions of batches stand, as far as the client knows by now."""
        return self.ordered_consumer.standings(group_name(self.kafka), self.source_topic)

    def logged(self, partition: int) -> str:
        """How far the changelogs of a partition are, and what they are built with, for a commit's note."""
        reached = {name: table.stamped.held_offset(partition) for name, table in self._stamped.items()}
        return note_of(reached, {mark.name: mark.value for mark in self.marks})

    async def give_up_restoring(self) -> None:
        """Let the tables be closed, though they may be in the middle of being restored."""
        tables = self.tables
        assert isinstance(tables, BulkTableManager)
        await tables.bulk_recovery.give_up()

    @property
    def is_giving_way(self) -> bool:
        """Whether the partitions go, or the worker stops: no record is started."""
        return not self._lanes.is_open

    def begin_at(self, committed: Mapping[int, int]) -> None:
        """Expect these offsets next, by partition: one behind them would mean that records were lost."""
        self._expected.update(committed)

    def begin_assignment(self) -> None:
        """A new assignment starts at what is committed, and this worker owns it afresh."""
        self._expected.clear()
        self._lanes.open()
        self.metrics.recovery.begin()
        self.lease.renew()

    # -- Faust's hooks ----------------------------------------------------------------------

    def _new_transport(self) -> Transport:
        return Transport(self.conf.broker_consumer, self)

    def _crash(self, reason: BaseException) -> None:
        self.halt(reason)
        super()._crash(reason)

    async def on_started_init_extra_services(self) -> None:
        """Start the given services once the tables are there."""
        await super().on_started_init_extra_services()
        for service in self._services:
            await self.add_runtime_dependency(service)

    def on_rebalance_end(self) -> None:
        """Called when the tables of an assignment are restored and records flow."""
        super().on_rebalance_end()
        owned = self._owned()
        if owned is not None:
            self.metrics.recovery.end()
            self._ready(owned)

    def _owned(self) -> list[int] | None:
        """The partitions of this worker. Source and changelogs must go together: a table without its
        source, or the other way round, would read and write somebody else's state.
        """
        assignment = self.ordered_consumer.assignment()
        names = [self.source_topic]
        names.extend(table.changelog_topic_name for table in self._stamped.values())
        held = [sorted(tp.partition for tp in assignment if tp.topic == name) for name in names]
        if any(partitions != held[0] for partitions in held):
            self.halt(
                OwnershipLost(f"Kafka gave this worker partitions that do not belong together: {held}.")
            )
            return None
        return held[0]


def _written_topics(kafka: KafkaSettings, agent: Agent) -> list[str]:
    """The topics to whose partition `n` only the owner of source partition `n` may write.

    Dead letters are not among them: their partition follows from their key, and their ids tell copies apart.
    """
    changelogs = [changelog_name(kafka, table) for table in agent.tables]
    stateful = [topic_name(kafka, spec.topic) for spec in TOPICS if spec.stateful]
    sources = {topic_name(kafka, topic) for topic in agent.inputs}
    return [name for name in (*changelogs, *stateful) if name not in sources]


_RAW: Final[dict[str, Any]] = {
    "key_type": bytes,
    "value_type": bytes,
    "key_serializer": "raw",
    "value_serializer": "raw",
}


def _faust_settings(kafka: KafkaSettings) -> dict[str, Any]:
    """Settings of Faust, each where its default would lose, hang or slow something."""
    security = security_options(kafka)
    credentials: dict[str, Any] = {}
    if security["security_protocol"].startswith("SASL"):
        credentials["broker_credentials"] = SASLCredentials(
            username=security["sasl_plain_username"],
            password=security["sasl_plain_password"],
            mechanism=security["sasl_mechanism"],
            ssl_context=security.get("ssl_context"),
        )
    elif "ssl_context" in security:
        credentials["ssl_context"] = security["ssl_context"]
    return {
        **credentials,
        "broker": [URL(f"kafka://{address.strip()}") for address in kafka.bootstrap.split(",")],
        "broker_request_timeout": max(kafka.request_timeout_s, kafka.session_timeout_s),
        "broker_session_timeout": kafka.session_timeout_s,
        "consumer_group_instance_id": kafka.group_instance_id,
        "broker_heartbeat_interval": heartbeat_s(kafka.session_timeout_s),
        "broker_rebalance_timeout": kafka.request_timeout_s,
        "broker_commit_interval": kafka.commit_interval_s,
        "broker_commit_every": None,
        "producer_request_timeout": kafka.request_timeout_s,
        "processing_guarantee": "at_least_once",
        "store": "memory://",
        "stream_buffer_maxsize": _BUFFERED_MAX,
        "stream_wait_empty": False,  # ours waits for the record under way, and for nothing else
        "stream_recovery_delay": 0.0,
        "topic_allow_declare": False,  # they exist: a worker that finds one missing does not start
        "topic_disable_leader": True,
        "topic_partitions": kafka.partitions,
        "reply_create_topic": False,
        "table_standby_replicas": 0,
        "web_enabled": False,
        "autodiscover": False,
        "debug": False,
    }
