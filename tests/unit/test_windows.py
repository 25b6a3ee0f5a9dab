"""Windows in words: what each phrase means at a given instant, on the UTC calendar."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from state import interval
from state.errors import BadInstant, BadInterval
from state.instants import (
    INSTANT_MAX,
    INSTANT_MIN,
    UNIT_MONTHS,
    Granularity,
    Instant,
    format_instant,
    parse_instant,
    period_of,
    shown,
)
from state.windows import TEXT_CHARACTERS_MAX, shifted, window

THURSDAY = parse_instant("2023-05-25T13:14:15.500Z")


@pytest.mark.parametrize(
    ("words", "literal"),
    [
        # words of their own
        ("now", "2023-05-25T13:14:15.500Z"),
        ("today", "2023-05-25"),
        ("yesterday", "2023-05-24"),
        ("tomorrow", "2023-05-26"),
        # calendar units
        ("this week", "2023-W21"),
        ("last week", "2023-W20"),
        ("next week", "2023-W22"),
        ("this month", "2023-05"),
        ("last month", "2023-04"),
        ("next month", "2023-06"),
        ("this quarter", "2023-Q2"),
        ("last quarter", "2023-Q1"),
        ("next quarter", "2023-Q3"),
        ("this year", "2023"),
        ("last year", "2022"),
        ("next year", "2024"),
        ("last decade", "2010s"),
        # months without a year
        ("in May", "2023-05"),
        ("in March", "2023-03"),
        ("in June", "2022-06"),
        ("December", "2022-12"),
        ("last May", "2022-05"),
        ("last March", "2023-03"),
        ("last June", "2022-06"),
        ("next May", "2024-05"),
        ("next June", "2023-06"),
        ("next March", "2024-03"),
        ("this March", "2023-03"),
        ("this December", "2023-12"),
        ("in Sept.", "2022-09"),
        # months and days with a year, and years
        ("in March 2022", "2022-03"),
        ("Mar 2022", "2022-03"),
        ("in March of 2022", "2022-03"),
        ("in 2021", "2021"),
        ("in the 1990s", "1990s"),
        ("on 8 May 2023", "2023-05-08"),
        ("on the 8th of May, 2023", "2023-05-08"),
        ("on March 15th 2022", "2022-03-15"),
        ("on March 15, 2022", "2022-03-15"),
        ("29 February 2024", "2024-02-29"),
        # days without a year
        ("on 15 March", "2023-03-15"),
        ("on March 15th", "2023-03-15"),
        ("on May 25", "2023-05-25"),
        ("on 26 May", "2022-05-26"),
        ("last May 25th", "2022-05-25"),
        ("next 25 May", "2024-05-25"),
        ("this 31 December", "2023-12-31"),
        ("on 29 February", "2020-02-29"),
        ("next 29 February", "2024-02-29"),
        # weekdays
        ("on Monday", "2023-05-22"),
        ("on Thursday", "2023-05-25"),
        ("on Friday", "2023-05-19"),
        ("last Monday", "2023-05-22"),
        ("last Thursday", "2023-05-18"),
        ("last Friday", "2023-05-19"),
        ("next Thursday", "2023-06-01"),
        ("next Friday", "2023-05-26"),
        ("this Sunday", "2023-05-28"),
        ("this Mon", "2023-05-22"),
        # ago
        ("two weeks ago", "2023-05-11"),
        ("3 days ago", "2023-05-22"),
        ("0 days ago", "2023-05-25"),
        ("a day ago", "2023-05-24"),
        ("a month ago", "2023-04"),
        ("twelve months ago", "2022-05"),
        ("2 quarters ago", "2022-Q4"),
        ("a year ago", "2022"),
        ("3 decades ago", "1990s"),
        ("an hour ago", "2023-05-25T12Z"),
        ("90 minutes ago", "2023-05-25T11:44Z"),
        ("20 seconds ago", "2023-05-25T13:13:55Z"),
        # running until now
        ("the last 30 days", "2023-04-25T13:14:15.500Z@day/2023-05-25T13:14:15.501Z"),
        ("past two weeks", "2023-05-11T13:14:15.500Z@week/2023-05-25T13:14:15.501Z"),
        ("in the past 3 months", "2023-02-25T13:14:15.500Z@month/2023-05-25T13:14:15.501Z"),
        ("over the past year", "2022-05-25T13:14:15.500Z@year/2023-05-25T13:14:15.501Z"),
        ("during the last hour", "2023-05-25T12:14:15.500Z@hour/2023-05-25T13:14:15.501Z"),
        ("last 24 hours", "2023-05-24T13:14:15.500Z@hour/2023-05-25T13:14:15.501Z"),
        # one side
        ("since 2023", "2023/"),
        ("since last May", "2022-05/"),
        ("since March", "2023-03/"),
        ("since yesterday", "2023-05-24/"),
        ("since two weeks ago", "2023-05-11/"),
        ("until March 2022", "/2022-03"),
        ("until now", "/2023-05-25T13:14:15.500Z"),
        ("before 2020", "/2020"),
        ("before Monday", "/2023-05-22"),
        ("after 2020", "2021/"),
        ("after March 2022", "2022-04/"),
        ("after yesterday", "2023-05-25/"),
        # two sides
        ("between March 2022 and May 2022", "2022-03/2022-06"),
        ("from March 2022 to May 2022", "2022-03/2022-06"),
        ("between 2020 and 2021", "2020/2022"),
        ("from 2020 to now", "2020/2023-05-25T13:14:15.501Z"),
        ("from 2022-12-30 through 2023-01-02", "2022-12-30/2023-01-03"),
        ("between March and May 2022", "2022-03/2022-06"),
        ("from November to February 2022", "2021-11/2022-03"),
        ("from March 2022 to May", "2022-03/2022-06"),
        ("from November 2021 to February", "2021-11/2022-03"),
        ("between March and May", "2023-03/2023-06"),
        ("between October and February", "2022-10/2023-03"),
        ("between Monday and Wednesday", "2023-05-22/2023-05-25"),
        ("from last March to yesterday", "2023-03-01T00:00:00Z@month/2023-05-25"),
        ("from now to Thursday", "2023-05-25T13:14:15.500Z/2023-06-02"),
        ("between the 1st of May and the 3rd of May", "2023-05-01/2023-05-04"),
        ("between May 2022 and May 2022", "2022-05"),
        # literals
        ("2020-03/", "2020-03/"),
        ("~2020-03/2021-05", "~2020-03/2021-05"),
        ("2023-05-08T10:00Z", "2023-05-08T10:00Z"),
        ("2023-W07", "2023-W07"),
    ],
)
def test_words_mean_this_window_on_a_thursday_in_may(words: str, literal: str) -> None:
    expected = interval.parse(literal)

    assert window(words, now=THURSDAY) == expected
    assert window(f"  {words.upper().replace(' ', '  ')}\n", now=THURSDAY) == expected


@pytest.mark.parametrize(
    ("now", "words", "literal"),
    [
        ("2023-03-31", "a month ago", "2023-02"),
        ("2024-03-31", "one month ago", "2024-02"),
        ("2024-02-29", "a year ago", "2023"),
        ("2023-01-01", "yesterday", "2022-12-31"),
        ("2024-02-29", "tomorrow", "2024-03-01"),
        ("2023-01-01", "this week", "2022-W52"),
        ("2021-01-03", "this week", "2020-W53"),
        ("2021-01-03", "next week", "2021-W01"),
        ("2023-01-31", "last month", "2022-12"),
        ("2023-12-31", "next month", "2024-01"),
        ("2023-02-10", "last quarter", "2022-Q4"),
        ("2023-05-01", "in May", "2023-05"),
        ("2023-04-30T23:59:59.999Z", "in May", "2022-05"),
        ("2023-05-31T23:59:59.999Z", "last May", "2022-05"),
        ("2023-06-01", "last May", "2023-05"),
        ("2023-05-22", "last Monday", "2023-05-15"),
        ("2023-05-22", "on Monday", "2023-05-22"),
        ("2023-05-21T23:59:59.999Z", "on Monday", "2023-05-15"),
        ("2024-02-29", "on 29 February", "2024-02-29"),
        ("1904-02-28", "on 29 February", "1896-02-29"),
        ("2096-03-01", "next 29 February", "2104-02-29"),
        ("0001-01-01", "today", "0001-01-01"),
        ("9999-12-31", "this year", "9999"),
        ("9999-12-31", "this week", "9999-W52"),
    ],
)
def test_words_follow_the_calendar_at_its_edges(now: str, words: str, literal: str) -> None:
    assert window(words, now=parse_instant(now)) == interval.parse(literal)


@pytest.mark.parametrize(
    ("start", "by", "unit", "end"),
    [
        ("2023-03-31T08:30:00Z", -1, "month", "2023-02-28T08:30:00Z"),
        ("2024-03-31T08:30:00Z", -1, "month", "2024-02-29T08:30:00Z"),
        ("2024-02-29T08:30:00Z", -1, "year", "2023-02-28T08:30:00Z"),
        ("2024-02-29T08:30:00Z", -4, "year", "2020-02-29T08:30:00Z"),
        ("2023-05-31T00:00:00Z", -1, "quarter", "2023-02-28T00:00:00Z"),
        ("2023-12-31T00:00:00Z", 2, "month", "2024-02-29T00:00:00Z"),
        ("2023-01-01T00:00:00Z", -1, "second", "2022-12-31T23:59:59Z"),
        ("2023-03-01T00:00:00Z", -2, "week", "2023-02-15T00:00:00Z"),
        ("1999-12-31T23:59:59.999Z", 1, "decade", "2009-12-31T23:59:59.999Z"),
    ],
)
def test_a_shift_keeps_the_day_or_takes_the_last_of_a_shorter_month(
    start: str, by: int, unit: str, end: str
) -> None:
    assert format_instant(shifted(parse_instant(start), by, Granularity(unit))) == end


def test_now_itself_is_in_the_last_thirty_days_and_in_now() -> None:
    for words in ("the last 30 days", "now", "past hour", "from 2020 to now", "since now", "last 0 days"):
        assert window(words, now=THURSDAY).contains(THURSDAY)
    assert not window("last 30 days", now=THURSDAY).contains(Instant(THURSDAY + 1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "soon",
        "recently",
        "last",
        "last blue moon",
        "the",
        "since",
        "since soon",
        "since /2020",
        "after 2020-03/",
        "before since 2020",
        "between 2020",
        "between 2020 and",
        "between soon and 2020",
        "from 2020-03/ to 2021",
        "two weeks",
        "minus 3 days ago",
        "1.5 days ago",
        "٣ days ago",
        "1234567890 days ago",
        "thirteen days ago",
        "on 31 February",
        "on 31 April 2023",
        "on 29 February 2023",
        "this 29 February",
        "on 0 May",
        "on 32 May",
        "in May 0000",
        "Maybe",
        "mondayish",
        "999999999 years ago",
        "999999999 seconds ago and more",
        "99999 weeks ago in 1970",
        "x" * 1_000_000,
        "last " * 40,
        "😀",
        "\ud800",
        None,
        7,
    ],
    ids=shown,
)
def test_words_that_are_not_understood_are_refused_with_examples(text: str) -> None:
    with pytest.raises(BadInstant) as caught:
        window(text, now=THURSDAY)
    message = str(caught.value)

    if "years ago" not in str(text):
        assert "two weeks ago" in message
        assert "2020-03/2021-05" in message
    assert len(message) < 700


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (INSTANT_MIN, "yesterday"),
        (INSTANT_MIN, "last week"),
        (INSTANT_MIN, "last year"),
        (INSTANT_MIN, "last May"),
        (INSTANT_MIN, "in May"),
        (INSTANT_MIN, "on Sunday"),
        (INSTANT_MIN, "a month ago"),
        (INSTANT_MIN, "past second"),
        (INSTANT_MAX, "tomorrow"),
        (INSTANT_MAX, "next week"),
        (INSTANT_MAX, "next decade"),
        (INSTANT_MAX, "next May"),
        (INSTANT_MAX, "next Saturday"),
        (Instant(INSTANT_MAX - 86_400_000), "next Monday"),
        (THURSDAY, "3000 years ago"),
        (THURSDAY, "999999999 weeks ago"),
        (THURSDAY, "the last 999999999 decades"),
    ],
)
def test_words_that_lead_out_of_the_time_line_are_refused(now: Instant, words: str) -> None:
    with pytest.raises(BadInstant):
        window(words, now=now)


@pytest.mark.parametrize(
    "words",
    ["between 2022 and 2020", "from May 2022 to March 2022", "2022/2020", "after 9999", "before 0001"],
)
def test_a_window_that_ends_before_it_starts_is_refused_as_such(words: str) -> None:
    with pytest.raises(BadInterval):
        window(words, now=THURSDAY)


def test_the_longest_text_that_is_read_is_documented() -> None:
    assert window("now".ljust(TEXT_CHARACTERS_MAX), now=THURSDAY).contains(THURSDAY)
    with pytest.raises(BadInstant, match=f"at most {TEXT_CHARACTERS_MAX} characters"):
        window("now".ljust(TEXT_CHARACTERS_MAX + 1), now=THURSDAY)


def months_back_by_hand(now: Instant, months: int) -> datetime | None:
    """Step back month by month with the standard library alone; None beyond year 1."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now)
    day, year, month = at.day, at.year, at.month
    for _ in range(months):
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
    return at.replace(year=year, month=month, day=min(day, monthrange(year, month)[1])) if year else None


