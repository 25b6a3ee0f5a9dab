"""Pages: how many items, and where the next page begins.

A cursor is the sort key of the last item, as text that a reader hands back and need not understand. It is
checked for its shape, never trusted: it is bound as a value like any other.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Column, ColumnElement, and_, false, literal, true, tuple_

from agents.read_model.errors import ReadModelError

LIMIT_MAX: Final = 1_000
CURSOR_CHARACTERS_MAX: Final = 4_096

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[str | int]).decode

Key = tuple[str | int, ...]


def checked_limit(limit: int) -> int:
    """A number of items, if a page may hold so many. Raises ReadModelError `bad_limit`."""
    if not 1 <= limit <= LIMIT_MAX:
        raise ReadModelError("bad_limit", f"A page holds 1 to {LIMIT_MAX:,} items, not {limit:,}.")
    return limit


def written(kind: str, key: Sequence[str | int]) -> str:
    """The cursor behind an item of a question of this kind."""
    return base64.urlsafe_b64encode(_encode([str(kind), *key])).decode("ascii").rstrip("=")


def read(kind: str, cursor: str | None, shape: Sequence[type]) -> Key | None:
    """The key in a cursor, None where there is none. Raises ReadModelError `bad_cursor`."""
    if cursor is None:
        return None
    try:
        if len(cursor) > CURSOR_CHARACTERS_MAX:
            raise ValueError
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        found = _decode(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, msgspec.DecodeError):
        found = []
    if found[:1] != [kind] or [type(p) for p in found[1:]] != list(shape) or not all(map(storable, found)):
        raise ReadModelError("bad_cursor", "The cursor does not come from this question; start without one.")
    return tuple(found[1:])


Columns = Sequence[ColumnElement[str] | ColumnElement[int] | Column[str] | Column[int]]


def beyond(columns: Columns, key: Key) -> ColumnElement[bool]:
    """The condition that a row lies behind this key, in the order of these columns."""
    return tuple_(*columns) > _bound(columns, key)


def from_on(columns: Columns, key: Key) -> ColumnElement[bool]:
    """The condition that a row is at this key or behind it."""
    return tuple_(*columns) >= _bound(columns, key)


def before(columns: Columns, key: Key) -> ColumnElement[bool]:
    """The condition that a row lies before this key: for pages that begin with the newest."""
    return tuple_(*columns) < _bound(columns, key)


def _bound(columns: Columns, key: Key) -> ColumnElement[Any]:
    return tuple_(*(literal(part, column.type) for part, column in zip(key, columns, strict=True)))


def same(column: Column[str], value: str | None) -> ColumnElement[bool]:
    """The condition that a text is this one. None is any; what no log can hold is found nowhere."""
    if value is None:
        return true()
    return column == value if storable(value) else false()


def below(column: Column[str], name: str) -> ColumnElement[bool]:
    """The condition that a key is this name, a slash, and whatever follows it."""
    if not storable(name):
        return false()
    return and_(column > f"{name}/", column < f"{name}0")  # 0 comes right after the slash


def storable(value: str | int) -> bool:
    """Whether a database can hold it: no zero character, no half of a surrogate pair, at most 64 bits."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
