"""Names that are derived, never drawn: the same evidence gives the same ids on every machine.

Every id is a UUID of version 5 over a JSON array of its parts. JSON quotes each part, so no value can
forge a separator: ("a|b", "c") and ("a", "b|c") are different arrays.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b, sha1
from typing import Final, NewType
from uuid import UUID

import msgspec

from state.errors import BadInput

ClaimId = NewType("ClaimId", str)
FactId = NewType("FactId", str)
EventId = NewType("EventId", str)

ID_BYTES: Final = 36
"""How long each of them is: ASCII, so as many characters as bytes."""

NAMESPACE: Final = UUID("b6a1f0f4-5d0a-5c3b-9a63-0f6c6f1d7f6e")

_NAMESPACE_BYTES: Final = NAMESPACE.bytes

_VARIANT_OF: Final = {digit: "89ab"[int(digit, 16) & 0b11] for digit in "0123456789abcdef"}
"""RFC 9562: the digit that says which layout an id has keeps two bits of the hash, below the bits 10."""

_encode = msgspec.json.Encoder().encode


def derive(kind: str, *parts: str | int | None) -> str:
    """The UUID (version 5, as text) of `parts` under `kind`."""
    digits = sha1(_NAMESPACE_BYTES + _encode((kind, *parts)), usedforsecurity=False).hexdigest()
    # As `uuid.uuid5` does it, which takes four times as long: every claim, fact and event has an id.
    variant = _VARIANT_OF[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def claim_id(namespace: str, subject: str, predicate: str) -> ClaimId:
    """The id of a claim, from the namespace and the normalised subject and predicate."""
    return ClaimId(derive("claim", namespace, subject, predicate))


@lru_cache(maxsize=65_536)  # an open fact is published again and again
def fact_id(claim: ClaimId, form: str, ordinal: int) -> FactId:
    """The id of the `ordinal`-th episode (from 0) of the cluster whose first form is `form`."""
    return FactId(derive("fact", claim, form, ordinal))


def event_id(fact: str, position: str, kind: str, sub_kind: str = "") -> EventId:
    """The id of an event: `position` is that of the internal record which caused it."""
    return EventId(derive("event", fact, position, kind, sub_kind))


def content_hash(*parts: object) -> str:
    """32 hexadecimal digits over what an observation says; equal content gives equal hashes.

    Raises BadInput("not_utf8") where a text holds a lone surrogate, which no log can carry.
    """
    try:
        return blake2b(_encode(parts), digest_size=16).hexdigest()
    except UnicodeEncodeError as error:
        raise BadInput("not_utf8", "A text holds half of a surrogate pair, which is no character.") from error
