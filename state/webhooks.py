"""What a webhook says and to whom: which events a receiver wants, the signature, and what its answer means.

Pure: the clock, the secret and the answer come in as arguments. The signature is that of the open Standard
Webhooks scheme, so that a receiver can check it with a library of its own language. Sends nothing, waits for
nothing; in which order events go out is `state.delivering`.
"""

from __future__ import annotations

import base64
import binascii
import enum
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Final

from state.errors import FactdriftError
from state.instants import Instant
from state.names import normalise, normalise_predicate

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"
IDEMPOTENCY_HEADER: Final = "idempotency-key"
TOPIC_HEADER: Final = "factdrift-topic"

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 what a secret begins with, and none itself
SECRET_BYTES_MIN: Final = 24
SECRET_BYTES_MAX: Final = 64
TOLERANCE_S: Final = 300
"""How far the timestamp of a call may be from a receiver's clock: older ones may be an attacker's copy."""

RETRY_AFTER_MAX_MS: Final = 3_600_000  # a receiver that asks for more is asked again after an hour


class BadSecret(FactdriftError):
    """A secret that no signature can be made with. Never shows the secret."""


class BadSignature(FactdriftError):
    """A call that does not come from whom it says, or is too old."""


# -- which events ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Alert:
    """The part of an event that a receiver is chosen by.

    `predicates` are those it speaks of: one of a fact, those of the causes of a drift alert. `kind` is the
    reason of an invalidation, or the signal of a drift alert.
    """

    topic: str
    event_id: str
    namespace: str
    subject: str
    predicates: Sequence[str]
    kind: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events a receiver wants. An empty set wants any; subjects and predicates are in normal form."""

    topics: frozenset[str]
    namespaces: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    predicates: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    signals: frozenset[str] = frozenset()

    def has(self, alert: Alert, *, signals: bool) -> bool:
        """Whether it wants this event; `signals` says that its kind is a signal and no reason.

        A drift alert without causes (it clears) names no predicate and passes any filter of predicates:
        who heard of the beginning shall hear of the end.
        """
        kinds = self.signals if signals else self.reasons
        return (
            alert.topic in self.topics
            and (not self.namespaces or alert.namespace in self.namespaces)
            and (not self.subjects or normalise(alert.subject) in self.subjects)
            and (not kinds or alert.kind in kinds)
            and (
                not self.predicates
                or not alert.predicates
                or any(normalise_predicate(name) in self.predicates for name in alert.predicates)
            )
        )


# -- signatures -----------------------------------------------------------------------------


def secret_bytes(secret: str) -> bytes:
    """The key behind a secret as it is written: `whsec_` and base64 of 24 to 64 bytes. Raises BadSecret."""
    encoded = secret.removeprefix(SECRET_PREFIX)
    try:
        key = base64.b64decode(encoded, validate=True) if encoded != secret else b""
    except binascii.Error:
        key = b""
    if not SECRET_BYTES_MIN <= len(key) <= SECRET_BYTES_MAX:
        raise BadSecret(
            f"it is not {SECRET_PREFIX} and base64 of {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes; make "
            "one with: factdrift webhooks secret"
        )
    return key


def written_secret(key: bytes) -> str:
    """A key as a secret is written."""
    assert SECRET_BYTES_MIN <= len(key) <= SECRET_BYTES_MAX
    return SECRET_PREFIX + base64.b64encode(key).decode("ascii")


def signed_content(event_id: str, timestamp_s: int, body: bytes) -> bytes:
    """What the signature is over: id, Unix time in seconds and the body as sent, joined by points."""
    return b"%b.%d.%b" % (event_id.encode("utf-8"), timestamp_s, body)


def signature(keys: Sequence[bytes], event_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of the signature's header: one signature for each key, so that a secret can be replaced."""
    content = signed_content(event_id, timestamp_s, body)
    return " ".join(f"v1,{_digest(key, content)}" for key in keys)


