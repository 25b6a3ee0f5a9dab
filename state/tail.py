"""The newest evidence of a strand, as the fold reads it and as it is stored.

A claim's value is rewritten by every batch that touches it, so it holds only the last few statements;
the others of the tail lie in segments under keys of their own, written once. The same goes for the
states from which late evidence folds again. A segment is never changed: what it no longer holds is
skipped, and its key is deleted by a later batch, when no stored claim points to it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from state.instants import Instant
from state.statements import DocumentName, Statement

INLINE_MAX: Final = 8  # statements; more: fewer keys, and a larger value for every batch to write
STATEMENTS: Final = b"/t"
STATES: Final = b"/b"

_encode: Final = msgspec.msgpack.Encoder().encode
encode_statement: Final = msgspec.msgpack.Encoder().encode
"""A statement as it is stored in a tail."""

_decode_statement: Final = msgspec.msgpack.Decoder(Statement).decode
_decode_blobs: Final = msgspec.msgpack.Decoder(list[bytes]).decode


class Segment(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Where consecutive statements of the tail lie: the batch that wrote them, and which of them count."""

    epoch: int
    skip: int
    n: int


class Drawer(NamedTuple):
    """Pieces of one strand that are written once: by a two-byte kind and the epoch of their batch."""

    get: Callable[[bytes, int], bytes]
    put: Callable[[bytes, bytes], int]
    discard: Callable[[bytes, int], None]


class Tail:
    """The statements behind the last full chunk, in order. `inline` and `segments` are the stored form.

    `by_id` and `said_by` say who of them has which id and what each document said, for looks back.
    """

    def __init__(self, inline: list[bytes], segments: list[Segment], drawer: Drawer) -> None:
        self._inline = inline
        self._segments = segments
        self._drawer = drawer
        stored = [blob for segment in segments for blob in self._read(segment)]
        self.statements = [_decode_statement(blob) for blob in (*stored, *inline)]
        self.by_id = {statement.observation_id: statement for statement in self.statements}
        self._said: dict[DocumentName, list[Statement]] = {}
        for statement in self.statements:
            self._note(statement)

    def _read(self, segment: Segment) -> list[bytes]:
        blobs = _decode_blobs(self._drawer.get(STATEMENTS, segment.epoch))
        return blobs[segment.skip : segment.skip + segment.n]

    def said_by(self, document: DocumentName) -> Sequence[Statement]:
        """What a document, by its source and name, says in the tail."""
        return self._said.get(document, ())

    def replace(self, start: int, statements: Sequence[Statement]) -> None:
        """Put `statements` in the place of those from index `start` on."""
        for statement in self.statements[start:]:
            self._leave(statement)
        kept_inline = start - (len(self.statements) - len(self._inline))
        self.statements[start:] = statements
        if kept_inline < 0:
            self.discard()
            self._inline[:] = [encode_statement(statement) for statement in self.statements]
        else:
            self._inline[kept_inline:] = [encode_statement(statement) for statement in statements]
        for statement in statements:
            self.by_id[statement.observation_id] = statement
            self._note(statement)

    def extend(self, statements: Sequence[Statement]) -> None:
        """Append statements: where evidence arrives in order, all that there is to do."""
        self.statements.extend(statements)
        for statement in statements:
            self._inline.append(encode_statement(statement))
            self.by_id[statement.observation_id] = statement
            self._note(statement)

    def take(self, n: int) -> list[Statement]:
        """Remove the first `n` statements, and return them."""
        taken = self.statements[:n]
        del self.statements[:n]
        for statement in taken:
            self._leave(statement)
        while n and self._segments:
            first = self._segments[0]
            skipped = min(n, first.n)
            n -= skipped
            if skipped == first.n:
                self._drawer.discard(STATEMENTS, first.epoch)
                del self._segments[0]
            else:
                self._segments[0] = Segment(first.epoch, first.skip + skipped, first.n - skipped)
        del self._inline[:n]
        return taken

    def spill(self) -> None:
        """Move what is too much for the claim's value into a segment; once in each batch, at its end."""
        if len(self._inline) > INLINE_MAX:
            epoch = self._drawer.put(STATEMENTS, _encode(self._inline))
            self._segments.append(Segment(epoch, 0, len(self._inline)))
            self._inline.clear()

    def discard(self) -> None:
        """Let all segments go, before the strand is folded anew under another name."""
        for segment in self._segments:
            self._drawer.discard(STATEMENTS, segment.epoch)
        self._segments.clear()

    def _note(self, statement: Statement) -> None:
        if statement.document is not None:
            key = (statement.source, statement.document)
            said = self._said.get(key)
            if said is None:
                self._said[key] = [statement]
            else:
                said.append(statement)

    def _leave(self, statement: Statement) -> None:
        del self.by_id[statement.observation_id]
        if statement.document is not None:
            key = (statement.source, statement.document)
            said = self._said[key]
            if len(said) == 1:
                del self._said[key]
            else:
                said.remove(statement)


class Marks:
    """States of the fold within the tail, from which late evidence folds again.

    `base` is the state before the tail, `states` stand behind the numbers of statements in `places`, each
    with its instant. States are bytes, read when they are first needed; `places` is the stored list and
    stays in the claim's value. `stored_at` is the epoch of the piece that holds the states, -1: in the
    claim's own value, as earlier releases kept them, or nowhere because there is nothing to keep.
    """

    def __init__(
        self, base: bytes, places: list[tuple[int, Instant, bytes]], stored_at: int, drawer: Drawer
    ) -> None:
        self.places = places
        self.stored_at = stored_at
        self._drawer = drawer
        self._states: list[bytes] | None = None
        if stored_at < 0:
            self._states = [base, *(state for _, _, state in places)]
            places[:] = [(n, at, b"") for n, at, _ in places]
        self._changed = stored_at < 0 and bool(base or places)

    @property
    def base(self) -> bytes:
        """The state before the tail; b"" for the state before all evidence."""
        return self._held()[0]

    @base.setter
    def base(self, state: bytes) -> None:
        self._held()[0] = state
        self._changed = True

    def add(self, n: int, at: Instant, state: bytes) -> None:
        """Remember the state after `n` statements of the tail."""
        self._held().append(state)
        self.places.append((n, at, b""))
        self._changed = True

    def advance(self) -> tuple[int, Instant]:
        """Make the first mark the base: returns its place and instant. Later places count from there."""
        n, at, _ = self.places.pop(0)
        del self._held()[0]
        self.places[:] = [(m - n, later, b"") for m, later, _ in self.places]
        self._changed = True
        return n, at

    def clear(self) -> None:
        """Forget all marks but the base."""
        if self.places:
            self.places.clear()
            del self._held()[1:]
            self._changed = True

    def spill(self) -> None:
        """Write the states if they changed; once in each batch, at its end."""
        if not self._changed:
            return
        states = self._held()
        if self.stored_at >= 0:
            self._drawer.discard(STATES, self.stored_at)
        self.stored_at = self._drawer.put(STATES, _encode(states)) if any(states) else -1
        self._changed = False

    def discard(self) -> None:
        """Let the piece go, before the strand is folded anew under another name."""
        if self.stored_at >= 0:
            self._drawer.discard(STATES, self.stored_at)

    def _held(self) -> list[bytes]:
        if self._states is None:
            self._states = _decode_blobs(self._drawer.get(STATES, self.stored_at))
        return self._states
