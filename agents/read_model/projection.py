"""The projection: from records of the log to rows, a batch in one transaction.

Reads the change feed (every version of every fact), the internal topic (evidence, corrections) and whatever
`documents` keeps. The offset behind the last record of each partition moves in the same transaction, so a
record counts once however often it is delivered; a version of a fact and a statement are recognised by their
ids besides, so that the same event from elsewhere (a rebuild) changes nothing.

Decides nothing about facts. Nothing here depends on how records are cut into batches, except the numbers that
say in which order they were applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Dialect, Table, func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from agents.read_model import documents, schema
from agents.read_model.schema import BEGINNING, END
from state.corrections import Decision, Invalidate, Relate, Supersede
from state.cycles import Tick
from state.identity import derive
from state.instants import Instant, format_instant, parse_instant
from state.names import normalise_predicate
from state.objects import type_object
from state.observations import Observation, Retract
from state.statements import Spelling, Statement
from streams.codec import decode_batch
from streams.host import Record
from streams.topics import CHANGE_FEED, SPEC_OF, Topic
from streams.wire import to_json

TOPICS: Final = tuple(topic for topic in (*CHANGE_FEED, Topic.BY_CLAIM, *documents.KEPT) if topic in SPEC_OF)
"""What is projected, of the topics that exist in this release."""

Row = dict[str, Any]

_encode_body: Final = msgspec.msgpack.Encoder().encode
_decode_body: Final = msgspec.msgpack.Decoder(tuple[Statement, str | None]).decode
_decode_key: Final = msgspec.json.Decoder(tuple[str, str]).decode


class _Bounds(msgspec.Struct):
    lo: str | None
    hi: str | None


class _Event(msgspec.Struct):
    """The fields of an event by which it is found."""

    event_id: str
    event: str
    revision: str | None
    position: str
    fact_id: str
    version: int
    claim_id: str
    namespace: str
    predicate: str
    object: Spelling | None
    form: str
    valid: _Bounds
    reason: str | None
    contested: bool
    recorded_at: str
    cycle: int


_decode_event: Final = msgspec.json.Decoder(_Event).decode


class _Batch:
    """The rows that a batch of records makes, by table; of several states of one row the newest."""

    def __init__(self, seq: int, rule_seq: int, clocks: dict[int, int]) -> None:
        self.seq = seq
        self.rule_seq = rule_seq
        self.clocks = clocks
        self.versions: list[Row] = []
        self.facts: dict[str, Row] = {}
        self.evidence: list[Row] = []
        self.claims: dict[str, Row] = {}
        self.subjects: dict[tuple[str, str], Row] = {}
        self.corrections: list[Row] = []
        self.documents: dict[str, list[Row]] = {}

    def add(self, record: Record) -> None:
        if record.topic in CHANGE_FEED:
            self._event(record)
        elif record.topic is Topic.BY_CLAIM:
            self._entries(record)
        else:
            self._document(record)

    # -- facts ------------------------------------------------------------------------------

    def _event(self, record: Record) -> None:
        event = _decode_event(record.value)
        assert record.key is not None, "events are written with the key of their subject"
        namespace, subject = _decode_key(record.key)
        _, partition, offset = event.position.rsplit("/", 2)
        self.seq += 1
        lo = BEGINNING if event.valid.lo is None else _instant(event.valid.lo)
        hi = END if event.valid.hi is None else _instant(event.valid.hi)
        self.versions.append(
            {
                "seq": self.seq,
                "fact_id": event.fact_id,
                "version": event.version,
                "claim_id": event.claim_id,
                "event_id": event.event_id,
                "event": event.event,
                "revision": event.revision or "",
                "recorded_at": _instant(event.recorded_at),
                "partition": int(partition),
                "offset": int(offset),
                "cycle": event.cycle,
                "lo": lo,
                "hi": hi,
                "body": record.value,
            }
        )
        known = self.facts.get(event.fact_id)
        if known is not None and known["version"] >= event.version:
            return
        shown = _form_of(type(event.object).__name__, event.object)
        self.facts[event.fact_id] = {
            "fact_id": event.fact_id,
            "version": event.version,
            "seq": self.seq,
            "claim_id": event.claim_id,
            "namespace": namespace,
            "subject": subject,
            "predicate": _predicate(event.predicate),
            "form": event.form,
            "shown_form": None if shown == event.form else shown,
            "lo": lo,
            "hi": hi,
            "reason": event.reason or "",
            "contested": event.contested,
        }

    # -- evidence ---------------------------------------------------------------------------

    def _entries(self, record: Record) -> None:
        cycle = self.clocks.get(record.partition, 1)
        for entry in decode_batch(record.value).entries:
            usable = entry.usable
            if isinstance(usable, Observation):
                self._observation(record, usable, cycle)
            elif isinstance(usable, Retract):
                self._retract(record, usable)
            elif isinstance(usable, Supersede | Invalidate | Relate):
                self._decision(record, usable)
            elif isinstance(usable, Tick):
                self.clocks[record.partition] = max(cycle, usable.number + 1)

    def _observation(self, record: Record, observation: Observation, cycle: int) -> None:
        statement = observation.statement
        self.evidence.append(
            {
                "claim_id": observation.claim,
                "observation_id": statement.observation_id,
                "content_hash": statement.content_hash,
                "source": statement.source,
                "recorded_at": statement.recorded_at,
                "partition": record.partition,
                "offset": record.offset,
                "cycle": cycle,
                "body": _encode_body((statement, observation.content)),
            }
        )
        self._spell(observation)

    def _spell(self, observation: Observation) -> None:
        """Names are spelled as the newest statement spells them; of two at one time, as the greater text."""
        statement = observation.statement
        claim = self.claims.get(observation.claim)
        as_spelled = (statement.observed_at, statement.subject, statement.predicate)
        if claim is None or as_spelled > (
            claim["spelled_at"], claim["spelled_subject"], claim["spelled_predicate"]
        ):  # fmt: skip
            self.claims[observation.claim] = {
                "claim_id": observation.claim,
                "namespace": observation.namespace,
                "subject": observation.subject,
                "predicate": observation.predicate,
                "spelled_subject": statement.subject,
                "spelled_predicate": statement.predicate,
                "spelled_at": statement.observed_at,
            }
        name = (observation.namespace, observation.subject)
        subject = self.subjects.get(name)
        if subject is None or as_spelled[:2] > (subject["spelled_at"], subject["spelled"]):
            self.subjects[name] = {
                "namespace": observation.namespace,
                "subject": observation.subject,
                "spelled": statement.subject,
                "spelled_at": statement.observed_at,
            }

    def _retract(self, record: Record, retract: Retract) -> None:
        assert retract.namespace is not None
        assert retract.subject is not None
        at = record.recorded_at if retract.recorded_at is None else retract.recorded_at
        body = {
            "op": "retract",
            "observation_id": retract.observation_id,
            "namespace": retract.namespace,
            "subject": retract.subject,
            "reason": retract.reason,
            "recorded_at": format_instant(at),
        }
        self.corrections.append(
            {
                "correction_id": derive(
                    "retract", retract.namespace, retract.subject, retract.observation_id
                ),
                "op": "retract",
                "namespace": retract.namespace,
                "subject": retract.subject,
                "target": retract.observation_id,
                "recorded_at": at,
                "partition": record.partition,
                "offset": record.offset,
                "body": to_json(body),
            }
        )

    def _decision(self, record: Record, decision: Decision) -> None:
        """Each record is a row: one that was refused may be sent again, and the claim decides."""
        self.corrections.append(
            {
                "correction_id": derive(
                    "decision", decision.claim, decision.correction_id, record.partition, record.offset
                ),
                "op": decision.__struct_config__.tag,
                "namespace": decision.namespace,
                "subject": decision.subject,
                "target": decision.correction_id,
                "recorded_at": decision.recorded_at,
                "partition": record.partition,
                "offset": record.offset,
                "body": to_json(decision),
            }
        )

    # -- everything else --------------------------------------------------------------------

    def _document(self, record: Record) -> None:
        found = documents.row_of(record)
        if found is None:
            return
        table, row = found
        if table is schema.rule_events:
            self.rule_seq += 1
            row["seq"] = self.rule_seq
        self.documents.setdefault(table.name, []).append(row)


def project(connection: Connection, records: Sequence[Record]) -> int:
    """Apply records and return how many were new.

    Those of a partition must leave no gap behind what is applied. In one call those of the internal topic
    stand in their order, all others in any.
    `connection` is that of `ReadModel.writing`. Raises UnknownFormat where a newer release wrote a record.
    """
    reached = applied_offsets(connection)
    new: dict[tuple[str, int, int], Record] = {}
    ends: dict[tuple[str, int], int] = {}
    for record in records:
        place = (record.topic.value, record.partition)
        if record.offset >= reached.get(place, 0):
            new.setdefault((*place, record.offset), record)
            ends[place] = max(ends.get(place, 0), record.offset + 1)
    if not new:
        return 0
    keep(connection, list(new.values()))
    set_offsets(connection, ends)
    return len(new)


def keep(connection: Connection, records: Sequence[Record]) -> None:
    """Apply records without a place in the log: derived again, or of a topic that keeps no offsets."""
    clocks: dict[int, int] = dict(connection.execute(select(schema.clocks)).all())
    batch = _Batch(
        _greatest(connection, schema.fact_versions), _greatest(connection, schema.rule_events), dict(clocks)
    )
    for record in records:
        if record.value:
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


def statement_of(body: bytes) -> tuple[Statement, str | None]:
    """The statement in the body of a row of evidence, with its verbatim content."""
    return _decode_body(body)


# -- writing --------------------------------------------------------------------------------


def _write(connection: Connection, batch: _Batch) -> None:
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
        batch.evidence,
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


@lru_cache(maxsize=65_536)
def _instant(written: str) -> Instant:
    return parse_instant(written)


@lru_cache(maxsize=16_384)
def _predicate(spelled: str) -> str:
    return normalise_predicate(spelled)


@lru_cache(maxsize=65_536)
def _form_of(_kind: str, spelled: Spelling | None) -> str:
    """The form of an object as it is shown. The kind is part of the question: 1 and true are equal."""
    return "" if spelled is None else type_object(spelled).key
