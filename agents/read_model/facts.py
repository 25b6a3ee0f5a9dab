"""Facts by filter and by id, at two clocks (DESIGN 6, 9).

Without `known_at` the answer is what was published last, from an index. With it, each claim that the filter
touches is folded again from what was recorded by then (`past`); an answer then costs what its claims cost,
and a page ends early rather than fold more than `heard.STATEMENTS_MAX` statements.

`valid_at` keeps what holds at that instant; without it all episodes are answered, past ones too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, exists, not_, or_, select

from agents.claims import ClaimRead
from agents.read_model import paging, schema
from agents.read_model.errors import ReadModelError
from agents.read_model.heard import Name, count_by, refuse_too_much
from agents.read_model.naming import heard_by, named
from agents.read_model.past import Budget, Folding, claim_then, facts_of, is_incomplete
from agents.read_model.records import FactBody, FactFilter, FactRead, Instants, Page, Valid
from agents.read_model.schema import BEGINNING, END
from state.episodes import Reason
from state.facts import Fact, State, state_at
from state.instants import Instant, format_instant, parse_instant
from state.interval import Interval
from state.names import normalise, normalise_predicate
from state.objects import type_object
from state.probability import probability
from state.statements import Spelling
from streams.wire import fact_fields

CLAIMS_MAX: Final = 2_000  # claims that one page about the past looks at: a few seconds where each is small
_CLAIMS_READ: Final = 100

_SHAPE: Final = (str, str, str, int, str)
_decode_body: Final = msgspec.json.Decoder(FactBody).decode
_BEHIND_ALL: Final = "\U0010ffff"


def facts(
    connection: Connection,
    folding: Folding,
    wanted: FactFilter,
    *,
    now: Instant,
    valid_at: Instant | None = None,
    known_at: Instant | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[FactRead]:
    """The facts that are wanted, in order of namespace, subject, predicate, start and id.

    `state` is taken at `valid_at`, else `known_at`, else `now`. Raises ReadModelError `bad_limit`,
    `bad_cursor`, `too_much_evidence`.
    """
    limit = paging.checked_limit(limit)
    instants = Instants(now, valid_at, known_at)
    behind = paging.read("facts", cursor, _SHAPE)
    if known_at is None:
        return _facts_now(connection, folding, wanted, instants, limit, behind)
    return _Past(connection, folding, wanted, instants).page(known_at, limit, behind)


def fact(
    connection: Connection,
    folding: Folding,
    fact_id: str,
    *,
    now: Instant,
    valid_at: Instant | None = None,
    known_at: Instant | None = None,
) -> FactRead:
    """One fact by its id. Raises ReadModelError `no_such_fact`, also where it was not known by then."""
    columns = schema.facts.c
    question = select(columns.claim_id, columns.predicate, schema.fact_versions.c.body).join(
        schema.fact_versions, schema.fact_versions.c.seq == columns.seq
    )
    row = connection.execute(question.where(paging.same(columns.fact_id, fact_id))).first()
    if row is None:
        raise ReadModelError("no_such_fact", f"No fact has the id {fact_id[:64]!r}.")
    at = Instants(now, valid_at, known_at).at
    if known_at is None:
        return _as_read(folding, row.predicate, _decode_body(row.body), at)
    name = name_of(connection, row.claim_id)
    read = claim_then(connection, folding, name, known_at=known_at)
    for found in facts_of(read):
        if found.fact_id == fact_id:
            return _derived(connection, folding, Believed.of(name, read, found), at, known_at)
    raise ReadModelError("no_such_fact", f"The fact {fact_id} was not known by {format_instant(known_at)}.")


def name_of(connection: Connection, claim_id: str) -> Name:
    """The claim with this id. Raises ReadModelError `no_such_claim`."""
    columns = schema.claims.c
    row = connection.execute(
        select(columns.claim_id, columns.namespace, columns.subject, columns.predicate).where(
            paging.same(columns.claim_id, claim_id)
        )
    ).first()
    if row is None:
        raise ReadModelError("no_such_claim", f"No claim has the id {claim_id[:64]!r}.")
    return Name(*row)


# -- what is known now ------------------------------------------------------------------------


def _facts_now(
    connection: Connection,
    folding: Folding,
    wanted: FactFilter,
    instants: Instants,
    limit: int,
    behind: paging.Key | None,
) -> Page[FactRead]:
    columns = schema.facts.c
    order = (columns.namespace, columns.subject, columns.predicate, columns.lo, columns.fact_id)
    conditions = _conditions(wanted, instants)
    if behind is not None:
        conditions.append(paging.beyond(order, behind))
    question = (
        select(*order, schema.fact_versions.c.body)
        .join(schema.fact_versions, schema.fact_versions.c.seq == columns.seq)
        .where(*conditions)
        .order_by(*order)
        .limit(limit + 1)
    )
    rows = connection.execute(question).all()
    items = [_as_read(folding, row.predicate, _decode_body(row.body), instants.at) for row in rows[:limit]]
    following = paging.written("facts", tuple(rows[limit - 1][:5])) if len(rows) > limit else None
    return Page(items, following)


def _conditions(wanted: FactFilter, instants: Instants) -> list[ColumnElement[bool]]:
    columns = schema.facts.c
    withdrawn = columns.reason == Reason.WITHDRAWN.value
    retired = or_(withdrawn, columns.hi <= instants.at)
    found = [
        paging.same(columns.namespace, wanted.namespace),
        paging.same(columns.subject, None if wanted.subject is None else normalise(wanted.subject)),
        paging.same(
            columns.predicate, None if wanted.predicate is None else normalise_predicate(wanted.predicate)
        ),
        paging.same(columns.claim_id, wanted.claim_id),
    ]
    if not wanted.with_withdrawn:
        found.append(not_(withdrawn))
    if wanted.form is not None:
        form = wanted.form
        found.append(or_(paging.same(columns.form, form), paging.same(columns.shown_form, form)))
    if wanted.contested is not None:
        found.append(columns.contested == wanted.contested)
    if wanted.state is State.RETIRED:
        found.append(retired)
    elif wanted.state is not None:
        found.append(and_(not_(retired), columns.contested == (wanted.state is State.CONTESTED)))
    if instants.valid_at is not None:
        found += [columns.lo <= instants.valid_at, columns.hi > instants.valid_at]
    if wanted.overlaps is not None:
        first, after = _ends(wanted.overlaps)
        found += [columns.lo < after, columns.hi > first]
    return found


def _ends(window: Interval) -> tuple[int, int]:
    """The first instant inside and the first one after it, with the bounds that stand for infinity."""
    return (
        BEGINNING if window.lo is None else window.lo.at,
        END if window.hi is None else window.hi.at,
    )


def _as_read(folding: Folding, predicate: str, body: FactBody, at: Instant) -> FactRead:
    """What was published, how likely that is, and the state that the fact has at an instant."""
    hi = body.valid.hi
    retired = body.reason == Reason.WITHDRAWN or (hi is not None and parse_instant(hi) <= at)
    state = State.RETIRED if retired else State.CONTESTED if body.contested else State.OPEN
    likely = probability(body, folding.predicate_of(predicate))
    return FactRead(**msgspec.structs.asdict(body), state=state, probability=likely)


# -- what was known then ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Believed:
    """A fact that was folded again: its place among the answers, and by what its claim was folded."""

    key: paging.Key
    predicate: str
    fact: Fact
    model: str | None
    degraded: bool
    policy_version: str

    @classmethod
    def of(cls, name: Name, read: ClaimRead, fact: Fact) -> Believed:
        """A fact of a claim."""
        forms = read.claim.forms
        key = (name.namespace, name.subject, name.predicate, _lo(fact), fact.fact_id)
        model, degraded = forms.model or None, bool(forms.degraded)
        return cls(key, name.predicate, fact, model, degraded, read.policy.version)


class _Past:
    """One question about the past: walks the claims that it touches, in order, and folds each again."""

    def __init__(
        self, connection: Connection, folding: Folding, wanted: FactFilter, instants: Instants
    ) -> None:
        self.connection = connection
        self.folding = folding
        self.wanted = wanted
        self.instants = instants
        self.form = wanted.form

    def page(self, known_at: Instant, limit: int, behind: paging.Key | None) -> Page[FactRead]:
        budget = Budget()
        found: list[Believed] = []
        touched: list[Name] = []
        following: paging.Key | None = None
        for name in self._claims(known_at, behind):
            n_statements = count_by(self.connection, name.claim_id, known_at=known_at)
            if touched and (n_statements > budget.left or len(touched) == CLAIMS_MAX):
                following = _behind_all_of(touched[-1])
                break
            refuse_too_much(self.connection, name, known_at=known_at)
            budget.spend(n_statements)
            touched.append(name)
            found += [held for held in self._facts(name, known_at) if behind is None or held.key > behind]
            if len(found) > limit:
                found, following = found[:limit], found[limit - 1].key
                break
        return Page(
            [_derived(self.connection, self.folding, held, self.instants.at, known_at) for held in found],
            None if following is None else paging.written("facts", following),
            self._is_incomplete([name.claim_id for name in touched], known_at),
        )

    def _claims(self, known_at: Instant, behind: paging.Key | None) -> Iterator[Name]:
        """The claims that the filter names and that were heard of by then, from the cursor's on."""
        columns = schema.claims.c
        order = (columns.namespace, columns.subject, columns.predicate)
        wanted = self.wanted
        conditions = named(
            namespace=wanted.namespace,
            subject=wanted.subject,
            predicate=wanted.predicate,
            claim_id=wanted.claim_id,
        )
        question = select(columns.claim_id, *order).where(*conditions, heard_by(known_at)).order_by(*order)
        # The first page begins with the cursor's own claim, of which facts may be left.
        page = question if behind is None else question.where(paging.from_on(order, behind[:3]))
        while True:
            rows = self.connection.execute(page.limit(_CLAIMS_READ)).all()
            yield from (Name(*row) for row in rows)
            if len(rows) < _CLAIMS_READ:
                return
            page = question.where(paging.beyond(order, tuple(rows[-1][1:])))

    def _facts(self, name: Name, known_at: Instant) -> list[Believed]:
        read = claim_then(self.connection, self.folding, name, known_at=known_at)
        found = [Believed.of(name, read, fact) for fact in facts_of(read) if self._is_wanted(fact)]
        return sorted(found, key=lambda held: held.key)

    def _is_wanted(self, fact: Fact) -> bool:
        wanted, valid_at = self.wanted, self.instants.valid_at
        lo, hi = _lo(fact), END if fact.hi is None else fact.hi
        if valid_at is not None and not lo <= valid_at < hi:
            return False
        if wanted.overlaps is not None:
            first, after = _ends(wanted.overlaps)
            if not (lo < after and hi > first):
                return False
        if wanted.state is not None and state_at(fact, self.instants.at) is not wanted.state:
            return False
        if wanted.contested is not None and fact.contested is not wanted.contested:
            return False
        return self.form is None or self.form in (fact.form, _form(fact.object))

    def _is_incomplete(self, touched: list[str], known_at: Instant) -> bool:
        """Whether something that was known then was forgotten: of these claims, or a claim that is gone."""
        erasures = schema.erasures.c
        still_there = exists().where(schema.claims.c.claim_id == erasures.claim_id)
        gone = select(erasures.claim_id).where(erasures.erased_at > known_at, not_(still_there)).limit(1)
        return self.connection.execute(gone).first() is not None or is_incomplete(
            self.connection, touched, known_at=known_at
        )


