"""Drift: an entity whose facts keep being retired. The pure rule; who stores the instants is elsewhere.

A subject is unstable at an instant when more than four of its facts were invalidated in the thirty days
up to and including it, counted by when the deciding statements were made (DESIGN 5).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from typing import Final

from state.instants import DAY_MS, Instant

WINDOW_MS: Final = 30 * DAY_MS
UNSTABLE_ABOVE: Final = 4


def count_within(instants: list[Instant], now: Instant) -> int:
    """How many of the sorted instants lie in (now − 30 days, now]."""
    return bisect_right(instants, now) - bisect_right(instants, Instant(now - WINDOW_MS))


def first_unstable(instants: Iterable[Instant]) -> tuple[Instant, int] | None:
    """The first instant at which the count rises above the limit, and the greatest count ever reached.

    None where it never does.
    """
    ordered: list[Instant] = []
    for instant in instants:
        insort(ordered, instant)
    counts = [(count_within(ordered, instant), instant) for instant in ordered]
    over = [instant for count, instant in counts if count > UNSTABLE_ABOVE]
    return (over[0], max(count for count, _ in counts)) if over else None
