"""Links, cycles, drift alerts and rules: published records by their keys, a page at a time, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, false, func, or_, select

from agents.read_model import paging, schema
from agents.read_model.records import Document, Page
from state.instants import Instant, format_instant
from state.names import normalise

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
UNSTABLE: Final = "unstable"
STABLE: Final = "stable"
"""The two signals about declared predicates; those about others do not concern whoever asks this."""


def links(
    connection: Connection,
    *,
    claim_id: str | None = None,
    assertion_id: str | None = None,
    kind: str | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Document]:
    """Links of a claim, or from or to an assertion, recorded by `known_at`. Raises ReadModelError."""
    columns = schema.links.c
    conditions = [paging.same(columns.claim_id, claim_id), paging.same(columns.kind, kind)]
    if assertion_id is not None:
        conditions.append(
            or_(paging.same(columns.from_id, assertion_id), paging.same(columns.to_id, assertion_id))
        )
    return _page(connection, schema.links, conditions, known_at=known_at, limit=limit, cursor=cursor)


def cycles(
    connection: Connection,
    *,
    cycle: int | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Document]:
    """Audit records of cycles, or of one. Raises ReadModelError `bad_limit`, `bad_cursor`."""
    conditions = [] if cycle is None else [schema.cycles.c.cycle == cycle]
    return _page(connection, schema.cycles, conditions, known_at=known_at, limit=limit, cursor=cursor)


def drift_alerts(
    connection: Connection,
    *,
    namespace: str | None = None,
    subject: str | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Document]:
    """Transitions to unstable and back, of a subject in any spelling. Raises ReadModelError."""
    columns = schema.drift_alerts.c
    conditions = [
        paging.same(columns.namespace, namespace),
        paging.same(columns.subject, None if subject is None else normalise(subject)),
    ]
    return _page(connection, schema.drift_alerts, conditions, known_at=known_at, limit=limit, cursor=cursor)


def unstable(
    connection: Connection,
    *,
    namespace: str | None = None,
    names: Sequence[str] | None = None,
    known_at: Instant | None = None,
) -> list[Document]:
    """The newest alert of every subject that is unstable by it; of these names, if any are given.

    At most 1,000 names. Raises ReadModelError `bad_limit`.
    """
    columns = schema.drift_alerts.c
    conditions = [paging.same(columns.namespace, namespace), columns.state.in_((UNSTABLE, STABLE))]
    if names is not None:
        paging.checked_limit(max(len(names), 1))
        wanted = [name for name in map(normalise, names) if paging.storable(name)]
        conditions.append(columns.subject.in_(wanted))
    if known_at is not None:
        conditions.append(columns.recorded_at <= known_at)
    newest_first = func.row_number().over(
        partition_by=(columns.namespace, columns.subject),
        order_by=(columns.recorded_at.desc(), columns.cycle.desc(), columns.id.desc()),
    )
    ranked = select(schema.drift_alerts, newest_first.label("place")).where(*conditions).subquery()
    question = (
        select(ranked.c.id, ranked.c.recorded_at, ranked.c.body)
        .where(ranked.c.place == 1, ranked.c.state == UNSTABLE)
        .order_by(ranked.c.namespace, ranked.c.subject)
    )
    return [_document(*row) for row in connection.execute(question)]


def rules(
    connection: Connection,
    *,
    namespace: str | None = None,
    state: str | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Document]:
    """The newest event of every rule, by rule id. Raises ReadModelError `bad_limit`, `bad_cursor`."""
    limit = paging.checked_limit(limit)
    columns = schema.rule_events.c
    conditions = [paging.same(columns.namespace, namespace)]
    if known_at is not None:
        conditions.append(columns.recorded_at <= known_at)
    newest_first = func.row_number().over(partition_by=columns.rule_id, order_by=columns.seq.desc())
    ranked = select(schema.rule_events, newest_first.label("place")).where(*conditions).subquery()
    question = select(ranked.c.rule_id, ranked.c.id, ranked.c.recorded_at, ranked.c.body).where(
        ranked.c.place == 1
    )
    if state is not None:
        question = question.where(ranked.c.state == state if paging.storable(state) else false())
    behind = paging.read("rules", cursor, (str,))
    if behind is not None:
        question = question.where(ranked.c.rule_id > behind[0])
    rows = connection.execute(question.order_by(ranked.c.rule_id).limit(limit + 1)).all()
    following = paging.written("rules", (rows[limit - 1].rule_id,)) if len(rows) > limit else None
    return Page([_document(*row[1:]) for row in rows[:limit]], following)


def rule_events(
    connection: Connection,
    *,
    rule_id: str | None = None,
    namespace: str | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Document]:
    """What happened to rules. Raises ReadModelError `bad_limit`, `bad_cursor`."""
    columns = schema.rule_events.c
    conditions = [paging.same(columns.rule_id, rule_id), paging.same(columns.namespace, namespace)]
    return _page(connection, schema.rule_events, conditions, known_at=known_at, limit=limit, cursor=cursor)


def corrections(
    connection: Connection,
    *,
    namespace: str | None = None,
    subject: str | None = None,
    op: str | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Document]:
    """Retracts and decisions as they arrived, taken or refused. Raises ReadModelError."""
    limit = paging.checked_limit(limit)
    columns = schema.corrections.c
    order = (columns.recorded_at, columns.correction_id)
    conditions = [
        paging.same(columns.namespace, namespace),
        paging.same(columns.subject, None if subject is None else normalise(subject)),
        paging.same(columns.op, op),
    ]
    if known_at is not None:
        conditions.append(columns.recorded_at <= known_at)
    behind = paging.read("corrections", cursor, (int, str))
    if behind is not None:
        conditions.append(paging.before(order, behind))
    question = select(columns.correction_id, columns.recorded_at, columns.body).where(*conditions)
    rows = connection.execute(question.order_by(*(c.desc() for c in order)).limit(limit + 1)).all()
    following = None
    if len(rows) > limit:
        following = paging.written(
            "corrections", (rows[limit - 1].recorded_at, rows[limit - 1].correction_id)
        )
    return Page([_document(*row) for row in rows[:limit]], following)


def _page(
    connection: Connection,
    table: Table,
    conditions: list[ColumnElement[bool]],
    *,
    known_at: Instant | None,
    limit: int,
    cursor: str | None,
) -> Page[Document]:
    limit = paging.checked_limit(limit)
    columns = table.c
    order = (columns.recorded_at, columns.id)
    if known_at is not None:
        conditions = [*conditions, columns.recorded_at <= known_at]
    behind = paging.read(table.name, cursor, (int, str))
    if behind is not None:
        conditions = [*conditions, paging.before(order, behind)]
    question = select(columns.id, columns.recorded_at, columns.body).where(*conditions)
    rows = connection.execute(question.order_by(*(c.desc() for c in order)).limit(limit + 1)).all()
    following = None
    if len(rows) > limit:
        following = paging.written(table.name, (rows[limit - 1].recorded_at, rows[limit - 1].id))
    return Page([_document(*row) for row in rows[:limit]], following)


def _document(found: str, recorded_at: int, body: bytes) -> Document:
    return Document(id=found, recorded_at=format_instant(Instant(recorded_at)), body=_decode(body))
