"""Reads and writes moments of time: text, Unix numbers and aware datetimes in, whole milliseconds out.

Decides what each written form means, once, for every door of the system (DESIGN 3, CASES F19). Never
asks a clock, never guesses a time zone, never rounds. The time line is UTC in the proleptic Gregorian
calendar from year 1 to year 9999, without leap seconds.
"""

import math
import re
import reprlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Final, NewType, NoReturn

from state.errors import BadInstant

Instant = NewType("Instant", int)
"""Milliseconds since 1970-01-01T00:00:00Z; negative before it."""

DAY_MS: Final = 86_400_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_EPOCH_UNZONED: Final = _EPOCH.replace(tzinfo=None)  # writing an offset would double the cost of a format

INSTANT_MIN: Final = Instant((date.min.toordinal() - _EPOCH_DAY) * DAY_MS)
INSTANT_END: Final = Instant((date.max.toordinal() + 1 - _EPOCH_DAY) * DAY_MS)
"""The exclusive end of time: may end a period or an interval, but nothing happens at it."""
INSTANT_MAX: Final = Instant(INSTANT_END - 1)


class Granularity(StrEnum):
    """How finely a moment was written, declared from coarse to fine.

    Compare by `rank`: `<` on the members themselves would compare the words.
    """

    DECADE = "decade"
    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"
    MILLISECOND = "millisecond"

    @property
    def rank(self) -> int:
        """0 for the coarsest, decade, up to 9 for millisecond."""
        return _RANKS[self]


_RANKS: Final = {granularity: rank for rank, granularity in enumerate(Granularity)}
UNIT_MONTHS: Final = {
    Granularity.DECADE: 120,
    Granularity.YEAR: 12,
    Granularity.QUARTER: 3,
    Granularity.MONTH: 1,
}
UNIT_MS: Final = {
    Granularity.WEEK: 7 * DAY_MS,
    Granularity.DAY: DAY_MS,
    Granularity.HOUR: 3_600_000,
    Granularity.MINUTE: 60_000,
    Granularity.SECOND: 1_000,
    Granularity.MILLISECOND: 1,
}
_FIRST_MONDAY: Final = 4 * DAY_MS  # 1970-01-05: weeks are counted from here

_FORMATTED_KEPT: Final = 4_096  # half a megabyte; an event says the same instant several times over

SECONDS_BELOW: Final = 10**11  # as seconds this is the year 5138, as milliseconds March 1973
_SHOWN_MAX: Final = 80

_ACCEPTED_INSTANTS: Final = (
    "Accepted: ISO 8601 such as 2023-05-25, 2023-05-25T13:14:00Z or 2023-05-25T13:14:00.123+02:00, or Unix "
    "time as a number (seconds below 1e11, else milliseconds), from year 1 to year 9999"
)
_ACCEPTED_MOMENTS: Final = f"{_ACCEPTED_INSTANTS}; also 2023, 2023-05, 2023-Q2, 2023-W07 and 1990s"

