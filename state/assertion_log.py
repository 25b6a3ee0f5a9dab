"""How the assertions of a claim are stored: a log of rows, cut into pages.

A small head holds the newest rows; full pages lie under keys of their own and are written once (a forget
rewrites them). A batch writes the head; opening a claim reads all. A page is written before the head that
counts it: a crash between the two leaves a page that no head speaks of, and the same batch writes it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from state.assertions import Row
from state.errors import FactdriftError
from state.shelf import Shelf

STORED_FORMAT: Final = 1
PAGE_ROWS: Final = 32  # more: a larger head with every batch; fewer: more keys to read when a claim is opened


class Assertions(msgspec.Struct, frozen=True, array_like=True):
    """The stored head: how many full pages there are, and the rows after them."""

    format: int = STORED_FORMAT
    n_pages: int = 0
    rows: tuple[Row, ...] = ()


class AssertionsFormatUnknown(FactdriftError):
    """Assertions that another release stored, in a form that this one cannot read."""


def load(stored: Assertions, shelf: Shelf, prefix: bytes) -> list[Row]:
    """All rows of a claim, in the order of the log; its page keys begin with `prefix`."""
    found: list[Row] = []
    for page in range(stored.n_pages):
        held = shelf.get(_page_key(prefix, page))
        assert held is not None, "a page is written before it is counted"
        found += _decode_page(held)
    return [*found, *stored.rows]


def store(
    rows: Sequence[Row], stored: Assertions, shelf: Shelf, prefix: bytes, *, n_unchanged: int
) -> Assertions:
    """Write the pages that are full now, from the first row that is not stored yet, and give the head."""
    n_pages, n_left = divmod(len(rows), PAGE_ROWS)
    for page in range(min(n_unchanged // PAGE_ROWS, stored.n_pages), n_pages):
        shelf.put(_page_key(prefix, page), _encode_page(rows[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]))
    return Assertions(STORED_FORMAT, n_pages, tuple(rows[len(rows) - n_left :]))


def erase(stored: Assertions, shelf: Shelf, prefix: bytes) -> None:
    """Delete every page of a claim."""
    for page in range(stored.n_pages):
        shelf.delete(_page_key(prefix, page))


def _page_key(prefix: bytes, page: int) -> bytes:
    return prefix + b"/a" + page.to_bytes(4, "big")


def page_number(page_key: bytes) -> int:
    """Which page lies under a key."""
    return int.from_bytes(page_key[-4:], "big")


_encode_page: Final = msgspec.msgpack.Encoder().encode
_decode_page: Final = msgspec.msgpack.Decoder(list[Row]).decode
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Assertions).decode


def encode(stored: Assertions) -> bytes:
    """The head as bytes."""
    return _encode(stored)


def decode(stored: bytes) -> Assertions:
    """A head from its bytes. Raises AssertionsFormatUnknown where another release wrote it."""
    try:
        found = _decode(stored)
    except msgspec.ValidationError as error:
        raise AssertionsFormatUnknown(_REMEDY) from error
    if found.format != STORED_FORMAT:
        raise AssertionsFormatUnknown(f"They have format {found.format}, not {STORED_FORMAT}. {_REMEDY}")
    return found


_REMEDY: Final = (
    "Stored assertions were written by another release of factdrift. Start that release, or let this one "
    "build its tables anew from the log."
)
