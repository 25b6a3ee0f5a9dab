"""From the bytes of a record to a usable observation or correction, or to one dead-letter code.

Decides what can be used and says in one sentence why not. The codes are checked in the order of
`CODES`; the first that applies is given. Never raises anything but BadInput, whatever the bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from state import reclustering
from state.correction_records import read_correction
from state.corrections import Correction
from state.errors import BadInput, BadInstant, BadInterval
from state.fields import (
    blank,
    choice,
    confidence_as_written,
    kind_of,
    moment,
    not_blank,
    object_spelling,
    refuse_control_characters,
    require,
    text,
)
from state.identity import claim_id, content_hash
from state.instants import (
    INSTANT_END,
    Granularity,
    Instant,
    Moment,
    format_instant,
    parse_instant,
    shown,
)
from state.interval import between
from state.names import normalise, normalise_predicate
from state.objects import type_object
from state.observations import Observation, Retract, Usable
from state.statements import ObservationId, Statement

RECORD_BYTES_MAX: Final = 256 * 1024
NESTING_MAX: Final = 64  # levels; an observation needs two
FUTURE_SKEW_MS: Final = 5 * 60 * 1000
SCHEMA_VERSION: Final = 1

CODES: Final[Mapping[str, str]] = {
    "too_large": "The record is larger than 256 KiB.",
    "not_utf8": "The record, or a text in it, is not valid UTF-8.",
    "too_deep": "The record nests deeper than 64 levels.",
    "not_json": "The record is not JSON.",
    "not_an_object": "The record is JSON, but not an object.",
    "unsupported_version": "The record has a schema_version that this release does not know.",
    "missing_field": "A required field is absent or null.",
    "wrong_type": "A field has a value of a kind that it cannot have.",
    "control_character": "A text holds a control character.",
    "blank_subject": "The subject holds no letter, digit or symbol.",
    "blank_predicate": "The predicate holds no letter, digit or symbol.",
    "blank_object": "The object holds no letter, digit or symbol.",
    "bad_instant": "A time is no instant or partial date between year 1 and year 9999.",
    "inverted_interval": "The statement ends before, or exactly when, it starts.",
    "future_observed_at": "The observation was made over five minutes after its record was written.",
    "bad_confidence": "The confidence lies outside 0 to 1.",
    "duplicate_id": "Another observation of the claim has this id and other content.",
}
"""Every dead-letter code with its meaning, in order of precedence."""

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
# A text that nothing closes reaches to the end: looking for its end again at every quote inside it would
# cost minutes on one record of 256 KiB.
_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_DIGITS_MAX: Final = 64  # of an integer; a longer one is read as a float, which is soon infinite
_decode: Final = msgspec.json.Decoder().decode


def read(raw: bytes, *, recorded_at: Instant, bytes_max: int = RECORD_BYTES_MAX) -> Usable:
    """The observation or correction in the bytes of one record.

    `recorded_at` is the broker's timestamp of the record; an observation cannot have been made over
    five minutes after it. Raises BadInput with one of `CODES`.
    """
    fields = fields_of(raw, bytes_max=bytes_max)
    if fields.get("op") == reclustering.OP:
        return reclustering.recluster_of(fields)
    if fields.get("op") is not None:
        return _correction(fields, recorded_at)
    return _observation(fields, recorded_at, is_plain=_is_plain(raw))


def _is_plain(raw: bytes) -> bool:
    """Whether no text of a JSON record can hold a control character: below a space only an escape can."""
    return raw.isascii() and b"\\" not in raw and b"\x7f" not in raw


def fields_of(raw: bytes, *, bytes_max: int = RECORD_BYTES_MAX) -> dict[str, Any]:
    """The fields of a record of any kind, in a version that this release knows. Raises BadInput."""
    fields = _fields(raw, bytes_max)
    version = fields.get("schema_version")
    if version is not None and (type(version) is not int or version != SCHEMA_VERSION):
        raise BadInput(
            "unsupported_version", f"schema_version is {shown(version)}; this release reads {SCHEMA_VERSION}."
        )
    return fields


def recorded_at_of(raw: bytes) -> Instant | None:
    """The `recorded_at` that a line of a file brings along, or None where it has no usable one.

    Only a replay into a log of its own asks for this: on a shared log the broker's time is the truth.
    """
    try:
        return parse_instant(_fields(raw, len(raw))["recorded_at"])
    except (BadInput, KeyError, BadInstant):
        return None


# -- bytes ----------------------------------------------------------------------------------


def _fields(raw: bytes, bytes_max: int) -> dict[str, Any]:
    raw = raw.removeprefix(b"\xef\xbb\xbf")  # a byte order mark, as some editors write before the first line
    if len(raw) > bytes_max:
        raise BadInput("too_large", f"The record has {len(raw)} bytes; at most {bytes_max} are read.")
    if raw.count(b"[") + raw.count(b"{") > NESTING_MAX and _depth(raw) > NESTING_MAX:
        _check_utf8(raw)
        raise BadInput("too_deep", f"The record nests deeper than {NESTING_MAX} levels.")
    try:
        fields = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        fields = _read_again(raw, error)
    if not isinstance(fields, dict):
        raise BadInput("not_an_object", f"The record is {kind_of(fields)}, not an object with fields.")
    return fields


def _check_utf8(raw: bytes) -> None:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("not_utf8", f"Byte {error.start} of the record is not UTF-8.") from error


def _read_again(raw: bytes, refusal: Exception) -> Any:
    """What the fast reader refused: why, or the value where only a number in it was too great.

    A number beyond all floats is JSON all the same, and a field that nobody reads may hold one.
    """
    _check_utf8(raw)
    not_json = BadInput("not_json", f"The record is not JSON: {refusal}.")
    try:
        value = json.loads(raw.decode("utf-8"), parse_int=_integer, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise not_json from refusal
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise BadInput("not_utf8", "A text holds half of a surrogate pair, no character.") from refusal
    if not isinstance(refusal, msgspec.ValidationError):
        raise not_json from refusal
    return value


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS_MAX else float(digits)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _depth(raw: bytes) -> int:
    """How deep brackets nest outside strings; only asked of records with many brackets."""
    depth = deepest = 0
    for byte in _STRINGS.sub(b"", raw):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


# -- fields ---------------------------------------------------------------------------------


def _check_time_types(fields: Mapping[str, Any]) -> None:
    for name in ("observed_at", "valid_from", "valid_to"):
        value = fields.get(name)
        if value is not None and type(value) not in (str, int, float):
            raise BadInput("wrong_type", f"{name} is {kind_of(value)}, expected a time as text or a number.")


def _is_our_own(origin: object) -> bool:
    """Whether `origin` says that the statement came out of factdrift: it then never votes.

    Recognised are a text that starts with "factdrift" or is the id of a fact, and an object with a
    `fact_id` or whose `system` is factdrift.
    """
    if isinstance(origin, str):
        return _OURS.match(origin) is not None or _FACT_ID.fullmatch(origin) is not None
    if isinstance(origin, dict):
        system = origin.get("system", origin.get("name"))
        return "fact_id" in origin or (isinstance(system, str) and _OURS.match(system) is not None)
    return False


_OURS: Final = re.compile(r"factdrift(?![^\W_])", re.IGNORECASE)
_FACT_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


# -- records --------------------------------------------------------------------------------


_OBSERVATION_TEXTS: Final = (
    "subject", "predicate", "object", "observed_at", "namespace", "observation_id", "valid_from", "valid_to",
    "content", "origin",
)  # fmt: skip
_SOURCE_TEXTS: Final = ("id", "document", "supersedes")
_CORRECTION_TEXTS: Final = ("observation_id", "namespace", "subject", "reason")


def _observation(fields: Mapping[str, Any], recorded_at: Instant, *, is_plain: bool) -> Observation:
    require(fields, "subject", "predicate", "observed_at")
    subject, predicate = text(fields, "subject") or "", text(fields, "predicate") or ""
    spelling = object_spelling(fields)
    _check_time_types(fields)
    namespace = not_blank(text(fields, "namespace"), "namespace") or "default"
    given_id = not_blank(text(fields, "observation_id"), "observation_id")
    affirmed = choice(fields, "polarity", ("affirmed", "denied")) == "affirmed"
    source, document, supersedes, category = _source(fields)
    content = text(fields, "content")
    origin = fields.get("origin")
    if origin is not None and not isinstance(origin, str | dict):
        raise BadInput("wrong_type", f"origin is {kind_of(origin)}, expected text or an object.")
    confidence = confidence_as_written(fields)
    if not is_plain:
        refuse_control_characters(fields, _OBSERVATION_TEXTS)
        refuse_control_characters(fields.get("source") or {}, _SOURCE_TEXTS, where="source.")
    subject_key, predicate_key = normalise(subject), normalise_predicate(predicate)
    if not subject_key:
        raise blank("subject", subject)
    if not predicate_key:
        raise blank("predicate", predicate)
    form = "" if spelling is None else type_object(spelling).key
    observed_at, valid_from, valid_to = _times(fields, recorded_at)
    if not 0 <= confidence <= 1:
        raise BadInput("bad_confidence", f"confidence is {shown(confidence)}, expected 0 to 1.")
    confidence = float(confidence)
    votes = not _is_our_own(origin)
    digest = content_hash(
        namespace, subject, predicate, spelling, affirmed, observed_at, confidence, votes, content,
        (source, document, supersedes, category),
        None if valid_from is None else (valid_from.start, valid_from.granularity),
        None if valid_to is None else (valid_to[0], valid_to[1]),
    )  # fmt: skip
    statement = Statement(
        effective_at=observed_at if valid_from is None else valid_from.start,
        observed_at=observed_at,
        observation_id=ObservationId(given_id or f"sha-{digest}"),
        form=form,
        affirmed=affirmed,
        spelling=spelling,
        source=source,
        document=document,
        valid_from=None if valid_from is None else valid_from.start,
        valid_to=None if valid_to is None else valid_to[0],
        lo_granularity=Granularity.DAY.value if valid_from is None else valid_from.granularity.value,
        hi_granularity=None if valid_to is None else valid_to[1],
        confidence=confidence,
        extracted=category == "extracted",
        supersedes=supersedes,
        votes=votes,
        subject=subject,
        predicate=predicate,
        recorded_at=recorded_at,
        content_hash=digest,
    )
    return Observation(
        claim=claim_id(namespace, subject_key, predicate_key),
        namespace=namespace,
        subject=subject_key,
        predicate=predicate_key,
        statement=statement,
        content=content,
    )


def _source(fields: Mapping[str, Any]) -> tuple[str | None, str | None, str | None, str]:
    """Source id, document, superseded document and category."""
    source = fields.get("source")
    if source is None:
        return None, None, None, "direct"
    if not isinstance(source, dict):
        raise BadInput("wrong_type", f"source is {kind_of(source)}, expected an object with an id.")
    return (
        not_blank(text(source, "id", where="source."), "source.id"),
        not_blank(text(source, "document", where="source."), "source.document"),
        not_blank(text(source, "supersedes", where="source."), "source.supersedes"),
        choice(source, "category", ("direct", "extracted"), where="source."),
    )


def _times(
    fields: Mapping[str, Any], recorded_at: Instant
) -> tuple[Instant, Moment | None, tuple[Instant, str] | None]:
    """observed_at, the start if given, and (exclusive end, granularity) if given."""
    try:
        observed_at = parse_instant(fields["observed_at"])
    except BadInstant as error:
        raise BadInput("bad_instant", f"observed_at: {error}") from error
    valid_from, until = moment(fields, "valid_from"), moment(fields, "valid_to")
    valid_to = None
    if until is not None:
        end: Instant = until.start
        if valid_from is not None:
            end = _end_after(valid_from, until, fields)
        if end != INSTANT_END:  # what holds until time itself ends has no end
            valid_to = (end, until.granularity.value)
    if observed_at > recorded_at + FUTURE_SKEW_MS:
        raise BadInput(
            "future_observed_at",
            f"observed_at {format_instant(observed_at)} is over five minutes after the record's own time, "
            f"{format_instant(recorded_at)}; what holds only later belongs into valid_from.",
        )
    return observed_at, valid_from, valid_to


def _end_after(valid_from: Moment, until: Moment, fields: Mapping[str, Any]) -> Instant:
    """The exclusive end of a statement with both bounds; "2023" to "2023" is the whole year."""
    try:
        hi = between(valid_from, until).hi
    except BadInterval as error:
        raise BadInput(
            "inverted_interval",
            f"valid_to {shown(fields['valid_to'])} is not after valid_from {shown(fields['valid_from'])}.",
        ) from error
    assert hi is not None
    return hi.at


def _correction(fields: Mapping[str, Any], recorded_at: Instant) -> Retract | Correction:
    """A correction; `op` names it."""
    op = text(fields, "op")
    if op != "retract":
        return read_correction(fields, recorded_at=recorded_at)
    require(fields, "observation_id")
    observation_id = not_blank(text(fields, "observation_id"), "observation_id") or ""
    namespace = not_blank(text(fields, "namespace"), "namespace")
    subject, reason = text(fields, "subject"), text(fields, "reason")
    refuse_control_characters(fields, _CORRECTION_TEXTS)
    key = normalise(subject) if subject is not None else None
    if key == "":
        raise blank("subject", subject)
    return Retract(
        observation_id=observation_id,
        namespace=namespace,
        subject=key,
        reason=reason,
        recorded_at=recorded_at,
    )
