"""The validity interval (BTIC): when something holds, how finely that was written and how sure it is.

Decides which instants an interval contains, how two intervals relate, how they are ordered, and the one
exact spelling of each as text, bytes and JSON (DESIGN 1, CASES "Intervals"). Half-open throughout: the
start belongs to it, the end does not. Never decides what holds, and never widens a bound because it is
uncertain: certainty and granularity travel with a bound and change no comparison of instants.

The literal is a bound, a slash and a bound (`2020-03/2021-05`); an empty side is infinite; `~` before a
bound means approximate and `?` unknown. A moment without a slash is its whole period: `2022` is
`[2022-01-01, 2023-01-01)`. A bound that does not begin a period of its granularity names both:
`2023-05-08T13:14:00Z@day`.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import total_ordering
from typing import Final, Self

from state.errors import BadInstant, BadInterval
from state.instants import (
    INSTANT_END,
    INSTANT_MAX,
    INSTANT_MIN,
    Granularity,
    Instant,
    Moment,
    date_of,
    format_instant,
    parse_instant,
    parse_moment,
    period_of,
    shown,
)


class Certainty(StrEnum):
    """How sure a bound is, declared from sure to unsure."""

    DEFINITE = "definite"
    APPROXIMATE = "approximate"
    UNKNOWN = "unknown"

    @property
    def rank(self) -> int:
        """0 for definite up to 2 for unknown."""
        return _CERTAINTY_RANKS[self]


_CERTAINTIES: Final = tuple(Certainty)
_CERTAINTY_RANKS: Final = {certainty: rank for rank, certainty in enumerate(_CERTAINTIES)}
_GRANULARITIES: Final = tuple(Granularity)
_MARKS: Final = {"~": Certainty.APPROXIMATE, "?": Certainty.UNKNOWN}
_MARK_OF: Final = {Certainty.DEFINITE: "", Certainty.APPROXIMATE: "~", Certainty.UNKNOWN: "?"}

# What each granularity keeps of 2023-05-25T13:14:00Z, and what it puts behind; the others need arithmetic.
_WRITTEN: Final = {
    Granularity.DECADE: (4, "s"),
    Granularity.YEAR: (4, ""),
    Granularity.MONTH: (7, ""),
    Granularity.DAY: (10, ""),
    Granularity.HOUR: (13, "Z"),
    Granularity.MINUTE: (16, "Z"),
    Granularity.SECOND: (19, "Z"),
}

_PACKED: Final = struct.Struct(">QQBBBB4x")
PACKED_BYTES: Final = 24
_SIGN_FLIP: Final = 1 << 63  # unsigned bytes then sort as the signed number did
_PACKED_MINUS_INFINITY: Final = 0
_PACKED_INFINITY: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Bound:
    """A finite bound. `at` is the first instant inside as a start, the first one outside as an end."""

    at: Instant
    granularity: Granularity
    certainty: Certainty

    def __post_init__(self) -> None:
        """Raise BadInterval when `at` lies outside `[INSTANT_MIN, INSTANT_END]`."""
        if not INSTANT_MIN <= self.at <= INSTANT_END:
            raise BadInterval(f"A bound at {shown(self.at)} lies outside year 1 to year 9999.")


@total_ordering
@dataclass(frozen=True, slots=True)
class Interval:
    """`[lo, hi)`; None as `lo` is without beginning, None as `hi` without end.

    The total order is by start, then end (minus infinity first, infinity last), then by the granularities,
    coarse first, then by the certainties, sure first: two intervals tie only when they are equal.
    """

    lo: Bound | None
    hi: Bound | None

    def __post_init__(self) -> None:
        """Raise BadInterval when no instant lies between the bounds."""
        first = INSTANT_MIN if self.lo is None else self.lo.at
        after = INSTANT_END if self.hi is None else self.hi.at
        if first >= after:
            raise BadInterval(
                f"No instant lies from {_at_text(self.lo, 'minus infinity')} until "
                f"{_at_text(self.hi, 'infinity')}: the start must come before the end."
            )

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Interval):
            return NotImplemented
        return _order(self) < _order(other)

    def __str__(self) -> str:
        return format(self)

    @property
    def duration_ms(self) -> int | None:
        """Milliseconds from start to end; None when a bound is infinite."""
        return None if self.lo is None or self.hi is None else self.hi.at - self.lo.at

    def contains(self, instant: Instant) -> bool:
        """Say whether `instant` is inside; the start is, the end is not."""
        return (self.lo is None or self.lo.at <= instant) and (self.hi is None or instant < self.hi.at)

    def before(self, other: Self) -> bool:
        """Say whether this one is over when `other` begins; one that meets it is."""
        return self.hi is not None and other.lo is not None and self.hi.at <= other.lo.at

    def after(self, other: Self) -> bool:
        """Say whether this one begins when `other` is over, or later."""
        return other.before(self)

    def meets(self, other: Self) -> bool:
        """Say whether `other` begins exactly where this one ends."""
        return self.hi is not None and other.lo is not None and self.hi.at == other.lo.at

    def disjoint(self, other: Self) -> bool:
        """Say whether no instant is in both."""
        return self.before(other) or other.before(self)

    def overlaps(self, other: Self) -> bool:
        """Say whether some instant is in both."""
        return not self.disjoint(other)

    def during(self, other: Self) -> bool:
        """Say whether every instant of this one is in `other`; equal ones are during each other."""
        starts_inside = other.lo is None or (self.lo is not None and other.lo.at <= self.lo.at)
        ends_inside = other.hi is None or (self.hi is not None and self.hi.at <= other.hi.at)
        return starts_inside and ends_inside

    def intersection(self, other: Self) -> "Interval | None":
        """Return the interval of all instants in both, or None when there are none.

        Each bound comes as it is from the interval that sets it; when both set it, the surer one counts,
        then the finer one.
        """
        if self.disjoint(other):
            return None
        return Interval(_innermost(self.lo, other.lo, max), _innermost(self.hi, other.hi, min))

    def span(self, other: Self) -> "Interval":
        """Return the smallest interval that contains both, with bounds chosen as in `intersection`."""
        return Interval(_outermost(self.lo, other.lo, min), _outermost(self.hi, other.hi, max))


def of_moment(moment: Moment, certainty: Certainty = Certainty.DEFINITE) -> Interval:
    """Return the whole stretch of a written moment; both bounds carry its granularity."""
    return Interval(
        Bound(moment.start, moment.granularity, certainty), Bound(moment.end, moment.granularity, certainty)
    )


def between(
    valid_from: Moment | None,
    valid_to: Moment | None,
    *,
    from_certainty: Certainty = Certainty.DEFINITE,
    to_certainty: Certainty = Certainty.DEFINITE,
) -> Interval:
    """Return the interval from the start of `valid_from` until the start of `valid_to`; None is infinite.

    A day or a coarser period that is written on both sides means the whole of it: `2023` until `2023` is
    the year (DESIGN 4.6, CASES F20). Raises BadInterval when nothing lies between.
    """
    lo = hi = None
    if valid_from is not None:
        lo = Bound(valid_from.start, valid_from.granularity, from_certainty)
    if valid_to is not None:
        whole = valid_from == valid_to and valid_to.granularity.rank <= Granularity.DAY.rank
        hi = Bound(valid_to.end if whole else valid_to.start, valid_to.granularity, to_certainty)
    return Interval(lo, hi)


def parse(literal: str) -> Interval:
    """Return the interval that `literal` writes; see the module for the form.

    Raises BadInstant when a side cannot be read, BadInterval when nothing lies between the sides.
    """
    if not isinstance(literal, str):
        raise BadInstant(f"{shown(literal)} is no interval: a literal is text such as 2020-03/2021-05.")
    left, slash, right = literal.partition("/")
    if not slash:
        certainty, written = _split_mark(literal)
        return of_moment(parse_moment(written), certainty)
    valid_from, from_certainty = _side(left)
    valid_to, to_certainty = _side(right)
    return between(valid_from, valid_to, from_certainty=from_certainty, to_certainty=to_certainty)


def format(interval: Interval) -> str:  # noqa: A001  # read at every call as interval.format
    """Return the shortest literal of `interval`; `parse` gives an equal interval back, always."""
    lo, hi = interval.lo, interval.hi
    if lo is not None and hi is not None:
        period = _period_from(lo)
        if period is not None and interval == of_moment(period, lo.certainty):
            return _bound_text(lo)
    return f"{_bound_text(lo)}/{_bound_text(hi)}"


def pack(interval: Interval) -> bytes:
    """Return 24 bytes that sort as the intervals do.

    Big-endian: start and end as unsigned 64 bits with the sign bit flipped (all zeros for minus infinity,
    all ones for infinity: no finite instant comes near either), one byte each for the granularity of start
    and end (rank + 1) and their certainty (rank + 1), all 0 at an infinite bound, and four zero bytes.
    """
    lo, hi, *codes = _order(interval)
    return _PACKED.pack(lo, hi, *codes)


def unpack(packed: bytes) -> Interval:
    """Return the interval that `pack` wrote. Raises BadInterval for bytes that it cannot have written."""
    if len(packed) != PACKED_BYTES:
        raise BadInterval(f"{shown(packed)} is no packed interval: expected {PACKED_BYTES} bytes.")
    lo, hi, lo_granularity, hi_granularity, lo_certainty, hi_certainty = _PACKED.unpack(packed)
    interval = Interval(
        None if lo == _PACKED_MINUS_INFINITY else _unpack_bound(lo, lo_granularity, lo_certainty),
        None if hi == _PACKED_INFINITY else _unpack_bound(hi, hi_granularity, hi_certainty),
    )
    if pack(interval) != packed:
        raise BadInterval(f"{shown(packed)} is no packed interval: bytes that must be zero are not.")
    return interval


def to_json(interval: Interval) -> dict[str, str | None]:
    """Return the six fields of a JSON object: instants as ISO 8601, null at an infinite bound."""
    lo, hi = interval.lo, interval.hi
    return {
        "lo": None if lo is None else format_instant(lo.at),
        "hi": None if hi is None else format_instant(hi.at),
        "lo_granularity": None if lo is None else lo.granularity.value,
        "hi_granularity": None if hi is None else hi.granularity.value,
        "lo_certainty": None if lo is None else lo.certainty.value,
        "hi_certainty": None if hi is None else hi.certainty.value,
    }


def from_json(fields: Mapping[str, object]) -> Interval:
    """Return the interval that `to_json` wrote; a missing field counts as null.

    Raises BadInstant for an unreadable instant, BadInterval for everything else that does not fit.
    """
    return Interval(_bound_from_json(fields, "lo"), _bound_from_json(fields, "hi"))


def _order(interval: Interval) -> tuple[int, int, int, int, int, int]:
    lo, hi = interval.lo, interval.hi
    return (
        _PACKED_MINUS_INFINITY if lo is None else lo.at + _SIGN_FLIP,
        _PACKED_INFINITY if hi is None else hi.at + _SIGN_FLIP,
        0 if lo is None else lo.granularity.rank + 1,
        0 if hi is None else hi.granularity.rank + 1,
        0 if lo is None else lo.certainty.rank + 1,
        0 if hi is None else hi.certainty.rank + 1,
    )


def _innermost(one: Bound | None, other: Bound | None, choose: Callable[[int, int], int]) -> Bound | None:
    if one is None or other is None:
        return other if one is None else one
    return _chosen(one, other, choose)


def _outermost(one: Bound | None, other: Bound | None, choose: Callable[[int, int], int]) -> Bound | None:
    return None if one is None or other is None else _chosen(one, other, choose)


def _chosen(one: Bound, other: Bound, choose: Callable[[int, int], int]) -> Bound:
    if one.at != other.at:
        return one if choose(one.at, other.at) == one.at else other
    return min(one, other, key=lambda bound: (bound.certainty.rank, -bound.granularity.rank))


def _at_text(bound: Bound | None, infinity: str) -> str:
    return infinity if bound is None else format_instant(bound.at)


def _split_mark(written: str) -> tuple[Certainty, str]:
    certainty = _MARKS.get(written[:1])
    return (Certainty.DEFINITE, written) if certainty is None else (certainty, written[1:])


def _side(side: str) -> tuple[Moment | None, Certainty]:
    if not side:
        return None, Certainty.DEFINITE
    certainty, written = _split_mark(side)
    instant_text, at_sign, unit = written.partition("@")
    if not at_sign:
        return parse_moment(written), certainty
    if unit not in _GRANULARITIES:
        raise BadInstant(f"{shown(side)} is no bound: after @ expected one of {', '.join(Granularity)}.")
    instant = _instant_or_end(instant_text)
    return Moment(instant, instant, Granularity(unit)), certainty


def _instant_or_end(written: object) -> Instant:
    return INSTANT_END if written == format_instant(INSTANT_END) else parse_instant(written)


def _period_from(bound: Bound) -> Moment | None:
    """Return the period of the bound's granularity that begins at it and has a name of its own."""
    if bound.at > INSTANT_MAX:
        return None
    period = period_of(bound.at, bound.granularity)
    # The decade of the years 1 to 9 begins before the time line does: it has no name.
    nameless = bound.granularity is Granularity.DECADE and bound.at == INSTANT_MIN
    return None if nameless or period.start != bound.at else period


