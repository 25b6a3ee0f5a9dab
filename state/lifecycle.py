"""Lifecycle: what each assertion of a claim is at an instant, as far as it was known at another.

Computed on read, never stored. `valid_at` asks about the world, `known_at` about us: what was recorded later
(observations, retracts, links, closures) is as if it had not been. The states are checked in one fixed
order (DESIGN 6), the first that applies is given.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from state.assertions import (
    NO_CLUSTERS,
    Assertion,
    AssertionId,
    Book,
    Piece,
    Row,
    known,
)
from state.dispute import Dispute, Standing, disputes
from state.endings import Cause, ClosedByFold, End, Endings, bound, merged
from state.fold_state import Side
from state.forms import Forms
from state.identity import ClaimId
from state.instants import Instant
from state.links import Verdicts
from state.predicates import Predicate
from state.statements import ObservationId, Spelling, document_of


class Life(enum.StrEnum):
    """What an assertion is at an instant."""

    HISTORICAL = "historical"
    """Not begun, or over by its own words."""
    SUPERSEDED = "superseded"
    """Ended by a decision that put something in its place, or by a document that replaced its own."""
    INVALIDATED = "invalidated"
    """Ended by a decision that put nothing in its place, or by the fold."""
    CONFLICTING = "conflicting"
    """It holds, and so does something that it conflicts with."""
    CURRENT = "current"


_LIFE_OF: Final = {
    Cause.SUPERSEDED: Life.SUPERSEDED,
    Cause.INVALIDATED: Life.INVALIDATED,
    Cause.REPLACED: Life.SUPERSEDED,
    Cause.FOLDED: Life.INVALIDATED,
    Cause.OVER: Life.HISTORICAL,
}


class AssertionState(msgspec.Struct, frozen=True, kw_only=True):
    """One assertion at an instant.

    `has_begun` and `holds` say where the instant lies; `valid_from` and `valid_to` bound the span that
    holds then, else the last one before, else the first; `valid_to` is None without an end. `ended_by`
    names the correction, the document or the fold's reason that ended it, `reason` the decider's words.
    `preferred` is what is shown first of its dispute, `basis` why; None unless conflicting. `dispute` are
    all members of it, by rank.
    """

    assertion_id: AssertionId
    state: Life
    has_begun: bool
    holds: bool
    valid_from: Instant
    valid_to: Instant | None
    object: Spelling | None
    form: str
    affirmed: bool
    source: str | None
    document: str | None
    confidence: float
    extracted: bool
    decided_by: str | None
    ended_by: str | None
    reason: str | None
    preferred: AssertionId | None
    basis: str | None
    dispute: tuple[AssertionId, ...]
    observation_ids: tuple[ObservationId, ...]


def read(
    rows: Iterable[Row],
    *,
    valid_at: Instant,
    known_at: Instant | None = None,
    claim: ClaimId,
    predicate: Predicate,
    forms: Forms = NO_CLUSTERS,
    closed_by_fold: Iterable[ClosedByFold] = (),
) -> list[AssertionState]:
    """Every assertion of a claim at `valid_at`, as known at `known_at` (None: by all that is recorded).

    In order of beginning, then of id. `forms` and `closed_by_fold` are those of `known_at` too: they come
    from a fold of the evidence that was recorded by then. What has not begun is listed, with
    `has_begun` False.
    """
    book = Book(claim, predicate, forms)
    for row in known(rows, known_at):
        book.enter(row)
    return states(book, valid_at=valid_at, closed_by_fold=closed_by_fold)


def states(
    book: Book, *, valid_at: Instant, closed_by_fold: Iterable[ClosedByFold] = ()
) -> list[AssertionState]:
    """Every assertion of a book at an instant, in order of beginning, then of id."""
    endings = Endings(book, closed_by_fold)
    replaced = _all_replaced(book, endings)
    ended = {
        name: endings.pieces(assertion, replaced.get(name)) for name, assertion in book.assertions.items()
    }
    standing = [
        standing_of(assertion, holding, merged(ended[name]), valid_at)
        for name, assertion in book.assertions.items()
        if (holding := [piece for piece, end in ended[name] if piece.lo <= valid_at < end.at])
    ]
    standing.sort(key=lambda one: one.assertion.assertion_id)
    by_member = {
        member: dispute for dispute in disputes(book, Verdicts(book), standing) for member in dispute.members
    }
    found = [
        _state(book, assertion, ended[name], valid_at, by_member.get(name))
        for name, assertion in book.assertions.items()
    ]
    return sorted(found, key=lambda one: (one.valid_from, one.assertion_id))


def _all_replaced(book: Book, endings: Endings) -> dict[AssertionId, End]:
    """Every end by a document that replaced another, side by side."""
    by_side: dict[Side, list[Assertion]] = {}
    for assertion in book.assertions.values():
        by_side.setdefault(book.side(assertion), []).append(assertion)
    return {name: end for alike in by_side.values() for name, end in endings.replaced(alike).items()}


def standing_of(
    assertion: Assertion,
    holding: Sequence[Piece],
    spans: Sequence[tuple[Instant, Instant]],
    valid_at: Instant,
) -> Standing:
    """What an assertion is ranked by: its newest word that holds, and the start of the span that does."""
    newest = max((piece.statement for piece in holding), key=lambda s: (s.place, s.observation_id))
    return Standing(
        assertion=assertion,
        extracted=newest.extracted,
        confidence=newest.confidence,
        valid_from=next(lo for lo, hi in spans if lo <= valid_at < hi),
    )


def _state(
    book: Book,
    assertion: Assertion,
    ended: Sequence[tuple[Piece, End]],
    valid_at: Instant,
    dispute: Dispute | None,
) -> AssertionState:
    begun = [(piece, end) for piece, end in ended if piece.lo <= valid_at]
    holds = any(valid_at < end.at for _, end in begun)
    end = None if holds or not begun else _last_end(begun)
    if dispute is not None:
        life = Life.CONFLICTING
    elif holds:
        life = Life.CURRENT
    else:
        life = Life.HISTORICAL if end is None else _LIFE_OF[end.cause]
    decided = None if end is None or end.cause > Cause.INVALIDATED else book.decided[end.by]
    newest = assertion.newest()
    valid_from, valid_to = _shown_span(ended, valid_at)
    return AssertionState(
        assertion_id=assertion.assertion_id,
        state=life,
        has_begun=bool(begun),
        holds=holds,
        valid_from=valid_from,
        valid_to=bound(valid_to),
        object=newest.spelling,
        form=assertion.form,
        affirmed=assertion.affirmed,
        source=newest.source,
        document=newest.document,
        confidence=newest.confidence,
        extracted=newest.extracted,
        decided_by=assertion.decided_by,
        ended_by=None if end is None else _in_words(end),
        reason=None if decided is None else decided.decision.reason,
        preferred=None if dispute is None else dispute.preferred,
        basis=None if dispute is None else dispute.basis,
        dispute=() if dispute is None else dispute.members,
        observation_ids=tuple(sorted(s.observation_id for s in assertion.statements)),
    )


def _last_end(begun: Sequence[tuple[Piece, End]]) -> End:
    """The end of what held last; of several at one instant the first cause. A piece may end unbegun."""
    return min(begun, key=lambda one: (-max(one[0].lo, one[1].at), one[1].cause, one[1].by))[1]


def _in_words(end: End) -> str | None:
    """Who or what ended it: a correction, a document (or an observation without one), the fold's reason."""
    if end.cause is not Cause.REPLACED:
        return end.by or None
    return document_of(end.by)[1] if end.by.startswith("d") else end.by[1:]


def _shown_span(ended: Sequence[tuple[Piece, End]], valid_at: Instant) -> tuple[Instant, Instant]:
    """The span that holds at the instant, else the last one before it, else the first."""
    spans = merged(ended) or sorted((piece.lo, piece.lo) for piece, _ in ended)
    before = [span for span in spans if span[0] <= valid_at]
    return before[-1] if before else spans[0]