instants = st.integers(INSTANT_MIN, INSTANT_MAX).map(Instant)
month_units = st.sampled_from(sorted(UNIT_MONTHS))


@given(instants, st.integers(0, 30), month_units)
@example(parse_instant("2023-03-31"), 1, Granularity.MONTH)
@example(parse_instant("2024-02-29"), 1, Granularity.YEAR)
def test_a_shift_by_months_lands_on_a_real_date_that_stepping_finds_too(
    now: Instant, count: int, unit: Granularity
) -> None:
    months = count * UNIT_MONTHS[unit]
    if (now - INSTANT_MIN) // 86_400_000 < (months + 1) * 31:
        return
    by_hand = months_back_by_hand(now, months)

    assert by_hand is not None
    milliseconds = by_hand.microsecond // 1_000
    assert format_instant(Instant(shifted(now, -count, unit) - milliseconds)) == by_hand.strftime(
        f"{by_hand.year:04d}-%m-%dT%H:%M:%SZ"
    )


@given(instants, st.integers(0, 10**9 - 1) | st.integers(0, 100), st.sampled_from(Granularity))
def test_any_shift_in_words_is_the_period_around_a_real_instant_or_refused(
    now: Instant, count: int, unit: Granularity
) -> None:
    if unit is Granularity.MILLISECOND:
        return
    try:
        found = window(f"{count} {unit}s ago", now=now)
    except BadInstant:
        with pytest.raises(BadInstant):
            shifted(now, -count, unit)
        return
    back = shifted(now, -count, unit)
    width = Granularity.DAY if unit is Granularity.WEEK else unit

    assert found == interval.of_moment(period_of(back, width))
    assert window(f"past {count} {unit}s", now=now).contains(now)


VOCABULARY = (
    "this last next past in on the since until before after between and from to of a an two 3 29 15th "
    "2022 0000 9999 now today yesterday may february monday week weeks month years ago days 2020-03 / ~2021"
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@given(
    st.lists(st.sampled_from(VOCABULARY.split()), max_size=6).map(" ".join) | st.text(max_size=30), instants
)
def test_any_words_are_a_window_or_refused(text: str, now: Instant) -> None:
    try:
        found = window(text, now=now)
    except (BadInstant, BadInterval):
        return
    assert interval.parse(interval.format(found)) == found


@given(instants, st.sampled_from(WEEKDAYS))
def test_the_three_mondays_around_now_are_weeks_apart(now: Instant, weekday: str) -> None:
    if not INSTANT_MIN + 8 * 86_400_000 < now < INSTANT_MAX - 8 * 86_400_000:
        return
    today = window("today", now=now)
    last, latest, following = (window(f"{which} {weekday}", now=now) for which in ("last", "on", "next"))

    assert last.before(today)
    assert following.after(today)
    assert latest in (last, today)
    assert following.lo is not None
    assert last.lo is not None
    assert (following.lo.at - last.lo.at) // 86_400_000 in (7, 14)
