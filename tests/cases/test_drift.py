"""Drift, through the whole embedded host with its clock: F26, and the drift part of F27."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agents import composition
from agents.drift_projection import catch_up, in_flux, rebuild, unstable
from agents.replay import LIVE_MARK, records, replay
from state.cycles import Tick
from state.drift_causes import Pattern
from state.instants import Instant, format_instant, parse_instant
from streams.codec import decode_batch
from streams.drift import inputs
from streams.embedded.drift import SqliteDriftStore
from streams.events import DriftAlert
from streams.topics import Topic
from tests.builders import day
from tests.cases.world import World, batchings, deny, fresh, iso, observe, retract

IN_29_DAYS = (1, 8, 15, 22, 30)
IN_31_DAYS = (1, 8, 15, 22, 32)
EXAMPLE = Path(__file__).parents[2] / "examples" / "world.jsonl"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path)
    yield found
    found.close()


def moves(days: Sequence[float], **fields: Any) -> list[dict[str, Any]]:
    """A first value on day 0, and on each of these days another one that retires it at once."""
    return [observe(f"value {number}", at, id=f"o{number}", **fields) for number, at in enumerate([0, *days])]


def live_through(world: World, lines: Sequence[dict[str, Any]], *, until: int) -> World:
    """Every day its observations, then a tick."""
    for number in range(until + 1):
        world.each(line for line in lines if line["observed_at"][:10] == iso(number)[:10])
        world.tick(number)
    return world


def alerts(world: World) -> list[dict[str, Any]]:
    """All drift alerts, in order; each as its model says."""
    found = [json.loads(record.value) for record in records(world.host.store, Topic.DRIFT_ALERTS)]
    for body in found:
        assert set(body) == set(DriftAlert.model_fields)
        DriftAlert.model_validate_json(json.dumps(body))
    return found


def said(world: World) -> list[tuple[str, str, str, int]]:
    """(signal, subject, day of the tick, how many) of every alert."""
    return [(a["signal"], a["subject"], a["now"][:10], a["count"]) for a in alerts(world)]


# -- F26 ------------------------------------------------------------------------------------


def test_f26_five_retirements_in_29_days_give_one_alert(world: World) -> None:
    live_through(world, moves(IN_29_DAYS), until=40)

    (alert,) = alerts(world)
    assert (alert["signal"], alert["subject"], alert["now"]) == ("unstable", "kim", iso(30))
    assert [cause["object"] for cause in alert["causes"]] == [f"value {number}" for number in range(5)]
    assert [cause["decided_observed_at"] for cause in alert["causes"]] == [iso(d) for d in IN_29_DAYS]
    assert {cause["reason"] for cause in alert["causes"]} == {"outvoted"}
    assert (alert["count"], alert["limit"], alert["lifetime"], alert["looks_like"]) == (5, 4, 5, "move")


def test_f26_five_retirements_in_31_days_give_none(world: World) -> None:
    live_through(world, moves(IN_31_DAYS), until=70)

    assert alerts(world) == []


def test_f26_five_retirements_and_then_31_quiet_days_give_an_alert_and_then_stable(world: World) -> None:
    live_through(world, moves(IN_29_DAYS), until=61)

    assert said(world) == [("unstable", "kim", iso(30)[:10], 5), ("stable", "kim", iso(60)[:10], 0)]
    _, stable = alerts(world)
    assert (stable["since"], stable["causes"], stable["looks_like"], stable["advice"]) == (
        iso(30), [], None, None,
    )  # fmt: skip


def test_f26_a_window_that_is_not_empty_clears_nothing(world: World) -> None:
    live_through(world, moves([*IN_29_DAYS, 59]), until=88)

    assert said(world) == [("unstable", "kim", iso(30)[:10], 5)]
    live_through(world, [], until=0)  # time goes back
    assert len(alerts(world)) == 1


def test_f26_it_may_become_unstable_again(world: World) -> None:
    live_through(world, moves([*IN_29_DAYS, 70, 71, 72, 73, 74]), until=110)

    assert [signal for signal, *_ in said(world)] == ["unstable", "stable", "unstable", "stable"]


@pytest.mark.parametrize("sizes", list(batchings(6))[::3])
def test_f26_does_not_depend_on_batches_between_two_ticks(sizes: list[int]) -> None:
    lines = moves((1, 2, 3, 4, 5))
    with fresh() as world:
        world.batches(lines, sizes).tick()

        assert said(world) == [("unstable", "kim", iso(5)[:10], 5)]


@pytest.mark.parametrize("late", range(1, 6))
def test_f26_a_late_retirement_counts_where_it_belongs(late: int) -> None:
    for days, n_alerts in ((IN_29_DAYS, 1), (IN_31_DAYS, 0)):
        lines = moves(days)
        with fresh() as world:
            world.each(line for number, line in enumerate(lines) if number != late).tick(days[-1])
            assert alerts(world) == []
            world.publish(lines[late]).tick(days[-1] + 0.1)

            assert len(alerts(world)) == n_alerts


def test_f26_nothing_is_said_before_a_tick_and_the_same_once_only(world: World) -> None:
    world.each(moves(IN_29_DAYS))
    assert alerts(world) == []

    world.tick(30).tick(30).tick(31)

    assert len(alerts(world)) == 1


def test_f26_a_replay_of_the_past_after_a_tick_of_today_is_judged_by_its_own_time(world: World) -> None:
    world.each([observe("tea", 999, subject="lee")]).tick(1_000)
    world.each(moves(IN_29_DAYS)).tick(30)

    assert said(world) == [("unstable", "kim", iso(30)[:10], 5)]


def test_f26_the_same_log_gives_the_same_ids() -> None:
    found = []
    for _ in range(2):
        with fresh() as world:
            live_through(world, moves(IN_29_DAYS), until=61)
            found.append([alert["event_id"] for alert in alerts(world)])

    assert found[0] == found[1]
    assert len(set(found[0])) == 2


# -- a log whose time is that of the clock ----------------------------------------------------


def live(world: World) -> World:
    """As a service does with the first observation that it takes."""
    world.host.store.set_mark(LIVE_MARK, "1")
    return world


def restless(*seconds_ago: float, subject: str = "kim") -> list[dict[str, Any]]:
    """A first value an hour ago, and so many seconds ago each time another one that retires it at once."""
    now = composition.wall_clock()
    ages = [3_600, *seconds_ago]
    return [
        observe(f"value {n}", format_instant(Instant(now - round(age * 1_000))), subject=subject)
        for n, age in enumerate(ages)
    ]


MINUTES_AGO = (300, 240, 180, 120, 60)


def ticks_in(world: World) -> list[Tick]:
    """Every tick of the internal topic."""
    batches = [decode_batch(record.value) for record in records(world.host.store, Topic.BY_CLAIM)]
    return [e.usable for batch in batches for e in batch.entries if isinstance(e.usable, Tick)]


def test_in_a_live_log_the_alert_does_not_wait_for_the_tick_and_no_cycle_is_closed(world: World) -> None:
    live(world).each(restless(*MINUTES_AGO))

    (alert,) = alerts(world)
    assert (alert["signal"], alert["count"], alert["cycle"]) == ("unstable", 5, 1)
    (cause,) = [r for r in records(world.host.store, Topic.BY_CLAIM) if r.position == alert["position"]]
    assert alert["now"] == alert["recorded_at"] == format_instant(cause.recorded_at)
    assert list(records(world.host.store, Topic.CYCLES)) == []

    world.tick(9_999)
    assert [a["signal"] for a in alerts(world)] == ["unstable", "stable"], "it goes on from there"
    (audit,) = [json.loads(record.value) for record in records(world.host.store, Topic.CYCLES)]
    assert (audit["cycle"], audit["drift_alerts"]) == (1, 2)


def test_a_live_log_of_old_observations_waits_for_its_ticks(world: World) -> None:
    live(world).each(moves(IN_29_DAYS))

    assert (alerts(world), ticks_in(world)) == ([], [])


def test_a_replay_keeps_its_own_time_however_new_its_observations_are(world: World) -> None:
    world.each(restless(*MINUTES_AGO))
    assert (alerts(world), ticks_in(world)) == ([], [])

    world.tick()

    (alert,) = alerts(world)
    assert alert["now"] == alert["causes"][-1]["decided_observed_at"]


def test_a_statement_a_little_ahead_of_the_clock_is_told_of_at_once_and_one_far_ahead_is_not(
    world: World,
) -> None:
    live(world).each(restless(*MINUTES_AGO[1:], -2, subject="near"))
    live(world).each(restless(*MINUTES_AGO[1:], -60, subject="far"))

    (alert,) = alerts(world)
    assert alert["subject"] == "near"
    assert alert["now"] == alert["causes"][-1]["decided_observed_at"]


def test_subjects_that_become_unstable_in_one_millisecond_are_each_told_of(world: World) -> None:
    lines = [line for name in ("kim", "lee", "ann") for line in restless(*MINUTES_AGO, subject=name)]
    live(world).publish(*lines)

    assert sorted(alert["subject"] for alert in alerts(world)) == ["ann", "kim", "lee"]
    assert len(ticks_in(world)) == 1, "one tick looks at all that a record brought about"


def test_one_record_asks_for_the_latest_of_the_ticks_that_its_subjects_wait_for(world: World) -> None:
    lines = [*restless(*MINUTES_AGO, subject="kim"), *restless(*MINUTES_AGO[1:], -2, subject="near")]
    live(world).publish(*lines)

    assert sorted(alert["subject"] for alert in alerts(world)) == ["kim", "near"]


def test_a_service_goes_on_from_a_replay_and_what_was_unstable_then_comes_to_rest(world: World) -> None:
    world.each(moves(IN_29_DAYS)).tick(30)

    live(world).each(restless(*MINUTES_AGO, subject="lee"))

    then, *now = [(alert["signal"], alert["subject"]) for alert in alerts(world)]
    assert then == ("unstable", "kim")
    assert sorted(now) == [("stable", "kim"), ("unstable", "lee")]


# -- what counts, and what does not ---------------------------------------------------------


def test_a_reinstated_fact_takes_its_entry_out(world: World) -> None:
    world.each(moves((1, 2, 3, 4, 5)))
    world.publish(retract("o5")).tick(6)

    assert alerts(world) == []


def test_a_withdrawn_fact_takes_its_entry_out(world: World) -> None:
    world.each(moves((1, 2, 3, 4, 5)))
    world.publish(retract("o2")).tick(6)

    assert alerts(world) == []


def test_a_retirement_that_late_evidence_puts_off_moves_with_it(world: World) -> None:
    """Tea is retired on day 5; a second voice for it, heard of late, puts that off to day 7."""
    world.each([observe("tea", 3), observe("coffee", 5), observe("coffee", 7)])
    world.each(observe(f"city {number}", 29 + number, predicate="lives_in") for number in range(5)).tick(36)
    assert alerts(world) == [], "day 5 lies before the window, and four lie in it"

    world.publish(observe("tea", 4)).tick(36.5)

    (alert,) = alerts(world)
    first = alert["causes"][0]
    assert (first["object"], first["decided_observed_at"]) == ("tea", iso(7))


def test_an_announced_end_is_no_drift(world: World) -> None:
    lines = [observe(f"v{n}", n, valid_from=n, valid_to=n + 1) for n in range(8)]
    world.each(lines).tick(20)

    assert alerts(world) == []


def test_undeclared_predicates_churn_and_say_how_to_end_that(world: World) -> None:
    live_through(world, moves((1, 2, 3, 4, 5), predicate="mood of the day"), until=36)

    assert [signal for signal, *_ in said(world)] == ["churning", "settled"]
    churning = alerts(world)[0]
    assert churning["advice"].startswith("Declare mood of the day in a predicate file")
    assert churning["count"] == 5


def test_the_two_windows_are_never_added_up(world: World) -> None:
    world.each(moves((1, 2, 3, 4))).each(moves((1, 2, 3, 4), predicate="mood of the day")).tick(5)

    assert alerts(world) == []


def test_retirements_of_all_predicates_of_a_subject_count_together(world: World) -> None:
    world.each(moves((1, 2, 3))).each(moves((1, 2), predicate="lives_in")).tick(5)

    assert said(world) == [("unstable", "kim", iso(5)[:10], 5)]


def test_f27_the_same_subject_in_two_namespaces_is_two(world: World) -> None:
    world.each(moves((1, 2, 3), namespace="a")).each(moves((1, 2), namespace="b")).tick(5)

    assert alerts(world) == []
    world.each([observe("w", 6, namespace="a"), observe("x", 7, namespace="a")]).tick(8)
    assert [alert["namespace"] for alert in alerts(world)] == ["a"]


def test_values_that_keep_coming_back_look_like_flapping(world: World) -> None:
    for number in range(5):
        world.each([observe("tea", 2 * number), deny("tea", 2 * number + 1)])
    world.tick(10)

    (alert,) = alerts(world)
    assert alert["looks_like"] == "flapping"


# -- what readers ask -----------------------------------------------------------------------


def test_the_projection_says_what_the_alerts_say(world: World, tmp_path: Path) -> None:
    store, lines = SqliteDriftStore(tmp_path), moves(IN_29_DAYS)
    try:
        for number in range(62):
            world.each(line for line in lines if line["observed_at"] == iso(number)).tick(number)
            catch_up(store, world.host.store)
            kim = unstable(store, ["Kim"], "default", day(number)).standings["Kim"]

            assert kim is not None
            assert kim.is_unstable is (30 <= number < 60)
            assert len(kim.retired) == sum(number - 30 < d <= number for d in IN_29_DAYS)
    finally:
        store.close()


def test_the_example_of_the_world_finds_twitter_unstable_in_november_2022_and_stable_later(
    world: World, tmp_path: Path
) -> None:
    with EXAMPLE.open("rb") as stream:
        replay(world.host, None, stream, batch_max=500)

    twitter = [alert for alert in alerts(world) if alert["signal"] in ("unstable", "stable")]

    assert [(a["signal"], a["subject"]) for a in twitter] == [("unstable", "Twitter"), ("stable", "Twitter")]
    first, last = twitter
    assert first["now"].startswith("2022-11-")
    assert first["count"] > 4
    assert {"predicate", "object", "reason", "decided_observed_at"} <= set(first["causes"][0])
    assert first["advice"]
    assert last["now"].startswith("2023-")
    store = SqliteDriftStore(tmp_path)
    try:
        catch_up(store, world.host.store)
        assert in_flux(store, None, parse_instant(last["now"])) == []
    finally:
        store.close()


def test_the_world_up_to_november_2022_shows_twitter_with_its_causes(world: World, tmp_path: Path) -> None:
    lines = [
        line for line in EXAMPLE.read_bytes().splitlines(keepends=True) if _is_before(line, "2022-12-01")
    ]
    replay(world.host, None, _stream(lines), batch_max=500)
    store = SqliteDriftStore(tmp_path)
    try:
        catch_up(store, world.host.store)
        now = store.begin().now
        assert now is not None
        asked = unstable(store, ["TWITTER"], "world", now).standings["TWITTER"]
        rebuilt_from = [r for topic in inputs() for r in records(world.host.store, topic)]
        n_records = rebuild(store, rebuilt_from)
        again = unstable(store, ["twitter "], "world", now).standings["twitter "]
    finally:
        store.close()

    assert asked is not None
    assert asked.is_unstable
    assert len(asked.retired) > 10
    assert asked.looks_like is Pattern.MOVE
    assert {cause.predicate for _, _, cause in asked.retired} >= {"ceo", "blue_price", "remote_work_policy"}
    assert again == asked
    assert n_records == len(rebuilt_from)


def _is_before(line: bytes, when: str) -> bool:
    try:
        return bool(json.loads(line).get("observed_at", "9") < when)
    except ValueError:
        return False


def _stream(lines: Sequence[bytes]) -> io.BytesIO:
    return io.BytesIO(b"".join(lines))
