"""What ends an assertion from outside its document, and what is left of its spans.

Three things can: an explicit decision, a document that replaced its own, and the fold (under `vote`). An
explicit end is never overridden by an inferred one; otherwise the earliest counts. Which state follows is
`state.lifecycle`; nothing here is stored.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from state.assertions import Assertion, AssertionId, Book, Decided, Piece, began
from state.corrections import Invalidate, Supersede
from state.fold_state import AFTER_ALL, ASIDE, BEFORE_ALL, Cluster
from state.instants import Instant


class Cause(enum.IntEnum):
    """Why a piece ends where it does; of two at one instant the first counts."""

    SUPERSEDED = 0
    """By a decision."""
    INVALIDATED = 1
    """By a decision."""
    REPLACED = 2
    """By a document that replaced its own."""
    FOLDED = 3
    """By the fold: outvoted or denied."""
    OVER = 4
    """By its own words, or by those of another that the fold took for an end."""


class End(NamedTuple):
    """Where a piece ends and why. `by` names the decision or the document, or says the fold's reason."""

    at: Instant
    cause: Cause
    by: str = ""


Closing = tuple[Instant, End]
"""When a decision was taken, and where it ends what had been observed by then."""


class ClosedByFold(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that the fold has closed: what its assertions have to know of it (DESIGN 6).

    `[lo, hi)` is the fact's span, `lo` None where the start is unknown; `reason` is the fact's.
    """

    cluster: Cluster
    lo: Instant | None
    hi: Instant
    reason: str


RETIRING: Final = frozenset({"outvoted", "denied"})
_BY_DECISION: Final = frozenset({"superseded", "invalidated", "withdrawn"})


class Endings:
    """The ends of the assertions of one book, as it is at the time of asking.

    `closed_by_fold` are the facts that the fold has closed; those that a decision closed are known here
    by the decision and are left out.
    """

    def __init__(self, book: Book, closed_by_fold: Iterable[ClosedByFold] = ()) -> None:
        self._book = book
        self._closed: dict[Cluster, list[ClosedByFold]] = {}
        for closed in closed_by_fold:
            if closed.reason not in _BY_DECISION:
                self._closed.setdefault(closed.cluster, []).append(closed)
        self._named: dict[AssertionId, list[Decided]] = {}
        self._wide: dict[Cluster, list[Decided]] = {}
        for decided in book.decided.values():
            self.enter(decided)

    def enter(self, decided: Decided) -> None:
        """Take in a decision that the book has just got."""
        decision = decided.decision
        if not isinstance(decision, Supersede | Invalidate):
            return
        if decided.is_wide:
            self._wide.setdefault(decision.target.form or "", []).append(decided)
            return
        for target in decided.targets:
            self._named.setdefault(target, []).append(decided)

    def pieces(self, assertion: Assertion, replaced: End | None) -> list[tuple[Piece, End]]:
        """Each piece of an assertion with its end; the end may lie before the start.

        `replaced` is the end by a document that replaced its own, from `replaced`.
        """
        deciding = self._deciding(assertion)
        closed = self._closed.get(self._book.side(assertion)[0], ()) if assertion.affirmed else ()
        return [(piece, end_of(piece, deciding, replaced, closed)) for piece in self._book.pieces(assertion)]

    def spans(self, assertion: Assertion) -> list[tuple[Instant, Instant]]:
        """When an assertion holds, after all ends: sorted, apart from each other, AFTER_ALL without end."""
        return merged(self.pieces(assertion, self.replaced([assertion]).get(assertion.assertion_id)))

    def is_decided(self, assertion: Assertion) -> bool:
        """Whether all that its document says was closed by decisions."""
        return all(end.cause < Cause.REPLACED for _, end in self.pieces(assertion, None))

    def is_closed(self, assertion: Assertion) -> bool:
        """Whether all that its document says was closed by a decision or by a newer document."""
        replaced = self.replaced([assertion]).get(assertion.assertion_id)
        return all(end.cause < Cause.FOLDED for _, end in self.pieces(assertion, replaced))

    def replaced(self, alike: Sequence[Assertion]) -> Mapping[AssertionId, End]:
        """For assertions of one side: which are ended by a document that replaced theirs, and where.

        A successor that says the same replaces nothing, its own successors then count (DESIGN 6).
        """
        book = self._book
        side, valued = book.side(alike[0]), alike[0].form != ""

        def ends_at(document: str) -> Instant | None:
            said = [a for a in book.by_voter.get(document, ()) if (a.form != "") is valued]
            if any(book.side(a) == side for a in said):
                return None
            return min((began(s) for a in said for s in a.statements), default=None)

        found = book.lineage.replaced([a.voter for a in alike], ends_at)
        return {
            a.assertion_id: End(found[a.voter][0], Cause.REPLACED, found[a.voter][1])
            for a in alike
            if a.voter in found
        }

    def _deciding(self, assertion: Assertion) -> list[Closing]:
        found = self._named.get(assertion.assertion_id, [])
        if self._wide and assertion.affirmed:
            forms = self._book.forms
            cluster = forms.cluster(assertion.form)
            found = found + [
                decided
                for form, group in self._wide.items()
                if form == assertion.form or (cluster != ASIDE and forms.cluster(form) == cluster)
                for decided in group
                if decided.decision.correction_id != assertion.decided_by
            ]
        return [(decided.decided_at, _by_decision(decided)) for decided in found]


def end_of(
    piece: Piece, deciding: Iterable[Closing], replaced: End | None, closed: Iterable[ClosedByFold] = ()
) -> End:
    """Where a piece ends. A decision counts for what was observed by then, however late it came.

    `deciding` are the decisions about the assertion, `replaced` is the end by a newer document.
    """
    observed_at = piece.statement.observed_at
    explicit = [end for decided_at, end in deciding if observed_at <= decided_at and end.at < piece.hi]
    ends = [min(explicit)] if explicit else []
    if not ends and replaced is not None and replaced.at < piece.hi:
        ends = [replaced]
    for fact in closed:
        lo = BEFORE_ALL if fact.lo is None else fact.lo
        if piece.lo < fact.hi < piece.hi and lo < piece.hi:
            cause = Cause.FOLDED if fact.reason in RETIRING else Cause.OVER
            ends.append(End(fact.hi, cause, fact.reason))
    return min([*ends, End(piece.hi, Cause.OVER)])


def _by_decision(decided: Decided) -> End:
    decision = decided.decision
    assert isinstance(decision, Supersede | Invalidate), "a link closes nothing"
    cause = Cause.SUPERSEDED if isinstance(decision, Supersede) else Cause.INVALIDATED
    return End(decision.valid_at, cause, decision.correction_id)


def merged(ended: Iterable[tuple[Piece, End]]) -> list[tuple[Instant, Instant]]:
    """The stretches that the pieces cover up to their ends, joined where they meet."""
    found: list[tuple[Instant, Instant]] = []
    for lo, hi in sorted((piece.lo, end.at) for piece, end in ended if piece.lo < end.at):
        if found and lo <= found[-1][1]:
            found[-1] = (found[-1][0], max(hi, found[-1][1]))
        else:
            found.append((lo, hi))
    return found


def overlap(one: Sequence[tuple[Instant, Instant]], other: Sequence[tuple[Instant, Instant]]) -> bool:
    """Whether some instant lies in a span of each."""
    return any(lo < other_hi and other_lo < hi for lo, hi in one for other_lo, other_hi in other)


def bound(at: Instant) -> Instant | None:
    """An end as it is shown: None where there is none."""
    return None if at == AFTER_ALL else at
