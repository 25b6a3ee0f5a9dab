"""Types the object of a statement from its spelling: number, date, boolean, identifier or text.

Decides which spellings are one value, before any vector is asked (DESIGN 4.2, CASES F08-F10, F16, F43).
Never guesses: what is not plainly a number with a known unit or plainly a date stays an identifier, and two
identifiers are equal only if they are written the same. What is left to guess elsewhere and is not here:

- `1.000,5` and `1'000` (a thousand in one country, one in another), `10-12`, `1e5`, `007`, `~5 kg`;
- `05/06/2023` (May or June), `2023.05.08` (a version), two-digit years;
- a bare `2023`, which is a number: as a year it can still contain a date, see `date_contains`.
"""

import enum
import math
import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from state.errors import BadInput, BadInstant
from state.instants import DAY_MS, Granularity, Moment, date_of, format_instant, parse_moment
from state.names import normalise, spelling
from state.units import Unit, money_before, unit_of


class Kind(enum.StrEnum):
    """What an object is, decided by its spelling alone."""

    NUMBER = "number"
    DATE = "date"
    BOOLEAN = "boolean"
    IDENTIFIER = "identifier"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number: `amount`, exact, counted in `base`, which is "" for a plain number (see `units.Unit`)."""

    amount: Fraction
    base: str


@dataclass(frozen=True, slots=True)
class YearlessDay:
    """A day that comes round each year, such as 15 October."""

    month: int
    day: int


@dataclass(frozen=True, slots=True)
class TypedObject:
    """One object as typed.

    `key` is equal exactly for equal values, and begins with the kind: two kinds never share a key. `text` is
    the normal form. `spelling` is the cleaned original with its capitals: it varies among equal values, and
    guards read it only to tell names from words. `value` is the number or date of those kinds, else None.
    """

    kind: Kind
    key: str
    text: str
    spelling: str
    value: Quantity | Moment | YearlessDay | None


def type_object(original: str | int | float | bool) -> TypedObject:
    """Return the typed object of a statement (DESIGN 4.2).

    Text without a digit costs a few microseconds and meets neither number nor date patterns. Raises BadInput
    `blank_object` if nothing but punctuation and space is written, `wrong_type` for a number that is not
    finite or a value of another type.
    """
    if isinstance(original, str):
        return _type_kept(original) if len(original) <= _KEPT_LENGTH_MAX else _type_text(original)
    if isinstance(original, bool):
        word = "true" if original else "false"
        return TypedObject(Kind.BOOLEAN, f"b:{word}", word, word, None)
    if isinstance(original, int) or (isinstance(original, float) and math.isfinite(original)):
        amount = Fraction(original if isinstance(original, int) else repr(original))
        written = _decimal(amount, _DIGITS_FLOAT)
        return _number(amount, None, written, written)
    shown = original if isinstance(original, float) else f"a {type(original).__name__}"
    raise BadInput("wrong_type", f"The object is {shown}; it must be text, a finite number, true or false.")


def numbers_within(a: TypedObject, b: TypedObject, *, tolerance: float) -> bool:
    """Return whether two numbers of one dimension differ by at most `tolerance` x the greater of them.

    Money of two currencies, or a number with a unit and one without, never do; nor does anything that is not
    a number. Temperatures are compared in kelvin: 0.01 is about three degrees. Raises ValueError for a
    tolerance below 0.
    """
    if not tolerance >= 0:
        raise ValueError(f"a tolerance is at least 0, not {tolerance}")
    left, right = a.value, b.value
    if not (isinstance(left, Quantity) and isinstance(right, Quantity) and left.base == right.base):
        return False
    greater = max(abs(left.amount), abs(right.amount))
    return math.isinf(tolerance) or abs(left.amount - right.amount) <= Fraction(tolerance) * greater


def date_contains(coarse: TypedObject, fine: TypedObject) -> bool:
    """Return whether the first is a coarser date that the second lies in; False for equal dates (DESIGN 4.2).

    `2023-05` contains `8 May 2023`. A day without a year contains that day of every year. A bare number from
    1000 to 2999 counts as a year against a date, never against another number.
    """
    if Kind.DATE not in (coarse.kind, fine.kind):
        return False
    inner = _as_moment(fine)
    if inner is None:
        return False
    if isinstance(coarse.value, YearlessDay):
        day = date_of(inner.start)
        is_within_a_day = inner.end <= inner.start - inner.start % DAY_MS + DAY_MS
        return is_within_a_day and (day.month, day.day) == (coarse.value.month, coarse.value.day)
    outer = _as_moment(coarse)
    if outer is None or (outer.start, outer.end) == (inner.start, inner.end):
        return False
    return outer.start <= inner.start and inner.end <= outer.end


def _as_moment(typed: TypedObject) -> Moment | None:
    value = typed.value
    if isinstance(value, Moment):
        return value
    if isinstance(value, Quantity) and value.base == "" and value.amount.denominator == 1:
        return parse_moment(str(value.amount)) if 1000 <= value.amount <= 2999 else None
    return None


_DIGIT: Final = re.compile(r"\d")
_WRITTEN_MAX: Final = 80  # nobody writes a longer number or date; this also bounds the exact arithmetic
# Raised, lowered, circled and fractional digits: NFKC reads 10² as 102. Behind a letter (m²) they do no harm.
_STACKED: Final = re.compile(r"(?<![^\W\d_])[²³¹¼-¾⁰-⁹₀-₉⅐-↉①-⓿❶-➓㈠-㊿]")


_TYPED_KEPT: Final = 4_096  # about 3 MB; a text is typed at the door, and again wherever it is compared
_KEPT_LENGTH_MAX: Final = 200  # characters


@lru_cache(maxsize=_TYPED_KEPT)
def _type_kept(original: str) -> TypedObject:
    return _type_text(original)


def _type_text(original: str) -> TypedObject:
    text = normalise(original)
    if not text:
        raise BadInput(
            "blank_object", "The object has no letter, digit or symbol; leave it out if none is meant."
        )
    written = spelling(original)
    if _DIGIT.search(text) is None:
        if text in ("true", "false"):
            return TypedObject(Kind.BOOLEAN, f"b:{text}", text, written, None)
        return TypedObject(Kind.TEXT, f"t:{text}", text, written, None)
    if len(written) <= _WRITTEN_MAX and (original.isascii() or not _STACKED.search(original)):
        western = written if written.isascii() else _with_western_digits(written)
        if (found := _read_number(western)) is not None:
            return _number(*found, text, written)
        if (day := _read_date(western)) is not None:
            return TypedObject(Kind.DATE, f"d:{_date_key(day)}", text, written, day)
    return TypedObject(Kind.IDENTIFIER, f"i:{text}", text, written, None)


def _with_western_digits(written: str) -> str:
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in written)


_SIGNS: Final = "-+\u2212\u2013"
_NUMBER: Final = re.compile(
    r"""
    (?P<before> [^0-9.]{0,6} )
    (?P<digits> (?: 0 | [1-9][0-9]{0,2}(?:,[0-9]{3})+ | [1-9][0-9]* ) (?: \.[0-9]+ )? | \.[0-9]+ )
    (?P<exponent> [eE][-+]?[0-9]{1,2} )?
    (?P<after> (?: [^0-9.,].* )? )
    """,
    re.VERBOSE | re.DOTALL,
)
_MAGNITUDE: Final = re.compile(
    r"(?P<word>thousand|million|billion|trillion|mn|bn)\b|(?P<letter>[kmbt])\b", re.I
)
_MAGNITUDES: Final = {
    "thousand": 10**3, "k": 10**3, "million": 10**6, "mn": 10**6, "m": 10**6,
    "billion": 10**9, "bn": 10**9, "b": 10**9, "trillion": 10**12, "t": 10**12,
}  # fmt: skip


def _read_number(written: str) -> tuple[Fraction, Unit | None] | None:
    """The amount as written and its unit: `-$1.5M`, `1,000`, `5 million USD`, `98.6 °F`."""
    found = _NUMBER.fullmatch(written)
    if found is None:
        return None
    digits, exponent = found["digits"].replace(",", ""), found["exponent"] or ""
    if exponent and "." not in digits and exponent[1].isdigit():
        return None  # 1e5 is as likely the end of a serial number
    is_negative, before = _sign_and_money(found["before"])
    money = money_before(before)
    if before and money is None:
        return None
    amount = Fraction(digits + exponent)
    after = found["after"]
    if after == "s":
        return None  # 1990s, her 30s, a phone 5s
    magnitude = _MAGNITUDE.match(after.lstrip())
    if magnitude and (magnitude["word"] or (money and not after.startswith(" "))):
        amount *= _MAGNITUDES[magnitude[0].lower()]
        after = after.lstrip()[magnitude.end() :]
    after = after.strip()
    unit = unit_of(after) if after else money
    if after and (unit is None or (money is not None and (unit.is_measured or before != "$"))):
        return None  # "$5 per hour", "€5 kg"; only the dollar sign may be told which dollar: "$5 CAD"
    return -amount if is_negative else amount, unit


def _sign_and_money(before: str) -> tuple[bool, str]:
    """Split what stands before a number. A sign touches the number or its currency: `- 5` is a list item."""
    sign = ""
    if before and before[0] in _SIGNS and not before.startswith(" ", 1):
        sign, before = before[0], before[1:]
    elif before and before[-1] in _SIGNS:
        sign, before = before[-1], before[:-1]
    return sign not in ("", "+"), before.rstrip()


# Rounded to this many significant digits two spellings of one value meet, and values further apart than
# 1e-9 never do. What was never converted only sheds the noise of binary floats.
_DIGITS_CONVERTED: Final = 10
_DIGITS_WRITTEN: Final = 15
_DIGITS_FLOAT: Final = 17  # as many as tell any two floats apart


def _number(amount: Fraction, unit: Unit | None, text: str, written: str) -> TypedObject:
    if unit is None:
        value, base = Quantity(amount, ""), ""
    else:
        value, base = Quantity(amount * unit.factor + unit.offset, unit.base), f" {unit.base}"
    is_converted = unit is not None and unit.is_measured
    digits = _decimal(value.amount, _DIGITS_CONVERTED if is_converted else _DIGITS_WRITTEN)
    return TypedObject(Kind.NUMBER, f"n:{digits}{base}", text, written, value)


def _decimal(amount: Fraction, digits: int) -> str:
    """Plain decimal notation; whole numbers exactly, others rounded to significant digits."""
    if amount.denominator == 1:
        return f"{Decimal(amount.numerator):f}"
    rounded = Context(prec=digits).divide(Decimal(amount.numerator), Decimal(amount.denominator))
    digits_written = f"{rounded:f}"
    return digits_written.rstrip("0").rstrip(".") if "." in digits_written else digits_written


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
         "sep sept september", "oct october", "nov november", "dec december"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH: Final = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_DAY: Final = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>[0-9]{4})"
_LEAD: Final = re.compile(
    r"(?:on |in )?(?:the )?(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?,? )?", re.I
)
_ISO: Final = re.compile(r"[0-9]{4}(?:-?[Ww]?[0-9]{2}.*|-?[Qq][1-4]|s)|[0-9]{4}/[0-9]{2}/[0-9]{2}")
_WORDED: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"{_DAY}(?: of)?[ -]{_MONTH}(?:,?[ -]{_YEAR})?",
        rf"{_MONTH} {_DAY}(?:,? {_YEAR})?",
        rf"{_MONTH},? (?:of )?{_YEAR}",
        rf"{_YEAR} ?q(?P<quarter>[1-4])",
        rf"q(?P<quarter>[1-4])[ /-]{_YEAR}",
    )
)


def _read_date(written: str) -> Moment | YearlessDay | None:
    """The date of one of the written forms, or None; a weekday in front must be the right one."""
    lead = _LEAD.match(written)
    weekday = lead["weekday"] if lead else None
    core = written[lead.end() :] if lead else written
    try:
        day = _read_core(core)
    except (BadInstant, ValueError):
        return None
    if weekday is None or day is None:
        return day
    if isinstance(day, YearlessDay) or day.granularity is not Granularity.DAY:
        return None
    return day if date_of(day.start).weekday() == _WEEKDAYS.index(weekday.lower()) else None


def _read_core(core: str) -> Moment | YearlessDay | None:
    if _ISO.fullmatch(core):
        return None if core.isdigit() else parse_moment(core.replace("/", "-"))
    for pattern in _WORDED:
        found = pattern.fullmatch(core)
        if found is None:
            continue
        part = found.groupdict()
        if part.get("quarter"):
            return parse_moment(f"{part['year']}-Q{part['quarter']}")
        month = _MONTHS[part["month"].lower()]
        if "day" not in part:
            return parse_moment(f"{part['year']}-{month:02d}")
        if part["year"] is None:
            date(2000, month, int(part["day"]))  # raises if no leap year has the day
            return YearlessDay(month, int(part["day"]))
        return parse_moment(f"{part['year']}-{month:02d}-{int(part['day']):02d}")
    return None


_KEY_LENGTHS: Final = {
    Granularity.MONTH: 7,
    Granularity.DAY: 10,
    Granularity.HOUR: 13,
    Granularity.MINUTE: 16,
}


def _date_key(day: Moment | YearlessDay) -> str:
    """The ISO form, cut to the granularity: `2023-05`, `2023-05-08T13:56`, `2023-Q2`, `--10-15`, `1990s`."""
    if isinstance(day, YearlessDay):
        return f"--{day.month:02d}-{day.day:02d}"
    first = format_instant(day.start)
    match day.granularity:
        case Granularity.QUARTER:
            return f"{first[:4]}-Q{(int(first[5:7]) + 2) // 3}"
        case Granularity.DECADE:
            return f"{first[:4]}s"
        case Granularity.WEEK:
            return "{:04d}-W{:02d}".format(*date_of(day.start).isocalendar())
        case _:
            return first[: _KEY_LENGTHS.get(day.granularity)]
