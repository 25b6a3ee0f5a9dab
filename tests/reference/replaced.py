"""What newer documents end, in the plain twin of the fold (DESIGN 6): asked of the full list each time.

Where the design leaves room, what is chosen: a document ends what its predecessors said where it begins to
say anything of the claim, objects apart from statements without one; where it says the same, its own
successors are asked. The statement that is named is the first of the document that ends it, of several the
one that was observed first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, TypeVar


class Spoken(Protocol):
    """A statement of the twin."""

    observation_id: str
    cluster: str | None
    affirmed: bool
    observed_at: int
    valid_from: int | None
    valid_to: int | None
    source: str | None
    document: str | None
    votes: bool
    replaces: str | None


S = TypeVar("S", bound=Spoken)


def ends_of(statements: list[S]) -> list[S]:
    """Return the statements, each with where a newer document ends it: when that spoke, and by what."""
    voting = [s for s in statements if s.votes]
    return [replace(s, until=_until(s, voting)) if s.votes else s for s in statements]  # type: ignore[type-var]


def _until(s: S, voting: list[S]) -> tuple[int, int, str] | None:
    found: list[tuple[int, str, int, str]] = []
    asked, seen = [_document(s)], {_document(s)}
    while asked:
        predecessor = asked.pop()
        newer = {_document(o) for o in voting if o.replaces and (o.source, o.replaces) == predecessor}
        for document in newer - seen:
            seen.add(document)
            spoken = [
                o for o in voting if _document(o) == document and (o.cluster is None) == (s.cluster is None)
            ]
            if not spoken or any((o.cluster, o.affirmed) == (s.cluster, s.affirmed) for o in spoken):
                asked.append(document)
                continue
            first = min(spoken, key=lambda o: (_first(o), o.observed_at, o.observation_id))
            found.append((_first(first), str(document), first.observed_at, first.observation_id))
    if not found:
        return None
    at, _, observed_at, by = min(found)
    return at, observed_at, by


def _document(s: Spoken) -> tuple[str | None, str]:
    return (s.source, s.document) if s.document is not None else (None, f"statement {s.observation_id}")


def _first(s: Spoken) -> int:
    if s.valid_from is None and s.valid_to is not None and s.observed_at >= s.valid_to:
        return s.valid_to - 1
    return s.observed_at if s.valid_from is None else s.valid_from
