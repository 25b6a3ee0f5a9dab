"""From the fields of a record on `corrections` to a typed correction, or to one dead-letter code.

Decides what can be refused without knowing any claim. What only the claim's own state can refuse comes
later, as a `Refusal` (`state.decisions`). The codes are checked in the order of `CORRECTION_CODES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import astuple

from state.corrections import LINK_KINDS, SCOPES, Correction, Forget, Invalidate, Relate, Supersede, Target
from state.errors import BadInput, BadInstant
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
from state.instants import Granularity, Instant, Moment, parse_instant, shown
from state.names import normalise, normalise_predicate
from state.objects import type_object

OPS: Final = ("supersede", "invalidate", "link", "forget")
OBSERVATIONS_MAX: Final = 64  # that a target may name; one would do, more only help to find it

CORRECTION_CODES: Final[Mapping[str, str]] = {
    "blank_reason": "The reason of a correction holds no letter, digit or symbol.",
    "blank_target": "The target of a correction names neither an id, an object nor an observation.",
    "link_kind_supersedes": "A link cannot close anything: send supersede or invalidate instead.",
    "self_link": "Both ends of a link are the same.",
}
"""The dead-letter codes of corrections, beside those that they share with observations."""

_TEXTS: Final = ("correction_id", "namespace", "subject", "predicate", "object", "reason", "valid_at",
                 "decided_at", "observation_id", "source")  # fmt: skip
_TARGET_TEXTS: Final = ("id", "object", "at")


def read_correction(fields: Mapping[str, Any], *, recorded_at: Instant) -> Correction:
    """The correction in the fields of a record whose `op` is one of `OPS`.

    `recorded_at` is the broker's timestamp: a decision without `valid_at` holds from when it was decided,
    one without `decided_at` was decided when it was recorded. Raises BadInput with a dead-letter code.
    """
    op = text(fields, "op")
    if op not in OPS:
        raise BadInput("wrong_type", f"op is {shown(op)}, expected {', '.join(OPS)} or retract.")
    if op == "forget":
        return _forget(fields, recorded_at)
    return _decision(op, fields, recorded_at)


def _decision(op: str, fields: Mapping[str, Any], recorded_at: Instant) -> Correction:
    require(fields, "subject", "predicate", "target", "reason", *(("source",) if op == "link" else ()))
    subject, predicate = text(fields, "subject") or "", text(fields, "predicate") or ""
    namespace = not_blank(text(fields, "namespace"), "namespace") or "default"
    given_id = not_blank(text(fields, "correction_id"), "correction_id")
    reason, spelling = text(fields, "reason") or "", object_spelling(fields)
    kind = text(fields, "kind")
    for name in ("target", "source") if op == "link" else ("target",):
        _check_target(fields[name], name)
    _check_times(fields, ("valid_at", "decided_at"))
    confidence = confidence_as_written(fields)
    refuse_control_characters(fields, _TEXTS)
    subject_key, predicate_key = normalise(subject), normalise_predicate(predicate)
    if not subject_key:
        raise blank("subject", subject)
    if not predicate_key:
        raise blank("predicate", predicate)
    form = "" if spelling is None else type_object(spelling).key
    target = _target(fields["target"], "target")
    valid_at, decided_at = moment(fields, "valid_at"), _instant(fields, "decided_at")
    if not 0 <= confidence <= 1:
        raise BadInput("bad_confidence", f"confidence is {shown(confidence)}, expected 0 to 1.")
    _refuse_blank_reason(reason)
    claim = claim_id(namespace, subject_key, predicate_key)
    hashed = content_hash(
        op, namespace, subject_key, predicate_key, reason, spelling, kind, astuple(target),
        astuple(_target(fields["source"], "source")) if op == "link" else None,
        valid_at and valid_at.start, decided_at, float(confidence),
    )  # fmt: skip
    shared: dict[str, Any] = {
        "correction_id": given_id or f"sha-{hashed}",
        "claim": claim,
        "namespace": namespace,
        "subject": subject_key,
        "predicate": predicate_key,
        "reason": reason,
        "recorded_at": recorded_at,
        "decided_at": decided_at,
        "content_hash": hashed,
        "confidence": float(confidence),
    }
    if op == "link":
        return _relate(fields, kind, target, shared)
    at = _valid_at(valid_at, decided_at, recorded_at)
    if op == "invalidate":
        return Invalidate(**shared, target=target, valid_at=at.start, granularity=at.granularity.value)
    return Supersede(
        **shared,
        target=target,
        form=form,
        spelling=spelling,
        valid_at=at.start,
        granularity=at.granularity.value,
    )


def _relate(fields: Mapping[str, Any], kind: str | None, target: Target, shared: dict[str, Any]) -> Relate:
    if kind in ("supersedes", "invalidates"):
        command = kind[:-1]
        raise BadInput(
            "link_kind_supersedes", f"A link of kind {kind} would close its target; send {command} instead."
        )
    require(fields, "kind")
    choice(fields, "kind", LINK_KINDS)
    source = _target(fields["source"], "source")
    if source == target or (source.id is not None and source.id == target.id):
        raise BadInput("self_link", f"Both ends of the link are {shown(source.id or fields['source'])}.")
    return Relate(**shared, kind=kind or LINK_KINDS[0], source=source, target=target)


def _forget(fields: Mapping[str, Any], recorded_at: Instant) -> Forget:
    require(fields, "scope", "reason")
    scope = choice(fields, "scope", SCOPES)
    require(
        fields,
        *{"observation": ("observation_id", "subject"), "source": ("source",)}.get(scope, ("subject",)),
    )
    subject, reason = text(fields, "subject"), text(fields, "reason") or ""
    namespace = not_blank(text(fields, "namespace"), "namespace") or "default"
    given_id = not_blank(text(fields, "correction_id"), "correction_id")
    observation_id = not_blank(text(fields, "observation_id"), "observation_id")
    source = not_blank(text(fields, "source"), "source")
    refuse_control_characters(fields, _TEXTS)
    key = None if subject is None else normalise(subject)
    if key == "":
        raise blank("subject", subject)
    _refuse_blank_reason(reason)
    hashed = content_hash("forget", scope, namespace, key, observation_id, source, reason)
    return Forget(
        correction_id=given_id or f"sha-{hashed}",
        scope=scope,
        namespace=namespace,
        subject=key,
        reason=reason,
        recorded_at=recorded_at,
        content_hash=hashed,
        observation_id=observation_id if scope == "observation" else None,
        source=source if scope == "source" else None,
    )


def _refuse_blank_reason(reason: str) -> None:
    if not normalise(reason):
        raise BadInput("blank_reason", f"The reason {shown(reason)} says nothing; say why in a few words.")


# -- targets and times ----------------------------------------------------------------------


def _check_target(value: object, name: str) -> None:
    """The types of a target's fields, before anything is made of their content."""
    if not isinstance(value, dict):
        raise BadInput("wrong_type", f"{name} is {kind_of(value)}, expected an object such as {{id: …}}.")
    not_blank(text(value, "id", where=f"{name}."), f"{name}.id")
    object_spelling(value)
    named = value.get("observation_ids")
    if named is not None and (not isinstance(named, list) or any(type(one) is not str for one in named)):
        raise BadInput("wrong_type", f"{name}.observation_ids is {kind_of(named)}, expected a list of texts.")
    if named is not None and len(named) > OBSERVATIONS_MAX:
        raise BadInput(
            "wrong_type", f"{name}.observation_ids names {len(named)} ids, at most {OBSERVATIONS_MAX}."
        )
    _check_times(value, ("at",), where=f"{name}.")
    refuse_control_characters(value, _TARGET_TEXTS, where=f"{name}.")


