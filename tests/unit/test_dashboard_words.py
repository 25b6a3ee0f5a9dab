"""Dates, spans and counts as the dashboard writes them; what a page is told, and what it makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from agents.dashboard.axis import Axis
from agents.dashboard.entity_view import STEPS, Entity, Shown, moved
from agents.dashboard.health_page import throughput
from agents.dashboard.queue_items import Item, decision, rivals
from agents.dashboard.subjects import entity_address
from agents.dashboard.words import ago, count, date, moment, span, value_text
from agents.lag import behind
from state.instants import Instant, parse_instant


@pytest.mark.parametrize(
    ("granularity", "written"),
    [
        ("decade", "2020s"), ("year", "2023"), ("quarter", "Q2 2023"), ("month", "May 2023"),
        ("week", "8 May 2023"), ("day", "8 May 2023"), ("minute", "8 May 2023, 14:05"),
    ],
)  # fmt: skip
def test_a_date_is_as_fine_as_it_was_given(granularity: str, written: str) -> None:
    start = "2020-01-01T00:00:00Z" if granularity == "decade" else "2023-05-08T14:05:00Z"
    assert date(start, granularity) == written


def test_a_moment_has_its_time_where_there_is_one() -> None:
    assert moment("2023-05-08T00:00:00Z") == "8 May 2023"
    assert moment("2023-05-08T14:05:00Z") == "8 May 2023, 14:05"
    assert moment(None) == "never"


def test_a_span_says_what_is_not_known_and_what_is_roughly_known() -> None:
    valid = {
        "lo": "2020-01-01T00:00:00Z", "hi": None, "lo_granularity": "year", "hi_granularity": None,
        "lo_certainty": "approximate", "hi_certainty": None,
    }  # fmt: skip
    assert span(valid) == "about 2020 – now"
    assert span({**valid, "lo": None}) == "unknown – now"


@pytest.mark.parametrize(
    ("then", "written"),
    [
        ("2024-06-01T00:00:00Z", "just now"), ("2024-05-31T23:58:00Z", "2 minutes ago"),
        ("2024-05-31T22:30:00Z", "1 hour ago"), ("2024-05-20T00:00:00Z", "12 days ago"),
        ("2024-02-01T00:00:00Z", "4 months ago"), ("2020-02-01T00:00:00Z", "4 years ago"),
        ("2025-01-01T00:00:00Z", "just now"),
    ],
)  # fmt: skip
def test_how_long_ago_is_told_roughly(then: str, written: str) -> None:
    assert ago(then, parse_instant("2024-06-01T00:00:00Z")) == written


def test_counts_and_values_are_written_for_people() -> None:
    assert (count(1, "fact"), count(2000, "fact"), count(0, "match", "matches")) == (
        "1 fact", "2,000 facts", "0 matches",
    )  # fmt: skip
    assert [value_text(one) for one in (None, True, False, 1.5, "x")] == [
        "(no object)", "true", "false", "1.5", "x",
    ]  # fmt: skip


# -- what pages are told ----------------------------------------------------------------------

ENTITY = Entity(
    namespace="default",
    subject="kim",
    spelled="Kim",
    valid=Axis(Instant(0), Instant(1_000_000)),
    known=Axis(Instant(0), Instant(10_000)),
    now=Instant(500_000),
)


def test_a_slider_moves_one_clock_and_leaves_the_other() -> None:
    shown = Shown(valid_at=Instant(7), known_at=Instant(8), fact="f", cursor="c")

    assert moved(ENTITY, shown, "valid_at", "500") == Shown(Instant(500_000), Instant(8), "c", "f")
    assert moved(ENTITY, shown, "known_at", "500") == Shown(Instant(7), Instant(5_000), None, "f")


def test_known_at_its_end_is_now() -> None:
    assert moved(ENTITY, Shown(known_at=Instant(8)), "known_at", str(STEPS)).known_at is None


@pytest.mark.parametrize("place", ["-1", "x", "", "1e3", "99999999999999999999", "٣"])
def test_whatever_a_browser_sends_a_slider_stands_somewhere(place: str) -> None:
    found = moved(ENTITY, Shown(), "valid_at", place).valid_at
    assert found is not None
    assert ENTITY.valid.lo <= found <= ENTITY.valid.hi


def test_an_unknown_slider_moves_nothing() -> None:
    assert moved(ENTITY, Shown(), "cursor", "5") == Shown()


def test_a_long_name_is_addressed_by_a_claim_or_a_fact() -> None:
    long = "x" * 10_000

    assert entity_address("default", "Kim") == "/dashboard/entity?namespace=default&subject=Kim"
    assert entity_address("default", long, claim="c", fact="f") == "/dashboard/entity?claim=c"
    assert entity_address("default", long, fact="f", why="f") == "/dashboard/entity?fact=f&why=f"
    assert entity_address("default", long) is None


def test_a_form_becomes_the_correction_that_the_api_takes() -> None:
    event = {
        "do": "decide",
        "op": "supersede",
        "fact": "f",
        "object": " Bergen ",
        "reason": " seen ",
        "x": "y",
    }

    assert decision(event) == {
        "op": "supersede", "target": {"id": "f"}, "reason": "seen", "object": "Bergen",
    }  # fmt: skip
    assert decision({"op": "invalidate", "fact": "f", "reason": "r", "valid_at": "2024"}) == {
        "op": "invalidate", "target": {"id": "f"}, "reason": "r", "valid_at": "2024",
    }  # fmt: skip


def test_rivals_are_values_that_were_said_and_no_denials() -> None:
    dissent: list[dict[str, Any]] = [
        {"polarity": "affirmed", "object": "Bergen"}, {"polarity": "denied", "object": "Oslo"},
        {"polarity": "affirmed", "object": "Rome"},
    ]  # fmt: skip
    item = Item({"rivals": ["Rome", "not Oslo", "Bergen"]}, [], dissent, reconciled=False)

    assert rivals(item) == ["Rome", "Bergen"]


def test_throughput_is_what_was_read_over_the_time_that_it_took() -> None:
    cycles = [
        {"closed_at": f"2024-01-01T00:00:{second:02d}Z", "observations_processed": n}
        for second, n in ((20, 100), (10, 300), (0, 5_000))
    ]

    assert throughput(cycles) == "20.0"
    assert throughput(cycles[:1]) == "not known yet"
    assert throughput([cycles[0], cycles[0]]) == "not known yet"


def test_lag_is_told_by_topic_over_all_partitions_and_is_never_negative() -> None:
    ends = {("a", 0): 10, ("a", 1): 5, ("b", 0): 3}

    assert behind(ends, {("a", 0): 7, ("b", 0): 9}) == {"a": 8, "b": 0}
