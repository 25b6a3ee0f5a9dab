"""What all partitions have said about sources, and the snapshots that are learnt from it as cycles close.

Runs with the audit, once for all partitions. Adds what the parts of a closed cycle tell, and learns where
comparisons have grown by a tenth since the last time: the work stays small beside what was counted, and
weights change seldom. A snapshot that differs from the last one is written into the log of every partition,
behind all that it was learnt from. Which cycle a row holds stands in it, so doing a cycle again changes
nothing and sends the same snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from state.cycles import Audit
from state.trust import NO_SNAPSHOT, SourceKey, TrustSnapshot
from state.trust_counts import Agreement, Counts, add, n_moved
from state.trust_learning import learn
from streams.codec import encode_entry, join_entries
from streams.host import Output, Record, Tables
from streams.keys import Partition
from streams.topics import Topic

TOTALS_TABLE: Final = "trust-totals"
LEARNS_FROM: Final = 20  # comparisons of a namespace, the first time
GROWTH: Final = 10  # per cent of them, each time after


class Row(msgspec.Struct, array_like=True):
    """One source's agreement with those behind it, as of the end of cycle `cycle`."""

    cycle: int = 0
    partners: dict[SourceKey, Agreement] = {}


class Learnt(msgspec.Struct, array_like=True):
    """A namespace as of the end of cycle `cycle`.

    `n_new` comparisons have moved since the last time that something was learnt, when there were `n_known`.
    `number` and `weights` are those of the newest snapshot.
    """

    cycle: int = 0
    n_new: int = 0
    n_known: int = 0
    number: int = NO_SNAPSHOT
    weights: dict[SourceKey, int] = {}

    def is_due(self) -> bool:
        """Whether enough was heard to learn again."""
        return self.n_new >= LEARNS_FROM and self.n_new * 100 >= GROWTH * self.n_known


_encode: Final = msgspec.msgpack.Encoder().encode
_decode_row: Final = msgspec.msgpack.Decoder(Row).decode
_decode_learnt: Final = msgspec.msgpack.Decoder(Learnt).decode
_encode_key: Final = msgspec.json.Encoder().encode


def take_told(tables: Tables, found: Audit, record: Record) -> list[Output]:
    """Add what the parts of a cycle tell of sources, and say what follows: snapshots, for every partition."""
    told: dict[str, Counts] = {}
    for part in found.parts:
        for namespace, counts in part.trust.items():
            add(told.setdefault(namespace, {}), counts)
    snapshots = [
        snapshot
        for namespace, counts in sorted(told.items())
        if (snapshot := _take(tables, namespace, counts, found.cycle)) is not None
    ]
    partitions = [Partition(number) for number in range(tables.n_partitions)]
    return [_told_to(partition, snapshot, record) for snapshot in snapshots for partition in partitions]


def _take(tables: Tables, namespace: str, counts: Counts, cycle: int) -> TrustSnapshot | None:
    """Enter what a cycle tells of one namespace; the snapshot that is made at its end, if one is."""
    for one, partners in counts.items():
        _enter(tables, _key(namespace, one), partners, cycle)
    stored = tables.get(TOTALS_TABLE, _key(namespace))
    learnt = Learnt() if stored is None else _decode_learnt(stored)
    if learnt.cycle < cycle:
        learnt.cycle, learnt.n_new = cycle, learnt.n_new + n_moved(counts)
        if learnt.is_due():
            _learn(tables, namespace, learnt)
        tables.put(TOTALS_TABLE, _key(namespace), _encode(learnt))
    if learnt.number != cycle:
        return None
    return TrustSnapshot(number=learnt.number, namespace=namespace, weights=learnt.weights)


def _enter(tables: Tables, key: bytes, partners: dict[SourceKey, Agreement], cycle: int) -> None:
    stored = tables.get(TOTALS_TABLE, key)
    row = Row() if stored is None else _decode_row(stored)
    if row.cycle >= cycle:
        return
    held: Counts = {"": row.partners} if row.partners else {}
    add(held, {"": partners})
    tables.put(TOTALS_TABLE, key, _encode(Row(cycle, held.get("", {}))))


def _learn(tables: Tables, namespace: str, learnt: Learnt) -> None:
    totals = dict(_totals(tables, namespace))
    weights = learn(totals)
    learnt.n_new = 0
    learnt.n_known = sum(n for own in totals.values() for _, n in own.values())
    if weights != learnt.weights:
        learnt.number, learnt.weights = learnt.cycle, weights


def _totals(tables: Tables, namespace: str) -> Iterator[tuple[SourceKey, dict[SourceKey, Agreement]]]:
    prefix = _key(namespace)[:-1] + b","
    for key, stored in tables.scan(TOTALS_TABLE, prefix):
        yield msgspec.json.decode(key, type=tuple[str, str])[1], _decode_row(stored).partners


def _told_to(partition: Partition, snapshot: TrustSnapshot, record: Record) -> Output:
    entry = encode_entry(record.topic.value, record.partition, record.offset, snapshot)
    return Output(Topic.BY_CLAIM, None, join_entries([entry]), partition)


def _key(*names: str) -> bytes:
    return _encode_key(names)
