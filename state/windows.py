"""Reads the words people use for a stretch of time: "last week", "two months ago", "since May 2022".

Decides which interval the words mean, relative to an instant that the caller gives and on the UTC calendar.
Never asks a clock and never guesses: words that are not understood are refused, with examples.

How the words are read where English leaves it open:

- a name without a year ("in May", "on 8 May", "on Monday") is the latest one that has begun; with "last"
  it is the latest one that began before the present month, or day; with "next" the first one that begins
  after it; with "this" the one of the present year, or week. Weeks begin on Monday;
- "two weeks ago" is the day that lies two weeks back; any other unit is the whole month, year or hour that
  contains the instant so far back. A month back from 31 March is the last day of February;
- "the last 30 days", "the last hour" and "the past month" run from exactly so far back until now, and now
  itself is inside; "last month" is the calendar month before the present one;
- "since" runs on without end, "until" and "before" without beginning; "since" and "until" stop at the start
  of what they name, as `valid_from` and `valid_to` do (DESIGN 4.6); "after" begins when it is over;
- "between March and May 2022" and "from March to May 2022" contain both months whole. A name without a year
  keeps to the side that has one: the March before that May, the May after that March.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final, NoReturn

from state import interval
from state.errors import BadInstant
from state.instants import (
    DAY_MS,
    INSTANT_MAX,
    INSTANT_MIN,
    UNIT_MONTHS,
    UNIT_MS,
    Granularity,
    Instant,
    Moment,
    date_of,
    format_instant,
    midnight_of,
    period_of,
    shown,
)
from state.interval import Bound, Certainty, Interval

TEXT_CHARACTERS_MAX: Final = 200  # far longer than any window in words; a bound on the work per refusal
LEAP_DAYS_APART_YEARS_MAX: Final = 8  # from 29 February 1896 to 1904: 1900 had none

_EXAMPLES: Final = (
    "now, today, yesterday, this week, last month, next quarter, last May, in March, in March 2022, in 2021, "
    "two weeks ago, an hour ago, on 8 May 2023, on Monday, last Friday, the last 30 days, past two weeks, "
    "since 2023, since last May, until March 2022, before 2020, after 2020, between March 2022 and May 2022, "
    "or a literal such as 2023-05, 2023-Q2, 1990s, 2020-03/2021-05, 2020-03/"
)

_NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_COUNTS: Final = {"a": 1, "an": 1} | {word: count for count, word in enumerate(_NUMBERS.split(" "))}
_CALENDAR_UNITS: Final = frozenset({"week", "month", "quarter", "year", "decade"})
_DAYS_FROM_TODAY: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}


def _numbered(names: str) -> dict[str, int]:
    """Number names from 1; the first three letters are a spelling of their own."""
    numbers = {name: number for number, name in enumerate(names.split(), start=1)}
    return numbers | {name[:3]: number for name, number in numbers.items()}


_MONTHS: Final = _numbered(
    "january february march april may june july august september october november december"
) | {"sept": 9}
_WEEKDAYS: Final = _numbered("monday tuesday wednesday thursday friday saturday sunday") | {
    "tues": 2,
    "thur": 4,
    "thurs": 4,
}

_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})\.?"
_DAY: Final = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>[0-9]{4})"
_COUNT: Final = rf"(?P<count>[0-9]{{1,9}}|{'|'.join(_COUNTS)})"
_UNIT: Final = r"(?P<unit>second|minute|hour|day|week|month|quarter|year|decade)s?"

_LEADING: Final = re.compile(r"(?:(?:in|on|during|over|within|for) )?(?:the )?")
_WEEKDAY: Final = re.compile(rf"(?P<weekday>{'|'.join(_WEEKDAYS)})\.?")
_DAY_AND_MONTH: Final = re.compile(rf"(?:{_DAY} (?:of )?)?{_MONTH}(?:,? (?:of )?{_YEAR})?")
_MONTH_AND_DAY: Final = re.compile(rf"{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR})?")
_AGO: Final = re.compile(rf"{_COUNT} {_UNIT} ago")
_ROLLING: Final = re.compile(rf"(?P<word>last|past) (?:{_COUNT} )?{_UNIT}")
_RELATIVE: Final = re.compile(r"(?P<which>this|last|next) (?P<rest>.+)")
_SIDED: Final = re.compile(r"(?P<side>since|until|till|before|after) (?P<point>.+)")
_ENCLOSED: Final = (
    re.compile(r"between (?P<left>.+?) and (?P<right>.+)"),
    re.compile(r"from (?P<left>.+?) (?:to|through) (?P<right>.+)"),
)


@dataclass(frozen=True, slots=True)
class _WeekdayName:
    number: int


@dataclass(frozen=True, slots=True)
class _MonthName:
    """A month, or a day in it when `day` is given, of no particular year."""

    month: int
    day: int | None


_Name = _WeekdayName | _MonthName


def window(text: str, *, now: Instant) -> Interval:
    """Return the interval that `text` means at `now`; see the module for how words are read.

    Case and runs of white space do not matter. Raises BadInstant, with examples, for words that are not
    understood or lead out of year 1 to year 9999, and BadInterval when the end comes before the start
    ("between 2022 and 2020").
    """
    assert INSTANT_MIN <= now <= INSTANT_MAX
    if not isinstance(text, str) or len(text) > TEXT_CHARACTERS_MAX:
        _refuse(text, f"expected text of at most {TEXT_CHARACTERS_MAX} characters")
    words = " ".join(text.casefold().split())
    for pattern in _ENCLOSED:
        if enclosed := pattern.fullmatch(words):
            return _enclosed(enclosed["left"], enclosed["right"], now)
    if sided := _SIDED.fullmatch(words):
        return _sided(sided["side"], sided["point"], now)
    return _point(words, now)


def shifted(instant: Instant, by: int, unit: Granularity) -> Instant:
    """Return `instant` moved by so many units, back when negative; the time of day stays.

    Months and longer keep the day of the month, or take the last day of a month that is too short.
    Raises BadInstant when that leaves year 1 to year 9999.
    """
    if unit in UNIT_MONTHS:
        day = date_of(instant)
        year, month = divmod(day.year * 12 + day.month - 1 + by * UNIT_MONTHS[unit], 12)
        if date.min.year <= year <= date.max.year:
            day_of_month = min(day.day, monthrange(year, month + 1)[1])
            return Instant(midnight_of(date(year, month + 1, day_of_month)) + instant % DAY_MS)
    else:
        moved = instant + by * UNIT_MS[unit]
        if INSTANT_MIN <= moved <= INSTANT_MAX:
            return Instant(moved)
    raise BadInstant(f"{by} {unit}s from {format_instant(instant)} lead out of year 1 to year 9999.")


def _refuse(words: object, why: str) -> NoReturn:
    raise BadInstant(f"{shown(words)} names no window: {why}. Understood: {_EXAMPLES}.")


def _enclosed(left: str, right: str, now: Instant) -> Interval:
    left_name, right_name = _name(left), _name(right)
    if right_name is not None and left_name is None:
        lo = _finite(_point(left, now), left)[0]
        hi = _finite(_first(right_name, lo.at), right)[1]
    else:
        end = _finite(_point(right, now), right)
        start = _point(left, now) if left_name is None else _latest(left_name, end[0].at)
        lo, hi = _finite(start, left)[0], end[1]
    return Interval(lo, hi)


def _sided(side: str, point: str, now: Instant) -> Interval:
    lo, hi = _finite(_point(point, now), point)
    if side == "after":
        return Interval(hi, None)
    return Interval(lo, None) if side == "since" else Interval(None, lo)


def _finite(found: Interval | None, words: str) -> tuple[Bound, Bound]:
    if found is None or found.lo is None or found.hi is None:
        _refuse(words, "it must name a stretch with a start and an end")
    return found.lo, found.hi


def _point(words: str, now: Instant) -> Interval:
    """Return the stretch that words without since, until or between mean."""
    bare = _LEADING.sub("", words, count=1)
    for read in (_word, _ago, _rolling, _relative, _latest_named, _dated, _literal):
        found = read(bare, now)
        if found is not None:
            return found
    _refuse(words, "it is not among the words understood, or no such date exists")


def _word(words: str, now: Instant) -> Interval | None:
    if words == "now":
        return _period(now, Granularity.MILLISECOND)
    if words in _DAYS_FROM_TODAY:
        return _period(shifted(now, _DAYS_FROM_TODAY[words], Granularity.DAY), Granularity.DAY)
    return None


def _ago(words: str, now: Instant) -> Interval | None:
    if (written := _AGO.fullmatch(words)) is None:
        return None
    unit = Granularity(written["unit"])
    back = shifted(now, -_count(written["count"]), unit)
    return _period(back, Granularity.DAY if unit is Granularity.WEEK else unit)


def _rolling(words: str, now: Instant) -> Interval | None:
    written = _ROLLING.fullmatch(words)
    if written is None or (
        written["word"] == "last" and written["count"] is None and written["unit"] in _CALENDAR_UNITS
    ):
        return None
    unit = Granularity(written["unit"])
    start = shifted(now, -_count(written["count"] or "one"), unit)
    just_after_now = _period(now, Granularity.MILLISECOND).hi
    return Interval(Bound(start, unit, Certainty.DEFINITE), just_after_now)


def _relative(words: str, now: Instant) -> Interval | None:
    if (written := _RELATIVE.fullmatch(words)) is None:
        return None
    which, rest = written["which"], written["rest"]
    if rest in _CALENDAR_UNITS:
        unit = Granularity(rest)
        here = period_of(now, unit)
        aside = {"this": now, "last": here.start - 1, "next": here.end}[which]
        return _period(_on_the_time_line(aside, words), unit)
    if (name := _name(rest)) is None:
        return None
    by_month = isinstance(name, _MonthName) and name.day is None
    here = period_of(now, Granularity.MONTH if by_month else Granularity.DAY)
    if which == "last":
        return _latest(name, _on_the_time_line(here.start - 1, words))
    if which == "next":
        return _first(name, _on_the_time_line(here.end, words))
    around = period_of(now, Granularity.YEAR if isinstance(name, _MonthName) else Granularity.WEEK)
    found = _first(name, around.start)
    return found if found is not None and found.during(interval.of_moment(around)) else None


def _latest_named(words: str, now: Instant) -> Interval | None:
    name = _name(words)
    return None if name is None else _latest(name, now)


def _dated(words: str, _now: Instant) -> Interval | None:
    written = _DAY_AND_MONTH.fullmatch(words) or _MONTH_AND_DAY.fullmatch(words)
    if written is None or written["year"] is None:
        return None
    moment = _in_year(_month_name(written), int(written["year"]))
    return None if moment is None else interval.of_moment(moment)


def _literal(words: str, _now: Instant) -> Interval | None:
    try:
        return interval.parse(words)
    except BadInstant:
        return None  # refused by the caller, with examples of words and literals


def _count(written: str) -> int:
    return _COUNTS[written] if written in _COUNTS else int(written)


def _period(instant: Instant, unit: Granularity) -> Interval:
    return interval.of_moment(period_of(instant, unit))


def _on_the_time_line(milliseconds: int, words: str) -> Instant:
    if not INSTANT_MIN <= milliseconds <= INSTANT_MAX:
        _refuse(words, "it leads out of year 1 to year 9999")
    return Instant(milliseconds)


def _name(words: str) -> _Name | None:
    """Return what a name without a year stands for, or None."""
    bare = _LEADING.sub("", words, count=1)
    if written := _WEEKDAY.fullmatch(bare):
        return _WeekdayName(_WEEKDAYS[written["weekday"]])
    written = _DAY_AND_MONTH.fullmatch(bare) or _MONTH_AND_DAY.fullmatch(bare)
    return None if written is None or written["year"] is not None else _month_name(written)


def _month_name(written: re.Match[str]) -> _MonthName:
    day = written["day"]
    return _MonthName(_MONTHS[written["month"]], None if day is None else int(day))


def _latest(name: _Name, at: Instant) -> Interval | None:
    """Return the latest stretch of that name that begins at `at` or before."""
    return next((interval.of_moment(found) for found in _walk(name, at, -1) if found.start <= at), None)


def _first(name: _Name, at: Instant) -> Interval | None:
    """Return the first stretch of that name that begins at `at` or after."""
    return next((interval.of_moment(found) for found in _walk(name, at, 1) if found.start >= at), None)


def _walk(name: _Name, at: Instant, step: int) -> Iterator[Moment]:
    """Yield the stretches of that name from the year, or day, of `at` on, one by one in one direction."""
    if isinstance(name, _WeekdayName):
        for days in range(8):
            midnight = at // DAY_MS * DAY_MS + step * days * DAY_MS
            if INSTANT_MIN <= midnight <= INSTANT_MAX:
                day = period_of(Instant(midnight), Granularity.DAY)
                if date_of(day.start).isoweekday() == name.number:
                    yield day
        return
    for years in range(LEAP_DAYS_APART_YEARS_MAX + 1):
        found = _in_year(name, date_of(at).year + step * years)
        if found is not None:
            yield found


def _in_year(name: _MonthName, year: int) -> Moment | None:
    try:
        first_day = date(year, name.month, 1 if name.day is None else name.day)
    except ValueError:
        return None  # 29 February of a common year, 31 April, or a year off the time line
    return period_of(midnight_of(first_day), Granularity.MONTH if name.day is None else Granularity.DAY)
