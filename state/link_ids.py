"""The ids of the links that rows of a claim gave rise to, so that they can be taken back out of a topic.

Derived from the rows, since links are published and not kept. Of an inferred link the rows do not say which
of the two is its start, so both ids are named; one of them was never published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from state.assertions import Book, Decided, Row, Said, assertion_id
from state.decisions import links_of
from state.identity import ClaimId, derive
from state.noticing import PACKED_BYTES
from state.predicates import Predicate
from state.statements import voter


def ids_of_links(claim: ClaimId, predicate: Predicate, rows: Iterable[Row]) -> list[str]:
    """Ids of every link that was published because of these rows, and of some that never were; in order."""
    book = Book(claim, predicate)
    found: set[str] = set()
    for row in rows:
        if isinstance(row, Said):
            found.update(_noticed(claim, row))
        elif isinstance(row, Decided):
            found.update(link.link_id for link in links_of(book, row, policy_version=""))
    return sorted(found)


def _noticed(claim: ClaimId, row: Said) -> Iterator[str]:
    said = row.statement
    own = assertion_id(claim, voter(said), said.form, affirmed=said.affirmed)
    for kind, packed in row.noticed.items():
        for start in range(0, len(packed), PACKED_BYTES):
            other = str(UUID(bytes=packed[start : start + PACKED_BYTES]))
            yield derive("link", kind, own, other)
            yield derive("link", kind, other, own)