def headers(
    keys: Sequence[bytes], topic: str, event_id: str, timestamp_s: int, body: bytes
) -> dict[str, str]:
    """Everything that is sent beside the body."""
    return {
        "content-type": "application/json",
        ID_HEADER: event_id,
        TIMESTAMP_HEADER: str(timestamp_s),
        SIGNATURE_HEADER: signature(keys, event_id, timestamp_s, body),
        IDEMPOTENCY_HEADER: event_id,
        TOPIC_HEADER: topic,
    }


def verify(keys: Sequence[bytes], sent: Mapping[str, str], body: bytes, *, now_s: int) -> str:
    """The id of a call that was received; raises BadSignature where it is not to be believed.

    What a receiver does: `sent` are its headers by name in lower case, `now_s` its clock. Digests are
    compared in constant time, so that how long it takes says nothing about the right one.
    """
    event_id, given = sent.get(ID_HEADER, ""), sent.get(TIMESTAMP_HEADER, "")
    if not event_id or not (given.isascii() and given.isdecimal()) or len(given) > len(str(2**63)):
        raise BadSignature(f"{ID_HEADER} or {TIMESTAMP_HEADER} is missing or no number.")
    timestamp_s = int(given)
    if abs(now_s - timestamp_s) > TOLERANCE_S:
        raise BadSignature(f"It was signed over {TOLERANCE_S} s before or after now.")
    content = signed_content(event_id, timestamp_s, body)
    expected = [_digest(key, content).encode("ascii") for key in keys]
    for part in sent.get(SIGNATURE_HEADER, "").split(" "):
        version, _, found = part.partition(",")
        matches = [hmac.compare_digest(one, found.encode("utf-8")) for one in expected]
        if version == "v1" and any(matches):
            return event_id
    raise BadSignature("No signature is by a secret that is known here.")


def _digest(key: bytes, content: bytes) -> str:
    return base64.b64encode(hmac.digest(key, content, sha256)).decode("ascii")


# -- answers --------------------------------------------------------------------------------


class Verdict(enum.Enum):
    """What an answer means for the event, and for whoever comes after it."""

    DELIVERED = "delivered"
    AGAIN = "again"
    """The receiver failed on this event: try it again later, others meanwhile."""
    AWAY = "away"
    """The receiver takes nothing at present, or is set up wrongly: hold all, and ask again with one."""
    REFUSED = "refused"
    """It will never take this event."""
    GONE = "gone"
    """It will never take any event again."""


_AWAY: Final = frozenset((401, 403, 404, 407, 429, 502, 503, 504))
"""What a person mends (credentials, a path) or what passes (a limit, a gateway): not about the event."""
_AGAIN: Final = frozenset((408, 409, 421, 423, 425))
_GONE: Final = 410


def verdict(status: int | None) -> Verdict:
    """What a status means; None is no answer at all: no connection, no certificate, no time left.

    | answer | verdict |
    |---|---|
    | 2xx | delivered |
    | none, 1xx, 3xx, 401, 403, 404, 407, 429, 502, 503, 504 | away |
    | other 5xx, 408, 409, 421, 423, 425 | again |
    | 410 | gone |
    | other 4xx, and what is no status | refused |
    """
    if status is None or status < 200 or 300 <= status < 400 or status in _AWAY:
        return Verdict.AWAY
    if status < 300:
        return Verdict.DELIVERED
    if status == _GONE:
        return Verdict.GONE
    if status in _AGAIN or 500 <= status < 600:
        return Verdict.AGAIN
    return Verdict.REFUSED


def retry_after_ms(text: str | None, *, now: Instant) -> int:
    """For how long a receiver asks to be left alone: seconds or a date; 0 where it says nothing usable."""
    given = (text or "").strip()
    if given.isascii() and given.isdecimal():
        return min(int(given[:12]) * 1000, RETRY_AFTER_MAX_MS)
    try:
        at = parsedate_to_datetime(given)
        left_ms = round(at.timestamp() * 1000) - now
    except (ValueError, TypeError, OverflowError):
        return 0
    return max(0, min(left_ms, RETRY_AFTER_MAX_MS))
