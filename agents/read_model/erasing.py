"""Forgetting: deleting the rows that hold what a person wants forgotten (DESIGN 4.10).

Erase only after the projection has applied what the forgetting changed: what then is current is clean, and
what was current before is deleted here. Claims whose past was touched are noted by their id, a hash, and
answers about that past say that they are incomplete. Files give the bytes back in `ReadModel.reclaim`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, Delete, Table, and_, delete, insert, not_, select, update

from agents.read_model import paging, schema
from agents.read_model.batch import statement_of
from agents.read_model.records import Erased, Place, Scope
from state.episodes import Reason
from state.instants import Instant
from state.names import normalise

_FACTS: Final = schema.facts.c
_IS_WORDLESS: Final = and_(
    _FACTS.reason == Reason.WITHDRAWN.value,
    _FACTS.form == "",
    _FACTS.lo == schema.BEGINNING,
    _FACTS.hi == schema.END,
)
"""Facts of which nothing is told but that they are withdrawn; followers are to hear of it."""


class _Link(msgspec.Struct):
    """The part of a link that says what it was noticed by."""

    evidence_id: str = ""


class _Alert(msgspec.Struct):
    """The part of an alert that says which tick gave it."""

    position: str


_VERSIONS: Final = schema.fact_versions.c
_decode_alert: Final = msgspec.json.Decoder(_Alert).decode
_decode_link: Final = msgspec.json.Decoder(_Link).decode
_AT_ONCE: Final = 500  # ids in one statement; both databases take far more


def erase(connection: Connection, scope: Scope, *, erased_at: Instant, by: Place | None = None) -> Erased:
    """Delete what the scope names; `erased_at` is the recorded time of the wish. Again, it deletes nothing.

    `by` is the internal record of the wish: what was said of a subject, or by a source, after it stays.
    Without it nothing may have been said since. With it links leave by the tombstones of their topic.

    A subject goes with its claims, facts, history, links and alerts. Of an observation, or a source, its
    statements go, and of the claims it spoke about every version that is not current and every fact that is
    withdrawn, since any of them may hold its text.
    """
    if scope.subject is not None and scope.observation_id is None and scope.source is None:
        return _erase_subject(connection, scope.namespace, normalise(scope.subject), erased_at, by)
    return _erase_statements(connection, scope, erased_at, by)


def _erase_subject(
    connection: Connection, namespace: str, subject: str, erased_at: Instant, by: Place | None
) -> Erased:
    claims = schema.claims.c
    condition = [paging.same(claims.namespace, namespace), paging.same(claims.subject, subject)]
    found = list(connection.execute(select(claims.claim_id).where(*condition)).scalars())
    rows: dict[str, int] = {}
    for ids in _chunks(found):
        told = select(schema.facts.c.seq).where(schema.facts.c.claim_id.in_(ids), _IS_WORDLESS)
        facts = (schema.facts.c.claim_id.in_(ids), not_(_IS_WORDLESS), *_told_by(ids, by))
        _delete(connection, rows, delete(schema.facts).where(*facts))
        versions = (schema.fact_versions.c.claim_id.in_(ids), not_(schema.fact_versions.c.seq.in_(told)))
        _delete(connection, rows, delete(schema.fact_versions).where(*versions, *_by(_VERSIONS, by)))
        evidence = schema.evidence.c
        _delete(
            connection, rows, delete(schema.evidence).where(evidence.claim_id.in_(ids), *_by(evidence, by))
        )
    left = _left(connection, found) if by is not None else set()
    for ids in _chunks([claim_id for claim_id in found if claim_id not in left]):
        _delete(connection, rows, delete(schema.claims).where(claims.claim_id.in_(ids)))
    for claim_id in sorted(left):
        _spell_again(connection, claim_id)

    def named(table: Table) -> tuple[ColumnElement[bool], ...]:
        return paging.same(table.c.namespace, namespace), paging.same(table.c.subject, subject)

    if not left:
        _delete(connection, rows, delete(schema.subjects).where(*named(schema.subjects)))
    corrections = (*named(schema.corrections), *_by(schema.corrections.c, by))
    _delete(connection, rows, delete(schema.corrections).where(*corrections))
    if by is None:
        _delete(connection, rows, delete(schema.links).where(*named(schema.links)))
        _delete(connection, rows, delete(schema.drift_alerts).where(*named(schema.drift_alerts)))
    else:
        _erase_alerts(connection, rows, named(schema.drift_alerts), by)
    note_erased(connection, found, erased_at)
    return Erased(found, rows)


def _by(columns: Any, by: Place | None) -> tuple[ColumnElement[bool], ...]:
    """The condition that a row came by a place of the log at the latest; none where there is no place."""
    return () if by is None else (columns.partition == by.partition, columns.offset <= by.offset)


def _told_by(ids: Sequence[str], by: Place | None) -> tuple[ColumnElement[bool], ...]:
    """The condition that the newest version of a fact came by a place at the latest."""
    if by is None:
        return ()
    return (
        schema.facts.c.seq.in_(select(_VERSIONS.seq).where(_VERSIONS.claim_id.in_(ids), *_by(_VERSIONS, by))),
    )


def _left(connection: Connection, claim_ids: Sequence[str]) -> set[str]:
    """Those of the claims about which something is left that was said."""
    column = schema.evidence.c.claim_id
    found: set[str] = set()
    for ids in _chunks(claim_ids):
        found |= set(connection.execute(select(column).where(column.in_(ids)).distinct()).scalars())
    return found


def _erase_alerts(
    connection: Connection, rows: dict[str, int], named: Sequence[ColumnElement[bool]], by: Place
) -> None:
    """Delete the alerts of a subject that a tick before the wish gave."""
    columns = schema.drift_alerts.c
    gone = []
    for alert, body in connection.execute(select(columns.id, columns.body).where(*named)):
        _, partition, offset = _decode_alert(bytes(body)).position.rsplit("/", 2)
        if int(partition) == by.partition and int(offset) <= by.offset:
            gone.append(alert)
    for ids in _chunks(gone):
        _delete(connection, rows, delete(schema.drift_alerts).where(columns.id.in_(ids)))


def _erase_statements(connection: Connection, scope: Scope, erased_at: Instant, by: Place | None) -> Erased:
    evidence, claims = schema.evidence.c, schema.claims.c
    of_scope = [paging.same(evidence.observation_id, scope.observation_id)]
    if scope.source is not None:
        of_scope += [paging.same(evidence.source, scope.source), *_by(evidence, by)]
    subject = None if scope.subject is None else normalise(scope.subject)
    in_place = [paging.same(claims.namespace, scope.namespace), paging.same(claims.subject, subject)]
    joined = select(evidence.claim_id).join(schema.claims, claims.claim_id == evidence.claim_id)
    found = sorted(connection.execute(joined.where(*of_scope, *in_place).distinct()).scalars())
    rows: dict[str, int] = {}
    for ids in _chunks(found):
        if by is None:
            _erase_links(connection, rows, ids, of_scope)
        _delete(connection, rows, delete(schema.evidence).where(evidence.claim_id.in_(ids), *of_scope))
        _erase_past(connection, rows, ids, by)
    for claim_id in found:
        _spell_again(connection, claim_id)
    note_erased(connection, found, erased_at)
    return Erased(found, rows)


def _erase_links(
    connection: Connection, rows: dict[str, int], ids: Sequence[str], of_scope: Sequence[ColumnElement[bool]]
) -> None:
    """Delete the links that were noticed by statements of the scope, as they leave the topic of links."""
    evidence, links = schema.evidence.c, schema.links.c
    said = select(evidence.observation_id).where(evidence.claim_id.in_(ids), *of_scope)
    observations = set(connection.execute(said).scalars())
    held = connection.execute(select(links.id, links.body).where(links.claim_id.in_(ids)))
    gone = [link for link, body in held if _decode_link(bytes(body)).evidence_id in observations]
    for some in _chunks(gone):
        _delete(connection, rows, delete(schema.links).where(links.id.in_(some)))


def _erase_past(connection: Connection, rows: dict[str, int], ids: Sequence[str], by: Place | None) -> None:
    """Delete the versions of these claims' facts that are not current, and the facts that are withdrawn."""
    facts, versions = schema.facts, schema.fact_versions
    gone = (facts.c.claim_id.in_(ids), facts.c.reason == Reason.WITHDRAWN.value, not_(_IS_WORDLESS))
    _delete(connection, rows, delete(facts).where(*gone, *_told_by(ids, by)))
    current = select(facts.c.seq).where(facts.c.claim_id.in_(ids))
    past = (versions.c.claim_id.in_(ids), not_(versions.c.seq.in_(current)), *_by(versions.c, by))
    _delete(connection, rows, delete(versions).where(*past))


