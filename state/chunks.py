"""The pieces of a long history: full chunks of evidence, and what each document and id points to.

A chunk holds some 32 statements, the state of the fold at its start, and the facts that closed within
it. Chunks are numbered without gaps, so the one that covers an instant is found by bisection. A chunk is
never overwritten in place: its value keeps the version before, and the reader takes the one that
belongs to the claim's own epoch. A crash between the writes of one batch therefore leaves the old claim
whole, and the batch is applied to it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Raw

from state.changes import Published
from state.documents import Document, Saying
from state.episodes import Episode
from state.fold_state import FoldState, encode_state
from state.instants import Instant
from state.shelf import Shelf
from state.statements import Statement, order, position
from state.tail import Drawer
from state.versioned import version_at, with_version

CHUNK: Final = 32  # statements; smaller: more keys for a claim; larger: late evidence folds more again
CHUNK_MAX: Final = 16 * CHUNK  # a chunk that late evidence swells beyond this is cut anew


class Chunk(msgspec.Struct, array_like=True):
    """Some consecutive statements of a claim, with the fold's state before the first of them.

    `closed` are the episodes that closed within it, each with the version last published. `n_adjusted`
    counts the corrections of late evidence that the state includes (`state.late`).
    """

    statements: list[Statement]
    state: FoldState
    closed: list[tuple[Episode, Published]]
    n_adjusted: int = 0


_encode: Final = msgspec.msgpack.Encoder().encode
_decode_chunk: Final = msgspec.msgpack.Decoder(Chunk).decode
_decode_document: Final = msgspec.msgpack.Decoder(Document).decode
_decode_place: Final = msgspec.msgpack.Decoder(tuple[Instant, Instant, str]).decode


class Chunks:
    """The chunks, document entries and id entries under one name.

    `epoch` is that of the claim as it was read; what is put belongs to `epoch_now`. `discarded` is
    the claim's list of keys that a later batch is to delete: the list and no callable, so that a claim in use
    is no cycle and goes as soon as it is let go.
    """

    def __init__(
        self, shelf: Shelf, name: bytes, *, epoch: int, epoch_now: int, discarded: list[bytes]
    ) -> None:
        self._shelf = shelf
        self._name = name
        self._ids = name + b"/i"
        self._document_names = name + b"/d"
        self._discarded = discarded
        self.epoch = epoch
        self.epoch_now = epoch_now
        self._loaded: dict[int, Chunk] = {}
        self._sealed: dict[int, bytes] = {}  # of this batch, which the claim's epoch does not show yet

    def renew(self, shelf: Shelf, *, epoch: int, epoch_now: int) -> None:
        """Go on with the shelf of another batch."""
        self._shelf, self.epoch, self.epoch_now = shelf, epoch, epoch_now
        self._loaded.clear()
        self._sealed.clear()

    # -- chunks -----------------------------------------------------------------------------

    def get(self, number: int) -> Chunk:
        """Chunk `number`, as of the claim's epoch. The caller may modify it, and then puts it back."""
        found = self._loaded.get(number)
        if found is None:
            raw = self._sealed.get(number) or version_at(self._shelf.get(self._key(number)), self.epoch)
            assert raw is not None, "a chunk is as old as the strand that counts it"
            found = self._loaded[number] = _decode_chunk(raw)
        return found

    def put(self, number: int, chunk: Chunk) -> None:
        """Store a chunk; the version before stays beside it until the next time."""
        self._loaded[number] = chunk
        self._put(number, _encode(chunk))

    def put_sealed(
        self,
        number: int,
        statements: list[Statement],
        state: bytes,
        closed: list[tuple[Raw, Raw]],
        n_adjusted: int,
    ) -> None:
        """As `put`, of a new chunk whose state and episodes are at hand as bytes, stored as they are."""
        value = _encode((statements, Raw(state or encode_state(FoldState())), closed, n_adjusted))
        self._loaded.pop(number, None)
        self._sealed[number] = value
        self._put(number, value)

    def _put(self, number: int, value: bytes) -> None:
        key = self._key(number)
        stored = self._shelf.get(key)
        self._shelf.put(key, with_version(stored, value, epoch=self.epoch, epoch_now=self.epoch_now))

    def delete(self, number: int) -> None:
        """Forget a chunk. Its key stays until it is used again, since an older claim may need it."""
        self._loaded.pop(number, None)
        self._sealed.pop(number, None)

    def covering(self, at: Instant, n_chunks: int) -> int:
        """The last chunk whose first statement stands at or before `at`; 0 where none does."""
        low, high = 0, n_chunks
        while low < high:
            middle = (low + high) // 2
            if position(self.get(middle).statements[0]) <= at:
                low = middle + 1
            else:
                high = middle
        return max(0, low - 1)

    def _key(self, number: int) -> bytes:
        return self._name + b"/c" + number.to_bytes(4, "big")

    # -- pieces that are written once ---------------------------------------------------------

    @property
    def drawer(self) -> Drawer:
        """The pieces that never change, for `state.tail`."""
        return Drawer(self._get_piece, self._put_piece, self._discard_piece)

    def _get_piece(self, kind: bytes, epoch: int) -> bytes:
        stored = self._shelf.get(self._piece_key(kind, epoch))
        assert stored is not None, "a piece is kept as long as a stored claim points to it"
        return stored

    def _put_piece(self, kind: bytes, value: bytes) -> int:
        self._shelf.put(self._piece_key(kind, self.epoch_now), value)
        return self.epoch_now

    def _discard_piece(self, kind: bytes, epoch: int) -> None:
        self._discarded.append(self._piece_key(kind, epoch))

    def _piece_key(self, kind: bytes, epoch: int) -> bytes:
        return self._name + kind + epoch.to_bytes(8, "big")

    # -- documents and ids ------------------------------------------------------------------

    def document(self, who: str) -> Document | None:
        """What a document has said, as far as it lies in full chunks."""
        stored = self._shelf.get(self._document_key(who))
        return None if stored is None else _decode_document(stored)

    def has_document(self, who: str) -> bool:
        """Whether a document has said anything that lies in full chunks."""
        return self._shelf.get(self._document_key(who)) is not None

    def put_document(self, who: str, document: Document) -> None:
        """Store what a document has said."""
        self._shelf.put(self._document_key(who), _encode(document))

    def delete_document(self, who: str) -> None:
        """Forget what a document has said."""
        self._shelf.delete(self._document_key(who))

    def _document_key(self, who: str) -> bytes:
        return self._document_names + who.encode()

    def place_of(self, observation_id: str) -> tuple[Instant, Instant, str] | None:
        """Where a statement with this id was put, or None. It may have been taken away since."""
        stored = self._shelf.get(self._ids + observation_id.encode())
        return None if stored is None else _decode_place(stored)

    def put_places(self, statements: Iterable[Statement]) -> None:
        """Remember by their ids where statements lie."""
        put, ids = self._shelf.put, self._ids
        for statement in statements:
            put(ids + statement.observation_id.encode(), _encode(order(statement)))


def saying_of(statement: Statement, cluster: str) -> Saying:
    """What a document's entry keeps of a statement."""
    return Saying(
        statement.effective_at, statement.observed_at, statement.observation_id, cluster, statement.affirmed
    )
