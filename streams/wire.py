"""Facts, events and dead letters as JSON: the one place that writes them.

Written with msgspec from the domain's own records, since every event passes here; `streams.events`
describes the same shapes as pydantic models, and tests hold the two together.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from state import interval
from state.changes import Change
from state.episodes import Reason
from state.facts import Fact, State
from state.identity import derive, event_id
from state.instants import Granularity, Instant, format_instant, parse_instant
from state.interval import Bound, Certainty, Interval
from state.links import Link
from state.statements import Statement
from state.stored_claim import Claim
from streams.events import SCHEMA_VERSION
from streams.host import Record

_encode: Final = msgspec.json.Encoder().encode


def valid_fields(fact: Fact) -> dict[str, str | None]:
    """The validity interval as published: ISO instants, or null for a bound that is not known."""
    certainty = fact.certainty.value
    return {
        "lo": None if fact.lo is None else format_instant(fact.lo),
        "hi": None if fact.hi is None else format_instant(fact.hi),
        "lo_granularity": None if fact.lo is None else fact.lo_granularity,
        "hi_granularity": None if fact.hi is None else fact.hi_granularity,
        "lo_certainty": None if fact.lo is None else certainty,
        "hi_certainty": None if fact.hi is None else certainty,
    }


def fact_fields(
    fact: Fact,
    version: int,
    *,
    recorded_at: Instant,
    cycle: int,
    policy_version: str,
    model: str | None,
    degraded: bool,
) -> dict[str, Any]:
    """The body of a fact event, and of a record on `facts`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "fact_id": fact.fact_id,
        "version": version,
        "claim_id": fact.claim,
        "namespace": fact.namespace,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "declared": fact.declared,
        "valid": valid_fields(fact),
        "reason": fact.reason,
        "contested": fact.contested,
        "rivals": fact.rivals,
        "support": fact.support,
        "dissent": fact.dissent,
        "observations": fact.observations,
        "confidence": round(fact.confidence, 6),
        "votes": fact.votes,
        "form": fact.form,
        "ordinal": fact.ordinal,
        "previous_fact_id": fact.previous_fact_id,
        "invalidated_by": fact.invalidated_by,
        "supported_by": fact.supported_by,
        "dissented_by": fact.dissented_by,
        "closed_by": fact.closed_by,
        "opened_by": fact.opened_by,
        "against": fact.against,
        "recorded_at": format_instant(recorded_at),
        "cycle": cycle,
        "policy_version": policy_version,
        "model": model,
        "degraded": degraded,
    }


def fact_event(change: Change, body: bytes, *, position: str) -> bytes:
    """The event of one change, from its fact's body as JSON: that is most of it, and is written once."""
    decided = change.fact.decided_observed_at
    head = _encode(
        {
            "event_id": event_id(change.fact.fact_id, position, change.kind.value, change.revision),
            "event": change.kind.value,
            "revision": change.revision or None,
            "position": position,
            "decided_observed_at": None if decided is None else format_instant(decided),
        }
    )
    return b"%b,%b" % (head[:-1], body[1:])


def link_event(link: Link, claim: Claim) -> bytes:
    """One link, as it is published on `fact-links`."""
    return _encode(
        {
            "schema_version": SCHEMA_VERSION,
            "link_id": link.link_id,
            "kind": link.kind,
            "origin": link.origin,
            "claim_id": link.claim,
            "namespace": claim.namespace,
            "subject": claim.subject,
            "predicate": claim.predicate,
            "source": link.source,
            "target": link.target,
            "reason": link.reason,
            "confidence": link.confidence,
            "evidence_id": link.evidence_id,
            "recorded_at": format_instant(link.recorded_at),
            "policy_version": link.policy_version,
        }
    )


