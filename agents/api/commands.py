"""The shapes of corrections, and which fields each has.

They are read by `state.correction_records`, which gives each fault its own code; here they are described, and
a field that none of them has is refused: a misspelt `valid_at` would otherwise mean now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from state.errors import Refused
from streams.events import Spelling


class Command(BaseModel):
    """Base of all corrections."""

    model_config = ConfigDict(extra="forbid")


class Target(Command):
    """What a correction speaks about: at least one of `id`, `object` and `observation_ids`."""

    id: str | None = Field(None, description="Of a fact or an assertion.")
    object: Spelling | None = Field(None, description="The value; finds it where the id is known no more.")
    at: str | float | None = Field(None, description="An instant at which it holds.")
    observation_ids: list[str] | None = Field(None, max_length=64)


class Decision(Command):
    """What supersede, invalidate and link have in common."""

    schema_version: Literal[1] | None = None
    correction_id: str | None = Field(
        None, description="The same command twice is one; by default a hash of the content."
    )
    namespace: str | None = None
    subject: str | None = Field(None, description="Left out: that of the fact that target.id names.")
    predicate: str | None = Field(None, description="Left out: that of the fact that target.id names.")
    target: Target
    reason: str = Field(min_length=1, description="Why, for people. Kept for ever.")
    decided_at: str | float | None = Field(None, description="When it was decided; by default now.")
    confidence: float | None = Field(None, ge=0, le=1)


class Supersede(Decision):
    """Close the target, and open another value in its place."""

    op: Literal["supersede"]
    object: Spelling | None = Field(None, description="The value that takes its place.")
    valid_at: str | float | None = Field(None, description="From when on; by default decided_at.")


class Invalidate(Decision):
    """Close the target; nothing takes its place."""

    op: Literal["invalidate"]
    valid_at: str | float | None = Field(None, description="From when on; by default decided_at.")


class Link(Decision):
    """Say how two assertions of one claim relate."""

    op: Literal["link"]
    kind: str = Field(description="confirms, contradicts or refines.")
    source: Target


class Retract(Command):
    """Count an observation as never made."""

    op: Literal["retract"]
    schema_version: Literal[1] | None = None
    observation_id: str
    namespace: str | None = None
    subject: str | None = Field(None, description="Left out: whoever said it, where that is one.")
    reason: str = Field(min_length=1)


class Forget(Command):
    """Erase what an observation, a source or a subject said, wherever it is held."""

    op: Literal["forget"]
    schema_version: Literal[1] | None = None
    correction_id: str | None = None
    scope: Literal["observation", "source", "subject"]
    namespace: str | None = None
    subject: str | None = None
    observation_id: str | None = None
    source: str | None = None
    reason: str = Field(min_length=1)


MODELS: Final[tuple[type[Command], ...]] = (Supersede, Invalidate, Link, Retract, Forget)
_MODEL_OF: Final = {model.__name__.lower(): model for model in MODELS}


def refuse_unknown_fields(fields: Mapping[str, Any]) -> None:
    """Raise Refused `unknown_field` where a correction, or a target in it, has a field of another name."""
    op = fields.get("op")
    model = _MODEL_OF.get(op) if isinstance(op, str) else None
    if model is None:
        return  # what reads it says what op may be
    _refuse(fields, model, "")
    for name in ("target", "source"):
        inner = fields.get(name)
        if isinstance(inner, dict):
            _refuse(inner, Target, f"{name}.")


def _refuse(fields: Mapping[str, Any], model: type[Command], where: str) -> None:
    unknown = sorted(fields.keys() - model.model_fields.keys())
    if unknown:
        known = ", ".join(model.model_fields)
        raise Refused(
            "unknown_field", f"{where}{unknown[0][:40]} is no field of this correction; known: {known}."
        )
