"""One piece of evidence, as the fold reads it, and the two orders that the fold depends on.

A statement is an observation after validation and typing: everything that decides a fact, and
nothing that does not (the verbatim content stays in the log). It never changes.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NewType

import msgspec

from state.instants import Instant

Place = tuple[Instant, Instant]
"""(effective time, observed_at): what "later", "latest" and "newest" mean everywhere in the fold."""

DocumentName = tuple[str | None, str]
"""(source, document): names a document within its claim."""

Spelling = str | int | float | bool
"""An object as its source wrote it."""

ObservationId = NewType("ObservationId", str)


class Statement(msgspec.Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """One observation of one claim.

    Instants are milliseconds since 1970, UTC. `valid_from` and `valid_to` are None where the
    observation gave none; `valid_to` is exclusive. `form` is the key of the typed object
    (`state.objects`), "" for a statement without object. `votes` is False for our own output fed
    back (`origin`), which never counts for or against anything, and for decisions, which are no votes:
    their `verdict` says what they do (`state.decided`), and `reason` why. `cycle` is the one in which it
    arrived, kept only where votes are counted by cycle (`Policy.by_cycle`).
    """

    effective_at: Instant
    observed_at: Instant
    observation_id: ObservationId
    form: str
    affirmed: bool
    spelling: Spelling | None
    source: str | None
    document: str | None
    valid_from: Instant | None
    valid_to: Instant | None
    lo_granularity: str
    hi_granularity: str | None
    confidence: float
    extracted: bool
    supersedes: str | None
    votes: bool
    subject: str
    predicate: str
    recorded_at: Instant
    content_hash: str
    verdict: str = ""
    reason: str | None = None
    cycle: int = 0

    @property
    def place(self) -> Place:
        """Where the statement stands in time; ties are real ties and are never broken by id."""
        return (self.effective_at, self.observed_at)

    @property
    def is_late_end(self) -> bool:
        """True for a statement that only says when something ended, said afterwards (DESIGN 4.6)."""
        return self.valid_to is not None and self.valid_from is None and self.observed_at >= self.valid_to


def position(statement: Statement) -> Instant:
    """The instant at which the fold meets a statement: its effective time, or the end that it reports."""
    end = statement.valid_to
    return end if end is not None and statement.is_late_end else statement.effective_at


def order(statement: Statement) -> tuple[Instant, Instant, str]:
    """The order of evidence: position, observed_at, then the id so that it is total."""
    return (position(statement), statement.observed_at, statement.observation_id)


def voter(statement: Statement) -> str:
    """Who casts this vote: the document, or the statement itself where there is none.

    Starts with "d" for a document and with "o" for a statement; the length of the source keeps
    ("a", "bc") and ("ab", "c") apart.
    """
    source, document = statement.source, statement.document
    if document is None:
        return "o" + statement.observation_id
    return "d:" + document if source is None else f"d{len(source)}:{source}{document}"


def voter_of(name: DocumentName) -> str:
    """The voter that a document is."""
    source, document = name
    return "d:" + document if source is None else f"d{len(source)}:{source}{document}"


def document_of(who: str) -> DocumentName:
    """Source and document of a voter that is a document."""
    length, _, rest = who[1:].partition(":")
    if not length:
        return None, rest
    return rest[: int(length)], rest[int(length) :]


def restatement_key(statement: Statement) -> Hashable | None:
    """What makes two statements of one document the same statement under two ids, or None.

    An export that is imported again carries new ids but the same documents and instants; such a
    statement is a duplicate and counts nowhere (CASES F34). Without a document there is nothing to
    recognise it by, and each id is a statement of its own.
    """
    if statement.document is None:
        return None
    return (
        statement.form,
        statement.affirmed,
        statement.source,
        statement.document,
        statement.observed_at,
        statement.valid_from,
        statement.valid_to,
    )
