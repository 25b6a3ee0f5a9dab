"""The stored form of one fold of a claim: its state, the newest evidence, and what was published of late.

A claim of a single-valued predicate is one strand; values of a multi-valued one are a strand each. All
older evidence lies in chunks (`state.chunks`). Decides nothing; in use it is `state.strand`.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from state.changes import Published
from state.episodes import Episode
from state.fold_state import BEFORE_ALL, FoldState
from state.identity import FactId
from state.instants import Instant
from state.late import Adjustment
from state.tail import Segment

_encode: Final = msgspec.msgpack.Encoder().encode
_decode_published: Final = msgspec.msgpack.Decoder(Published).decode


class Closed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An episode that closed within the tail, behind its first `n` statements, with what was published of it.

    Both stay as they were encoded once: they are stored again by every batch, and hardly ever read.
    """

    n: int
    episode: Raw
    published: Raw

    def moved(self, n: int) -> Closed:
        """The same where the first `n` statements have left the tail."""
        return Closed(self.n - n, self.episode, self.published)

    def was_published(self) -> Published:
        """What was published of it."""
        return _decode_published(self.published)


def closed(n: int, episode: Episode, published: Published) -> Closed:
    """An episode that closed within the tail, as it is stored."""
    return Closed(n, Raw(_encode(episode)), Raw(_encode(published)))


class Strand(msgspec.Struct, array_like=True, gc=False):
    """The stored form of a strand.

    `segments` and `tail` are the evidence behind the last full chunk, in order, each statement as bytes so
    that storing the strand again costs no encoding (`state.tail`); the first `n_folded` of it are in
    `state`, the others are scheduled. `marks` are places within it with the number of statements they
    stand behind; the states there, and the one at `base_at` before all of it, lie in a piece of their
    own, written at epoch `states_at`. `closed` are the episodes closed within the tail, each with that
    number. `live` is what was published of the facts that are open or still to come. `is_flat`: the strand
    is folded as a whole each time (see `Folding.flatten`). `epoch` is that of the batch which stored it
    last. `adjustments` correct the states of chunks (`state.late`); `n_adjusted` of them were written into
    all chunks before.

    Format 1 had the whole tail in `tail` and the states in `base` and `marks`; it is read as it is.
    """

    epoch: int = -1
    horizon: Instant = BEFORE_ALL
    base: bytes = b""
    base_at: Instant = BEFORE_ALL
    state: FoldState = msgspec.field(default_factory=FoldState)
    tail: list[bytes] = []
    n_folded: int = 0
    marks: list[tuple[int, Instant, bytes]] = []
    n_chunks: int = 0
    closed: list[Closed] = []
    live: dict[FactId, Published] = {}
    is_flat: bool = False
    due_at: Instant | None = None
    adjustments: list[Adjustment] = []
    n_adjusted: int = 0
    states_at: int = -1
    segments: list[Segment] = []
