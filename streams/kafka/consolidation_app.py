"""The Faust app: one agent over `observations-by-claim`, one event at a time, effectively once.

Runs a declared agent (`streams.host.Agent`) and knows nothing of what it does. The order in which one
record takes effect is in `_handle`, with the numbers of docs/kafka-host.md.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

import faust
from faust.auth import SASLCredentials
from mode import Service
from yarl import URL

from state.errors import FactdriftError, OutOfOrder
from state.instants import Instant
from streams.host import Agent, Effects, Record
from streams.kafka import failpoints
from streams.kafka.connection import security_options
from streams.kafka.consumer import HEARTBEATS_PER_SESSION, OrderedConsumer, Transport
from streams.kafka.deadline import Deadline
from streams.kafka.errors import OwnershipLost, RecordFailed
from streams.kafka.lease import Lease
from streams.kafka.naming import changelog_name, group_name, topic_name
from streams.kafka.producer import Producer
from streams.kafka.recovery import BulkTableManager
from streams.kafka.store import OpenStore
from streams.kafka.tables import StampedTable, by_table
from streams.keys import Offset, Partition
from streams.settings import KafkaSettings

_log = logging.getLogger(__name__)
_BUFFERED_MAX: Final = 64  # events in memory, each up to 512 KiB; the rest waits in Kafka


class PartitionState:
    """The tables of an agent, as they are in one partition."""

    def __init__(self, tables: dict[str, StampedTable], partition: Partition, n_partitions: int) -> None:
        self.n_partitions = n_partitions
        self._tables = tables
        self._partition = partition

    def get(self, table: str, key: bytes) -> bytes | None:
        """The stored value, or None."""
        return self._tables[table].read(self._partition, key)

    def applied(self, table: str, key: bytes, record: Record) -> bool:
        """Whether this key already holds what the record did; then its outputs are durable too."""
        return self._tables[table].applied(self._partition, key, record.offset)


class ConsolidationApp(faust.App):
    """A Faust app that runs one agent, and the services that are given to it.

    `halt` stops the worker: it is called at most with the first error, and afterwards no record is
    handled any more. `ready` is called with the partitions of each new assignment, once their tables
    are restored.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        agent: Agent,
        producer: Producer,
        *,
        open_store: OpenStore,
        services: Iterable[Service],
        halt: Callable[[BaseException], None],
        ready: Callable[[list[int]], None],
        data: str,
    ) -> None:
        super().__init__(
            group_name(kafka), datadir=data, TableManager=BulkTableManager, **_faust_settings(kafka)
        )
        self.kafka = kafka
        self.lease = Lease(kafka.session_timeout_s)
        self._agent = agent
        self._output = producer
        self._services = list(services)
        self._halt = halt
        self._ready = ready
        self._halted = False
        self._draining = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._expected: dict[int, int] = {}
        (source,) = agent.inputs
        self._source = source
        self._stamped = {name: self._table(name, open_store) for name in agent.tables}
        channel = self.topic(topic_name(kafka, source), **_RAW)
        self.agent(channel, name=agent.name, concurrency=1)(self._consume)

    def _table(self, name: str, open_store: OpenStore) -> StampedTable:
        changelog = self.topic(
            changelog_name(self.kafka, name), **_RAW, acks=False, internal=True, allow_empty=True
        )
        table = StampedTable(
            self,
            name=name,
            open_store=open_store,
            producer=self._output,
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
            await self._take(event.message)

    async def _take(self, message: Any) -> None:
        """Handle one record, or stop the worker; a record that failed is never passed over."""
        if not (self._halted or self._draining):
            self._idle.clear()
            try:
                await self._handle(message)
            except Exception as error:
                _log.exception("Record %s/%d/%d failed", message.topic, message.partition, message.offset)
                reason = error if isinstance(error, FactdriftError) else f"{type(error).__name__}: {error}."
                failure = RecordFailed(message.topic, message.partition, message.offset, reason)
                failure.__cause__ = error
                self.halt(failure)
            finally:
                self._idle.set()
        if self._halted or self._draining:
            await asyncio.Event().wait()  # until the app is stopped; the next record must not be handled

    async def _handle(self, message: Any) -> None:
        """1. Apply in memory. 2. Send the outputs and await them. 3. Write the changelogs and await them,
        table by table in the agent's order. 4. Write the tables on this machine. 5. Say that it is done, so
        that the offset may be committed.

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
        )
        self._check_order(record)
        state = PartitionState(self._stamped, record.partition, self.kafka.partitions)
        effects = self._agent.apply(state, [record])  # 1
        failpoints.reach(failpoints.APPLIED)
        await self._send_outputs(effects)  # 2
        failpoints.reach(failpoints.OUTPUTS_ACKNOWLEDGED)
        for name, changes in by_table(effects.writes, record.offset):
            table = self._stamped[name]
            self._check_ownership(message)
            logged_offset = await table.log_changes(record.partition, changes)  # 3
            failpoints.reach(failpoints.CHANGELOG_ACKNOWLEDGED)
            table.keep_changes(record.partition, changes, logged_offset)  # 4
            failpoints.reach(failpoints.TABLE_WRITTEN)
        self._check_ownership(message)
        self.ordered_consumer.mark_done(message.tp, record.offset + 1)  # 5
        failpoints.reach(failpoints.DONE)

    async def _send_outputs(self, effects: Effects) -> None:
        for output in effects.outputs:
            await self._output.send(
                topic_name(self.kafka, output.topic),
                key=output.key,
                value=output.value,
                partition=output.partition,
            )
        failpoints.reach(failpoints.OUTPUTS_SENT)
        await self._output.flush()

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
        try:
            async with asyncio.timeout(deadline.left_s):
                await self._idle.wait()
        except TimeoutError:
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

    def begin_assignment(self) -> None:
        """A new assignment starts at what is committed, and this worker owns it afresh."""
        self._expected.clear()
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
            self._ready(owned)

    def _owned(self) -> list[int] | None:
        """The partitions of this worker. Source and changelogs must go together: a table without its
        source, or the other way round, would read and write somebody else's state.
        """
        assignment = self.ordered_consumer.assignment()
        names = [topic_name(self.kafka, self._source)]
        names.extend(table.changelog_topic_name for table in self._stamped.values())
        held = [sorted(tp.partition for tp in assignment if tp.topic == name) for name in names]
        if any(partitions != held[0] for partitions in held):
            self.halt(
                OwnershipLost(f"Kafka gave this worker partitions that do not belong together: {held}.")
            )
            return None
        return held[0]


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
        "broker_heartbeat_interval": kafka.session_timeout_s / HEARTBEATS_PER_SESSION,
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