def fact_line(body: Mapping[str, Any], *, now: Instant) -> dict[str, Any]:
    """One line of `--facts`, from a fact's published body: what it is at `now`.

    Nothing in it depends on how the evidence arrived (no version, no recorded time). `reason` is null
    while the fact is not retired, even where its end is already known.
    """
    hi = body["valid"]["hi"]
    retired = body["reason"] == Reason.WITHDRAWN or (hi is not None and parse_instant(hi) <= now)
    state = State.RETIRED if retired else State.CONTESTED if body["contested"] else State.OPEN
    return {
        **{name: body[name] for name in _LINE_FIELDS},
        "state": state.value,
        "reason": body["reason"] if retired else None,
        "rivals": list(body["rivals"]) if state is State.CONTESTED else [],
    }


_LINE_FIELDS: Final = (
    "fact_id", "namespace", "subject", "predicate", "object", "valid", "support", "dissent", "observations",
    "confidence", "declared", "previous_fact_id",
)  # fmt: skip


def line_order(line: dict[str, Any]) -> tuple[str, str, str, bool, str, str, str]:
    """The order of fact lines: namespace, subject, predicate, lo (unknown first), object."""
    lo: str | None = line["valid"]["lo"]
    shown = line["object"]
    text = "" if shown is None else shown if isinstance(shown, str) else str(shown)
    at = (lo or "").removesuffix("Z")  # with it, a whole second would come after its own milliseconds
    return (line["namespace"], line["subject"], line["predicate"], lo is not None, at, text, line["fact_id"])


def observation_fields(namespace: str, statement: Statement, *, content: str | None = None) -> dict[str, Any]:
    """A statement as a public observation again, with its verbatim content where that is still at hand."""
    found: dict[str, Any] = {
        "observation_id": statement.observation_id,
        "namespace": namespace,
        "subject": statement.subject,
        "predicate": statement.predicate,
        "object": statement.spelling,
        "observed_at": format_instant(statement.observed_at),
        "polarity": "affirmed" if statement.affirmed else "denied",
        "confidence": statement.confidence,
        "source": {
            "id": statement.source,
            "document": statement.document,
            "supersedes": statement.supersedes,
            "category": "extracted" if statement.extracted else "direct",
        },
    }
    if content is not None:
        found["content"] = content
    if statement.valid_from is not None:
        found["valid_from"] = _bound_text(statement.valid_from, statement.lo_granularity)
    if statement.valid_to is not None:
        found["valid_to"] = _bound_text(statement.valid_to, statement.hi_granularity)
    if not statement.votes:
        found["origin"] = "factdrift"
    return found


def _bound_text(at: Instant, granularity: str | None) -> str:
    """A bound as its producer gave it: as coarse as that, where the name of a period can say so."""
    if granularity is None:
        return format_instant(at)
    bound = Bound(at, Granularity(granularity), Certainty.DEFINITE)
    return interval.format(Interval(bound, None)).removesuffix("/").partition("@")[0]


def to_json(fields: Any) -> bytes:
    """Compact JSON of one published value."""
    return _encode(fields)


def dead_letter(
    record: Record, code: str, message: str, *, raw: bytes | None = None, part: str = ""
) -> bytes:
    """The dead letter of a record; `raw` is what could not be used, by default the record's own bytes.

    `part` tells several dead letters of one record apart. The id is the same on every delivery.
    """
    body = record.value if raw is None else raw
    text, encoding = _as_text(body)
    key = None if record.key is None else _as_text(record.key)[0]
    return _encode(
        {
            "schema_version": SCHEMA_VERSION,
            "dead_letter_id": derive("dead-letter", record.position, part),
            "code": code,
            "message": message,
            "origin_topic": record.topic.value,
            "origin_partition": record.partition,
            "origin_offset": record.offset,
            "origin_key": key,
            "recorded_at": format_instant(record.recorded_at),
            "raw": text,
            "raw_encoding": encoding,
        }
    )


def _as_text(body: bytes) -> tuple[str, str]:
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(body).decode("ascii"), "base64"
