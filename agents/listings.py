"""What REST, command line and MCP answer about names, links, drift, cycles, rules; as `agents.answers`."""

from __future__ import annotations

from collections.abc import Sequence

from agents import read_model
from agents.answers import Asked, Fields, page_of, written
from agents.disputes import assertions_of
from agents.read_model import Document, Page
from agents.read_model.naming import find
from state.instants import format_instant
from state.names import normalise

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
    return page_of(
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
    return page_of(
        read_model.claims(
            asked.connection,
            namespace=namespace,
            subject=subject,
            predicate=asked.folding.meant(predicate),
            known_at=asked.known_at(known_at),
            limit=limit,
            cursor=cursor,
        )
    )


def claim(asked: Asked, claim_id: str, *, known_at: str | None = None) -> Fields:
    """One claim by its id. Raises ReadModelError `no_such_claim`, BadInstant."""
    return written(read_model.claim(asked.connection, claim_id, known_at=asked.known_at(known_at)))


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
    by, meant = asked.known_at(known_at), asked.folding.meant(predicate)
    if claim_id is None and subject is not None and meant is not None:
        named = find(asked.connection, subject=subject, predicate=meant, namespace=namespace, known_at=by)
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
    meant = asked.folding.meant(predicate) or predicate
    named = find(asked.connection, subject=subject, predicate=meant, namespace=namespace, known_at=by)
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
                **written(state),
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


def _bodies(found: Page[Document]) -> Fields:
    """A page of records as they were published."""
    return {"items": [item.body for item in found.items], "next": found.next, "incomplete": found.incomplete}
