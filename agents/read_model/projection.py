"""The projection: records of the log are applied, a batch in one transaction.

`batch` says which rows they make; here these are written. The offset behind the last record of each partition
moves in the same transaction, so a record counts once however often it is delivered; a version of a fact and
a statement are recognised by their ids besides, so that the same event from elsewhere (a rebuild) changes
nothing.

Decides nothing about facts. Nothing here depends on how records are cut into batches, except the numbers that
say in which order they were applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Final

from sqlalchemy import Connection, Dialect, Table, delete, func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from agents.read_model import documents, schema
from agents.read_model.batch import Batch, Row
from agents.read_model.copies import evidence_of
from streams.host import Record
from streams.topics import CHANGE_FEED, SPEC_OF, Topic

TOPICS: Final = tuple(topic for topic in (*CHANGE_FEED, Topic.BY_CLAIM, *documents.KEPT) if topic in SPEC_OF)
"""What is projected, of the topics that exist in this release."""

_AT_ONCE: Final = 500  # ids in one statement; both databases take far more


def project(connection: Connection, records: Sequence[Record]) -> int:
    """Apply records and return how many were new.

    Those of a partition must leave no gap behind what is applied. In one call those of the internal topic
    and those about one link stand in their order, all others in any.
    `connection` is that of `ReadModel.writing`. Raises UnknownFormat where a newer release wrote a record.
    """
    reached = applied_offsets(connection)
    new: list[Record] = []
    taken: dict[tuple[str, int], set[int]] = {}
    topic = place = None
    for record in records:
        if place is None or record.topic is not topic or record.partition != place[1]:
            topic, place = record.topic, (record.topic.value, record.partition)
            start, offsets = reached.get(place, 0), taken.setdefault(place, set())
        if record.offset >= start and record.offset not in offsets:
            offsets.add(record.offset)
            new.append(record)
    if not new:
        return 0
    keep(connection, new)
    set_offsets(connection, {at: max(offsets) + 1 for at, offsets in taken.items() if offsets})
    return len(new)


def keep(connection: Connection, records: Sequence[Record]) -> None:
    """Apply records without a place in the log: derived again, or of a topic that keeps no offsets."""
    clocks: dict[int, int] = dict(connection.execute(select(schema.clocks)).all())
    batch = Batch(
        _greatest(connection, schema.fact_versions), _greatest(connection, schema.rule_events), dict(clocks)
    )
    for record in records:
        batch.add(record)
    _write(connection, batch)


def applied_offsets(connection: Connection) -> dict[tuple[str, int], int]:
    """For each topic and partition the offset of the next record to be applied."""
    rows = connection.execute(select(schema.offsets))
    return {(topic, partition): following for topic, partition, following in rows}


def set_offsets(connection: Connection, offsets: Mapping[tuple[str, int], int]) -> None:
    """Say where the projection goes on reading."""
    rows = [
        {"topic": topic, "partition": partition, "next_offset": following}
        for (topic, partition), following in sorted(offsets.items())
    ]
    if rows:
        _upsert(connection, schema.offsets, rows, sets=("next_offset",))


# -- writing --------------------------------------------------------------------------------


def _write(connection: Connection, batch: Batch) -> None:
    _upsert(connection, schema.fact_versions, batch.versions)
    _upsert(
        connection,
        schema.facts,
        batch.facts.values(),
        sets=tuple(c.name for c in schema.facts.columns if not c.primary_key),
        newer=("version",),
    )
    _upsert(
        connection,
        schema.evidence,
        evidence_of(connection, batch),
        sets=("source", "recorded_at", "partition", "offset", "cycle", "body"),
        older=("recorded_at", "offset"),
    )
    _upsert(
        connection,
        schema.claims,
        batch.claims.values(),
        sets=("spelled_subject", "spelled_predicate", "spelled_at"),
        newer=("spelled_at", "spelled_subject", "spelled_predicate"),
    )
    _upsert(
        connection,
        schema.subjects,
        batch.subjects.values(),
        sets=("spelled", "spelled_at"),
        newer=("spelled_at", "spelled"),
    )
    _upsert(
        connection,
        schema.clocks,
        [{"partition": partition, "cycle": cycle} for partition, cycle in sorted(batch.clocks.items())],
        sets=("cycle",),
    )
    _upsert(
        connection,
        schema.corrections,
        batch.corrections,
        sets=("recorded_at", "partition", "offset", "body"),
        older=("recorded_at", "offset"),
    )
    _upsert(
        connection,
        schema.wishes,
        batch.wishes,
        sets=tuple(c.name for c in schema.wishes.columns if not c.primary_key),
    )
    _upsert(connection, schema.trust_snapshots, batch.trust.values())
    gone = sorted(batch.links_gone)
    for start in range(0, len(gone), _AT_ONCE):
        some = gone[start : start + _AT_ONCE]
        connection.execute(delete(schema.links).where(schema.links.c.id.in_(some)))
    for name, rows in sorted(batch.documents.items()):
        _upsert(connection, schema.metadata.tables[name], rows)


def _upsert(
    connection: Connection,
    table: Table,
    rows: Iterable[Row],
    *,
    sets: tuple[str, ...] = (),
    newer: tuple[str, ...] = (),
    older: tuple[str, ...] = (),
) -> None:
    """Insert rows. One that is there stays, unless `sets` names what it takes over from the new one.

    It does so only where the new one is greater in `newer`, or smaller in `older`, compared in that order.
    """
    found = list(rows)
    if not found:
        return
    statement, positions = _compiled(connection.dialect, table, sets, newer, older)
    if positions is None:
        connection.exec_driver_sql(statement, found)
    else:
        connection.exec_driver_sql(statement, list(map(itemgetter(*positions), found)))


@lru_cache(maxsize=256)
def _compiled(
    dialect: Dialect, table: Table, sets: tuple[str, ...], newer: tuple[str, ...], older: tuple[str, ...]
) -> tuple[str, tuple[str, ...] | None]:
    """The statement as text, and the columns in the order of its parameters; None where those are named.

    Given to the driver as it is: going through the types of every value again takes as long as the database.
    """
    statement = (sqlite.insert if dialect.name == "sqlite" else postgresql.insert)(table)
    fresh = statement.excluded
    condition = None
    if newer:
        condition = tuple_(*(fresh[name] for name in newer)) > tuple_(*(table.c[name] for name in newer))
    elif older:
        condition = tuple_(*(fresh[name] for name in older)) < tuple_(*(table.c[name] for name in older))
    if sets:
        statement = statement.on_conflict_do_update(
            index_elements=list(table.primary_key.columns),
            set_={name: fresh[name] for name in sets},
            where=condition,
        )
    else:
        statement = statement.on_conflict_do_nothing()
    compiled = statement.compile(dialect=dialect, column_keys=[column.name for column in table.columns])
    positions = compiled.positiontup
    return str(compiled), None if positions is None else tuple(positions)


def _greatest(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.max(table.c.seq))).scalar() or 0
