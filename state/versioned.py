"""Pieces that are overwritten: each keeps the version before, for a claim that was not stored.

The pieces of a batch are written before the claim itself. After a crash in between the claim is the old
one and the batch is applied to it again; it then reads what each piece was at the claim's own epoch.
"""

from __future__ import annotations

from typing import Final

import msgspec


class _Versions(msgspec.Struct, array_like=True):
    """A value, the epoch of the batch that wrote it, and the same of the value before (-1: none)."""

    epoch: int
    value: bytes
    epoch_before: int
    before: bytes


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Versions).decode


_UNVERSIONED_EPOCH: Final = 0  # before every batch that comes now


def _versions(stored: bytes) -> _Versions:
    """What is stored; releases with format 1 of claims wrote strands and their names as they were."""
    try:
        return _decode(stored)
    except msgspec.DecodeError:
        return _Versions(_UNVERSIONED_EPOCH, stored, -1, b"")


def version_at(stored: bytes | None, epoch: int) -> bytes | None:
    """The value as of an epoch, or None where there was none."""
    if stored is None:
        return None
    found = _versions(stored)
    if found.epoch <= epoch:
        return found.value
    return found.before if found.epoch_before >= 0 else None


def with_version(stored: bytes | None, value: bytes, *, epoch: int, epoch_now: int) -> bytes:
    """What to store so that `value` is read from `epoch_now` on, and at `epoch` what is read now."""
    epoch_before, before = -1, b""
    if stored is not None:
        held = _versions(stored)
        if held.epoch <= epoch:
            epoch_before, before = held.epoch, held.value
        else:
            epoch_before, before = held.epoch_before, held.before
    return _encode((epoch_now, value, epoch_before, before))


def alone(stored: bytes, epoch: int) -> bytes:
    """What is read at an epoch, with no version before it: for what must not be kept any longer."""
    held = _decode(stored)
    if held.epoch <= epoch:
        return _encode((held.epoch, held.value, -1, b""))
    return _encode((held.epoch_before, held.before, -1, b""))


def is_versioned(stored: bytes) -> bool:
    """Whether a piece has this form; whatever it holds otherwise, it has not."""
    try:
        _decode(stored)
    except msgspec.DecodeError:
        return False
    return True
