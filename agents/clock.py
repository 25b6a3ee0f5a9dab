"""The clock: one record on its topic closes one cycle, in every partition.

The topic has one partition, so its records have one order; the number of a tick is that of its record.
Whoever wants a cycle closed appends a record (`tick_request`): the owner of the clock when it is time, a
replay at its places, a person by `factdrift cycle run`. The agent hands each on to all partitions. It keeps
nothing: a crash, or two owners at once, only hand on again what was handed on, and partitions recognise a
tick by its number. Time may also pass in one partition, between two ticks (`time_passes`): that is no record
of the clock, and no cycle.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from state.cycles import NO_CYCLE, Tick
from state.errors import BadInstant
from state.instants import Instant, format_instant, parse_instant
from streams.codec import encode_entry, join_entries
from streams.host import Agent, Effects, Output, Record, State
from streams.keys import Partition
from streams.topics import Topic
from streams.wire import to_json

_decode: Final = msgspec.json.Decoder().decode


def tick_request(now: Instant | None = None, *, is_idle: bool = False) -> bytes:
    """A record for the clock. Without `now` the tick takes the log's own timestamp of this record.

    `is_idle`: there was no input, the cycle is closed only because entities are in flux.
    """
    return to_json({"now": None if now is None else format_instant(now), "idle": is_idle})


def tick_of(record: Record) -> Tick:
    """The tick that a record of the clock stands for. Whatever the record holds, it closes its cycle."""
    fields = _fields(record.value)
    now = record.recorded_at
    with contextlib.suppress(KeyError, BadInstant, TypeError):  # none given, or none that is a time
        now = parse_instant(fields["now"])
    return Tick(number=record.offset + 1, now=now, is_idle=fields.get("idle") is True)


def tick_record(tick: Tick, record: Record) -> bytes:
    """The internal record that tells one partition of a tick."""
    return join_entries([encode_entry(record.topic.value, record.partition, record.offset, tick)])


def time_passes(now: Instant, *, n_closed: int = NO_CYCLE) -> bytes:
    """The internal record that lets time pass in a partition without closing a cycle.

    `n_closed` is the number of the newest tick, where whoever writes it knows that none comes in between.
    """
    tick = Tick(number=n_closed, now=now)
    return join_entries([encode_entry(Topic.CLOCK.value, 0, max(n_closed - 1, 0), tick)])


def clock() -> Agent:
    """The agent that hands ticks on."""

    def apply(state: State, records: Sequence[Record]) -> Effects:
        effects = Effects()
        for record in records:
            told = tick_record(tick_of(record), record)
            effects.outputs += [
                Output(Topic.BY_CLAIM, None, told, Partition(number)) for number in range(state.n_partitions)
            ]
        return effects

    return Agent("clock", (Topic.CLOCK,), (), apply)


def _fields(value: bytes) -> dict[str, Any]:
    try:
        fields = _decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return fields if isinstance(fields, dict) else {}
