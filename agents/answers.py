"""What REST, the command line and MCP answer about facts, once: words in, JSON out.

A question is a plain function of the read model and of now. Names come in any spelling, instants and windows
in words; what goes out can be written as JSON as it is. All surfaces call these functions and add nothing,
so that they cannot disagree; `agents.listings` answers about all else. Nothing here writes or knows HTTP.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import Connection

from agents import read_model
from agents.claims import ClaimRead
from agents.explaining import as_json
from agents.read_model import FactFilter, Folding, Page, ReadModelError
from agents.read_model.asking import known_at_of, overlaps_of, valid_at_of
from state.explanation import Explanation
from state.facts import State
from state.instants import Instant
from state.statements import Spelling
from state.why import explain
from state.why_not import why_not
from state.windows import window

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """Of what a question is asked: one state of the read model, today's way to fold, and now."""

    connection: Connection
    folding: Folding
    now: Instant

    def valid_at(self, words: str | None) -> Instant | None:
        """The instant that words mean for the world. Raises BadInstant."""
        return None if words is None else valid_at_of(words, now=self.now)

    def known_at(self, words: str | None) -> Instant | None:
        """The instant that words mean for us. Raises BadInstant."""
        return None if words is None else known_at_of(words, now=self.now)


# -- facts ------------------------------------------------------------------------------------


