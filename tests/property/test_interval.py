"""Intervals against a plain twin: the set of whole numbers that an interval contains."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from state import interval
from state.errors import BadInstant, BadInterval
from state.instants import INSTANT_END, INSTANT_MAX, INSTANT_MIN, Granularity, Instant, period_of
from state.interval import Bound, Certainty, Interval

# Finite bounds lie between 0 and 8; every set is cut to -2 .. 10, so that an infinite side stands out.
SEEN = range(-2, 11)


def bounds(instants: st.SearchStrategy[int]) -> st.SearchStrategy[Bound]:
    return st.builds(Bound, instants.map(Instant), st.sampled_from(Granularity), st.sampled_from(Certainty))


@st.composite
def intervals(draw: st.DrawFn, instants: st.SearchStrategy[int]) -> Interval:
    lo = draw(st.none() | bounds(instants))
    hi = draw(st.none() | bounds(instants))
    if lo is not None and hi is not None:
        if lo.at > hi.at:
            lo, hi = hi, lo
        if lo.at == hi.at:
            hi = Bound(Instant(hi.at + 1), hi.granularity, hi.certainty)
    return Interval(lo, hi)


small = intervals(st.integers(0, 8))

anywhere = st.integers(INSTANT_MIN + 1, INSTANT_MAX - 1)
aligned = st.builds(
    lambda at, granularity: period_of(Instant(at), granularity).start, anywhere, st.sampled_from(Granularity)
).filter(lambda at: at > INSTANT_MIN)
periods = st.builds(
    lambda at, granularity, certainty: interval.of_moment(period_of(Instant(at), granularity), certainty),
    st.integers(INSTANT_MIN, INSTANT_MAX),
    st.sampled_from(Granularity),
    st.sampled_from(Certainty),
)
large = intervals(anywhere | aligned | st.just(INSTANT_MAX)) | periods
AT_THE_ENDS = Interval(
    Bound(INSTANT_MIN, Granularity.DECADE, Certainty.DEFINITE),
    Bound(INSTANT_END, Granularity.DECADE, Certainty.UNKNOWN),
)


def twin(x: Interval) -> set[int]:
    return {
        number
        for number in SEEN
        if (x.lo is None or number >= x.lo.at) and (x.hi is None or number < x.hi.at)
    }


@given(small)
def test_contains_is_membership(x: Interval) -> None:
    assert {number for number in SEEN if x.contains(Instant(number))} == twin(x)


@given(small, small)
def test_overlapping_is_having_a_common_member(x: Interval, y: Interval) -> None:
    assert x.overlaps(y) == bool(twin(x) & twin(y))
    assert x.disjoint(y) == twin(x).isdisjoint(twin(y))


@given(small, small)
def test_before_is_every_member_less_than_every_other(x: Interval, y: Interval) -> None:
    assert x.before(y) == (max(twin(x)) < min(twin(y)))
    assert x.after(y) == (min(twin(x)) > max(twin(y)))


@given(small, small)
def test_meeting_is_ending_one_below_the_first_member(x: Interval, y: Interval) -> None:
    assert x.meets(y) == (max(twin(x)) + 1 == min(twin(y)))


@given(small, small)
def test_during_is_being_a_subset(x: Interval, y: Interval) -> None:
    assert x.during(y) == (twin(x) <= twin(y))


@given(small, small)
def test_the_intersection_has_exactly_the_common_members(x: Interval, y: Interval) -> None:
    common = x.intersection(y)

    assert (set() if common is None else twin(common)) == twin(x) & twin(y)
    assert common == y.intersection(x)


@given(small, small)
def test_every_bound_of_an_intersection_or_a_span_comes_from_one_of_the_two(x: Interval, y: Interval) -> None:
    for derived in (x.intersection(y), x.span(y)):
        if derived is not None:
            assert derived.lo in (x.lo, y.lo)
            assert derived.hi in (x.hi, y.hi)


@given(small, small)
def test_the_span_is_the_smallest_run_with_all_members(x: Interval, y: Interval) -> None:
    both = twin(x) | twin(y)

    assert twin(x.span(y)) == set(range(min(both), max(both) + 1))
    assert x.span(y) == y.span(x)


@given(small)
def test_the_duration_counts_the_members(x: Interval) -> None:
    assert x.duration_ms == (None if x.lo is None or x.hi is None else len(twin(x)))


@given(small, small)
def test_order_is_by_first_then_last_member_and_ties_only_equals(x: Interval, y: Interval) -> None:
    x_ends, y_ends = (min(twin(x)), max(twin(x))), (min(twin(y)), max(twin(y)))

    if x_ends != y_ends:
        assert (x < y) == (x_ends < y_ends)
    assert (x < y) + (x == y) + (x > y) == 1
    assert (x <= y) == (not x > y)


@given(st.lists(small | large, max_size=8))
def test_packed_intervals_sort_as_the_intervals_do(some: list[Interval]) -> None:
    packed = [interval.pack(each) for each in some]

    assert all(len(each) == interval.PACKED_BYTES for each in packed)
    assert sorted(packed) == [interval.pack(each) for each in sorted(some)]


@given(small | large)
@example(AT_THE_ENDS)
def test_an_interval_is_unpacked_as_it_was_packed(x: Interval) -> None:
    assert interval.unpack(interval.pack(x)) == x


@given(small | large)
@example(AT_THE_ENDS)
def test_an_interval_is_read_back_as_it_was_written(x: Interval) -> None:
    assert interval.parse(interval.format(x)) == x


@given(small | large, small | large)
def test_different_intervals_are_written_differently(x: Interval, y: Interval) -> None:
    assert (interval.format(x) == interval.format(y)) == (x == y)


@given(periods)
def test_a_whole_period_is_written_without_a_slash(x: Interval) -> None:
    nameless = x.lo is not None and x.lo.at == INSTANT_MIN and x.lo.granularity is Granularity.DECADE

    assert ("/" in interval.format(x)) == nameless


@given(small | large)
@example(AT_THE_ENDS)
def test_an_interval_survives_json(x: Interval) -> None:
    assert interval.from_json(json.loads(json.dumps(interval.to_json(x)))) == x


@given(st.text() | st.text("0123456789-:TZWQs~?@/day ", max_size=48))
def test_any_text_is_an_interval_or_refused(literal: str) -> None:
    try:
        read = interval.parse(literal)
    except (BadInstant, BadInterval):
        return
    assert interval.parse(interval.format(read)) == read


nearly_packed = st.builds(
    lambda lo, hi, codes: lo.to_bytes(8, "big") + hi.to_bytes(8, "big") + bytes(codes),
    st.sampled_from([0, 1 << 63, (1 << 63) + 1]),
    st.sampled_from([1 << 63, (1 << 63) + 1, (1 << 64) - 1]),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
)


@given(st.binary() | nearly_packed)
def test_any_bytes_are_the_only_packing_of_an_interval_or_refused(packed: bytes) -> None:
    try:
        read = interval.unpack(packed)
    except BadInterval:
        return
    assert interval.pack(read) == packed
