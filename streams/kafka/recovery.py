"""Bringing tables up to date from their changelogs, before a worker touches what it was assigned.

Stock Faust sends every changelog record through the machinery of streams; this reads them in bulk with a
consumer of its own. Of two values of a key the one with the greater watermark stays, whichever was written
last: a worker that was paused for longer than its session may have written an old one after a new one.
What it undid is written again. A changelog that lacks what was committed is refused (`streams.kafka.notes`);
a disk that is ahead of one which has all of that starts anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped
from mode import Service

from streams.kafka.connection import client_options, translated
from streams.kafka.deadline import Deadline
from streams.kafka.errors import BrokerFailed
from streams.kafka.metrics import Metrics
from streams.kafka.notes import check_changelogs, check_marks, committed
from streams.kafka.store import PartitionStore
from streams.kafka.tables import StampedTable, watermark_of
from streams.settings import KafkaSettings

_log = logging.getLogger(__name__)
_FETCH_BYTES: Final = 4 * 1024 * 1024  # of one partition at once
_READ_MAX: Final = 10_000  # records between two chances for the rest of the worker to run


class BulkRecovery(Recovery):
    """Faust's recovery service, with our way to read; what starts and ends it is as in Faust."""

    _restoring: asyncio.Future[None] | None = None

    async def give_up(self) -> None:
        """Stop restoring, because the partitions go; the next assignment begins anew.

        On return nothing reads or writes the tables, so that they can be closed. Faust would let it go on
        until the next assignment, on tables that are closed.
        """
        if self._restoring is not None:
            self._restoring.cancel()
            await asyncio.wait({self._restoring})

    @Service.task
    async def _restart_recovery(self) -> None:
        while not await self.wait_for_stopped(self.signal_recovery_start):  # type: ignore[arg-type]
            self.signal_recovery_start.clear()
            generation_id = self._generation_id
            restoring = self._restoring = asyncio.ensure_future(self._restore())
            try:
                await self._wait(asyncio.wait({restoring}))
                if restoring.cancelled():
                    continue
                restoring.result()
                await self._wait(self.on_recovery_completed(generation_id))
            except RebalanceAgain:
                continue
            except ServiceStopped:
                if not self.should_stop:  # Faust says so too when the committed offsets did not come in time
                    self._halt_unplaced()
                return
            finally:
                restoring.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await restoring

    def _halt_unplaced(self) -> None:
        app: Any = self.app
        app.halt(
            BrokerFailed(
                f"Kafka at {app.kafka.bootstrap} did not say what is committed within "
                f"{app.conf.broker_request_timeout:g} s. Look at the broker's log, and start again."
            )
        )

    async def _restore(self) -> None:
        app: Any = self.app
        owned = {tp.partition for table in self.tables.values() for tp in self.actives_for_table[table]}
        # In this order: a fence leaves markers, which make a changelog longer; and once it stands, nobody
        # else can write behind what is read.
        commits = await committed(app.kafka, owned)
        outdated = check_marks(commits, app.marks)
        await check_changelogs(app.kafka, commits)
        await app.producers.take(sorted(owned))
        for table in self.tables.values():
            assert isinstance(table, StampedTable)
            partitions = sorted(tp.partition for tp in self.actives_for_table[table])
            await restore(app.kafka, table, partitions, app.metrics)
        if outdated:
            await app.ordered_consumer.note_again(outdated)

    @Service.task
    async def _slurp_changelogs(self) -> None:
        """Faust's reader has nothing to do: changelog partitions stay paused in its consumer."""

    @Service.task
    async def _publish_stats(self) -> None:
        """Faust's progress log is about its own reader."""


class BulkTableManager(TableManager):
    """Faust's table manager with our recovery."""

    @property
    def recovery(self) -> Recovery:
        """The recovery service."""
        return self.bulk_recovery

    @property
    def bulk_recovery(self) -> BulkRecovery:
        """The recovery service, with its own type."""
        if self._recovery is None:
            self._recovery = BulkRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        recovery = self._recovery
        assert isinstance(recovery, BulkRecovery)
        return recovery


