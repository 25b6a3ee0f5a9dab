"""Cycles: the span between two ticks, as every partition sees it (DESIGN 7).

A tick closes the cycle that was under way and begins the next; it stands in the log like any input, so a
replay closes the same cycles at the same places.
"""

from __future__ import annotations

import msgspec

from state.instants import Instant


class Tick(msgspec.Struct, frozen=True, kw_only=True, tag="tick", omit_defaults=True):
    """The end of cycle `number`, from 1. `now` is what the owner of the clock took for the time."""

    number: int
    now: Instant


class Clock(msgspec.Struct, frozen=True, array_like=True):
    """The newest tick that a partition has read; number 0 before the first."""

    number: int = 0
    now: Instant | None = None

    @property
    def cycle(self) -> int:
        """The number of the cycle under way."""
        return self.number + 1
