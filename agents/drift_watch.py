"""Which subjects a tick is to look at: an index inside the table of drift, in a fixed number of shards.

A table answers for a key, not for a range; so the shard of a subject follows from its key, and a tick asks
each shard when it is due first. A tick costs what is due, not what is watched. Judges nobody.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from state.instants import INSTANT_MAX, Instant
from streams.keys import murmur2

SHARDS: Final = 64
"""A tick reads so many keys; a new entry writes one shard anew, a sixty-fourth of what is watched."""

_FIRST: Final = struct.Struct(">q")


class Shard(msgspec.Struct, array_like=True):
    """When each row is due, and which rows the tick at one offset looked at.

    Those are kept until the next such tick, because a crash may have come between this shard and the rows.
    """

    due: dict[bytes, Instant] = {}
    looked_at: list[bytes] = []
    looked_at_offset: int = -1

    def set(self, row_key: bytes, at: Instant | None) -> None:
        """Look at this row from `at` on, or no longer."""
        if at is None:
            self.due.pop(row_key, None)
        else:
            self.due[row_key] = at

    def dump(self) -> bytes:
        """As it is stored: the earliest instant first, so that it can be seen without reading the rest."""
        return _FIRST.pack(min(self.due.values(), default=INSTANT_MAX)) + _encode(self)


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Shard).decode


def watch_key(number: int) -> bytes:
    """The key of a shard. Keys of subjects are JSON arrays, so none can be equal."""
    return b"watch/%d" % number


def shard_of(row_key: bytes) -> int:
    """The shard of a subject's row."""
    # Other bits than those that chose the partition, which all rows of a table have in common.
    return (murmur2(row_key) >> 16) % SHARDS


def earliest(stored: bytes) -> Instant:
    """When the first of a stored shard is due; far off where nothing is."""
    return Instant(_FIRST.unpack_from(stored)[0])


def load(stored: bytes) -> Shard:
    """A stored shard."""
    return _decode(memoryview(stored)[_FIRST.size :])
