"""The validity interval by example: CASES "Intervals", literals, bytes and JSON."""

import pytest

from state import interval
from state.errors import BadInstant, BadInterval
from state.instants import (
    INSTANT_END,
    INSTANT_MAX,
    INSTANT_MIN,
    Granularity,
    Instant,
    parse_instant,
    parse_moment,
    shown,
)
from state.interval import Bound, Certainty, Interval

DEFINITE, APPROXIMATE, UNKNOWN = Certainty


def bound(at: int | str, granularity: str = "millisecond", certainty: Certainty = DEFINITE) -> Bound:
    instant = parse_instant(at) if isinstance(at, str) else Instant(at)
    return Bound(instant, Granularity(granularity), certainty)


def stretch(lo: int | None, hi: int | None) -> Interval:
    return Interval(None if lo is None else bound(lo), None if hi is None else bound(hi))


def test_intervals_that_meet_share_no_instant() -> None:
    first, second = stretch(100, 200), stretch(200, 300)

    assert not first.overlaps(second)
    assert not second.overlaps(first)
    assert first.before(second)
    assert second.after(first)
    assert first.meets(second)
    assert not second.meets(first)
    assert first.disjoint(second)
    assert first.intersection(second) is None


def test_intervals_with_a_common_instant_overlap() -> None:
    first, second = stretch(100, 200), stretch(150, 250)

    assert first.overlaps(second)
    assert not first.disjoint(second)
    assert not first.before(second)
    assert not second.after(first)
    assert first.intersection(second) == stretch(150, 200)
    assert first.span(second) == stretch(100, 250)


def test_an_interval_without_end_contains_its_start_and_all_that_follows() -> None:
    endless = stretch(100, None)

    assert endless.contains(Instant(100))
    assert endless.contains(INSTANT_MAX)
    assert not endless.contains(Instant(99))
    assert endless.duration_ms is None


def test_the_end_is_outside() -> None:
    assert stretch(100, 200).contains(Instant(199))
    assert not stretch(100, 200).contains(Instant(200))
    assert stretch(100, 200).duration_ms == 100


def test_a_year_is_all_of_it() -> None:
    year = interval.parse("2022")

    assert year.lo == Bound(Instant(1_640_995_200_000), Granularity.YEAR, DEFINITE)
    assert year.hi == Bound(Instant(1_672_531_200_000), Granularity.YEAR, DEFINITE)


def test_a_tilde_makes_both_bounds_of_a_period_approximate() -> None:
    about = interval.parse("~2022")

    assert about.lo == Bound(Instant(1_640_995_200_000), Granularity.YEAR, APPROXIMATE)
    assert about.hi == Bound(Instant(1_672_531_200_000), Granularity.YEAR, APPROXIMATE)


def test_an_open_slash_never_ends() -> None:
    since = interval.parse("2020-03/")

    assert since.lo == bound("2020-03-01", "month")
    assert since.hi is None


def test_a_leading_slash_ends_where_its_period_starts() -> None:
    until = interval.parse("/2020-03")

    assert until.lo is None
    assert until.hi == bound("2020-03-01", "month")


@pytest.mark.parametrize(("lo", "hi"), [(100, 100), (200, 100)])
def test_bounds_that_enclose_nothing_are_refused_and_both_are_named(lo: int, hi: int) -> None:
    with pytest.raises(BadInterval, match=r"1970-01-01T00:00:00\.\d00Z until 1970-01-01T00:00:00\.100Z"):
        stretch(lo, hi)


def test_an_infinite_bound_encloses_nothing_beyond_the_ends_of_time() -> None:
    with pytest.raises(BadInterval, match="until infinity"):
        stretch(INSTANT_END, None)
    with pytest.raises(BadInterval, match="from minus infinity"):
        stretch(None, INSTANT_MIN)


@pytest.mark.parametrize("at", [INSTANT_MIN - 1, INSTANT_END + 1, 10**5_000], ids=shown)
def test_a_bound_outside_the_time_line_is_refused(at: int) -> None:
    with pytest.raises(BadInterval, match="outside year 1 to year 9999"):
        bound(at)