def _lo(fact: Fact) -> int:
    return BEGINNING if fact.lo is None else fact.lo


def _form(spelled: Spelling | None) -> str:
    return "" if spelled is None else type_object(spelled).key


def _behind_all_of(name: Name) -> paging.Key:
    return (name.namespace, name.subject, name.predicate, END, _BEHIND_ALL)


def _derived(
    connection: Connection, folding: Folding, held: Believed, at: Instant, known_at: Instant
) -> FactRead:
    """A fact that was folded again, with the version that was published of it by then."""
    columns = schema.fact_versions.c
    published = connection.execute(
        select(columns.version, columns.recorded_at, columns.cycle)
        .where(columns.fact_id == held.fact.fact_id, columns.recorded_at <= known_at)
        .order_by(columns.version.desc())
        .limit(1)
    ).first()
    fields: dict[str, Any] = fact_fields(
        held.fact,
        0,
        recorded_at=Instant(0),
        cycle=0,
        policy_version=held.policy_version,
        model=held.model,
        degraded=held.degraded,
    )
    fields |= {
        "version": None if published is None else published.version,
        "recorded_at": None if published is None else format_instant(Instant(published.recorded_at)),
        "cycle": None if published is None else published.cycle,
        "valid": Valid(**fields["valid"]),
        "rivals": list(held.fact.rivals),
        "supported_by": list(held.fact.supported_by),
        "dissented_by": list(held.fact.dissented_by),
    }
    known = {name: fields[name] for name in FactBody.__struct_fields__}
    likely = probability(held.fact, folding.predicate_of(held.predicate))
    return FactRead(**known, state=state_at(held.fact, at), probability=likely)
