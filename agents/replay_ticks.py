"""Where a replay lets its clock tick: the same places in a file, however its lines are cut into batches.

A cycle is closed after every 500 lines and at the end of the input. Before the first observation of a later
day than all before it, time passes without closing a cycle, so that what depends on the time (an entity in
flux) is seen when it was so, and not at the end of a file that spans years. `now` of every tick is the
greatest observed_at so far. Reads lines, changes nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from state.cycles import reaches_another_day
from state.errors import BadInput, BadInstant
from state.instants import Instant, parse_instant
from state.observations import Observation
from state.validation import read

LINES_PER_CYCLE: Final = 500


class Ticking(enum.Enum):
    """What the clock does between two stretches of lines."""

    TIME_PASSES = enum.auto()
    CYCLE_CLOSES = enum.auto()


class _Observed(msgspec.Struct):
    observed_at: str | int | float | None = None


_decode: Final = msgspec.json.Decoder(_Observed).decode


def closes_at_end(n_lines: int) -> bool:
    """Whether the end of the input closes a cycle: one that the last line did not close already."""
    return n_lines % LINES_PER_CYCLE != 0


class Ticks:
    """Cuts the lines of a replay. `now` is the greatest observed_at in the log before them.

    `recorded_at` gives the time at which a line is recorded, by which it is judged.
    """

    def __init__(self, now: Instant | None, recorded_at: Callable[[bytes], Instant]) -> None:
        self._now = now
        self._recorded_at = recorded_at

    def cut(self, lines: Sequence[bytes], *, n_before: int) -> Iterator[list[bytes] | Ticking]:
        """Stretches of these lines, and what the clock does between them. `n_before` lines came before."""
        stretch: list[bytes] = []
        for number, line in enumerate(lines, start=n_before + 1):
            if self._is_of_a_later_day(line):
                if stretch:
                    yield stretch
                yield Ticking.TIME_PASSES
                stretch = []
            stretch.append(line)
            if number % LINES_PER_CYCLE == 0:
                yield stretch
                yield Ticking.CYCLE_CLOSES
                stretch = []
        if stretch:
            yield stretch

    def _is_of_a_later_day(self, line: bytes) -> bool:
        """Whether the line can be used, and was observed on a later day than everything before it."""
        try:
            value = _decode(line).observed_at
            at = None if value is None else parse_instant(value)
        except (msgspec.DecodeError, UnicodeDecodeError, BadInstant):
            return False
        # A line is judged in full only where that matters: on the first of each day.
        if at is None or not (self._now is None or reaches_another_day(self._now, at)):
            return False
        try:
            usable = read(line.rstrip(b"\r\n"), recorded_at=self._recorded_at(line))
        except BadInput:
            return False
        if not isinstance(usable, Observation):
            return False
        is_first, self._now = self._now is None, usable.statement.observed_at
        return not is_first
