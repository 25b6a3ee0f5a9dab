"""The pictures of the dashboard: axis, timeline, sparkline and curve, as numbers and as markup."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dashboard.axis import Axis, spanning
from agents.dashboard.curve import path, steps
from agents.dashboard.sparkline import bars, bins
from agents.dashboard.timeline import LANES_MAX, axis_of, rows
from agents.dashboard.timeline_picture import picture
from state.instants import INSTANT_END, INSTANT_MIN, Instant, parse_instant

instants = st.integers(INSTANT_MIN, INSTANT_END - 1).map(Instant)


def at(text: str) -> Instant:
    return parse_instant(text)


def fact(
    lo: str | None,
    hi: str | None = None,
    *,
    claim: str = "c",
    value: Any = "Oslo",
    state: str = "open",
    granularity: str = "day",
    certainty: str = "definite",
) -> dict[str, Any]:
    """A fact as the API writes it."""
    return {
        "fact_id": f"{claim}-{value}-{lo}", "claim_id": claim, "predicate": f"predicate of {claim}",
        "object": value, "state": state, "reason": None, "support": 3, "dissent": 1,
        "valid": {
            "lo": lo, "hi": hi, "lo_granularity": lo and granularity, "hi_granularity": hi and granularity,
            "lo_certainty": lo and certainty, "hi_certainty": hi and certainty,
        },
    }  # fmt: skip


# -- the axis ---------------------------------------------------------------------------------


@given(st.lists(instants, min_size=1, max_size=20))
def test_an_axis_shows_all_that_it_was_made_for_in_order(given_: list[Instant]) -> None:
    axis = spanning(given_)

    places = [axis.place(instant) for instant in sorted(given_)]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert axis.lo < axis.hi


@given(st.lists(instants, min_size=1, max_size=5), st.integers(1, 12))
def test_marks_are_few_and_rise_and_lie_within(given_: list[Instant], n_marks_max: int) -> None:
    marks = spanning(given_).marks(n_marks_max=n_marks_max)

    assert len(marks) <= n_marks_max
    assert [mark.place for mark in marks] == sorted({mark.place for mark in marks})
    assert all(1 <= mark.place <= 99 and mark.label for mark in marks)


@pytest.mark.parametrize(
    ("lo", "hi", "labels"),
    [
        ("1990-06-01", "2024-06-01", ["1995", "2000", "2005", "2010", "2015", "2020"]),
        ("2022-11-15", "2023-05-15", ["Dec 2022", "2023", "Feb 2023", "Mar 2023", "Apr 2023", "May 2023"]),
        ("2024-03-01T02:00:00Z", "2024-03-01T23:00:00Z",
         ["03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00"]),
        ("2024-02-27T12:00:00Z", "2024-03-02T12:00:00Z",
         ["28 Feb", "12:00", "29 Feb", "12:00", "1 Mar", "12:00", "2 Mar"]),
    ],
)  # fmt: skip
def test_marks_are_round_in_whatever_unit_fits(lo: str, hi: str, labels: list[str]) -> None:
    assert [mark.label for mark in Axis(at(lo), at(hi)).marks()] == labels


# -- the timeline -----------------------------------------------------------------------------

NOW = at("2024-06-01")
LIVES = [
    fact("2020-01-01", "2022-01-01", value="Oslo", state="retired"),
    fact("2022-01-01", None, value="Bergen"),
]


def drawn(facts: list[dict[str, Any]], valid_at: Instant = NOW) -> Any:
    axis = axis_of(facts, now=NOW)
    return rows(facts, axis, valid_at=valid_at)


def test_facts_that_follow_each_other_share_a_lane_and_meet() -> None:
    (row,) = drawn(LIVES)

    oslo, bergen = row.bars
    assert row.n_lanes == 1
    assert oslo.right == bergen.left
    assert (oslo.ends, bergen.ends) == ("definite", "open")
    assert bergen.right == 100
    assert (oslo.holds, bergen.holds) == (False, True)


def test_facts_that_hold_side_by_side_lie_in_lanes_of_their_own() -> None:
    (row,) = drawn([fact("2020-01-01", value=n) for n in range(3)])

    assert sorted(bar.lane for bar in row.bars) == [0, 1, 2]


def test_what_holds_is_told_half_open() -> None:
    (row,) = drawn(LIVES, valid_at=at("2022-01-01"))

    assert [bar.holds for bar in row.bars] == [False, True]


def test_a_bound_that_was_given_as_a_year_is_blurred_over_that_year() -> None:
    axis = Axis(at("2020-01-01"), at("2030-01-01"))
    (row,) = rows([fact("2022-01-01", None, granularity="year")], axis, valid_at=NOW)

    assert row.bars[0].blur_from == pytest.approx(10, abs=0.1)
    assert row.bars[0].blur_to == 0


def test_an_unknown_start_reaches_to_the_edge_and_is_no_bound() -> None:
    (row,) = drawn([fact(None, "2022-01-01", state="retired"), fact("2023-01-01", value="x")])

    assert row.bars[0].left == 0
    assert row.bars[0].begins == "open"
    assert row.bars[0].blur_from == 0


def test_each_claim_has_a_row_in_order_of_its_predicate() -> None:
    found = drawn([fact("2020-01-01", claim="b"), fact("2020-01-01", claim="a")])

    assert [row.predicate for row in found] == ["predicate of a", "predicate of b"]


spans = st.lists(
    st.tuples(st.integers(0, 50), st.one_of(st.none(), st.integers(1, 20)), st.sampled_from("abc")),
    min_size=1, max_size=60,
)  # fmt: skip


@given(spans)
def test_no_two_bars_of_a_lane_overlap(drawn_spans: list[tuple[int, int | None, str]]) -> None:
    facts = [
        fact(f"{1900 + lo}-01-01", None if n is None else f"{1900 + lo + n}-01-01", claim=claim, value=number)
        for number, (lo, n, claim) in enumerate(drawn_spans)
    ]

    for row in drawn(facts):
        assert row.n_lanes <= LANES_MAX
        assert sum(1 for _ in row.bars) == sum(1 for one in facts if one["claim_id"] == row.claim_id)
        for lane in range(row.n_lanes - (row.n_lanes == LANES_MAX)):
            bars_ = sorted((bar.left, bar.right) for bar in row.bars if bar.lane == lane)
            assert all(first[1] <= second[0] for first, second in pairwise(bars_))


def test_a_picture_says_of_each_bar_what_it_is_in_words() -> None:
    axis = axis_of(LIVES, now=NOW)
    shown = picture(rows(LIVES, axis, valid_at=NOW), axis, valid_at=50, chosen="c-Bergen-2022-01-01").text

    assert 'aria-label="Oslo: 1 Jan 2020 – 1 Jan 2022, retired, 3 for it, 1 against"' in shown
    assert 'class="bar retired"' in shown
    assert 'class="bar open holds chosen"' in shown
    assert 'aria-current="true"' in shown


@pytest.mark.parametrize("certainty", ["definite", "approximate", "unknown"])
def test_how_sure_a_bound_is_shows_on_its_edge(certainty: str) -> None:
    facts = [fact("2020-01-01", certainty=certainty)]
    axis = axis_of(facts, now=NOW)
    shown = picture(rows(facts, axis, valid_at=NOW), axis, valid_at=50, chosen=None).text

    kinds = {"definite": "sure", "approximate": "about", "unknown": "unsure"}
    assert shown.count(f'class="edge {kinds[certainty]}"') == 1
    assert shown.count('class="edge') == 1


# -- the sparkline ----------------------------------------------------------------------------


@given(st.lists(st.integers(-5, 105).map(Instant)), st.integers(1, 40))
def test_bins_hold_each_instant_of_the_window_once(given_: list[Instant], n_bins: int) -> None:
    counts = bins(given_, lo=Instant(0), hi=Instant(100), n_bins=n_bins)

    assert len(counts) == n_bins
    assert sum(counts) == sum(0 < instant <= 100 for instant in given_)


def test_the_window_is_open_below_and_closed_above() -> None:
    assert bins([Instant(0), Instant(1), Instant(100)], lo=Instant(0), hi=Instant(100), n_bins=2) == [1, 1]


def test_the_greatest_bar_fills_the_picture_and_none_is_lost() -> None:
    shown = bars([0, 1, 1000], label="a <label>", height=40).text

    assert shown.count("<rect") == 2
    assert 'y="37" height="3"' in shown
    assert 'y="1.0" height="39.0"' in shown
    assert "<title>a &lt;label&gt;</title>" in shown
    assert bars([], label="nothing").text.count("<rect") == 0


# -- the curve --------------------------------------------------------------------------------


def test_a_curve_goes_right_and_then_up_or_down() -> None:
    assert path([(1, 0.5), (3, 1.0), (5, 0.0)], width=100, height=10) == "M0.0,5.0H50.0V0.0H100.0V10.0"


def test_a_curve_of_one_point_is_a_line() -> None:
    assert path([(7, 0.5)], width=100, height=10) == "M0.0,5.0H100"


def test_of_the_steps_of_one_cycle_the_last_counts() -> None:
    assert steps([(2, 0.5), (1, 0.4), (2, 0.6)]) == [(1, 0.4), (2, 0.6)]
