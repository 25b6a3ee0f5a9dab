"""What each written moment means, rule by rule (CASES F19); nothing else than BadInstant is ever raised."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.errors import BadInstant
from state.instants import (
    INSTANT_END,
    INSTANT_MAX,
    INSTANT_MIN,
    UNIT_MONTHS,
    UNIT_MS,
    Granularity,
    Instant,
    format_instant,
    parse_instant,
    parse_moment,
    period_of,
    shown,
)


def ms(year: int, month: int = 1, day: int = 1, hour: int = 0, minute: int = 0, second: float = 0) -> int:
    """Count milliseconds by the standard library alone, as a second opinion."""
    whole, fraction = divmod(round(second * 1_000), 1_000)
    at = datetime(year, month, day, hour, minute, whole, tzinfo=UTC)
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1) * 1_000 + fraction


THE_MOMENT = ms(2023, 5, 25, 13, 14)


@pytest.mark.parametrize(
    "written",
    [
        "2023-05-25T13:14:00Z",
        "2023-05-25t13:14:00z",
        "2023-05-25 13:14:00Z",
        "2023-05-25T13:14:00",
        "2023-05-25T13:14",
        "2023-05-25T13:14Z",
        "20230525T131400Z",
        "20230525T1314",
        "2023-W21-4T13:14:00Z",
        "2023W214T1314Z",
        "2023-05-25T13:14:00.000Z",
        "2023-05-25T13:14:00-00:00",
        "2023-05-26T03:14:00+14:00",
        "2023-05-25T09:44:00-0330",
        "2023-05-25T15:14:00+02",
        1_685_020_440,
        1_685_020_440.0,
        1_685_020_440_000,
        datetime(2023, 5, 25, 15, 14, tzinfo=timezone(timedelta(hours=2))),
    ],
    ids=str,
)
def test_every_way_to_write_an_instant_means_the_same_instant(written: object) -> None:
    assert parse_instant(written) == THE_MOMENT


def test_a_time_without_offset_is_utc() -> None:
    assert parse_instant("2024-02-29T12:00:00") == parse_instant("2024-02-29T12:00:00Z")


def test_an_offset_may_lead_into_another_day() -> None:
    assert parse_instant("2024-01-01T00:30+01:00") == ms(2023, 12, 31, 23, 30)


def test_a_date_alone_is_its_midnight() -> None:
    assert parse_instant("2023-05-25") == ms(2023, 5, 25)
    assert parse_instant("20230525") == ms(2023, 5, 25)
    assert parse_instant("2023-W21-4") == ms(2023, 5, 25)


@pytest.mark.parametrize("written", ["2023", "2023-05", "2023-Q2", "2023-W07", "1990s"])
def test_an_instant_coarser_than_a_day_is_refused_and_the_unit_is_named(written: str) -> None:
    with pytest.raises(BadInstant, match=r"it names a whole (year|month|quarter|week|decade)"):
        parse_instant(written)


@pytest.mark.parametrize("written", ["2023-12-31T24:00", "2023-12-31T24:00:00Z", "20231231T240000.000Z"])
def test_twenty_four_hours_is_the_next_midnight(written: str) -> None:
    assert parse_instant(written) == ms(2024, 1, 1)


@pytest.mark.parametrize("written", ["2023-12-31T24:00:01Z", "2023-12-31T24:01", "2023-12-31T24:00:00.001"])
def test_nothing_comes_after_twenty_four_hours(written: str) -> None:
    with pytest.raises(BadInstant, match="hours go to 23"):
        parse_instant(written)


@pytest.mark.parametrize(
    "written", ["2016-12-31T23:59:60Z", "2016-12-31T23:59:60.999Z", "2017-01-01T05:29:60+05:30"]
)
def test_a_leap_second_is_the_start_of_the_next_minute(written: str) -> None:
    assert parse_instant(written) == ms(2017, 1, 1)


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("2023-05-25T13:14:00.1Z", 100),
        ("2023-05-25T13:14:00,12Z", 120),
        ("2023-05-25T13:14:00.123999Z", 123),
        ("2023-05-25T13:14:00.9999999999Z", 999),
        ("2023-05-25T13:14:00.0009Z", 0),
        (1_685_020_440.1239, 123),
        (1_685_020_440.001, 1),
        (1_685_020_440_123.9, 123),
        (datetime(2023, 5, 25, 13, 14, 0, 123_999, tzinfo=UTC), 123),
    ],
    ids=str,
)
def test_digits_beyond_milliseconds_are_cut_and_never_rounded(written: object, milliseconds: int) -> None:
    assert parse_instant(written) == THE_MOMENT + milliseconds


def test_a_number_of_seconds_keeps_the_milliseconds_it_was_written_with() -> None:
    read = [parse_instant(float(f"1685020440.{thousandths:03d}")) for thousandths in range(1_000)]

    assert read == [THE_MOMENT + thousandths for thousandths in range(1_000)]


def test_before_1970_a_cut_goes_back_in_time_as_it_does_after() -> None:
    assert parse_instant("1969-12-31T23:59:59.9999Z") == -1
    assert parse_instant(-0.0001) == -1


@pytest.mark.parametrize(
    ("number", "instant"),
    [
        (0, 0),
        (-1, -1_000),
        (0.5, 500),
        (-0.0, 0),
        (99_999_999_999, 99_999_999_999_000),
        (100_000_000_000, 100_000_000_000),
        (-99_999_999_999.5, None),
        (-100_000_000_000, -100_000_000_000),
        (5e-324, 0),
    ],
)
def test_a_number_counts_seconds_below_1e11_and_milliseconds_from_there_on(
    number: float, instant: int | None
) -> None:
    if instant is None:
        with pytest.raises(BadInstant, match="outside year 1 to year 9999"):
            parse_instant(number)
    else:
        assert parse_instant(number) == instant


def test_time_begins_with_year_1_and_ends_with_year_9999() -> None:
    assert parse_instant("0001-01-01T00:00:00Z") == INSTANT_MIN == ms(1)
    assert parse_instant("9999-12-31T23:59:59.999Z") == INSTANT_MAX == ms(9999, 12, 31, 23, 59, 59.999)
    assert parse_instant(-62_135_596_800_000) == INSTANT_MIN
    assert parse_instant(253_402_300_799_999) == INSTANT_MAX
    assert parse_instant("1969-07-20T20:17:40Z") == ms(1969, 7, 20, 20, 17, 40) < 0


@pytest.mark.parametrize(
    "written",
    [
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T24:00",
        -62_135_596_800_001,
        253_402_300_800_000,
        10**5_000,
        -(10**5_000),
        1e308,
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    ],
    ids=shown,
)
def test_what_lies_outside_the_time_line_is_refused(written: object) -> None:
    with pytest.raises(BadInstant, match="outside year 1 to year 9999"):
        parse_instant(written)


class BrokenZone(tzinfo):
    def utcoffset(self, moment: datetime | None) -> timedelta:
        raise RuntimeError("no idea")

    def dst(self, moment: datetime | None) -> None:
        return None

    def tzname(self, moment: datetime | None) -> None:
        return None


class BrokenRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no idea")


BAD_VALUES = [
    "",
    " ",
    "now",
    "2023-05-25 ",
    " 2023-05-25",
    "2023-05-25\n",
    "2023-05-25T",
    "2023-05-25T1",
    "2023-05-25T13:1",
    "2023-05-25T13:14:00.",
    "2023-05-25T13:14:00+",
    "2023-05-25T13:14:00+2",
    "2023-05-25T13:14:00+24:00",
    "2023-05-25T13:14:00+01:60",
    "2023-05-25T13:14:00 UTC",
    "2023-05-25T13:14:00ZZ",
    "2023-05-25T13:14:00+01:00:00",
    "2023-05-25T13:1400",
    "2023-05-25X13:14:00Z",
    "2023-05-25T13:14:61Z",
    "2023-05-25T13:60:00Z",
    "2023-05-25T25:00:00Z",
    "2023-05-25T13:14:0xZ",
    "2023-02-29",
    "2023-13-01",
    "2023-00-01",
    "2023-05-00",
    "2023-5-25",
    "2023/05/25",
    "25-05-2023",
    "2023-145",
    "2023-W54-1",
    "2022-W53-1",
    "2022-W53-1T00:00:00Z",
    "20230525  T13:14:00Z",
    "2023-W00-1",
    "0000-01-01",
    "-0001-01-01",
    "+12023-01-01",
    "10000-01-01",
    "1685020440",
    "1685020440000",
    "２０２３-05-25T13:14:00Z",
    "٢٠٢٣-٠٥-٢٥",
    "𝟚𝟘𝟚𝟛-05-25",
    "2023-05-25T13:14:00Z\x00",
    "\ud800",
    "😀" * 1_000,
    "9" * 1_000_000,
    "2023-05-25T13:14:00." + "1" * 100_000 + "x",
    float("nan"),
    float("inf"),
    float("-inf"),
    True,
    False,
    None,
    [],
    {"at": 1},
    b"2023-05-25",
    1j,
    object(),
    BrokenRepr(),
    datetime(2023, 5, 25),  # noqa: DTZ001  # that it has no zone is the case
    datetime(2023, 5, 25, tzinfo=BrokenZone()),
]


@pytest.mark.parametrize("value", BAD_VALUES, ids=lambda value: type(value).__name__)
def test_what_names_no_instant_is_refused_with_the_value_and_what_would_do(value: object) -> None:
    for parse in (parse_instant, parse_moment):
        with pytest.raises(BadInstant) as caught:
            parse(value)
        message = str(caught.value)

        assert message.startswith(f"{shown(value)} is no instant: ")
        assert "2023-05-25T13:14:00Z" in message
        assert len(message) < 500


def test_a_datetime_without_a_zone_is_refused_for_that_reason() -> None:
    with pytest.raises(BadInstant, match="a datetime needs a time zone"):
        parse_instant(datetime(2023, 5, 25))  # noqa: DTZ001  # that it has no zone is the case


def test_a_long_value_is_shown_by_its_first_characters() -> None:
    assert shown("x" * 10_000) == "'" + "x" * 78 + "…"
    assert len(shown([["x" * 1_000] * 1_000] * 1_000)) <= 80
    assert shown(10**5_000) == "<int>"


@given(st.one_of(st.text(), st.text("0123456789-:TtZzWwQs+., ", max_size=32), st.integers(), st.floats()))
def test_any_text_or_number_is_read_or_refused_and_never_fails_otherwise(value: object) -> None:
    try:
        instant = parse_instant(value)
    except BadInstant:
        return
    assert INSTANT_MIN <= instant <= INSTANT_MAX


@given(st.integers(INSTANT_MIN, INSTANT_MAX))
def test_an_instant_is_read_back_as_it_was_written(milliseconds: int) -> None:
    assert parse_instant(format_instant(Instant(milliseconds))) == milliseconds


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (THE_MOMENT, "2023-05-25T13:14:00Z"),
        (THE_MOMENT + 7, "2023-05-25T13:14:00.007Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (INSTANT_MIN, "0001-01-01T00:00:00Z"),
        (INSTANT_MAX, "9999-12-31T23:59:59.999Z"),
        (INSTANT_END, "9999-12-31T24:00:00Z"),
    ],
)
def test_an_instant_is_written_with_milliseconds_only_where_it_has_some(instant: Instant, text: str) -> None:
    assert format_instant(instant) == text


@pytest.mark.parametrize("instant", [INSTANT_MIN - 1, INSTANT_END + 1, 10**30, -(10**30)])
def test_what_lies_outside_the_time_line_cannot_be_written(instant: int) -> None:
    with pytest.raises(BadInstant, match="outside year 1 to year 9999"):
        format_instant(Instant(instant))


@pytest.mark.parametrize(
    ("written", "start", "end", "granularity"),
    [
        ("1990s", ms(1990), ms(2000), "decade"),
        ("2023", ms(2023), ms(2024), "year"),
        ("2023-Q2", ms(2023, 4), ms(2023, 7), "quarter"),
        ("2023q4", ms(2023, 10), ms(2024), "quarter"),
        ("2023-12", ms(2023, 12), ms(2024), "month"),
        ("2024-02", ms(2024, 2), ms(2024, 3), "month"),
        ("2023-W07", ms(2023, 2, 13), ms(2023, 2, 20), "week"),
        ("2020W53", ms(2020, 12, 28), ms(2021, 1, 4), "week"),
        ("2025-W01", ms(2024, 12, 30), ms(2025, 1, 6), "week"),
        ("2024-02-29", ms(2024, 2, 29), ms(2024, 3, 1), "day"),
        ("20240229", ms(2024, 2, 29), ms(2024, 3, 1), "day"),
        ("2023-W21-4", ms(2023, 5, 25), ms(2023, 5, 26), "day"),
        ("2023-05-25T13", ms(2023, 5, 25, 13), ms(2023, 5, 25, 14), "hour"),
        ("2023-05-25T13:14", THE_MOMENT, THE_MOMENT + 60_000, "minute"),
        ("2023-05-25T13:14:00", THE_MOMENT, THE_MOMENT + 1_000, "second"),
        ("2023-05-25T13:14:00.123", THE_MOMENT + 123, THE_MOMENT + 124, "millisecond"),
        ("2023-05-25T13:14:00.000Z", THE_MOMENT, THE_MOMENT + 1, "millisecond"),
        ("2023-05-25T13+05:30", ms(2023, 5, 25, 7, 30), ms(2023, 5, 25, 8, 30), "hour"),
        (1_685_020_440, THE_MOMENT, THE_MOMENT + 1_000, "second"),
        (1_685_020_440.0, THE_MOMENT, THE_MOMENT + 1_000, "second"),
        (1_685_020_440.25, THE_MOMENT + 250, THE_MOMENT + 251, "millisecond"),
        (1_685_020_440_000, THE_MOMENT, THE_MOMENT + 1, "millisecond"),
        (2023, 2_023_000, 2_024_000, "second"),
        ("9999", ms(9999), INSTANT_END, "year"),
        ("9999-W52", ms(9999, 12, 27), INSTANT_END, "week"),
        ("9990s", ms(9990), INSTANT_END, "decade"),
        ("0001", INSTANT_MIN, ms(2), "year"),
    ],
)
def test_a_moment_leaves_open_what_was_not_written(
    written: object, start: int, end: int, granularity: str
) -> None:
    moment = parse_moment(written)

    assert (moment.start, moment.end, moment.granularity) == (start, end, granularity)


@pytest.mark.parametrize(
    "written",
    ["1995s", "0000s", "0000", "2023-Q0", "2023-Q5", "2023-13", "2021-W53", "202305", "23", "2023-"],
)
def test_a_partial_date_that_does_not_exist_is_refused(written: str) -> None:
    with pytest.raises(BadInstant):
        parse_moment(written)


def test_granularities_are_ranked_from_coarse_to_fine() -> None:
    ranked = sorted(Granularity, key=lambda granularity: granularity.rank)

    assert " ".join(ranked) == "decade year quarter month week day hour minute second millisecond"


def test_every_granularity_has_exactly_one_length() -> None:
    assert UNIT_MONTHS.keys() | UNIT_MS.keys() == set(Granularity)
    assert not UNIT_MONTHS.keys() & UNIT_MS.keys()


@given(st.integers(INSTANT_MIN, INSTANT_MAX).map(Instant), st.sampled_from(Granularity))
def test_periods_of_one_granularity_tile_the_time_line(instant: Instant, granularity: Granularity) -> None:
    period = period_of(instant, granularity)

    assert INSTANT_MIN <= period.start <= instant < period.end <= INSTANT_END
    assert period_of(Instant(period.end - 1), granularity) == period
    if period.end < INSTANT_END:
        assert period_of(period.end, granularity).start == period.end
