"""Observations that arrive by HTTP: the body cut into records, each judged before it is published.

A record is judged by the same code that judges it in the log, so the sender learns at once what would have
become a dead letter. What is refused is not published. Publishes nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from state.aliases import Aliases, folded
from state.errors import BadInput
from state.instants import Instant
from state.observations import Observation
from state.validation import read
from streams.keys import subject_key

Fields = dict[str, Any]

NDJSON_TYPES: Final = ("application/x-ndjson", "application/ndjson", "application/jsonl")
_array: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class Judged:
    """One record of a request, and what is said of it. `value` is None where it was refused."""

    answer: Fields
    key: bytes | None
    value: bytes | None


def records_of(body: bytes, content_type: str) -> list[bytes]:
    """The records in a body: the lines of NDJSON, the elements of an array, or the body itself.

    Empty lines are none. An array that is not JSON is one record, which is then refused as such.
    """
    if content_type in NDJSON_TYPES:
        return [line for line in (raw.strip() for raw in body.split(b"\n")) if line]
    stripped = body.lstrip(b" \t\r\n")
    if stripped.startswith(b"["):
        try:
            return [bytes(one) for one in _array(body)]
        except (msgspec.DecodeError, UnicodeDecodeError):
            return [body]
    return [body]


def judge(records: Sequence[bytes], *, now: Instant, bytes_max: int, aliases: Aliases) -> list[Judged]:
    """Every record judged as the log would judge it at `now`; corrections have an address of their own.

    `aliases` of predicates are followed as the log follows them: the answer names the claim that is meant.
    """
    return [_judge(number, record, now, bytes_max, aliases) for number, record in enumerate(records, start=1)]


def _judge(number: int, record: bytes, now: Instant, bytes_max: int, aliases: Aliases) -> Judged:
    try:
        usable = folded(read(record, recorded_at=now, bytes_max=bytes_max), aliases)
        if not isinstance(usable, Observation):
            raise BadInput("wrong_type", "The record has an op: send corrections to /v1/corrections.")
    except BadInput as bad:
        return Judged(
            {"line": number, "accepted": False, "code": bad.code, "message": bad.message}, None, None
        )
    answer = {
        "line": number,
        "accepted": True,
        "observation_id": usable.statement.observation_id,
        "claim_id": usable.claim,
    }
    return Judged(answer, subject_key(usable.namespace, usable.subject), record)


def summary(judged: Sequence[Judged]) -> Fields:
    """The answer to a request: how many were accepted, and each line's result."""
    n_accepted = sum(one.value is not None for one in judged)
    return {
        "accepted": n_accepted,
        "rejected": len(judged) - n_accepted,
        "results": [one.answer for one in judged],
    }
