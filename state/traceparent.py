"""The header `traceparent` of W3C Trace Context: read, checked and written; and many of them as one value.

Decides only whether a header is well formed. One that is not is none: a trace never costs an observation.
Begins no trace, and nothing here reaches a fact, an event or an id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

PACKED_MAX: Final = 1_000
"""Different headers that one internal record carries: at about 60 bytes each, an eighth of its own size."""

_FORM: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_LENGTH: Final = 55
_SAMPLED: Final = 0x01


class Traceparent(msgspec.Struct, frozen=True):
    """One place in a trace: 32 and 16 hexadecimal digits, neither all zeros, and eight flags."""

    trace_id: str
    span_id: str
    flags: int

    @property
    def is_sampled(self) -> bool:
        """Whether whoever wrote the header may have recorded the trace."""
        return bool(self.flags & _SAMPLED)

    def header(self) -> bytes:
        """As a header of version 00."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}".encode("ascii")


def parse(header: bytes) -> Traceparent | None:
    """What a header says; None where it is malformed.

    Of a version to come only what version 00 knows is read, as the standard asks for.
    """
    found = _FORM.fullmatch(header)
    if found is None:
        return None
    version, trace_id, span_id, flags, rest = found.groups()
    if version == b"ff" or (version == b"00" and rest is not None):
        return None
    if trace_id.strip(b"0") == b"" or span_id.strip(b"0") == b"":
        return None
    number = int(flags, 16)
    return Traceparent(
        trace_id.decode("ascii"), span_id.decode("ascii"), number if version == b"00" else number & _SAMPLED
    )


def well_formed(header: bytes) -> bytes | None:
    """The header in version 00, or None where it is malformed."""
    found = parse(header)
    return None if found is None else found.header()


# -- those of a batch -----------------------------------------------------------------------

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(dict[bytes, list[int]]).decode


def packed(headers: Sequence[bytes | None]) -> bytes | None:
    """The headers of the entries of a batch, in its order, as one value; None where no entry has one.

    Equal ones are written once: all observations of one request share theirs. Those beyond `PACKED_MAX` are
    left out.
    """
    numbers: dict[bytes, list[int]] = {}
    for number, header in enumerate(headers):
        if header is None:
            continue
        if header in numbers or len(numbers) < PACKED_MAX:
            numbers.setdefault(header, []).append(number)
    return _encode(numbers) if numbers else None


def unpacked(value: bytes) -> dict[int, bytes]:
    """From the number of an entry to its header. What nobody of ours wrote holds none."""
    try:
        found = _decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    pairs = sorted((number, header) for header, numbers in found.items() for number in numbers)
    return {number: header for number, header in pairs if len(header) == _LENGTH and parse(header)}
