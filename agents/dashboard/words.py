"""Dates, spans, counts and values as the dashboard writes them. Pure.

A date is as fine as it was given: "2023", "Q2 2023", "May 2023", "8 May 2023". All times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agents.dashboard.markup import Html, plain, said
from state.instants import DAY_MS, Instant, format_instant, parse_instant

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_HOUR_MS: Final = 3_600_000


def date(at: str, granularity: str | None = "day") -> str:
    """An instant, as finely as it was given. `at` as the API writes it."""
    year, month, day, clock = at[:4].lstrip("0") or "0", int(at[5:7]), int(at[8:10]), at[11:16]
    if granularity == "decade":
        return f"{year}s"
    if granularity == "year":
        return year
    if granularity == "quarter":
        return f"Q{(month + 2) // 3} {year}"
    if granularity == "month":
        return f"{_MONTHS[month - 1]} {year}"
    written = f"{day} {_MONTHS[month - 1][:3]} {year}"
    return written if granularity in ("day", "week") else f"{written}, {clock}"


def moment(at: str | None) -> str:
    """An instant with its time, where it has one."""
    if at is None:
        return "never"
    return date(at, "day" if at[11:19] == "00:00:00" else "minute")


def moment_of(instant: Instant) -> str:
    """The same of an instant in milliseconds."""
    return moment(format_instant(instant))


def bound(valid: Mapping[str, Any], side: str, infinite: str) -> str:
    """One bound of a span; "about" where few voices give it."""
    at = valid[side]
    if at is None:
        return infinite
    about = "about " if valid[f"{side}_certainty"] == "approximate" else ""
    return about + date(at, valid[f"{side}_granularity"])


def span(valid: Mapping[str, Any]) -> str:
    """For what time a fact holds."""
    return f"{bound(valid, 'lo', 'unknown')} – {bound(valid, 'hi', 'now')}"


def ago(at: str, now: Instant) -> str:
    """How long ago, roughly."""
    gone = now - parse_instant(at)
    if gone < 60_000:
        return "just now"
    for size, name in ((365 * DAY_MS, "year"), (30 * DAY_MS, "month"), (DAY_MS, "day"),
                       (_HOUR_MS, "hour"), (60_000, "minute")):  # fmt: skip
        if gone >= size:
            return f"{count(gone // size, name)} ago"
    return "just now"


def count(n: int, what: str, several: str | None = None) -> str:
    """So many of something: `1 fact`, `2,000 facts`."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {several or what + 's'}"


def value(spelling: object) -> Html:
    """The object of a fact."""
    return said(value_text(spelling))


def value_text(spelling: object) -> str:
    """The object of a fact, as text that may still be hostile."""
    if spelling is None:
        return "(no object)"
    if isinstance(spelling, bool):
        return "true" if spelling else "false"
    return str(spelling)


def predicate(name: str) -> str:
    """A predicate, as people write it."""
    return plain(name.replace("_", " "))