def _spell_again(connection: Connection, claim_id: str) -> None:
    """Spell a claim, and its subject, as the newest statement does that is left."""
    claims, subjects = schema.claims, schema.subjects
    question = select(schema.evidence.c.body).where(schema.evidence.c.claim_id == claim_id)
    left = [statement_of(bytes(body))[0] for (body,) in connection.execute(question)]
    row = connection.execute(select(claims).where(claims.c.claim_id == claim_id)).one()
    if left:
        newest = max((s.observed_at, s.subject, s.predicate) for s in left)
    else:
        newest = (Instant(0), row.subject, row.predicate)
    connection.execute(
        update(claims)
        .where(claims.c.claim_id == claim_id)
        .values(spelled_at=newest[0], spelled_subject=newest[1], spelled_predicate=newest[2])
    )
    siblings = (claims.c.namespace == row.namespace, claims.c.subject == row.subject)
    spelled = connection.execute(
        select(claims.c.spelled_at, claims.c.spelled_subject)
        .where(*siblings)
        .order_by(claims.c.spelled_at.desc(), claims.c.spelled_subject.desc())
        .limit(1)
    ).one()
    connection.execute(
        update(subjects)
        .where(subjects.c.namespace == row.namespace, subjects.c.subject == row.subject)
        .values(spelled_at=spelled[0], spelled=spelled[1])
    )


def note_erased(connection: Connection, claim_ids: Sequence[str], erased_at: Instant) -> None:
    """Remember that answers about the past of these claims, before an instant, are incomplete."""
    columns = schema.erasures.c
    for claim_id in claim_ids:
        before = connection.execute(select(columns.erased_at).where(columns.claim_id == claim_id)).scalar()
        if before is None:
            connection.execute(insert(schema.erasures).values(claim_id=claim_id, erased_at=erased_at))
        elif before < erased_at:
            connection.execute(
                update(schema.erasures).where(columns.claim_id == claim_id).values(erased_at=erased_at)
            )


def _delete(connection: Connection, rows: dict[str, int], statement: Delete) -> None:
    deleted = connection.execute(statement).rowcount
    if deleted:
        name = statement.table.description
        rows[name] = rows.get(name, 0) + deleted


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]
