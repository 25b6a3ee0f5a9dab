"""The words of a question: instants and windows as people write them, in commands, REST and tools alike.

Decides which instant words for a stretch of time mean to each clock. Never asks a clock: now is given.
"""

from __future__ import annotations

from state.errors import BadInstant
from state.instants import Granularity, Instant, parse_moment
from state.interval import Interval
from state.windows import window


def overlaps_of(text: str, *, now: Instant) -> Interval:
    """The stretch that words mean at `now`. Raises BadInstant, BadInterval, with examples."""
    return window(text, now=now)


def valid_at_of(text: str, *, now: Instant) -> Instant:
    """The instant at which something is to hold: a stretch means its beginning.

    "2023-05" is the first instant of that May. Raises BadInstant for a stretch without beginning.
    """
    exact = _exact(text)
    if exact is not None:
        return exact
    lo = window(text, now=now).lo
    if lo is None:
        raise BadInstant(f"{text!r} has no beginning; name the instant at which it is to hold.")
    return lo.at


def known_at_of(text: str, *, now: Instant) -> Instant:
    """The instant by which something was known: a stretch means all that was known at its end.

    "last week" is what was known when that week was over; a stretch without end is `now`. Raises BadInstant.
    """
    exact = _exact(text)
    if exact is not None:
        return exact
    hi = window(text, now=now).hi
    return now if hi is None else Instant(hi.at - 1)


def _exact(text: str) -> Instant | None:
    """The instant of a text that gives a time of day, None for anything coarser."""
    try:
        moment = parse_moment(text)
    except BadInstant:
        return None
    return moment.start if moment.granularity.rank > Granularity.DAY.rank else None
