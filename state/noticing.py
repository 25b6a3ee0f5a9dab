"""Noticing: which inferred links an arriving statement gives rise to.

Looks for the partners of one assertion among those that are there, and at each of them as little as it can.
Links are the trail of when a relation was noticed, so the search is bounded: a claim that disagrees ten
thousand times publishes no fifty million links. No answer depends on a link (`state.lifecycle`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Final

from state.assertions import Assertion, AssertionId, Book
from state.endings import Endings, overlap
from state.fold_state import AFTER_ALL
from state.instants import Instant
from state.links import (
    LinkKind,
    Verdicts,
    agree,
    are_independent,
    are_rivals,
    beginning,
    later_first,
)

CONTRADICTED_MAX: Final = 16  # `contradicts` links that one arrival gives rise to; the newest rivals first
PACKED_BYTES: Final = 16  # of an id
EXAMINED_MAX: Final = 256  # assertions that one arrival is compared with, for each kind of link

Hull = tuple[Instant, Instant, AssertionId]
"""(first instant, last end, assertion): the stretch outside which an assertion says nothing."""

Found = tuple[LinkKind, Assertion, Assertion]
"""A relation: its kind, the assertion it starts from, and the other."""


class _Group:
    """The hulls of the assertions of one form and polarity: those without end, and those with one."""

    def __init__(self) -> None:
        self.unbounded: list[Hull] = []
        self.bounded: list[tuple[Instant, Hull]] = []

    def put(self, hull: Hull) -> None:
        if hull[1] == AFTER_ALL:
            insort(self.unbounded, hull)
        else:
            insort(self.bounded, (hull[1], hull))

    def take(self, hull: Hull) -> None:
        held: list[Hull] | list[tuple[Instant, Hull]] = self.unbounded
        entry: Hull | tuple[Instant, Hull] = hull
        if hull[1] != AFTER_ALL:
            held, entry = self.bounded, (hull[1], hull)
        del held[bisect_left(held, entry)]

    def unending(self, hull: Hull, *, newest_first: bool = False) -> Iterator[Hull]:
        """The hulls without end that overlap one, in order of their start."""
        n = bisect_left(self.unbounded, (hull[1],))
        for index in reversed(range(n)) if newest_first else range(n):
            yield self.unbounded[index]

    def ending(self, hull: Hull) -> Iterator[Hull]:
        """The hulls with an end that overlap one, in order of their end."""
        after = bisect_right(self.bounded, (hull[0], (AFTER_ALL,)))
        for index in range(after, len(self.bounded)):
            if self.bounded[index][1][0] < hull[1]:
                yield self.bounded[index][1]


class Watch:
    """The open assertions of a book, so arranged that the partners of a new one are found without a scan.

    Remembers which pairs were linked, and which assertions a document was noticed to have replaced (those are
    settled). An assertion that was closed is looked at no more: what it costs is its row.
    """

    def __init__(self, book: Book, endings: Endings) -> None:
        self._book = book
        self._endings = endings
        self._groups: dict[str, tuple[_Group, _Group]] = {}
        self._hulls: dict[AssertionId, Hull] = {}
        self._forms: list[str] = []
        self._confirmed_ids: set[bytes] = set()
        self._contradicted_pairs: set[bytes] = set()
        self._settled_ids: set[bytes] = set()

    def watch(self, assertion: Assertion) -> None:
        """Enter an assertion as it is now, or again after it changed; a closed one is left out."""
        self.leave(assertion)
        if packed(assertion.assertion_id) in self._settled_ids or self._endings.is_decided(assertion):
            return
        pieces = self._book.pieces(assertion)
        hull = (
            min(piece.lo for piece in pieces),
            max(piece.hi for piece in pieces),
            assertion.assertion_id,
        )
        self._hulls[assertion.assertion_id] = hull
        if assertion.form not in self._groups:
            self._groups[assertion.form] = (_Group(), _Group())
            insort(self._forms, assertion.form)
        self._groups[assertion.form][assertion.affirmed].put(hull)

    def leave(self, assertion: Assertion) -> None:
        """Look at an assertion no more."""
        hull = self._hulls.pop(assertion.assertion_id, None)
        if hull is None:
            return
        groups = self._groups[assertion.form]
        groups[assertion.affirmed].take(hull)
        if not any(group.unbounded or group.bounded for group in groups):
            del self._groups[assertion.form]
            del self._forms[bisect_left(self._forms, assertion.form)]

    def remember(self, assertion: AssertionId, noticed: Mapping[str, bytes]) -> None:
        """Take over what was noticed before (`state.assertions.Said`)."""
        own = packed(assertion)
        for kind, packed_ids in noticed.items():
            others = [packed_ids[n : n + PACKED_BYTES] for n in range(0, len(packed_ids), PACKED_BYTES)]
            if kind == LinkKind.CONFIRMS:
                self._confirmed_ids.update((own, *others))
            elif kind == LinkKind.CONTRADICTS:
                self._contradicted_pairs.update(_pair(own, other) for other in others)
            else:
                self._settled_ids.update(others)

    def partners(self, assertion: Assertion, verdicts: Verdicts) -> list[Found]:
        """The relations of an assertion to those that are there, and were not noticed before."""
        hull = self._hulls.get(assertion.assertion_id)
        if hull is None or not self._book.takes_side(assertion):
            return []
        found = self._contradicted(assertion, hull, verdicts)
        if packed(assertion.assertion_id) not in self._confirmed_ids:
            found = [*self._confirmed(assertion, hull), *found]
        return found

    def _confirmed(self, assertion: Assertion, hull: Hull) -> list[Found]:
        """The earliest open assertion that says the same, if there is one: n sources make n − 1 links."""
        spans = self._endings.spans(assertion)
        found: list[Assertion] = []
        for form in self._forms_alike(assertion):
            group = self._groups[form][assertion.affirmed]
            unending = (self._book.assertions[name] for *_, name in group.unending(hull))
            ending = (self._book.assertions[name] for *_, name in group.ending(hull))
            first = next(
                (a for a in islice(unending, EXAMINED_MAX) if self._agrees(assertion, a, spans)), None
            )
            found += [] if first is None else [first]
            found += [a for a in islice(ending, EXAMINED_MAX) if self._agrees(assertion, a, spans)]
        if not found:
            return []
        earliest = min(found, key=lambda a: (beginning(a), a.assertion_id))
        self._confirmed_ids |= {packed(assertion.assertion_id), packed(earliest.assertion_id)}
        return [(LinkKind.CONFIRMS, *later_first(assertion, earliest))]

    def _agrees(self, assertion: Assertion, other: Assertion, spans: list[tuple[Instant, Instant]]) -> bool:
        return (
            agree(self._book, assertion, other)
            and self._are_partners(assertion, other, spans)
            and not self._endings.is_closed(other)
        )

    def _contradicted(self, assertion: Assertion, hull: Hull, verdicts: Verdicts) -> list[Found]:
        """The newest open rivals, at most `CONTRADICTED_MAX`."""
        if not self._book.predicate.declared:
            return []
        spans, own = self._endings.spans(assertion), packed(assertion.assertion_id)
        found: list[Found] = []
        for n_examined, name in enumerate(self._rivals(assertion, hull)):
            if n_examined >= EXAMINED_MAX or len(found) >= CONTRADICTED_MAX:
                break
            other = self._book.assertions[name]
            pair = _pair(own, packed(name))
            if (
                pair not in self._contradicted_pairs
                and are_rivals(self._book, assertion, other)
                and self._are_partners(assertion, other, spans)
                and verdicts.of(assertion, other) is None
            ):
                self._contradicted_pairs.add(pair)
                found.append((LinkKind.CONTRADICTS, *later_first(assertion, other)))
        return found

    def _rivals(self, assertion: Assertion, hull: Hull) -> Iterator[AssertionId]:
        """Assertions that may be rivals: the opposite polarity of the same value, then other values."""
        alike = self._forms_alike(assertion)
        for form in alike:
            yield from self._touching(self._groups[form][not assertion.affirmed], hull)
        if not assertion.affirmed or self._book.predicate.is_multi:
            return
        for form in self._forms:
            if form not in alike:
                yield from self._touching(self._groups[form][True], hull)

    def _touching(self, group: _Group, hull: Hull) -> Iterator[AssertionId]:
        for *_, name in chain(group.unending(hull, newest_first=True), group.ending(hull)):
            yield name

    def _forms_alike(self, assertion: Assertion) -> list[str]:
        """The forms of the assertion's cluster that have open assertions."""
        forms = self._book.forms
        cluster = forms.cluster(assertion.form)
        alike = {assertion.form, cluster, *(f for f, c in forms.cluster_of.items() if c == cluster)}
        return sorted(form for form in alike if form in self._groups and forms.cluster(form) == cluster)

    def _are_partners(
        self, assertion: Assertion, other: Assertion, spans: list[tuple[Instant, Instant]]
    ) -> bool:
        return (
            other is not assertion
            and are_independent(self._book, assertion, other)
            and overlap(spans, self._endings.spans(other))
        )

    # -- documents that replace others ------------------------------------------------------

    def replaced(self, document: str) -> list[Found]:
        """What a document has replaced of its predecessors, or its successors of it; each told once."""
        lineage = self._book.lineage
        found: list[Found] = []
        for predecessor in lineage.predecessors(document):
            found += self._replaced_by(predecessor, document)
        for successor in lineage.successors(document):
            found += self._replaced_by(document, successor)
        return found

    def _replaced_by(self, document: str, successor: str) -> list[Found]:
        found: list[Found] = []
        for assertion in self._book.by_voter.get(document, ()):
            if packed(assertion.assertion_id) in self._settled_ids:
                continue
            end = self._endings.replaced([assertion]).get(assertion.assertion_id)
            if end is None or end.by != successor:
                continue
            self._settled_ids.add(packed(assertion.assertion_id))
            self.leave(assertion)
            newer = min(
                (a for a in self._book.by_voter[successor] if (a.form == "") is (assertion.form == "")),
                key=lambda a: (beginning(a), a.assertion_id),
            )
            found.append((LinkKind.SUPERSEDES, newer, assertion))
        return found


def packed(name: AssertionId) -> bytes:
    """An id in the 16 bytes in which it is kept beside a statement."""
    return bytes.fromhex(name.replace("-", ""))


def _pair(one: bytes, other: bytes) -> bytes:
    return one + other if one < other else other + one
