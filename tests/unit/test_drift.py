"""Drift: how many retirements lie in the thirty days up to now, and when that becomes too many (F26)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.drift import UNSTABLE_ABOVE, WINDOW_MS, count_within
from state.instants import DAY_MS, Instant
from tests.builders import day

NOW = day(100)


def instants(*days: float) -> list[Instant]:
    return [day(number) for number in days]


def test_the_window_is_thirty_days_and_the_limit_four() -> None:
    assert WINDOW_MS == 30 * DAY_MS
    assert UNSTABLE_ABOVE == 4


@pytest.mark.parametrize(
    ("offset_ms", "counts"),
    [
        (-WINDOW_MS - 1, 0),
        (-WINDOW_MS, 0),
        (-WINDOW_MS + 1, 1),
        (-1, 1),
        (0, 1),
        (1, 0),
    ],
)
def test_the_window_leaves_its_start_out_and_holds_its_end(offset_ms: int, counts: int) -> None:
    assert count_within([Instant(NOW + offset_ms)], NOW) == counts


def test_equal_instants_count_each() -> None:
    assert count_within(instants(100, 100, 100), NOW) == 3
    assert count_within(instants(70, 70, 100, 100), NOW) == 2
    assert count_within([], NOW) == 0


@given(st.lists(st.integers(-5, 5)), st.integers(-5, 5))
def test_the_count_is_that_of_a_plain_look_at_each(offsets: list[int], edge: int) -> None:
    near = [Instant(NOW - WINDOW_MS + offset) for offset in offsets]
    far = [Instant(NOW + offset) for offset in offsets]
    found = sorted(near + far)
    now = Instant(NOW + edge)

    assert count_within(found, now) == sum(now - WINDOW_MS < instant <= now for instant in found)


# -- F26 ------------------------------------------------------------------------------------

IN_29_DAYS = instants(1, 8, 15, 22, 30)
IN_31_DAYS = instants(1, 8, 15, 22, 32)


def test_f26_five_retirements_in_29_days_are_unstable_from_the_fifth_on() -> None:
    assert [count_within(IN_29_DAYS, now) for now in IN_29_DAYS] == [1, 2, 3, 4, 5]


def test_f26_five_retirements_in_31_days_are_not() -> None:
    assert max(count_within(IN_31_DAYS, day(number / 4)) for number in range(400)) == 4


def test_f26_five_retirements_and_31_quiet_days_end_with_an_empty_window() -> None:
    assert count_within(IN_29_DAYS, day(30)) > UNSTABLE_ABOVE
    assert count_within(IN_29_DAYS, day(59.99)) == 1
    assert count_within(IN_29_DAYS, day(60)) == 0
    assert count_within(IN_29_DAYS, day(61)) == 0
