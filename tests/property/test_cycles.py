"""The audit of cycles: its numbers are those of the events, whatever is doubled, delayed or cut short."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state.cycles import NO_CYCLE, Tick
from state.instants import Instant
from streams.codec import decode_batch
from streams.topics import Topic
from tests.builders import day
from tests.cases.world import observe
from tests.staged import RECORDED_AT, SmallCluster

COUNTED = {
    Topic.FACT_CREATED: "facts_created",
    Topic.FACT_REINFORCED: "facts_reinforced",
    Topic.FACT_INVALIDATED: "facts_invalidated",
    Topic.DRIFT_ALERTS: "drift_alerts",
}

moves = st.one_of(
    st.tuples(
        st.just("observe"),
        st.lists(
            st.tuples(st.sampled_from("abcd"), st.sampled_from(["Oslo", "Rome", "York"]), st.integers(0, 9)),
            min_size=1,
            max_size=6,
        ),
    ),
    st.tuples(st.just("tick"), st.integers(1, 3)),
    st.tuples(st.just("rule"), st.sampled_from(["added", "matched", "validated", "removed"])),
    st.tuples(st.just("drain"), st.sampled_from([(), (0,), (1,)])),
)
crashes = st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 2)), max_size=40)


def run(
    script: list[tuple[str, Any]],
    *,
    crashes: list[tuple[int, int]],
    backwards: bool = False,
    recorded_at: Instant = RECORDED_AT,
) -> SmallCluster:
    cluster = SmallCluster(crashes=crashes, backwards=backwards, recorded_at=recorded_at)
    now = 0
    for what, how in script:
        if what == "observe":
            lines = [observe(value, now + at / 10, subject=s, predicate="lives_in") for s, value, at in how]
            cluster.publish(*lines)
        elif what == "tick":
            now += 1
            cluster.tick(day(now), times=how)
        elif what == "rule":
            cluster.rule(how, "in rome", when=[{"predicate": "lives_in", "object": "Rome"}])
        else:
            cluster.drain(dead=how)
    cluster.tick(day(now + 1))
    cluster.drain()
    return cluster


def told(cluster: SmallCluster) -> list[list[dict[str, Any]]]:
    """What readers were told; not where in the log, since what is told twice takes two places."""
    audits = cluster.distinct(Topic.CYCLES, by="audit_id")
    return [
        [{name: value for name, value in audit.items() if name != "offsets"} for audit in audits],
        [
            {name: value for name, value in event.items() if name != "event_id"}
            for event in cluster.distinct(Topic.RULE_EVENTS)
        ],
        [
            {name: value for name, value in alert.items() if name not in ("event_id", "position")}
            for alert in cluster.distinct(Topic.DRIFT_ALERTS)
        ],
    ]


@given(st.lists(moves, max_size=14), crashes)
def test_each_cycle_is_audited_once_and_its_counters_equal_its_events(
    script: list[tuple[str, Any]], crashes: list[tuple[int, int]]
) -> None:
    cluster = run(script, crashes=crashes)

    audits = {audit["cycle"]: audit for audit in cluster.distinct(Topic.CYCLES, by="audit_id")}
    assert sorted(audits) == list(range(1, len(cluster.topics[Topic.CLOCK, 0]) + 1))
    for topic, counter in COUNTED.items():
        events = Counter(event["cycle"] for event in cluster.distinct(topic))
        assert {n: audit[counter] for n, audit in audits.items() if audit[counter]} == events
    ids = {i for audit in audits.values() for i in audit["edges"]["PROCESSED"]}
    assert sum(audit["observations_processed"] for audit in audits.values()) == len(ids)
    for audit in audits.values():
        for counter in ("observations_processed", *COUNTED.values()):
            assert audit[counter] == sum(found[counter] for found in audit["namespaces"])


@given(st.lists(moves, max_size=14), crashes)
def test_crashes_change_neither_audits_nor_the_life_of_rules(
    script: list[tuple[str, Any]], crashes: list[tuple[int, int]]
) -> None:
    calm, stormy = run(script, crashes=[]), run(script, crashes=crashes)

    assert told(stormy) == told(calm)


LIVELY: list[tuple[str, Any]] = [
    ("rule", "added"),
    ("drain", ()),
    *(
        ("observe", [("a", value, number)])
        for number, value in enumerate(["Oslo", "Rome", "York", "Bath", "Kyiv", "Lima", "Bonn"])
    ),
    ("tick", 2),
    ("rule", "validated"),
    ("observe", [("b", "Rome", 0), ("c", "Rome", 0), ("a", "York", 9)]),
    ("rule", "matched"),
    ("tick", 1),
    ("rule", "removed"),
    ("tick", 1),
]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("n_well", [1, 2])
@pytest.mark.parametrize("n_written", range(6))
def test_a_worker_that_dies_at_the_same_write_of_every_other_record_changes_nothing(
    n_written: int, n_well: int, backwards: bool
) -> None:
    crashes = [(n_written, n_well - 1), *[(-1, 0)] * n_well] * 99
    calm, stormy = run(LIVELY, crashes=[]), run(LIVELY, crashes=crashes, backwards=backwards)

    assert [a["signal"] for a in calm.distinct(Topic.DRIFT_ALERTS)] == ["unstable"]
    assert {e["event"] for e in calm.distinct(Topic.RULE_EVENTS)} >= {
        "added",
        "matched",
        "promoted",
        "removed",
    }
    assert [len(audit["rules_matched"]) for audit in calm.distinct(Topic.CYCLES, "audit_id")] == [2, 2, 0, 0]
    assert told(stormy) == told(calm)
    assert sum(audit["drift_alerts"] for audit in calm.distinct(Topic.CYCLES, "audit_id")) == 1


SHORT: list[tuple[str, Any]] = [
    ("rule", "added"),
    ("drain", ()),
    ("observe", [("a", "Rome", 0), ("b", "Rome", 0)]),
    ("rule", "matched"),
    ("tick", 1),
    ("drain", ()),
    ("rule", "removed"),
]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("delivery", range(14))
def test_one_death_at_any_write_of_any_delivery_changes_nothing(delivery: int, backwards: bool) -> None:
    calm = told(run(SHORT, crashes=[]))

    for n_written in range(6):
        crashes = [*[(-1, 0)] * delivery, (n_written, 4)]
        assert told(run(SHORT, crashes=crashes, backwards=backwards)) == calm, n_written


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("n_written", range(4))
def test_a_rule_that_a_partition_was_told_of_is_not_lost_wherever_its_worker_dies(
    n_written: int, backwards: bool
) -> None:
    cluster = SmallCluster(1, crashes=[(-1, 0), (n_written, 0)], backwards=backwards)
    cluster.rule("added", "in rome", when=[{"predicate": "lives_in", "object": "Rome"}])
    cluster.drain()  # first the audit, then the only partition

    cluster.publish(observe("Rome", 0, predicate="lives_in"))
    cluster.tick(day(1))
    cluster.drain()

    (audit,) = cluster.distinct(Topic.CYCLES, "audit_id")
    assert {m["name"] for m in audit["rules_matched"]} == {"in rome", "residence"}


@settings(max_examples=30)
@given(st.lists(moves, max_size=10))
def test_a_tick_that_is_handed_on_twice_closes_one_cycle(script: list[tuple[str, Any]]) -> None:
    once = [(what, 1 if what == "tick" else how) for what, how in script]
    thrice = [(what, 3 if what == "tick" else how) for what, how in script]

    assert told(run(thrice, crashes=[]))[:2] == told(run(once, crashes=[]))[:2]


# -- time passes between two ticks ----------------------------------------------------------

TODAY = day(15)
"""When the log is written in which what is observed is of the last days."""

restless = st.lists(
    st.one_of(
        st.tuples(
            st.just("observe"),
            st.lists(
                st.tuples(
                    st.sampled_from("ab"),
                    st.sampled_from(["Oslo", "Rome", "York", "Bath"]),
                    st.integers(0, 99),
                ),
                min_size=3,
                max_size=12,
            ),
        ),
        st.tuples(st.just("tick"), st.integers(1, 2)),
        st.tuples(st.just("drain"), st.sampled_from([(), (0,)])),
    ),
    max_size=8,
)


def ticks_of_no_cycle(cluster: SmallCluster) -> int:
    """How many ticks that close no cycle stand in the log."""
    entries = [
        entry
        for (topic, _), log in cluster.topics.items()
        if topic is Topic.BY_CLAIM
        for record in log
        for entry in decode_batch(record.value).entries
    ]
    return sum(isinstance(e.usable, Tick) and e.usable.number == NO_CYCLE for e in entries)


@given(restless, crashes)
def test_crashes_change_no_alert_that_came_before_its_tick(
    script: list[tuple[str, Any]], crashes: list[tuple[int, int]]
) -> None:
    calm, stormy = run(script, crashes=[], recorded_at=TODAY), run(script, crashes=crashes, recorded_at=TODAY)

    assert told(stormy) == told(calm)


@given(restless)
def test_who_is_unstable_in_the_end_is_told_of_without_a_tick(script: list[tuple[str, Any]]) -> None:
    untimed = [step for step in script if step[0] != "tick"]
    cluster = SmallCluster(recorded_at=TODAY)
    for what, how in untimed:
        if what == "observe":
            cluster.publish(*[observe(v, at / 10, subject=s, predicate="lives_in") for s, v, at in how])
    cluster.drain()

    alerts = cluster.distinct(Topic.DRIFT_ALERTS)
    cluster.tick(TODAY)
    cluster.drain()
    assert cluster.distinct(Topic.DRIFT_ALERTS) == alerts, "a tick finds nobody that was not told of"
    assert {alert["cycle"] for alert in alerts} <= {1}
    (audit,) = cluster.distinct(Topic.CYCLES, by="audit_id")
    assert audit["drift_alerts"] == len(alerts)


@given(st.lists(moves, max_size=14))
def test_what_is_told_of_long_ago_lets_no_time_pass(script: list[tuple[str, Any]]) -> None:
    assert ticks_of_no_cycle(run(script, crashes=[])) == 0


def test_a_subject_asks_once_for_a_tick() -> None:
    cluster = SmallCluster(recorded_at=TODAY)
    for number in range(12):
        cluster.publish(observe(f"city {number}", number, subject="a", predicate="lives_in"))

    cluster.drain()

    assert [a["signal"] for a in cluster.distinct(Topic.DRIFT_ALERTS)] == ["unstable"]
    assert ticks_of_no_cycle(cluster) == 1
