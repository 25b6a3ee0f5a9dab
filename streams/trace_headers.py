"""Where traceparents stand on the wire: beside a record, never in it.

A record of public input and an event have the header `traceparent`, one of the internal topic a header of
ours with those of all its entries. So values and ids of records are what they are without. What is malformed
is passed over, and begins no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from state.traceparent import well_formed
from streams.topics import Topic

TRACEPARENT: Final = "traceparent"
PACKED: Final = "factdrift-traceparents"

Headers = Sequence[tuple[str, bytes]]


def header_name(topic: Topic) -> str:
    """The header that a record of a topic has its traceparent in, or those of its entries."""
    return PACKED if topic is Topic.BY_CLAIM else TRACEPARENT


def trace_of(topic: Topic, headers: Headers) -> bytes | None:
    """What the headers of a record say about traces; of several of one name the last counts, as in Kafka."""
    wanted = header_name(topic)
    found = next((value for name, value in reversed(headers) if name == wanted), None)
    if found is None or topic is Topic.BY_CLAIM:
        return found
    return well_formed(found)


def headers_of(topic: Topic, trace: bytes | None) -> list[tuple[str, bytes]]:
    """The headers that a record is written with."""
    return [] if trace is None else [(header_name(topic), trace)]