async def restore(
    kafka: KafkaSettings, table: StampedTable, partitions: Sequence[int], metrics: Metrics
) -> None:
    """Bring these partitions of a table up to the end of their changelog.

    Raises BrokerUnreachable, BrokerFailed where nothing arrives for a whole request timeout, TableBroken.
    Cancelled, it leaves every partition consistent, at some earlier point.
    """
    if not partitions:
        return
    topic = table.changelog_topic_name
    stores = {TopicPartition(topic, number): table.stamped.partition(number) for number in partitions}
    with translated(kafka):
        consumer = AIOKafkaConsumer(
            **client_options(kafka),
            enable_auto_commit=False,
            auto_offset_reset="earliest",  # where a place is lost: to read again is harmless, to skip is not
            max_partition_fetch_bytes=_FETCH_BYTES,
        )
        await consumer.start()
        try:
            undone = await _catch_up(kafka, consumer, stores, metrics)
        finally:
            await consumer.stop()
    for partition, keys in undone.items():
        await _write_again(table, partition, keys)


async def _catch_up(
    kafka: KafkaSettings,
    consumer: AIOKafkaConsumer,
    stores: dict[TopicPartition, PartitionStore],
    metrics: Metrics,
) -> dict[int, set[bytes]]:
    """Read every changelog to its present end; returns the keys whose newer value was undone."""
    consumer.assign(list(stores))
    ends: dict[TopicPartition, int] = await consumer.end_offsets(list(stores))
    starts: dict[TopicPartition, int] = await consumer.beginning_offsets(list(stores))
    left: set[TopicPartition] = set()
    for tp, store in stores.items():
        if store.offset is not None and store.offset >= ends[tp]:
            _log.warning(
                "The tables on this machine hold %s/%d up to offset %d, but it ends at %d: they are ahead. "
                "They are restored from it.",
                tp.topic,
                tp.partition,
                store.offset,
                ends[tp],
            )
            store.clear()
        start = max(starts[tp], 0 if store.offset is None else store.offset + 1)
        if start < ends[tp]:
            consumer.seek(tp, start)
            left.add(tp)
            metrics.recovery.expect(tp.topic, tp.partition, ends[tp] - start)
        else:
            consumer.pause(tp)
    undone: dict[int, set[bytes]] = {}
    n_records = 0
    patience = Deadline(kafka.request_timeout_s)
    while left:
        found = await consumer.getmany(*left, timeout_ms=500, max_records=_READ_MAX)
        for tp, records in found.items():
            patience = Deadline(kafka.request_timeout_s)
            n_records += len(records)
            still = ends[tp] - records[-1].offset - 1
            metrics.restored(tp.topic, tp.partition, n_records=len(records), left=still)
            keys = _merge(stores[tp], records, undone.get(tp.partition, set()))
            if keys:
                undone[tp.partition] = keys
        for tp in list(left):
            if await consumer.position(tp) >= ends[tp]:
                left.discard(tp)
                metrics.recovery.expect(tp.topic, tp.partition, 0)
                consumer.pause(tp)
        if not patience.left_s:
            raise BrokerFailed(
                f"Nothing arrived for {patience.after_s:g} s from "
                f"{', '.join(f'{tp.topic}/{tp.partition}' for tp in sorted(left))}, which is not read to its "
                "end. Look at the broker's log, and start again."
            )
    if n_records:
        _log.info("Restored %s from %d changelog records", next(iter(stores)).topic, n_records)
    return undone


def _merge(store: PartitionStore, records: Iterable[Any], undone: set[bytes]) -> set[bytes]:
    """Take changelog records in their order; a smaller watermark never replaces a greater one."""
    changes: dict[bytes, bytes | None] = {}
    offset = -1
    for record in records:
        offset = record.offset
        key, value = record.key, record.value
        held = changes[key] if key in changes else store.get(key)
        if value is not None and held is not None and watermark_of(held) > watermark_of(value):
            undone.add(key)
            continue
        undone.discard(key)
        changes[key] = value
    store.write(changes, offset)
    return undone


async def _write_again(table: StampedTable, partition: int, keys: set[bytes]) -> None:
    """Put the newer values back behind the older ones that a paused worker wrote over them."""
    if not keys:
        return
    _log.warning(
        "%d keys of %s/%d had an older value written over a newer one, by a worker that was paused for "
        "longer than its session. The newer ones are written again.",
        len(keys),
        table.changelog_topic_name,
        partition,
    )
    store = table.stamped.partition(partition)
    changes = {key: store.get(key) for key in sorted(keys)}
    sent = await table.send_changes(partition, changes)
    await table.flush(partition)
    table.keep_changes(partition, changes, max(batch.last_offset for batch in sent))