def _target(value: Mapping[str, Any], name: str) -> Target:
    spelling = object_spelling(value)
    at = _instant(value, "at")
    target = Target(
        id=value.get("id"),
        form=None if spelling is None else type_object(spelling).key,
        at=at,
        observation_ids=tuple(value.get("observation_ids") or ()),
    )
    if target.id is None and target.form is None and not target.observation_ids:
        raise BadInput("blank_target", f"{name} names nothing; give an id, an object or observation_ids.")
    return target


def _check_times(fields: Mapping[str, Any], names: tuple[str, ...], *, where: str = "") -> None:
    for name in names:
        value = fields.get(name)
        if value is not None and type(value) not in (str, int, float):
            raise BadInput(
                "wrong_type", f"{where}{name} is {kind_of(value)}, expected a time as text or a number."
            )


def _instant(fields: Mapping[str, Any], name: str) -> Instant | None:
    value = fields.get(name)
    if value is None:
        return None
    try:
        return parse_instant(value)
    except BadInstant as error:
        raise BadInput("bad_instant", f"{name}: {error}") from error


def _valid_at(valid_at: Moment | None, decided_at: Instant | None, recorded_at: Instant) -> Moment:
    if valid_at is not None:
        return valid_at
    start = recorded_at if decided_at is None else decided_at
    return Moment(start, start, Granularity.DAY)


def is_correction(fields: Mapping[str, Any]) -> bool:
    """Whether the record is one that `read_correction` reads (a retract is read with the observations)."""
    return fields.get("op") in OPS
