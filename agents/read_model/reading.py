"""What was published and said, as it stands in the log: history, evidence, and every change since a cursor.

Nothing here is derived again. What was believed at an instant is `facts`; what was published by then is here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, func, select

from agents.claims import ClaimRead
from agents.read_model import migrations, paging, schema
from agents.read_model.batch import statement_of
from agents.read_model.errors import ReadModelError
from agents.read_model.facts import name_of
from agents.read_model.heard import Name, retracted_by
from agents.read_model.naming import find
from agents.read_model.past import Folding, claim_then, is_incomplete
from agents.read_model.records import EvidenceRow, FactEvidence, FactVersion, Page
from state.facts import About, build
from state.instants import Instant, format_instant
from state.statements import Statement
from state.why import explain
from streams.topics import Topic
from streams.wire import observation_fields

EVIDENCE_SHOWN_MAX: Final = 100
"""Statements of each role that the evidence of one fact names; how many there are is told beside them."""

_decode: Final = msgspec.json.Decoder(FactVersion).decode


def history(
    connection: Connection,
    *,
    claim_id: str | None = None,
    fact_id: str | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[FactVersion]:
    """Every version of the facts of a claim, or of one fact, in the order of what caused them.

    Those published by `known_at`, where that is given. Raises ReadModelError `no_such_claim`, `no_such_fact`,
    `bad_limit`, `bad_cursor`.
    """
    limit = paging.checked_limit(limit)
    columns = schema.fact_versions.c
    order = (columns.offset, columns.version, columns.seq)
    conditions, about = _of_claim_or_fact(connection, claim_id, fact_id)
    behind = paging.read("history", cursor, (int, int, int))
    if behind is not None:
        conditions.append(paging.beyond(order, behind))
    if known_at is not None:
        conditions.append(columns.recorded_at <= known_at)
    rows = connection.execute(
        select(*order, columns.body).where(*conditions).order_by(*order).limit(limit + 1)
    ).all()
    generation = migrations.generation(connection)
    items = [_version(row, generation) for row in rows[:limit]]
    following = paging.written("history", tuple(rows[limit - 1][:3])) if len(rows) > limit else None
    return Page(items, following, is_incomplete(connection, [about], known_at=known_at or Instant(-1)))


def _of_claim_or_fact(
    connection: Connection, claim_id: str | None, fact_id: str | None
) -> tuple[list[ColumnElement[bool]], str]:
    """The condition on versions, and the claim that it is about."""
    columns = schema.fact_versions.c
    if fact_id is not None:
        question = select(schema.facts.c.claim_id).where(paging.same(schema.facts.c.fact_id, fact_id))
        about = connection.execute(question).scalar()
        if about is None:
            raise ReadModelError("no_such_fact", f"No fact has the id {fact_id[:64]!r}.")
        return [columns.fact_id == fact_id], about
    assert claim_id is not None, "a history is that of a claim or of a fact"
    return [columns.claim_id == name_of(connection, claim_id).claim_id], claim_id


def _version(row: Any, generation: str) -> FactVersion:
    return msgspec.structs.replace(_decode(row.body), cursor=f"{generation}-{row.seq}")


# -- changes since ----------------------------------------------------------------------------


def changes(connection: Connection, *, after: str | None, limit: int = 500) -> Page[FactVersion]:
    """The events applied after a cursor, in the order of their application; from the first one without it.

    Each item carries its own `cursor`; `next` is that of the last item, or `after` where nothing is new, so a
    reader that hands it back never misses one. Raises ReadModelError `cursor_expired` where the read model
    was rebuilt since: read what is needed anew and go on from `newest_change`.
    """
    limit = paging.checked_limit(limit)
    generation = migrations.generation(connection)
    columns = schema.fact_versions.c
    seq = 0 if after is None else _seq_of(after, generation)
    rows = connection.execute(
        select(columns.seq, columns.body).where(columns.seq > seq).order_by(columns.seq).limit(limit)
    ).all()
    items = [_version(row, generation) for row in rows]
    return Page(items, items[-1].cursor if items else f"{generation}-{seq}")


def newest_change(connection: Connection) -> str:
    """The cursor behind everything that has been applied."""
    newest = connection.execute(select(func.max(schema.fact_versions.c.seq))).scalar() or 0
    return f"{migrations.generation(connection)}-{newest}"


def how_far(connection: Connection) -> str:
    """How far the read model is, as text: another one whenever anything was applied, events or not."""
    n_applied = connection.execute(select(func.sum(schema.offsets.c.next_offset))).scalar() or 0
    return f"{migrations.generation(connection)}-{n_applied}"


def _seq_of(cursor: str, generation: str) -> int:
    of, dash, seq = cursor.rpartition("-")
    if not dash or not (seq.isascii() and seq.isdigit() and len(seq) <= 18):
        raise ReadModelError("bad_cursor", "The cursor is none of the change feed; start without one.")
    if of != generation:
        raise ReadModelError(
            "cursor_expired",
            "The read model was rebuilt since this cursor was given out. Read what you need anew, then "
            "follow the changes from there.",
        )
    return int(seq)


# -- evidence ---------------------------------------------------------------------------------


def evidence(
    connection: Connection,
    claim_id: str,
    *,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[EvidenceRow]:
    """Every statement of a claim recorded by an instant, in that order, counting or not.

    Raises ReadModelError `no_such_claim`, `bad_limit`, `bad_cursor`.
    """
    limit = paging.checked_limit(limit)
    name = name_of(connection, claim_id)
    columns = schema.evidence.c
    order = (columns.recorded_at, columns.observation_id, columns.content_hash)
    conditions = [columns.claim_id == name.claim_id]
    behind = paging.read("evidence", cursor, (int, str, str))
    if behind is not None:
        conditions.append(paging.beyond(order, behind))
    if known_at is not None:
        conditions.append(columns.recorded_at <= known_at)
    rows = connection.execute(
        select(schema.evidence).where(*conditions).order_by(*order).limit(limit + 1)
    ).all()
    items = _evidence_rows(connection, name, rows[:limit], known_at=known_at)
    following = None
    if len(rows) > limit:
        last = rows[limit - 1]
        following = paging.written("evidence", (last.recorded_at, last.observation_id, last.content_hash))
    return Page(items, following, is_incomplete(connection, [claim_id], known_at=known_at or Instant(-1)))


def _evidence_rows(
    connection: Connection, name: Name, rows: Sequence[Any], *, known_at: Instant | None
) -> list[EvidenceRow]:
    retracted = retracted_by(connection, name, known_at=known_at)
    kept = _kept_hashes(connection, name, {row.observation_id for row in rows}, known_at=known_at)
    found = []
    for row in rows:
        statement, content = statement_of(bytes(row.body))
        found.append(
            EvidenceRow(
                observation=observation_fields(name.namespace, statement, content=content),
                effective_at=format_instant(statement.effective_at),
                recorded_at=format_instant(Instant(row.recorded_at)),
                position=f"{Topic.BY_CLAIM.value}/{row.partition}/{row.offset}",
                content_hash=row.content_hash,
                counts=row.observation_id not in retracted and kept[row.observation_id] == row.content_hash,
            )
        )
    return found


def _kept_hashes(
    connection: Connection, name: Name, ids: Collection[str], *, known_at: Instant | None
) -> dict[str, str]:
    """Of each observation id the content that keeps it."""
    columns = schema.evidence.c
    question = (
        select(columns.observation_id, func.min(columns.content_hash))
        .where(columns.claim_id == name.claim_id, columns.observation_id.in_(sorted(ids)))
        .group_by(columns.observation_id)
    )
    if known_at is not None:
        question = question.where(columns.recorded_at <= known_at)
    return dict(connection.execute(question).all())


def fact_evidence(
    connection: Connection,
    folding: Folding,
    fact_id: str,
    *,
    known_at: Instant | None = None,
    limit: int = EVIDENCE_SHOWN_MAX,
) -> FactEvidence:
    """The statements for and against one fact, and those that closed it: the newest `limit` of each.

    Folds the claim once. Raises ReadModelError `no_such_fact`, `too_much_evidence`, `bad_limit`.
    """
    limit = paging.checked_limit(limit)
    question = select(schema.facts.c.claim_id).where(paging.same(schema.facts.c.fact_id, fact_id))
    claim_id = connection.execute(question).scalar()
    if claim_id is None:
        raise ReadModelError("no_such_fact", f"No fact has the id {fact_id[:64]!r}.")
    name = name_of(connection, claim_id)
    read = claim_then(connection, folding, name, known_at=known_at)
    about = About(read.claim.claim, read.claim.namespace, read.predicate.declared)
    for explained in explain(read.statements, read.predicate, read.policy, read.cluster_of).facts:
        if build(about, explained.episode).fact_id != fact_id:
            continue
        sides = (explained.support, explained.dissent, explained.closing)
        shown = [_rows_of(connection, name, side, limit, known_at) for side in sides]
        return FactEvidence(
            support=shown[0],
            n_support=len(sides[0]),
            dissent=shown[1],
            n_dissent=len(sides[1]),
            closing=shown[2],
            n_closing=len(sides[2]),
        )
    by_then = "" if known_at is None else f" by {format_instant(known_at)}"
    raise ReadModelError("no_such_fact", f"No evidence carries the fact {fact_id}{by_then}.")


def _rows_of(
    connection: Connection, name: Name, side: Iterable[Statement], limit: int, known_at: Instant | None
) -> list[EvidenceRow]:
    newest = sorted(side, key=lambda s: s.place, reverse=True)[:limit]
    columns = schema.evidence.c
    ids = sorted({s.observation_id for s in newest})
    rows = connection.execute(
        select(schema.evidence).where(columns.claim_id == name.claim_id, columns.observation_id.in_(ids))
    ).all()
    by_content = {(row.observation_id, row.content_hash): row for row in rows}
    wanted = [by_content[s.observation_id, s.content_hash] for s in newest]
    return _evidence_rows(connection, name, wanted, known_at=known_at)


def claim_read(
    connection: Connection,
    folding: Folding,
    *,
    subject: str,
    predicate: str,
    namespace: str | None = None,
    known_at: Instant | None = None,
) -> ClaimRead:
    """A claim with its evidence, for `state.why` and `state.why_not`: what is known, or was known by then.

    Names in any spelling. Raises NoSuchClaim, with near names; ReadModelError `too_much_evidence`.
    """
    name = find(connection, subject=subject, predicate=predicate, namespace=namespace, known_at=known_at)
    return claim_then(connection, folding, name, known_at=known_at)
