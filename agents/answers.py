"""Every question that REST, the command line and MCP answer, once: words in, JSON out.

A question is a plain function of the read model and of now. Names come in any spelling, instants and windows
in words; what goes out can be written as JSON as it is. All surfaces call these functions and add nothing,
so that they cannot disagree. Nothing here writes, and nothing here knows HTTP.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import Connection

from agents import read_model
from agents.disputes import assertions_of
from agents.explaining import as_json
from agents.read_model import Document, FactFilter, Folding, Page, ReadModelError
from agents.read_model.asking import known_at_of, overlaps_of, valid_at_of
from agents.read_model.naming import find
from state.facts import State
from state.instants import Instant, format_instant
from state.names import normalise
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
        predicate=predicate,
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
    return _page(found)


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
    return _written(found)


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
    by = asked.known_at(known_at)
    if fact_id is not None or claim_id is not None:
        return _page(
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
            asked.connection, namespace=namespace, subject=subject, predicate=predicate, limit=1, cursor=at
        )

    def versions(about: str, left: int, at: str | None) -> Page[Any]:
        return read_model.history(asked.connection, claim_id=about, known_at=by, limit=left, cursor=at)

    return _page(_through(claims, versions, limit, cursor))


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
    read = read_model.claim_read(
        asked.connection,
        asked.folding,
        subject=subject,
        predicate=predicate,
        namespace=namespace,
        known_at=asked.known_at(known_at),
    )
    explanation = explain(read.statements, read.predicate, read.policy, read.cluster_of)
    verdict = None
    if object is not None:
        verdict = why_not(explanation, object, forms=read.forms, threshold=read.threshold)
    during = None if at is None else window(at, now=asked.now)
    return as_json(read, explanation, verdict, now=asked.now, during=during)


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
    return _page(read_model.evidence(asked.connection, claim_id, known_at=by, limit=limit, cursor=cursor))


def fact_evidence(asked: Asked, fact_id: str, *, known_at: str | None = None, limit: int = 100) -> Fields:
    """The newest statements for a fact, against it, and those that closed it. Raises ReadModelError."""
    by = asked.known_at(known_at)
    return _written(
        read_model.fact_evidence(asked.connection, asked.folding, fact_id, known_at=by, limit=limit)
    )


# -- names ------------------------------------------------------------------------------------


def subjects(
    asked: Asked,
    *,
    text: str = "",
    namespace: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """Subjects as someone types. Raises ReadModelError."""
    return _page(
        read_model.subjects(asked.connection, text=text, namespace=namespace, limit=limit, cursor=cursor)
    )


def claims(
    asked: Asked,
    *,
    namespace: str | None = None,
    subject: str | None = None,
    predicate: str | None = None,
    known_at: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """Claims by name. Raises ReadModelError, BadInstant."""
    return _page(
        read_model.claims(
            asked.connection,
            namespace=namespace,
            subject=subject,
            predicate=predicate,
            known_at=asked.known_at(known_at),
            limit=limit,
            cursor=cursor,
        )
    )


def claim(asked: Asked, claim_id: str, *, known_at: str | None = None) -> Fields:
    """One claim by its id. Raises ReadModelError `no_such_claim`, BadInstant."""
    return _written(read_model.claim(asked.connection, claim_id, known_at=asked.known_at(known_at)))


# -- links ------------------------------------------------------------------------------------


def links(
    asked: Asked,
    *,
    namespace: str | None = None,
    subject: str | None = None,
    predicate: str | None = None,
    claim_id: str | None = None,
    assertion_id: str | None = None,
    kind: str | None = None,
    known_at: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """Links as they were published, newest first: of a claim, by id or by its names, or of an assertion.

    Raises NoSuchClaim where `subject` and `predicate` name none; ReadModelError, BadInstant.
    """
    by = asked.known_at(known_at)
    if claim_id is None and subject is not None and predicate is not None:
        named = find(asked.connection, subject=subject, predicate=predicate, namespace=namespace, known_at=by)
        claim_id = named.claim_id
    found = read_model.links(
        asked.connection,
        claim_id=claim_id,
        assertion_id=assertion_id,
        kind=kind,
        known_at=by,
        limit=limit,
        cursor=cursor,
    )
    return _bodies(found)


def assertions(
    asked: Asked,
    *,
    subject: str,
    predicate: str,
    namespace: str | None = None,
    valid_at: str | None = None,
    known_at: str | None = None,
) -> Fields:
    """Who says what about a claim, and what that is at an instant: current, conflicting, superseded, ….

    Without `valid_at` at `known_at`, else now. Raises NoSuchClaim, ReadModelError, BadInstant.
    """
    by = asked.known_at(known_at)
    at = asked.valid_at(valid_at)
    named = find(asked.connection, subject=subject, predicate=predicate, namespace=namespace, known_at=by)
    at = at if at is not None else by if by is not None else asked.now
    states = assertions_of(asked.connection, asked.folding, named, valid_at=at, known_at=by)
    return {
        "claim_id": named.claim_id,
        "namespace": named.namespace,
        "subject": named.subject,
        "predicate": named.predicate,
        "valid_at": format_instant(at),
        "known_at": None if by is None else format_instant(by),
        "items": [
            {
                **_written(state),
                "valid_from": format_instant(state.valid_from),
                "valid_to": None if state.valid_to is None else format_instant(state.valid_to),
            }
            for state in states
        ],
    }


# -- drift, cycles, rules ---------------------------------------------------------------------


def unstable(asked: Asked, *, names: Sequence[str] | None = None, namespace: str | None = None) -> Fields:
    """Whose facts keep being retired: of these names, in any spelling, or of all.

    With names there is one item for each of them, in their order; without, one for each unstable subject.
    `alert` is the newest that says so. Raises ReadModelError `bad_limit`.
    """
    found = read_model.unstable(asked.connection, namespace=namespace, names=names)
    if names is None:
        items = [_unstable(alert.body["subject"], [alert]) for alert in found]
    else:
        by_name: dict[str, list[Document]] = {}
        for alert in found:
            by_name.setdefault(normalise(alert.body["subject"]), []).append(alert)
        items = [_unstable(name, by_name.get(normalise(name), [])) for name in names]
    return {"now": format_instant(asked.now), "items": items}


def _unstable(name: str, alerts: list[Document]) -> Fields:
    return {"name": name, "unstable": bool(alerts), "alerts": [alert.body for alert in alerts]}


def drift_alerts(
    asked: Asked,
    *,
    namespace: str | None = None,
    subject: str | None = None,
    known_at: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """Transitions to unstable and back, newest first. Raises ReadModelError, BadInstant."""
    return _bodies(
        read_model.drift_alerts(
            asked.connection,
            namespace=namespace,
            subject=subject,
            known_at=asked.known_at(known_at),
            limit=limit,
            cursor=cursor,
        )
    )


def cycles(
    asked: Asked, *, known_at: str | None = None, limit: int = 50, cursor: str | None = None
) -> Fields:
    """Audit records, newest first. Raises ReadModelError, BadInstant."""
    by = asked.known_at(known_at)
    return _bodies(read_model.cycles(asked.connection, known_at=by, limit=limit, cursor=cursor))


def cycle(asked: Asked, number: int) -> Fields | None:
    """The audit record of one cycle, None where there is none."""
    found = read_model.cycles(asked.connection, cycle=number, limit=1)
    return found.items[0].body if found.items else None


def rules(
    asked: Asked,
    *,
    namespace: str | None = None,
    standing: str | None = None,
    known_at: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """The newest event of every rule. Raises ReadModelError, BadInstant."""
    return _bodies(
        read_model.rules(
            asked.connection,
            namespace=namespace,
            state=standing,
            known_at=asked.known_at(known_at),
            limit=limit,
            cursor=cursor,
        )
    )


def rule_events(
    asked: Asked,
    *,
    rule_id: str | None = None,
    namespace: str | None = None,
    known_at: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Fields:
    """Every step in the life of rules, newest first. Raises ReadModelError, BadInstant."""
    return _bodies(
        read_model.rule_events(
            asked.connection,
            rule_id=rule_id,
            namespace=namespace,
            known_at=asked.known_at(known_at),
            limit=limit,
            cursor=cursor,
        )
    )


# -- as JSON ----------------------------------------------------------------------------------


def _written(item: Any) -> Fields:
    found: Fields = msgspec.to_builtins(item)
    return found


def _page(found: Page[Any]) -> Fields:
    return {
        "items": [msgspec.to_builtins(item) for item in found.items],
        "next": found.next,
        "incomplete": found.incomplete,
    }


def _bodies(found: Page[Document]) -> Fields:
    """A page of records as they were published."""
    return {"items": [item.body for item in found.items], "next": found.next, "incomplete": found.incomplete}
