"""A time axis: which stretch is shown, where an instant lies on it, and which marks it has. Pure.

Places are in per cent of the width, so that a picture fits whatever room there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from state.instants import (
    DAY_MS,
    INSTANT_END,
    INSTANT_MIN,
    Instant,
    date_of,
    format_instant,
    month_start,
)

_MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
_MONTH_STEPS: Final = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 2_400, 6_000, 12_000)
_SHORT_STEPS_MS: Final = (
    _MINUTE_MS, 5 * _MINUTE_MS, 15 * _MINUTE_MS, _HOUR_MS, 3 * _HOUR_MS, 6 * _HOUR_MS, 12 * _HOUR_MS, DAY_MS,
    2 * DAY_MS, 7 * DAY_MS, 14 * DAY_MS,
)  # fmt: skip
_MONTH_MS: Final = 30.44 * DAY_MS
MARGIN: Final = 0.03
"""Of the stretch, on both sides: what begins with it or ends with it is seen to."""
SHORTEST_MS: Final = _HOUR_MS
"""A stretch in which everything happened at once is shown as long as this."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled instant of an axis. `place` in per cent from the left."""

    place: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The stretch [lo, hi) that is shown. Raises nothing: instants outside lie at its ends."""

    lo: Instant
    hi: Instant

    def place(self, at: Instant) -> float:
        """Where an instant lies, in per cent from the left, within the picture."""
        return round(min(max((at - self.lo) / (self.hi - self.lo), 0.0), 1.0) * 100, 4)

    def marks(self, *, n_marks_max: int = 8) -> list[Mark]:
        """Round instants, evenly apart, at most so many."""
        least_ms = (self.hi - self.lo) / max(n_marks_max, 1)
        found = [Mark(self.place(at), label) for at, label in self._instants(least_ms)]
        return [mark for mark in found if 1 <= mark.place <= 99][:n_marks_max]

    def _instants(self, least_ms: float) -> Iterator[tuple[Instant, str]]:
        short = [step for step in _SHORT_STEPS_MS if step >= least_ms]
        if short:
            yield from self._short(short[0])
            return
        months = next((n for n in _MONTH_STEPS if n * _MONTH_MS >= least_ms), _MONTH_STEPS[-1])
        first = date_of(self.lo)
        index = (first.year * 12 + first.month - 1) // months * months
        while (at := month_start(index)) < self.hi:
            if at >= self.lo:
                year, month = divmod(index, 12)
                yield at, str(year) if months >= 12 or month == 0 else f"{_MONTHS[month]} {year}"
            index += months

    def _short(self, step_ms: int) -> Iterator[tuple[Instant, str]]:
        at = Instant(-(-self.lo // step_ms) * step_ms)
        while at < self.hi:
            written = format_instant(at)
            day = f"{int(written[8:10])} {_MONTHS[int(written[5:7]) - 1]}"
            yield at, day if at % DAY_MS == 0 else written[11:16]
            at = Instant(at + step_ms)


def spanning(instants: Iterable[Instant]) -> Axis:
    """An axis on which all of these are seen. There must be one at least."""
    known = sorted(instants)
    lo, hi = known[0], known[-1]
    spread = max(hi - lo, SHORTEST_MS)
    margin = int(spread * MARGIN)
    first = max(lo - margin, INSTANT_MIN)
    last = min(max(hi, lo + spread) + margin, INSTANT_END)
    return Axis(Instant(first), Instant(max(last, first + 1)))