@pytest.mark.parametrize(
    ("literal", "lo", "hi"),
    [
        ("1990s", bound("1990-01-01", "decade"), bound("2000-01-01", "decade")),
        ("2023-Q2", bound("2023-04-01", "quarter"), bound("2023-07-01", "quarter")),
        ("2023-W07", bound("2023-02-13", "week"), bound("2023-02-20", "week")),
        ("~2023-05", bound("2023-05-01", "month", APPROXIMATE), bound("2023-06-01", "month", APPROXIMATE)),
        ("?2023", bound("2023-01-01", "year", UNKNOWN), bound("2024-01-01", "year", UNKNOWN)),
        ("2020-03/2021-05", bound("2020-03-01", "month"), bound("2021-05-01", "month")),
        ("~2020/2021-05-08", bound("2020-01-01", "year", APPROXIMATE), bound("2021-05-08", "day")),
        ("2020/?2021", bound("2020-01-01", "year"), bound("2021-01-01", "year", UNKNOWN)),
        ("2023-05-08T10:00Z/", bound("2023-05-08T10:00Z", "minute"), None),
        ("2023-05-08T10:00+02:00/", bound("2023-05-08T08:00Z", "minute"), None),
        ("2023-05-08T13:14:00Z@day/", bound("2023-05-08T13:14:00Z", "day"), None),
        ("/~2023-05-08T13:14:00.5Z@year", None, bound("2023-05-08T13:14:00.5Z", "year", APPROXIMATE)),
        ("/", None, None),
        ("9999", bound("9999-01-01", "year"), bound(INSTANT_END, "year")),
        ("/9999-12-31T24:00:00Z@day", None, bound(INSTANT_END, "day")),
    ],
)
def test_a_literal_gives_each_bound_its_instant_granularity_and_certainty(
    literal: str, lo: Bound | None, hi: Bound | None
) -> None:
    assert interval.parse(literal) == Interval(lo, hi)
    assert interval.parse(interval.format(Interval(lo, hi))) == Interval(lo, hi)


@pytest.mark.parametrize(
    "literal",
    [
        "/",
        "1990s",
        "2023",
        "~2023-05",
        "?2023-Q2",
        "2023-W07",
        "2020-W53",
        "2023-05-08",
        "2023-05-08T10Z",
        "2023-05-08T10:00Z",
        "2023-05-08T10:00:00Z",
        "2023-05-08T10:00:00.000Z",
        "2023-05-08T10:00:00.123Z",
        "2020-03/",
        "/2020-03",
        "~2020-03/?2021-05",
        "2023-05-08T13:14:00Z@day/2024",
        "0001-01-01T00:00:00Z@decade/0010s",
        "9999-W52/9999-12-31T24:00:00Z@week",
        "0001",
        "9999",
    ],
)
def test_the_shortest_literal_is_the_one_that_is_written(literal: str) -> None:
    expected = "9999-W52" if literal.startswith("9999-W52") else literal

    assert interval.format(interval.parse(literal)) == expected
    assert str(interval.parse(literal)) == expected


@pytest.mark.parametrize("period", ["1990s", "2023", "2023-Q2", "2023-05", "2023-W07", "2023-05-08"])
def test_a_period_until_itself_is_the_whole_period(period: str) -> None:
    assert interval.parse(f"{period}/{period}") == interval.parse(period)


@pytest.mark.parametrize(
    "literal",
    [
        "2023-05-08T10:00Z/2023-05-08T10:00Z",
        "2023-05-08T10Z/2023-05-08T10Z",
        "2023/2022",
        "2023/2023-01",
        "2023-01/2023",
        "2023-05-08T13:14:00Z@day/2023-05-08T13:14:00Z@day",
        "9999-12-31T24:00:00Z@day/",
        "/0001",
    ],
)
def test_a_literal_whose_end_is_not_after_its_start_is_refused(literal: str) -> None:
    with pytest.raises(BadInterval):
        interval.parse(literal)


@pytest.mark.parametrize(
    "literal",
    [
        "",
        "~",
        "~/2020",
        "~~2020",
        "?~2020",
        "2020~",
        "2020//2021",
        "2020/2021/2022",
        "2020-03-01T00:00:00Z@day",
        "2020/2021@year@year",
        "2020-03-01@century/",
        "2020-03@/",
        "@day/",
        "2020-03@month/",
        "9999-12-31T24:00:00Z",
        " 2020",
        "x" * 1_000_000,
        None,
        2020,
    ],
    ids=shown,
)
def test_what_is_no_literal_is_refused(literal: str) -> None:
    with pytest.raises(BadInstant) as caught:
        interval.parse(literal)
    assert len(str(caught.value)) < 600


