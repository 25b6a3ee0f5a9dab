"""In which order the events of one receiver go out, and what a failure of one means for the others."""

from __future__ import annotations

import pytest

from state.delivering import DELAY_MAX_MS, Lane, Waiting, delay_ms
from state.webhooks import Verdict


def lane_of(*keys: str, at_once: int = 4, tries_max: int = 3) -> Lane[str]:
    """A lane with an event for each key, at offsets 0, 1, …"""
    lane: Lane[str] = Lane(at_once=at_once, tries_max=tries_max)
    for offset, key in enumerate(keys):
        lane.admit(event(offset, key))
    return lane


def event(offset: int, key: str) -> Waiting[str]:
    return Waiting("p0", offset, key.encode(), f"e{offset}", b"{}")


def taken(lane: Lane[str], now: int = 0) -> list[Waiting[str]]:
    """Everything that may be sent now, as if nothing were answered."""
    found = []
    while (one := lane.next(now)) is not None:
        found.append(one)
    return found


def offsets(events: list[Waiting[str]]) -> list[int]:
    return [one.offset for one in events]


def test_events_of_different_keys_go_out_together_and_those_of_one_key_one_by_one() -> None:
    lane = lane_of("a", "a", "b", "a", "c")

    first = taken(lane)
    for one in first:
        assert lane.judge(one, Verdict.DELIVERED, now=1, share=0) is Verdict.DELIVERED
        lane.done(one)

    assert offsets(first) == [0, 2, 4]
    assert offsets(taken(lane, 1)) == [1]


def test_no_more_than_so_many_are_sent_at_once() -> None:
    assert offsets(taken(lane_of("a", "b", "c", at_once=2))) == [0, 1]


def test_what_a_receiver_fails_on_waits_with_its_key_and_holds_nobody_else_up() -> None:
    lane = lane_of("a", "a", "b", at_once=1)
    (failing,) = taken(lane)

    assert lane.judge(failing, Verdict.AGAIN, now=0, share=0) is Verdict.AGAIN

    assert offsets(taken(lane, 0)) == [2]
    assert lane.next(499) is None


def test_a_receiver_that_is_away_is_asked_with_one_event_for_all() -> None:
    lane = lane_of("a", "b", "c", "d")
    for one in taken(lane):
        lane.judge(one, Verdict.AWAY, now=0, share=0)

    assert lane.is_away
    assert lane.due_at(0) == 500
    assert taken(lane, 499) == []
    (probe,) = taken(lane, 500)
    lane.judge(probe, Verdict.AWAY, now=500, share=0)
    assert lane.due_at(500) == 1_500  # failures that were under way together counted once
    (probe,) = taken(lane, 1_500)
    assert probe.offset == 0
    lane.judge(probe, Verdict.DELIVERED, now=1_500, share=0)
    lane.done(probe)
    assert offsets(taken(lane, 1_500)) == [1, 2, 3]


def test_an_outage_costs_the_others_no_tries() -> None:
    lane = lane_of("a", "b", at_once=1, tries_max=100)
    now = 0
    for _ in range(20):
        now = lane.due_at(now) or 0
        (probe,) = taken(lane, now)
        lane.judge(probe, Verdict.AWAY, now=now, share=0.5)
    probe = taken(lane, lane.due_at(now) or 0)[0]
    lane.judge(probe, Verdict.DELIVERED, now=now, share=0)
    lane.done(probe)

    (other,) = taken(lane, now)
    assert (probe.tries, other.tries) == (21, 1)


def test_an_event_is_given_up_after_its_last_try() -> None:
    lane = lane_of("a", tries_max=2)
    (one,) = taken(lane)
    assert lane.judge(one, Verdict.AGAIN, now=0, share=0) is Verdict.AGAIN

    (one,) = taken(lane, 500)

    assert lane.judge(one, Verdict.AGAIN, now=500, share=0) is Verdict.REFUSED
    lane.done(one)
    assert lane.reached() == {"p0": 1}


def test_a_receiver_that_is_gone_is_asked_nothing_more() -> None:
    lane = lane_of("a", "b", at_once=1)
    (one,) = taken(lane)

    assert lane.judge(one, Verdict.GONE, now=0, share=0) is Verdict.REFUSED
    lane.done(one)

    assert lane.is_gone
    assert lane.next(DELAY_MAX_MS) is None
    assert lane.due_at(0) is None
    assert lane.reached() == {"p0": 1}


@pytest.mark.parametrize("found", [Verdict.AGAIN, Verdict.AWAY])
def test_a_receiver_is_left_alone_for_as_long_as_it_asks(found: Verdict) -> None:
    lane = lane_of("a")
    (one,) = taken(lane)

    lane.judge(one, found, now=0, share=0, rest_ms=60_000)

    assert lane.due_at(0) == 60_000


def test_what_is_not_wanted_is_done_at_once_and_what_is_behind_something_undone_is_not() -> None:
    lane: Lane[str] = Lane()
    lane.pass_over("p0", 4)
    lane.admit(event(7, "a"))
    lane.pass_over("p0", 9)

    assert lane.reached() == {"p0": 7}
    (one,) = taken(lane)
    lane.judge(one, Verdict.DELIVERED, now=0, share=0)
    lane.done(one)
    assert lane.reached() == {"p0": 10}


def test_only_what_can_be_sent_is_waited_for() -> None:
    lane = lane_of("a", "a", at_once=2)

    taken(lane)

    assert lane.due_at(5) is None  # the second waits for an answer, and not for time


def test_delays_double_up_to_a_quarter_of_an_hour_and_chance_takes_up_to_a_half_off() -> None:
    assert [delay_ms(n, share=0) for n in (1, 2, 3, 10, 11, 1000)] == [
        500, 1_000, 2_000, 256_000, 450_000, 450_000,
    ]  # fmt: skip
    assert delay_ms(1, share=0.999) in range(995, 1_001)
