"""The fields of a record, one by one: what kind each must be, and the sentence when it is not.

Decides nothing about observations or corrections as a whole (`state.validation`,
`state.correction_records`). Every function raises BadInput with one of the dead-letter codes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from state.errors import BadInput, BadInstant
from state.instants import Moment, parse_moment, shown
from state.statements import Spelling

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def kind_of(value: object) -> str:
    """What kind of JSON value this is, in words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number"}
    return "null" if value is None else names.get(type(value), "a number")


def require(fields: Mapping[str, Any], *names: str) -> None:
    """Raise BadInput("missing_field") for the first of the names that is absent or null."""
    for name in names:
        if fields.get(name) is None:
            raise BadInput("missing_field", f"The field {name} is missing.")


def text(fields: Mapping[str, Any], name: str, *, where: str = "") -> str | None:
    """The text under a name, or None. Raises BadInput("wrong_type") for anything else."""
    value = fields.get(name)
    if value is not None and type(value) is not str:
        raise BadInput("wrong_type", f"{where}{name} is {kind_of(value)}, expected text.")
    return value


def refuse_control_characters(fields: Mapping[str, Any], names: tuple[str, ...], *, where: str = "") -> None:
    """Only after every type was found right: a field of the wrong type has precedence."""
    for name in names:
        value = fields.get(name)
        if type(value) is str and _CONTROL.search(value):
            raise BadInput("control_character", f"{where}{name} holds a control character: {shown(value)}.")


def not_blank(value: str | None, name: str) -> str | None:
    """The text. Raises BadInput("wrong_type") where it is there and only white space."""
    if value is not None and not value.strip():
        raise BadInput("wrong_type", f"{name} is blank; leave it out instead.")
    return value


def blank(name: str, value: str | None) -> BadInput:
    """The error for a name of something that says nothing."""
    return BadInput(f"blank_{name}", f"The {name} {shown(value)} holds no letter, digit or symbol.")


def object_spelling(fields: Mapping[str, Any]) -> Spelling | None:
    """The object as its source wrote it, or None. Raises BadInput("wrong_type") for what it cannot be."""
    value = fields.get("object")
    if isinstance(value, dict | list):
        raise BadInput("wrong_type", f"object is {kind_of(value)}, expected text, a number, true or false.")
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise BadInput("wrong_type", "object is an integer beyond 64 bits; write it as text.")
    if type(value) is float and not math.isfinite(value):
        raise BadInput("wrong_type", "object is a number beyond 64 bits; write it as text.")
    return value


def choice(fields: Mapping[str, Any], name: str, choices: tuple[str, ...], *, where: str = "") -> str:
    """One of the choices, the first where the field is absent. Raises BadInput("wrong_type") for others."""
    value = text(fields, name, where=where)
    if value is None:
        return choices[0]
    if value not in choices:
        raise BadInput("wrong_type", f"{where}{name} is {shown(value)}, expected {' or '.join(choices)}.")
    return value


def confidence_as_written(fields: Mapping[str, Any]) -> int | float:
    """As written: an integer may have more digits than a float can hold, so its range is checked first."""
    value: Any = fields.get("confidence")
    if value is None:
        return 1.0
    if type(value) not in (int, float):
        raise BadInput("wrong_type", f"confidence is {kind_of(value)}, expected a number.")
    return value  # type: ignore[no-any-return]


def moment(fields: Mapping[str, Any], name: str) -> Moment | None:
    """The instant or partial date under a name, or None. Raises BadInput("bad_instant")."""
    value = fields.get(name)
    if value is None:
        return None
    if type(value) is int and 1000 <= value <= 9999:
        value = str(value)  # a year: as Unix time it would be the first hours of 1970, which nobody means
    try:
        return parse_moment(value)
    except BadInstant as error:
        raise BadInput("bad_instant", f"{name}: {error}") from error
