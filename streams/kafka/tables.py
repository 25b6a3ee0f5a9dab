"""Faust tables whose every value carries the source offset that it holds: the watermark.

A stored value is 8 bytes, the offset in `observations-by-claim` of the last record applied to this key,
big-endian, and then the agent's own bytes. Value and watermark are one changelog record, hence one step:
a record that is delivered twice finds itself applied. Changes go straight to our producer; Faust's own
path would answer before Kafka has.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import faust
from faust.stores.base import Store
from faust.types import TP, EventT

from streams.host import Write
from streams.kafka.errors import TableBroken
from streams.kafka.fence import PartitionProducers
from streams.kafka.producer import Sent
from streams.kafka.store import OpenStore, PartitionStore

_log = logging.getLogger(__name__)
_STAMP: Final = struct.Struct(">Q")


def stamp(watermark: int, payload: bytes) -> bytes:
    """A value as it is stored."""
    return _STAMP.pack(watermark) + payload


def watermark_of(stored: bytes) -> int:
    """The source offset that a stored value holds. Raises TableBroken."""
    try:
        return int(_STAMP.unpack_from(stored)[0])
    except struct.error as error:
        raise TableBroken(f"A table's value has {len(stored)} bytes, too few for a watermark.") from error


def payload_of(stored: bytes) -> bytes:
    """The agent's own bytes in a stored value."""
    return stored[_STAMP.size :]


class StampedStore(Store[bytes, bytes]):
    """What Faust calls a table's store: all partitions of a table that this worker owns.

    Only what Faust's recovery asks for is here; reading and writing by key goes through `StampedTable`,
    because it needs the partition.
    """

    def __init__(self, *args: Any, open_store: OpenStore, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.data: dict[bytes, bytes] = {}
        self._open_store = open_store
        self._partitions: dict[int, PartitionStore] = {}
        self._closed_at: dict[int, int | None] = {}

    def partition(self, number: int) -> PartitionStore:
        """The store of one partition, opened when it is first asked for."""
        store = self._partitions.get(number)
        if store is None:
            store = self._partitions[number] = self._open_store(self.table_name, number)
        return store

    def close_partition(self, number: int) -> None:
        """Let another worker have a partition."""
        store = self._partitions.pop(number, None)
        if store is not None:
            self._closed_at[number] = store.offset
            store.close()

    def held_offset(self, number: int) -> int | None:
        """The last changelog record that is held, or was when the partition was closed. Opens nothing."""
        store = self._partitions.get(number)
        return self._closed_at.get(number) if store is None else store.offset

    def persisted_offset(self, tp: TP) -> int | None:
        """The last changelog record that is held, for Faust."""
        return self.partition(tp.partition).offset

    def apply_changelog_batch(self, batch: Iterable[EventT[Any]], to_key: Any, to_value: Any) -> None:
        """Nothing may come this way: recovery is ours (`streams.kafka.recovery`)."""
        assert not list(batch), "a changelog record came through Faust's own recovery"

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Close what this worker no longer owns."""
        topic = self.table.changelog_topic.get_topic_name()
        for tp in revoked:
            if tp.topic == topic:
                self.close_partition(tp.partition)

    async def backup_partition(
        self, tp: TP | int, flush: bool = True, purge: bool = False, keep: int = 1
    ) -> None:
        """There are no backups: the changelog is one."""

    def restore_backup(self, tp: TP | int, latest: bool = True, backup_id: int = 0) -> None:
        """There are no backups: the changelog is one."""

    def reset_state(self) -> None:
        """Forget everything that is held on this machine."""
        for store in self._partitions.values():
            store.clear()

    async def on_stop(self) -> None:
        """Close all partitions."""
        for number in list(self._partitions):
            self.close_partition(number)


class StampedTable(faust.Table[bytes, bytes]):
    """A table that is read and written for a given partition, and knows what is already applied."""

    def __init__(
        self, app: faust.App, *, open_store: OpenStore, producers: PartitionProducers, **kwargs: Any
    ) -> None:
        super().__init__(app, **kwargs)
        self._open_store = open_store
        self._producers = producers
        self._store_of_table: StampedStore | None = None

    def _new_store(self) -> StampedStore:
        return StampedStore("memory://", self.app, self, table_name=self.name, open_store=self._open_store)

    @property
    def stamped(self) -> StampedStore:
        """The store, with its own type."""
        store = self.data
        assert isinstance(store, StampedStore)
        return store

    def read(self, partition: int, key: bytes) -> bytes | None:
        """The agent's own bytes under a key, or None."""
        stored = self.stamped.partition(partition).get(key)
        return None if stored is None else payload_of(stored)

    def scan(self, partition: int, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All keys that begin with `prefix`, with the agent's own bytes, in order of the key."""
        for key, stored in self.stamped.partition(partition).scan(prefix):
            yield key, payload_of(stored)

    def compact(self, partition: int) -> None:
        """Let what was deleted or overwritten leave this machine's disk."""
        self.stamped.partition(partition).compact()

    def applied(self, partition: int, key: bytes, offset: int) -> bool:
        """Whether the key already holds the source record at `offset`."""
        stored = self.stamped.partition(partition).get(key)
        return stored is not None and watermark_of(stored) >= offset

    async def send_changes(self, partition: int, changes: Mapping[bytes, bytes | None]) -> list[Sent]:
        """Send changes to the changelog. They are durable when the producer was flushed.

        Raises DeliveryFailed. What was acknowledged before stays: it is found applied later.
        """
        return await self._producers.of(partition).send_all(
            self.changelog_topic_name, changes.items(), partition=partition
        )

    async def flush(self, partition: int) -> None:
        """Wait until everything sent for a partition is durable. Raises DeliveryFailed, OwnershipLost."""
        await self._producers.of(partition).flush()

    def keep_changes(self, partition: int, changes: Mapping[bytes, bytes | None], logged_offset: int) -> None:
        """Write changes that are in the changelog to this machine."""
        self.stamped.partition(partition).write(changes, logged_offset)


def by_stage(
    writes: Sequence[Write], stages: Sequence[Sequence[str]], watermark: int
) -> list[dict[str, dict[bytes, bytes | None]]]:
    """The writes as stored values, by table, for each of an agent's stages that has any.

    The order matters: what a stage writes is durable before the next one is sent, so that a value can
    rely on another one (a subject knows of each of its claims).
    """
    found: dict[str, dict[bytes, bytes | None]] = {}
    for write in writes:
        value = None if write.value is None else stamp(watermark, write.value)
        found.setdefault(write.table, {})[write.key] = value
    cut = [{table: found[table] for table in stage if table in found} for stage in stages]
    return [stage for stage in cut if stage]
