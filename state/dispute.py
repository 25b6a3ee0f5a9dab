"""Disputes: which assertions conflict at one instant, and which of them is shown first.

A dispute is everything that is connected by conflicts at that instant. `preferred` orders its presentation
and `basis` says by what; neither removes anything nor decides who is right (DESIGN 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from state.assertions import Assertion, AssertionId, Book
from state.corrections import Relate
from state.fold_state import Side
from state.instants import Instant
from state.links import LinkKind, Verdicts, conflict


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """An assertion that holds at the instant of the question, and what it is ranked by."""

    assertion: Assertion
    extracted: bool
    confidence: float
    valid_from: Instant


class Dispute(msgspec.Struct, frozen=True, kw_only=True):
    """One dispute: its members by rank, the first of which is preferred, and why it is."""

    members: tuple[AssertionId, ...]
    basis: str

    @property
    def preferred(self) -> AssertionId:
        """What is shown first."""
        return self.members[0]


def disputes(book: Book, verdicts: Verdicts, standing: Sequence[Standing]) -> list[Dispute]:
    """All disputes among assertions that hold at one instant.

    Cost: each assertion once, and besides that only pairs that could conflict and do not, being of one
    lineage or reconciled by a link.
    """
    by_id = {one.assertion.assertion_id: one for one in standing}
    groups = _Groups(book, [one.assertion for one in standing])
    named: dict[AssertionId, list[Assertion]] = {}
    for source, target in verdicts.pairs:
        if source in by_id and target in by_id:
            named.setdefault(source, []).append(by_id[target].assertion)
            named.setdefault(target, []).append(by_id[source].assertion)
    found: list[Dispute] = []
    seen: set[AssertionId] = set()
    for one in standing:
        if one.assertion.assertion_id in seen:
            continue
        members = _connected(one.assertion, groups, named, lambda a, b: conflict(book, verdicts, a, b), seen)
        if len(members) > 1:
            found.append(_ranked(book, [by_id[member.assertion_id] for member in members]))
    return found


def _connected(
    start: Assertion,
    groups: _Groups,
    named: dict[AssertionId, list[Assertion]],
    are_in_conflict: Callable[[Assertion, Assertion], bool],
    seen: set[AssertionId],
) -> list[Assertion]:
    """Everything that conflicts with `start`, directly or by others; enters it into `seen`."""
    seen.add(start.assertion_id)
    groups.remove(start)
    members, waiting = [start], [start]
    while waiting:
        one = waiting.pop()
        named_here = [other for other in named.get(one.assertion_id, ()) if other.assertion_id not in seen]
        for other in [*groups.possible(one), *named_here]:
            if other.assertion_id not in seen and are_in_conflict(one, other):
                seen.add(other.assertion_id)
                groups.remove(other)
                members.append(other)
                waiting.append(other)
    return members


class _Groups:
    """The assertions that no dispute has reached yet, by side and lineage: rivals are found in groups."""

    def __init__(self, book: Book, assertions: Iterable[Assertion]) -> None:
        self._book = book
        self._held: dict[Side, dict[str, dict[AssertionId, Assertion]]] = {}
        self._values_are_rivals = book.predicate.declared and not book.predicate.is_multi
        for assertion in assertions:
            side, lineage = self._place(assertion)
            group = self._held.setdefault(side, {}).setdefault(lineage, {})
            group[assertion.assertion_id] = assertion
        # A link about values can set against each other what is at peace by itself.
        self._is_open = any(
            decided.is_wide
            and isinstance(decided.decision, Relate)
            and decided.decision.kind == LinkKind.CONTRADICTS
            for decided in book.decided.values()
        )

    def _place(self, assertion: Assertion) -> tuple[Side, str]:
        return self._book.side(assertion), self._book.lineage.leader(assertion.voter)

    def remove(self, assertion: Assertion) -> None:
        side, lineage = self._place(assertion)
        group = self._held[side][lineage]
        del group[assertion.assertion_id]
        if not group:
            del self._held[side][lineage]
        if not self._held[side]:
            del self._held[side]

    def possible(self, assertion: Assertion) -> list[Assertion]:
        """Those that may conflict with an assertion: of another side, and of another lineage."""
        own_side, own_lineage = self._place(assertion)
        return [
            other
            for side, lineages in self._held.items()
            if side != own_side and (self._is_open or self._may_be_rivals(own_side, side))
            for lineage, group in lineages.items()
            if lineage != own_lineage or self._is_open
            for other in group.values()
        ]

    def _may_be_rivals(self, one: Side, other: Side) -> bool:
        return one[0] == other[0] or (one[1] and other[1] and self._values_are_rivals)


# -- presentation ---------------------------------------------------------------------------

_REASONS: Final = ("direct over extracted", "higher confidence", "later valid_from", "smaller id")
_TIES: Final = (
    "",
    " (equal category)",
    " (equal category and confidence)",
    " (equal category, confidence and valid_from)",
)


def _rank(one: Standing) -> tuple[bool, float, int, AssertionId]:
    return (one.extracted, -one.confidence, -one.valid_from, one.assertion.assertion_id)


def _ranked(book: Book, members: list[Standing]) -> Dispute:
    members.sort(key=_rank)
    best = members[0]
    side = book.side(best.assertion)
    # What is preferred is a value: the runner-up is the best that says something else.
    rival = next((one for one in members if book.side(one.assertion) != side), members[1])
    decides = next(n for n, (a, b) in enumerate(zip(_rank(best), _rank(rival), strict=True)) if a != b)
    basis = f"{_REASONS[decides]}{_TIES[decides]}; the conflict remains unresolved"
    return Dispute(members=tuple(one.assertion.assertion_id for one in members), basis=basis)