_DATE_AND_TIME: Final = re.compile(
    r"""
    (?P<year>[0-9]{4})
    (?: -(?P<month>[0-9]{2})-(?P<day>[0-9]{2}) | (?P<basic>[0-9]{4})
      | -[Ww](?P<week>[0-9]{2})-(?P<weekday>[1-7]) | [Ww](?P<basic_week>[0-9]{3}) )
    (?P<time> [Tt\ ]
        (?P<hour>[0-9]{2})
        (?: (?P<colon>:?)(?P<minute>[0-9]{2})
            (?: (?P=colon)(?P<second>[0-9]{2}) (?: [.,](?P<fraction>[0-9]+) )? )? )?
        (?: [Zz] | (?P<sign>[+-])(?P<offset_hours>[0-9]{2})(?: :?(?P<offset_minutes>[0-9]{2}) )? )?
    )?
    """,
    re.VERBOSE,
)
_PARTIAL: Final = re.compile(
    r"(?P<year>[0-9]{4})(?:(?P<decade>s)|-(?P<month>[0-9]{2})|-?[Qq](?P<quarter>[1-4])|-?[Ww](?P<week>[0-9]{2}))?"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A written moment: `[start, end)` is the stretch of time that the writing leaves open.

    `end` is exclusive and at most `INSTANT_END`; `granularity` is the unit that was written.
    """

    start: Instant
    end: Instant
    granularity: Granularity


def parse_instant(value: object) -> Instant:
    """Return the instant that `value` names, for `observed_at` and `recorded_at` (DESIGN 3, CASES F19).

    The rules, one by one:

    - text is ISO 8601, extended or basic, with `T`, `t` or one space before the time; week dates with a
      weekday are dates; ordinal dates, other digits than 0-9 and surrounding white space are refused;
    - without an offset the time is UTC; `Z`, `z`, `+14:00`, `-0330` and `+02` are offsets;
    - a date alone is its midnight UTC; anything coarser than a day is refused;
    - `24:00` is the midnight that ends the day;
    - second `60`, whatever its fraction, is the start of the next minute;
    - digits beyond milliseconds are cut, never rounded, so an instant never moves into the future;
    - a number is Unix time, in seconds when nearer to zero than `SECONDS_BELOW`, else in milliseconds;
    - a datetime must know its time zone.

    Raises BadInstant, and nothing else, for whatever is not understood or lies outside year 1 to 9999.
    """
    # The shape that nearly all producers send, read by the standard library in a fraction of the time.
    if (
        type(value) is str
        and len(value) == 20
        and value[19] == "Z"
        and value[10] == "T"
        and value[13] == value[16] == ":"
    ):
        try:
            since = datetime.fromisoformat(value) - _EPOCH
        except ValueError:
            pass  # 24:00:00 and second 60 are decided below, as is the wording of a refusal
        else:
            return Instant(since.days * DAY_MS + since.seconds * 1_000)
    start, granularity = _read(value, _ACCEPTED_INSTANTS)
    if granularity.rank < Granularity.DAY.rank:
        _refuse(value, f"it names a whole {granularity}", _ACCEPTED_INSTANTS)
    return start


def parse_moment(value: object) -> Moment:
    """Return the moment that `value` names, for `valid_from` and `valid_to` (DESIGN 3).

    Everything that `parse_instant` reads, and partial dates: `2023`, `2023-05`, `2023-Q2`, `2023-W07`,
    `1990s`. Granularity is the unit written last: day for a date, hour, minute, second or millisecond for
    a time; a number is a second, or a millisecond if it counts them or has a fraction. Text of four digits
    is a year, a JSON number never is. Raises BadInstant, and nothing else.
    """
    start, granularity = _read(value, _ACCEPTED_MOMENTS)
    if granularity.rank <= Granularity.DAY.rank:
        return period_of(start, granularity)
    return Moment(start, Instant(start + UNIT_MS[granularity]), granularity)


@lru_cache(maxsize=_FORMATTED_KEPT)
def format_instant(instant: Instant) -> str:
    """Return `2023-05-25T13:14:00Z`, with `.123` only for what is not a whole second.

    `parse_instant` gives the same instant back. `INSTANT_END` is written as the end of the last day,
    `9999-12-31T24:00:00Z`. Raises BadInstant outside `[INSTANT_MIN, INSTANT_END]`.
    """
    if instant == INSTANT_END:
        return "9999-12-31T24:00:00Z"
    days, millisecond_of_day = divmod(instant, DAY_MS)
    try:
        text = (_EPOCH_UNZONED + timedelta(days, millisecond_of_day // 1_000)).isoformat()
    except OverflowError:
        _refuse(instant, "it lies outside year 1 to year 9999", _ACCEPTED_INSTANTS)
    milliseconds = millisecond_of_day % 1_000
    return f"{text}.{milliseconds:03d}Z" if milliseconds else f"{text}Z"


def period_of(instant: Instant, granularity: Granularity) -> Moment:
    """Return the calendar period of this granularity that contains `instant`, which must be in range.

    Weeks begin on Monday, decades with a year that ends in 0. A period that would leave the time line is
    cut at its ends.
    """
    if granularity in UNIT_MONTHS:
        day = date_of(instant)
        months = UNIT_MONTHS[granularity]
        first = (day.year * 12 + day.month - 1) // months * months
        return Moment(month_start(first), month_start(first + months), granularity)
    unit = UNIT_MS[granularity]
    origin = _FIRST_MONDAY if granularity is Granularity.WEEK else 0
    start = (instant - origin) // unit * unit + origin
    return Moment(_clamped(start), _clamped(start + unit), granularity)


def date_of(instant: Instant) -> date:
    """Return the UTC calendar day that contains `instant`, which must be in range."""
    return date.fromordinal(instant // DAY_MS + _EPOCH_DAY)


def midnight_of(day: date) -> Instant:
    """Return the first instant of a UTC calendar day."""
    return Instant((day.toordinal() - _EPOCH_DAY) * DAY_MS)


def month_start(index: int) -> Instant:
    """Return the first instant of month `index` = year x 12 + month - 1, cut at the ends of the time line."""
    year, month = divmod(index, 12)
    if year < 1:
        return INSTANT_MIN
    if year > 9999:
        return INSTANT_END
    return midnight_of(date(year, month + 1, 1))


def shown(value: object) -> str:
    """Return at most 80 characters that show an offending value in a message; never raises."""
    if isinstance(value, str):
        value = str.__getitem__(value, slice(_SHOWN_MAX))
    try:
        text = repr(value) if isinstance(value, str | float) else reprlib.repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"  # more digits than Python prints, or a broken __repr__
    return text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 1]}…"


def _clamped(milliseconds: int) -> Instant:
    return Instant(min(max(milliseconds, INSTANT_MIN), INSTANT_END))


def _refuse(value: object, why: str, accepted: str) -> NoReturn:
    raise BadInstant(f"{shown(value)} is no instant: {why}. {accepted}.") from None


def _read(value: object, accepted: str) -> tuple[Instant, Granularity]:
    try:
        if isinstance(value, str):
            start, granularity = _read_text(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            start, granularity = _read_number(value)
        elif isinstance(value, datetime):
            start, granularity = _read_datetime(value)
        else:
            raise ValueError(f"a {type(value).__name__} is neither text nor a number")
    except Exception as problem:
        # ValueError is ours or the calendar's; anything else comes from a foreign subclass or time zone.
        why = str(problem) if isinstance(problem, ValueError) else type(problem).__name__
        _refuse(value, why, accepted)
    if not INSTANT_MIN <= start <= INSTANT_MAX:
        _refuse(value, "it lies outside year 1 to year 9999", accepted)
    return Instant(start), granularity


def _read_text(text: str) -> tuple[int, Granularity]:
    if written := _DATE_AND_TIME.fullmatch(text):
        midnight = midnight_of(_day(written))
        if written["time"] is None:
            return midnight, Granularity.DAY
        milliseconds, granularity = _time_of_day(written)
        return midnight + milliseconds - _offset(written), granularity
    if written := _PARTIAL.fullmatch(text):
        return _partial(written)
    raise ValueError("its form is not one of the accepted ones")


def _day(written: re.Match[str]) -> date:
    year = int(written["year"])
    if basic := written["basic"]:
        return date(year, int(basic[:2]), int(basic[2:]))
    if basic := written["basic_week"]:
        return date.fromisocalendar(year, int(basic[:2]), int(basic[2:]))
    if week := written["week"]:
        return date.fromisocalendar(year, int(week), int(written["weekday"]))
    return date(year, int(written["month"]), int(written["day"]))


def _time_of_day(written: re.Match[str]) -> tuple[int, Granularity]:
    """Return milliseconds after midnight, in `[0, DAY_MS]`, and the unit that was written last."""
    hour, minute, second = int(written["hour"]), int(written["minute"] or 0), int(written["second"] or 0)
    fraction = written["fraction"]
    if fraction is not None:
        granularity = Granularity.MILLISECOND
    elif written["second"] is not None:
        granularity = Granularity.SECOND
    else:
        granularity = Granularity.HOUR if written["minute"] is None else Granularity.MINUTE
    millisecond = 0 if second == 60 else int((fraction or "")[:3].ljust(3, "0"))
    if minute > 59 or second > 60:
        raise ValueError("minutes go to 59 and seconds to 59, or 60 for a leap second")
    if hour > 24 or (hour == 24 and (minute or second or (fraction or "").strip("0"))):
        raise ValueError("hours go to 23, or 24:00 for the end of the day")
    return ((hour * 60 + minute) * 60 + second) * 1_000 + millisecond, granularity


def _offset(written: re.Match[str]) -> int:
    if written["sign"] is None:
        return 0
    hours, minutes = int(written["offset_hours"]), int(written["offset_minutes"] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("an offset from UTC is less than a day, and its minutes go to 59")
    milliseconds = (hours * 60 + minutes) * 60_000
    return -milliseconds if written["sign"] == "-" else milliseconds


def _partial(written: re.Match[str]) -> tuple[int, Granularity]:
    year = int(written["year"])
    if written["decade"]:
        if year % 10:
            raise ValueError("a decade is written with its first year, as in 1990s")
        return midnight_of(date(year, 1, 1)), Granularity.DECADE
    if month := written["month"]:
        return midnight_of(date(year, int(month), 1)), Granularity.MONTH
    if quarter := written["quarter"]:
        return midnight_of(date(year, int(quarter) * 3 - 2, 1)), Granularity.QUARTER
    if week := written["week"]:
        return midnight_of(date.fromisocalendar(year, int(week), 1)), Granularity.WEEK
    return midnight_of(date(year, 1, 1)), Granularity.YEAR


def _read_number(number: int | float) -> tuple[int, Granularity]:
    if not (isinstance(number, int) or math.isfinite(number)):
        raise ValueError("it is not a finite number")
    in_seconds = -SECONDS_BELOW < number < SECONDS_BELOW
    # A float is taken as the decimal it was written as: 1.001 s is 1001 ms, though its bits lie just below.
    exact = number if isinstance(number, int) else Fraction(float.__repr__(number))
    milliseconds = math.floor(exact * 1_000 if in_seconds else exact)
    whole_seconds = in_seconds and exact == math.floor(exact)
    return milliseconds, Granularity.SECOND if whole_seconds else Granularity.MILLISECOND


def _read_datetime(moment: datetime) -> tuple[int, Granularity]:
    if moment.utcoffset() is None:
        raise ValueError("a datetime needs a time zone")
    since = moment - _EPOCH
    milliseconds = since.days * DAY_MS + since.seconds * 1_000 + since.microseconds // 1_000
    return milliseconds, Granularity.MILLISECOND if moment.microsecond else Granularity.SECOND
