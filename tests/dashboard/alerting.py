"""An entity that becomes unstable, as producers tell of it; and which tick raised an alert, by the log."""

from __future__ import annotations

from typing import Any

from state.cycles import NO_CYCLE, Tick
from state.instants import DAY_MS, Instant, format_instant
from streams.codec import decode_batch

CITIES = ("Oslo", "Bergen", "Rome", "Lima", "Cairo", "Quito")
"""The last one retires the fifth fact; with those before it all is calm."""


def moves(subject: str, now: Instant) -> list[dict[str, Any]]:
    """A move on each of the last days, the last one right now."""
    return [
        {"subject": subject, "predicate": "lives_in", "object": city, "observed_at": _at(now, number)}
        for number, city in enumerate(CITIES)
    ]


def _at(now: Instant, number: int) -> str:
    return format_instant(Instant(now - (len(CITIES) - 1 - number) * DAY_MS))


def closes_no_cycle(value: bytes) -> bool:
    """Whether an internal record is a tick that lets time pass and closes no cycle."""
    (entry,) = decode_batch(value).entries
    return isinstance(entry.usable, Tick) and entry.usable.number == NO_CYCLE