def _bound_text(bound: Bound | None) -> str:
    if bound is None:
        return ""
    text = format_instant(bound.at)
    if _period_from(bound) is None:
        return f"{_MARK_OF[bound.certainty]}{text}@{bound.granularity}"
    return f"{_MARK_OF[bound.certainty]}{_period_text(bound, text)}"


def _period_text(bound: Bound, text: str) -> str:
    """Cut `text`, the bound's instant, to what its granularity leaves of it."""
    match bound.granularity:
        case Granularity.QUARTER:
            return f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}"
        case Granularity.WEEK:
            year, week, _ = date_of(bound.at).isocalendar()
            return f"{year:04d}-W{week:02d}"
        case Granularity.MILLISECOND:
            return text if "." in text else f"{text[:-1]}.000Z"
    kept, mark = _WRITTEN[bound.granularity]
    return text[:kept] + mark


def _unpack_bound(flipped: int, granularity_code: int, certainty_code: int) -> Bound:
    if not (1 <= granularity_code <= len(_GRANULARITIES) and 1 <= certainty_code <= len(_CERTAINTIES)):
        raise BadInterval(
            f"Granularity code {granularity_code} or certainty code {certainty_code} was never packed."
        )
    instant = Instant(flipped - _SIGN_FLIP)
    return Bound(instant, _GRANULARITIES[granularity_code - 1], _CERTAINTIES[certainty_code - 1])


def _bound_from_json(fields: Mapping[str, object], side: str) -> Bound | None:
    at = fields.get(side)
    granularity, certainty = fields.get(f"{side}_granularity"), fields.get(f"{side}_certainty")
    if at is None:
        if granularity is not None or certainty is not None:
            raise BadInterval(f"`{side}` is null, so must be `{side}_granularity` and `{side}_certainty`.")
        return None
    try:
        return Bound(_instant_or_end(at), Granularity(str(granularity)), Certainty(str(certainty)))
    except BadInstant:
        raise
    except ValueError as problem:
        raise BadInterval(f"`{side}_granularity` or `{side}_certainty` is none: {problem}.") from problem