def facts(
    asked: Asked,
    *,
    namespace: str | None = None,
    subject: str | None = None,
    predicate: str | None = None,
    object: Spelling | None = None,  # noqa: A002 the word of the observation
    claim_id: str | None = None,
    state: str | None = None,
    contested: bool | None = None,
    withdrawn: bool = False,
    valid_at: str | None = None,
    known_at: str | None = None,
    overlaps: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """What is believed, or was by `known_at`, about what is true, or was at `valid_at` or within `overlaps`.

    Raises BadInstant, BadInterval, ReadModelError.
    """
    wanted = FactFilter(
        namespace=namespace,
        subject=subject,
        predicate=asked.folding.meant(predicate),
        object=object,
        claim_id=claim_id,
        state=None if state is None else State(state),
        contested=contested,
        overlaps=None if overlaps is None else overlaps_of(overlaps, now=asked.now),
        with_withdrawn=withdrawn,
    )
    found = read_model.facts(
        asked.connection,
        asked.folding,
        wanted,
        now=asked.now,
        valid_at=asked.valid_at(valid_at),
        known_at=asked.known_at(known_at),
        limit=limit,
        cursor=cursor,
    )
    return page_of(found)


def fact(asked: Asked, fact_id: str, *, valid_at: str | None = None, known_at: str | None = None) -> Fields:
    """One fact by its id. Raises ReadModelError `no_such_fact`, BadInstant."""
    found = read_model.fact(
        asked.connection,
        asked.folding,
        fact_id,
        now=asked.now,
        valid_at=asked.valid_at(valid_at),
        known_at=asked.known_at(known_at),
    )
    return written(found)


def history(
    asked: Asked,
    *,
    namespace: str | None = None,
    subject: str | None = None,
    predicate: str | None = None,
    claim_id: str | None = None,
    fact_id: str | None = None,
    known_at: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """Every version as it was published: of a fact, of a claim, or of all claims about a subject, in turn.

    Raises ReadModelError, BadInstant.
    """
    by, meant = asked.known_at(known_at), asked.folding.meant(predicate)
    if fact_id is not None or claim_id is not None:
        return page_of(
            read_model.history(
                asked.connection,
                claim_id=None if fact_id is not None else claim_id,
                fact_id=fact_id,
                known_at=by,
                limit=limit,
                cursor=cursor,
            )
        )

    def claims(at: str | None) -> Page[Any]:
        return read_model.claims(
            asked.connection, namespace=namespace, subject=subject, predicate=meant, limit=1, cursor=at
        )

    def versions(about: str, left: int, at: str | None) -> Page[Any]:
        return read_model.history(asked.connection, claim_id=about, known_at=by, limit=left, cursor=at)

    return page_of(_through(claims, versions, limit, cursor))


def _through(
    claims: Callable[[str | None], Page[Any]],
    within: Callable[[str, int, str | None], Page[Any]],
    limit: int,
    cursor: str | None,
) -> Page[Any]:
    """The items of one claim after the other. A cursor holds that before the claim, and that within it.

    A page may be short, or empty, where many claims had nothing to tell; it then has a next one.
    """
    before, inner = _places(cursor)
    items: list[Any] = []
    incomplete = False
    for _ in range(CLAIMS_AT_ONCE):
        page = claims(before)
        if not page.items:
            return Page(items, None, incomplete)
        found = within(page.items[0].claim_id, limit - len(items), inner)
        items += found.items
        incomplete = incomplete or found.incomplete
        if found.next is not None:
            return Page(items, _place(before, found.next), incomplete)
        if page.next is None:
            return Page(items, None, incomplete)
        before, inner = page.next, None
        if len(items) == limit:
            break
    return Page(items, _place(before, None), incomplete)


CLAIMS_AT_ONCE: Final = 1_000
"""Claims that one page of a history looks into: a bound on its cost where most have nothing to tell."""


def _place(before: str | None, inner: str | None) -> str:
    packed = msgspec.json.encode(["history", before, inner])
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def _places(cursor: str | None) -> tuple[str | None, str | None]:
    if cursor is None:
        return None, None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        kind, before, inner = msgspec.json.decode(
            base64.b64decode(padded, altchars=b"-_", validate=True), type=tuple[str, str | None, str | None]
        )
    except (ValueError, binascii.Error, msgspec.DecodeError):
        kind, before, inner = "", None, None
    if kind != "history":
        raise ReadModelError("bad_cursor", "The cursor does not come from this question; start without one.")
    return before, inner


# -- why --------------------------------------------------------------------------------------


def why(
    asked: Asked,
    *,
    subject: str,
    predicate: str,
    namespace: str | None = None,
    object: Spelling | None = None,  # noqa: A002
    at: str | None = None,
    known_at: str | None = None,
) -> Fields:
    """Why the facts of a claim are what they are; with `object` also what became of that value.

    Raises NoSuchClaim, with near names; ReadModelError, BadInstant, BadInterval.
    """
    read, explanation = explained(
        asked, subject=subject, predicate=predicate, namespace=namespace, known_at=known_at
    )
    verdict = None
    if object is not None:
        verdict = why_not(explanation, object, forms=read.forms, threshold=read.threshold)
    during = None if at is None else window(at, now=asked.now)
    return as_json(read, explanation, verdict, now=asked.now, during=during)


def explained(
    asked: Asked,
    *,
    subject: str,
    predicate: str,
    namespace: str | None = None,
    known_at: str | None = None,
) -> tuple[ClaimRead, Explanation]:
    """A claim as it was known, and what explains its facts, for whoever tells it in other words.

    Raises NoSuchClaim, ReadModelError, BadInstant.
    """
    read = read_model.claim_read(
        asked.connection,
        asked.folding,
        subject=subject,
        predicate=predicate,
        namespace=namespace,
        known_at=asked.known_at(known_at),
    )
    return read, explain(read.statements, read.predicate, read.policy, read.cluster_of)


def evidence(
    asked: Asked,
    claim_id: str,
    *,
    known_at: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """Every statement of a claim, counting or not. Raises ReadModelError, BadInstant."""
    by = asked.known_at(known_at)
    return page_of(read_model.evidence(asked.connection, claim_id, known_at=by, limit=limit, cursor=cursor))


def fact_evidence(asked: Asked, fact_id: str, *, known_at: str | None = None, limit: int = 100) -> Fields:
    """The newest statements for a fact, against it, and those that closed it. Raises ReadModelError."""
    by = asked.known_at(known_at)
    return written(
        read_model.fact_evidence(asked.connection, asked.folding, fact_id, known_at=by, limit=limit)
    )


# -- as JSON ----------------------------------------------------------------------------------


def written(item: Any) -> Fields:
    found: Fields = msgspec.to_builtins(item)
    return found


def page_of(found: Page[Any]) -> Fields:
    return {
        "items": [msgspec.to_builtins(item) for item in found.items],
        "next": found.next,
        "incomplete": found.incomplete,
    }
