"""The internal record: a batch of usable input for one partition, as bytes and back.

This is the record of truth, kept for ever, so it has a format number and is read by every later release.
Public events are JSON (`streams.events`); this is MessagePack, because every observation passes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from state.cycles import Tick
from state.errors import FactdriftError
from state.observations import Usable
from state.rules import RuleChange
from state.trust import TrustSnapshot

BATCH_FORMAT: Final = 1


class UnknownFormat(FactdriftError):
    """An internal record that a newer release wrote."""


Written = Usable | Tick | RuleChange | TrustSnapshot
"""What an internal record may hold."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One usable record and where it came from: the public topic, its partition and its offset."""

    topic: str
    partition: int
    offset: int
    usable: Written


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """What one internal record holds: usable input, or one decision, erasure, tick, rule or snapshot."""

    format: int
    entries: list[Entry]


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Batch)


def encode_entry(topic: str, partition: int, offset: int, usable: Written) -> bytes:
    """One entry as bytes, so that a batch can be cut by its size before it is put together."""
    return _encoder.encode(Entry(topic, partition, offset, usable))


def join_entries(entries: Sequence[bytes]) -> bytes:
    """The internal record that holds these encoded entries."""
    return _encoder.encode((BATCH_FORMAT, [msgspec.Raw(entry) for entry in entries]))


def decode_batch(value: bytes) -> Batch:
    """The batch in an internal record. Raises UnknownFormat where a newer release wrote it."""
    batch = _decoder.decode(value)
    if batch.format != BATCH_FORMAT:
        raise UnknownFormat(
            f"The internal record has format {batch.format}, this release reads {BATCH_FORMAT}: "
            "it was written by a newer factdrift. Start that one."
        )
    return batch
