"""Record keys and partitions: which worker a subject lives on.

Keys are bytes. A key of several parts is a JSON array, so no value can forge a separator. Partitions are
those of Java's default partitioner (murmur2), so producers in any language that keep its default agree.
"""

from __future__ import annotations

import struct
from typing import Final, NewType

import msgspec

Partition = NewType("Partition", int)
Offset = NewType("Offset", int)

_encode: Final = msgspec.json.Encoder().encode
_M: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_MASK: Final = 0xFFFFFFFF
_WORD: Final = struct.Struct("<I")


def key(*parts: str) -> bytes:
    """The key of several parts: unforgeable, and readable in a console."""
    return _encode(parts)


def subject_key(namespace: str, subject: str) -> bytes:
    """The key by which everything stateful is partitioned. `subject` is the normal form."""
    return _encode((namespace, subject))


def murmur2(data: bytes) -> int:
    """MurmurHash2 of `data` as an unsigned 32-bit number, with the seed of Java's partitioner."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for (word,) in _WORD.iter_unpack(data[:whole]):
        k = (word * _M) & _MASK
        k ^= k >> 24
        k = (k * _M) & _MASK
        h = ((h * _M) & _MASK) ^ k
    tail = data[whole:]
    if tail:
        h ^= int.from_bytes(tail, "little")
        h = (h * _M) & _MASK
    h ^= h >> 13
    h = (h * _M) & _MASK
    return h ^ (h >> 15)


def partition_of(record_key: bytes, n_partitions: int) -> Partition:
    """The partition that Java's default partitioner gives a record with this key."""
    if n_partitions == 1:
        return Partition(0)  # the embedded host asks for each observation, and there is nothing to choose
    return Partition((murmur2(record_key) & 0x7FFFFFFF) % n_partitions)
