"""Finding subjects and claims by name, in any spelling; subjects also as someone types."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, false, func, literal, not_, select
from sqlalchemy.sql.selectable import ScalarSelect

from agents.claims import DEFAULT_NAMESPACE, NEAR_MAX, NoSuchClaim
from agents.read_model import paging, schema
from agents.read_model.errors import ReadModelError
from agents.read_model.heard import Name
from agents.read_model.records import ClaimRow, Page, SubjectRow
from state.instants import Instant, format_instant
from state.names import normalise, normalise_predicate

_NEAR_POOL: Final = 2_000  # names among which a near one is looked for: a bound on the work of a message


def subjects(
    connection: Connection,
    *,
    text: str = "",
    namespace: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[SubjectRow]:
    """Subjects whose normal form begins with the text's, then those that hold it elsewhere; each by name.

    The first part is found by an index, the second looks at every subject of the namespace (0.1 s at some
    100,000). Raises ReadModelError `bad_limit`, `bad_cursor`.
    """
    limit = paging.checked_limit(limit)
    after = paging.read("subjects", cursor, (int, str, str))
    first_rank = 0 if after is None else after[0]
    typed = " ".join(normalise(text).split()) or text.strip().casefold()
    found: list[tuple[int, SubjectRow]] = []
    for rank in (0, 1):
        if rank not in (first_rank, 1) or (rank == 1 and not typed) or len(found) > limit:
            continue
        behind = after[1:] if after is not None and rank == first_rank else None
        rows = _subjects(connection, typed, namespace, rank, behind, limit + 1 - len(found))
        found += [(rank, row) for row in rows]
    more = len(found) > limit
    items = found[:limit]
    following = None
    if more:
        rank, last = items[-1]
        following = paging.written("subjects", (rank, last.namespace, last.subject))
    return Page([row for _, row in items], following)


def _subjects(
    connection: Connection,
    typed: str,
    namespace: str | None,
    rank: int,
    behind: paging.Key | None,
    limit: int,
) -> list[SubjectRow]:
    columns = schema.subjects.c
    begins = and_(columns.subject >= typed, columns.subject < typed + "\U0010ffff")
    conditions: list[ColumnElement[bool]] = [paging.same(columns.namespace, namespace)]
    if not paging.storable(typed):
        conditions.append(false())
    elif rank == 0:
        conditions.append(begins)
    else:
        conditions += [columns.subject.contains(typed, autoescape=True), not_(begins)]
    if behind is not None:
        conditions.append(paging.beyond((columns.namespace, columns.subject), behind))
    n_claims = (
        select(func.count())
        .where(schema.claims.c.namespace == columns.namespace, schema.claims.c.subject == columns.subject)
        .scalar_subquery()
    )
    question = (
        select(columns.namespace, columns.subject, columns.spelled, n_claims)
        .where(*conditions)
        .order_by(columns.namespace, columns.subject)
        .limit(limit)
    )
    return [
        SubjectRow(namespace=ns, subject=subject, spelled=spelled, n_claims=n)
        for ns, subject, spelled, n in connection.execute(question)
    ]


def claims(
    connection: Connection,
    *,
    namespace: str | None = None,
    subject: str | None = None,
    predicate: str | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[ClaimRow]:
    """Claims by name, in order of namespace, subject and predicate; those heard of by `known_at`.

    Raises ReadModelError `bad_limit`, `bad_cursor`.
    """
    limit = paging.checked_limit(limit)
    columns = schema.claims.c
    order = (columns.namespace, columns.subject, columns.predicate)
    conditions = named(namespace=namespace, subject=subject, predicate=predicate)
    behind = paging.read("claims", cursor, (str, str, str))
    if behind is not None:
        conditions.append(paging.beyond(order, behind))
    if known_at is not None:
        conditions.append(_heard(known_at).is_not(None))
    rows = connection.execute(
        select(schema.claims).where(*conditions).order_by(*order).limit(limit + 1)
    ).all()
    items = [_claim_row(connection, row, known_at) for row in rows[:limit]]
    following = None
    if len(rows) > limit:
        following = paging.written("claims", (items[-1].namespace, items[-1].subject, items[-1].predicate))
    return Page(items, following)


def claim(connection: Connection, claim_id: str, *, known_at: Instant | None = None) -> ClaimRow:
    """One claim by its id. Raises ReadModelError `no_such_claim`, also where it was not heard of by then."""
    conditions = [paging.same(schema.claims.c.claim_id, claim_id)]
    if known_at is not None:
        conditions.append(_heard(known_at).is_not(None))
    row = connection.execute(select(schema.claims).where(*conditions)).first()
    if row is None:
        raise ReadModelError("no_such_claim", f"No claim has the id {claim_id[:64]!r}.")
    return _claim_row(connection, row, known_at)


def _heard(known_at: Instant) -> ScalarSelect[int]:
    """The first instant at which something was recorded of a claim, if that was by then; to be correlated."""
    columns = schema.evidence.c
    return (
        select(columns.recorded_at)
        .where(columns.claim_id == schema.claims.c.claim_id, columns.recorded_at <= known_at)
        .order_by(columns.recorded_at)
        .limit(1)
        .scalar_subquery()
    )


def heard_by(known_at: Instant) -> ColumnElement[bool]:
    """The condition that something was recorded of a row of `claims` by an instant."""
    return _heard(known_at).is_not(None)


def _claim_row(connection: Connection, row: Any, known_at: Instant | None) -> ClaimRow:
    columns = schema.evidence.c
    question = select(func.count(), func.min(columns.recorded_at), func.max(columns.recorded_at)).where(
        columns.claim_id == row.claim_id
    )
    if known_at is not None:
        question = question.where(columns.recorded_at <= known_at)
    n_statements, first, last = connection.execute(question).one()
    return ClaimRow(
        claim_id=row.claim_id,
        namespace=row.namespace,
        subject=row.subject,
        predicate=row.predicate,
        spelled_subject=row.spelled_subject,
        spelled_predicate=row.spelled_predicate,
        n_statements=n_statements,
        first_recorded_at="" if first is None else format_instant(first),
        last_recorded_at="" if last is None else format_instant(last),
    )


def named(
    *, namespace: str | None, subject: str | None, predicate: str | None, claim_id: str | None = None
) -> list[ColumnElement[bool]]:
    """The conditions that a row of `claims` has these names, in any spelling; None is any."""
    columns = schema.claims.c
    return [
        paging.same(columns.namespace, namespace),
        paging.same(columns.subject, None if subject is None else normalise(subject)),
        paging.same(columns.predicate, None if predicate is None else normalise_predicate(predicate)),
        paging.same(columns.claim_id, claim_id),
    ]


# -- one claim, for explanations --------------------------------------------------------------


def find(
    connection: Connection,
    *,
    subject: str,
    predicate: str,
    namespace: str | None = None,
    known_at: Instant | None = None,
) -> Name:
    """The claim about a subject and a predicate, each in any spelling.

    Without `namespace` it is that of the namespace "default", else of the only one that has such a claim.
    Raises NoSuchClaim, with near names, where there is none, or where several namespaces have one.
    """
    columns = schema.claims.c
    conditions = named(namespace=namespace, subject=subject, predicate=predicate)
    if known_at is not None:
        conditions.append(heard_by(known_at))
    question = select(columns.claim_id, columns.namespace, columns.subject, columns.predicate)
    rows = connection.execute(question.where(*conditions).order_by(columns.namespace)).all()
    found = [Name(*row) for row in rows]
    if namespace is None:
        found = [name for name in found if name.namespace == DEFAULT_NAMESPACE] or found
    if len(found) > 1:
        names = ", ".join(name.namespace for name in found)
        raise NoSuchClaim(f"{subject} / {predicate} is known in the namespaces {names}. Say which.")
    if not found:
        raise NoSuchClaim(_nothing_found(connection, subject, predicate, namespace, known_at))
    return found[0]


def _nothing_found(
    connection: Connection, subject: str, predicate: str, namespace: str | None, known_at: Instant | None
) -> str:
    """One sentence on what is missing, and one on what is near."""
    where = "" if namespace is None else f" in the namespace {namespace}"
    by_then = "" if known_at is None else f" by {format_instant(known_at)}"
    columns = schema.claims.c
    conditions = named(namespace=namespace, subject=subject, predicate=None)
    if known_at is not None:
        conditions.append(heard_by(known_at))
    question = select(columns.predicate).where(*conditions).distinct().order_by(columns.predicate)
    predicates = list(connection.execute(question.limit(_NEAR_POOL)).scalars())
    if predicates:
        near = get_close_matches(normalise_predicate(predicate), predicates, n=NEAR_MAX) or predicates
        left = len(predicates) - len(near[:NEAR_MAX])
        more = f" and {left} more" if left else ""
        return (
            f"Nothing was heard about {subject} / {predicate}{where}{by_then}. "
            f"Known of {subject}: {', '.join(near[:NEAR_MAX])}{more}."
        )
    if known_at is not None:  # which names are near by now says something about later
        return f"Nothing was heard about {subject}{where}{by_then}."
    near = _near_subjects(connection, normalise(subject), namespace)
    if near:
        return f"Nothing was heard about {subject}{where}. Near: {', '.join(near)}."
    return f"Nothing was heard about {subject}{where}, nor about a name like it."


def _near_subjects(connection: Connection, wanted: str, namespace: str | None) -> list[str]:
    columns = schema.subjects.c
    if not wanted or not paging.storable(wanted):
        return []
    question = (
        select(columns.subject)
        .where(paging.same(columns.namespace, namespace), columns.subject >= literal(wanted[:1]))
        .order_by(columns.subject)
        .limit(_NEAR_POOL)
    )
    return get_close_matches(wanted, list(connection.execute(question).scalars()), n=NEAR_MAX, cutoff=0.7)
