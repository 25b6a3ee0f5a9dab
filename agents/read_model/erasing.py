"""Forgetting: deleting the rows that hold what a person wants forgotten (DESIGN 4.10).

Erase only after the projection has applied what the forgetting changed: what then is current is clean, and
what was current before is deleted here. Claims whose past was touched are noted by their id, a hash, and
answers about that past say that they are incomplete. Files give the bytes back in `ReadModel.reclaim`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from sqlalchemy import ColumnElement, Connection, Delete, and_, delete, insert, not_, select, update

from agents.read_model import paging, schema
from agents.read_model.projection import statement_of
from agents.read_model.records import Erased, Scope
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


_decode_link: Final = msgspec.json.Decoder(_Link).decode
_AT_ONCE: Final = 500  # ids in one statement; both databases take far more


def erase(connection: Connection, scope: Scope, *, erased_at: Instant) -> Erased:
    """Delete what the scope names; `erased_at` is the recorded time of the wish. Again, it deletes nothing.

    A subject goes with its claims, facts, history, links and alerts. Of an observation, or a source, its
    statements go, and of the claims it spoke about every version that is not current and every fact that is
    withdrawn, since any of them may hold its text.
    """
    if scope.subject is not None and scope.observation_id is None and scope.source is None:
        return _erase_subject(connection, scope.namespace, normalise(scope.subject), erased_at)
    return _erase_statements(connection, scope, erased_at)


def _erase_subject(connection: Connection, namespace: str, subject: str, erased_at: Instant) -> Erased:
    claims = schema.claims.c
    condition = [paging.same(claims.namespace, namespace), paging.same(claims.subject, subject)]
    found = list(connection.execute(select(claims.claim_id).where(*condition)).scalars())
    rows: dict[str, int] = {}
    for ids in _chunks(found):
        told = select(schema.facts.c.seq).where(schema.facts.c.claim_id.in_(ids), _IS_WORDLESS)
        versions = (schema.fact_versions.c.claim_id.in_(ids), not_(schema.fact_versions.c.seq.in_(told)))
        _delete(connection, rows, delete(schema.fact_versions).where(*versions))
        facts = (schema.facts.c.claim_id.in_(ids), not_(_IS_WORDLESS))
        _delete(connection, rows, delete(schema.facts).where(*facts))
        for table in (schema.evidence, schema.links, schema.claims):
            _delete(connection, rows, delete(table).where(table.c.claim_id.in_(ids)))
    for table in (schema.subjects, schema.corrections, schema.links, schema.drift_alerts):
        named = (paging.same(table.c.namespace, namespace), paging.same(table.c.subject, subject))
        _delete(connection, rows, delete(table).where(*named))
    note_erased(connection, found, erased_at)
    return Erased(found, rows)


def _erase_statements(connection: Connection, scope: Scope, erased_at: Instant) -> Erased:
    evidence, claims = schema.evidence.c, schema.claims.c
    of_scope = [paging.same(evidence.observation_id, scope.observation_id)]
    if scope.source is not None:
        of_scope.append(paging.same(evidence.source, scope.source))
    subject = None if scope.subject is None else normalise(scope.subject)
    in_place = [paging.same(claims.namespace, scope.namespace), paging.same(claims.subject, subject)]
    joined = select(evidence.claim_id).join(schema.claims, claims.claim_id == evidence.claim_id)
    found = sorted(connection.execute(joined.where(*of_scope, *in_place).distinct()).scalars())
    rows: dict[str, int] = {}
    for ids in _chunks(found):
        _erase_links(connection, rows, ids, of_scope)
        _delete(connection, rows, delete(schema.evidence).where(evidence.claim_id.in_(ids), *of_scope))
        _erase_past(connection, rows, ids)
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


def _erase_past(connection: Connection, rows: dict[str, int], ids: Sequence[str]) -> None:
    """Delete the versions of these claims' facts that are not current, and the facts that are withdrawn."""
    facts, versions = schema.facts, schema.fact_versions
    gone = (facts.c.claim_id.in_(ids), facts.c.reason == Reason.WITHDRAWN.value, not_(_IS_WORDLESS))
    _delete(connection, rows, delete(facts).where(*gone))
    current = select(facts.c.seq).where(facts.c.claim_id.in_(ids))
    _delete(
        connection,
        rows,
        delete(versions).where(versions.c.claim_id.in_(ids), not_(versions.c.seq.in_(current))),
    )


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