def test_validity_from_moments_ends_at_the_start_of_a_partial_end() -> None:
    held = interval.between(parse_moment("2020"), parse_moment("2021-05"), to_certainty=APPROXIMATE)

    assert held == interval.parse("2020/~2021-05")
    assert interval.between(None, None) == Interval(None, None)


def test_a_common_bound_is_taken_from_the_surer_then_the_finer_interval() -> None:
    sure_year = interval.parse("2020/2022")
    approximate_month = interval.parse("~2020-01/~2022-01")
    sure_month = interval.parse("2020-01/2022-01")

    assert sure_year.intersection(approximate_month) == sure_year
    assert approximate_month.intersection(sure_year) == sure_year
    assert sure_year.intersection(sure_month) == sure_month
    assert sure_month.span(sure_year) == sure_month


def test_an_intersection_keeps_each_bound_as_it_was() -> None:
    common = interval.parse("~2020-03/").intersection(interval.parse("2019/?2021-Q2"))

    assert common is not None
    assert interval.format(common) == "~2020-03/?2021-Q2"


def test_certainty_and_granularity_change_no_relation() -> None:
    assert interval.parse("?2020/~2021").meets(interval.parse("2021-01-01T00:00:00Z/"))
    assert interval.parse("?2020/~2021").during(interval.parse("2020-01-01/2021-01-01"))


def test_intervals_sort_by_start_then_end_then_granularity_then_certainty() -> None:
    in_order = [
        "/2020",
        "/",
        "2020/2021",
        "~2020/2021",
        "2020/2021-01",
        "2020-01/2021-01",
        "2020/2022",
        "2020/",
        "2020-02/2020-03",
    ]

    read = [interval.parse(literal) for literal in in_order]

    backwards = read[::-1]
    assert sorted(backwards) == read
    assert sorted(map(interval.pack, backwards)) == list(map(interval.pack, read))
    assert read[0] < read[1] <= read[1] < read[2]
    assert read[2] > read[1] >= read[1]


def test_an_interval_does_not_compare_with_anything_else() -> None:
    with pytest.raises(TypeError):
        assert stretch(1, 2) < (1, 2)


def test_the_packed_form_is_stable() -> None:
    assert interval.pack(stretch(-1, 1)).hex() == (
        "7fffffffffffffff"  # -1 with its sign flipped
        "8000000000000001"
        "0a0a0101"  # millisecond, millisecond, definite, definite
        "00000000"
    )
    assert interval.pack(Interval(None, None)).hex() == "0" * 16 + "f" * 16 + "0" * 16


@pytest.mark.parametrize(
    "packed",
    [
        "",
        "00" * 23,
        "00" * 25,
        "0000000000000000ffffffffffffffff0000000000000001",
        "7fffffffffffffff8000000000000001000a010100000000",
        "7fffffffffffffff80000000000000010b0a010100000000",
        "7fffffffffffffff80000000000000010a0a040100000000",
        "800000000000000180000000000000010a0a010100000000",
        "000000000000000180000000000000010a0a010100000000",
        "0000000000000000ffffffffffffffff0100010000000000",
    ],
)
def test_bytes_that_were_never_packed_are_refused(packed: str) -> None:
    with pytest.raises(BadInterval):
        interval.unpack(bytes.fromhex(packed))


def test_json_has_null_in_every_field_of_an_infinite_bound() -> None:
    assert interval.to_json(interval.parse("~2020-03/")) == {
        "lo": "2020-03-01T00:00:00Z",
        "hi": None,
        "lo_granularity": "month",
        "hi_granularity": None,
        "lo_certainty": "approximate",
        "hi_certainty": None,
    }
    assert interval.from_json({}) == Interval(None, None)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"lo": "soon"}, BadInstant),
        ({"lo": "2020"}, BadInstant),
        ({"lo": ["2020-01-01"]}, BadInstant),
        ({"lo_granularity": "century"}, BadInterval),
        ({"lo_granularity": None}, BadInterval),
        ({"lo_certainty": 1}, BadInterval),
        ({"hi_granularity": "year"}, BadInterval),
        ({"hi_certainty": "definite"}, BadInterval),
        ({"lo": None}, BadInterval),
        ({"hi": "2019-01-01", "hi_granularity": "day", "hi_certainty": "definite"}, BadInterval),
    ],
)
def test_json_that_fits_no_interval_is_refused(changed: dict[str, object], error: type[Exception]) -> None:
    fields = interval.to_json(interval.parse("2020-03/")) | changed

    with pytest.raises(error):
        interval.from_json(fields)
