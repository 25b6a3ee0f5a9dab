"""Cycles and rules on Kafka: one clock, one audit, whoever dies."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable
from signal import SIGKILL

import pytest

from agents.audit import OPEN_TABLE, audited, decode_rule
from agents.clock import tick_request
from agents.replay import records
from state.instants import DAY_MS, Instant
from state.rules import Standing
from streams.kafka import ends_of, latest_values, publish, single_changelog_name, topic_name
from streams.kafka.cycles_service import SingleTables
from streams.kafka.failpoints import CYCLES_STEPS
from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.broker.feeds import Line, events, life, values
from tests.builders import day
from tests.cases.world import fresh
from tests.parts.processes import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]
SHORT = {"FACTDRIFT_KAFKA_SESSION_TIMEOUT_S": "3", "FACTDRIFT_BATCH_MAX": "40"}
N_CYCLES = int(os.environ.get("FACTDRIFT_TEST_CYCLES", "6"))
"""How many cycles a long run has. A worker is killed after each tenth; in a short run after each third."""

DONE_S = 120
RULE = "lives in oslo"
COUNTERS = {
    Topic.FACT_CREATED: "facts_created",
    Topic.FACT_REINFORCED: "facts_reinforced",
    Topic.FACT_INVALIDATED: "facts_invalidated",
}


def tick(found: Cluster, now: Instant | None = None) -> None:
    asyncio.run(publish(found.settings, Topic.CLOCK, [(None, tick_request(now))]))


def add_rule(found: Cluster) -> None:
    line = b'{"op":"added","name":"lives in oslo","when":[{"predicate":"lives_in","object":"Oslo"}]}'
    asyncio.run(publish(found.settings, Topic.RULES, [(b"r", line)]))


def n_records(found: Cluster, topic: Topic) -> int:
    return sum(asyncio.run(ends_of(found.kafka, topic_name(found.kafka, topic))))


def single_table(found: Cluster, name: str) -> dict[bytes, bytes]:
    topic = single_changelog_name(found.kafka, name)
    return asyncio.run(latest_values(found.kafka, [topic]))[topic]


def wait_closed(found: Cluster, n_cycles: int) -> None:
    """Return when the audit has closed so many cycles, and says so in its own table."""

    def closed() -> bool:
        assert any(worker.running for worker in found.workers), found.workers[-1].log_tail()
        state = SingleTables(found.kafka.partitions, {"cycle-audit": single_table(found, "cycle-audit")})
        return audited(state).cycle >= n_cycles

    wait_until(closed, timeout_s=DONE_S, what=f"{n_cycles} cycles to be closed")


def audits_of(found: Cluster) -> dict[int, Line]:
    """The audit record of each cycle; every delivery of one says the same."""
    audits: dict[int, Line] = {}
    for body in values(found.settings, Topic.CYCLES):
        assert audits.setdefault(body["cycle"], body) == body
    return audits


def assert_sums(found: Cluster, audits: dict[int, Line], lines: list[bytes]) -> None:
    """Each cycle has what its events say, and all of them together have everything."""
    told = {event["event_id"]: event for event in events(found.settings)}
    for topic, counter in COUNTERS.items():
        of_cycle = Counter(e["cycle"] for e in told.values() if e["event"] == topic.value)
        assert {n: audit[counter] for n, audit in audits.items() if audit[counter]} == of_cycle
    assert sum(audit["observations_processed"] for audit in audits.values()) == len(lines)


def test_a_rule_is_matched_in_every_partition_and_decays_where_nothing_matches(
    kafka_worker: Callable[..., Cluster],
) -> None:
    found = kafka_worker(partitions=3, n=1)
    add_rule(found)
    wait_until(lambda: n_records(found, Topic.BY_CLAIM) == 3, timeout_s=60, what="the rule to be told")
    lines = life(12)

    found.publish(lines)
    found.wait_done()
    tick(found, day(1))
    wait_closed(found, 1)
    tick(found, day(2))
    wait_closed(found, 2)

    audits = audits_of(found)
    assert_sums(found, audits, lines)
    assert {m["name"] for m in audits[1]["rules_matched"]} == {RULE, "residence"}
    assert [len(audits[n]["offsets"]) for n in (1, 2)] == [3, 3]
    assert audits[2]["observations_processed"] == 0
    (rule,) = (decode_rule(stored) for stored in single_table(found, "rules").values())
    assert (rule.standing, round(rule.confidence, 6)) == (Standing.CANDIDATE, round(0.55 * 0.95, 6))
    told = [event["event"] for event in values(found.settings, Topic.RULE_EVENTS)]
    assert told == ["added", "matched", "decayed"]


LIVES: list[tuple[list[tuple[str, str]], float]] = [
    *[
        (
            [*([("added", "decays"), ("added", "returns"), ("added", "kept"), ("added", "candidate"),
               ("added", "never"), ("validated", "decays"), ("validated", "returns"), ("validated", "kept")]
               if number == 1 else []),
             ("matched", "kept"),
             *([("matched", "candidate")] if number <= 3 else [])],
            number,
        )
        for number in range(1, 6)
    ],
    *[([("matched", "returns"), ("matched", "kept")], number) for number in range(6, 12)],
    ([("matched", "kept")], 91),
    ([("matched", "kept")], 95.5),
]  # fmt: skip
"""The rules of CASES as one life: what is said of rules in each cycle, and the day of its tick.

"decays" is active and never matched; "returns" is demoted and then matched again; "kept" is matched in every
cycle; "candidate" rises to 0.65; "never" is pruned ninety days after it was added or matched last.
"""


def lives(told: list[Line]) -> dict[str, list[tuple[object, ...]]]:
    """What became of each rule, step by step, each delivery once."""
    once = {event["event_id"]: event for event in told if not event["standard"]}
    found: dict[str, list[tuple[object, ...]]] = {}
    for event in once.values():
        step = (event["cycle"], event["event"], event["confidence"], event["standing"])
        found.setdefault(event["name"], []).append(step)
    return {name: sorted(steps, key=lambda step: step[0]) for name, steps in found.items()}


def test_the_rules_of_the_cases_have_one_life_on_both_hosts(kafka_worker: Callable[..., Cluster]) -> None:
    on_kafka = kafka_worker(partitions=2, n=1)
    start = n_records(on_kafka, Topic.CYCLE_PARTS)
    with fresh() as embedded:
        for number, (commands, at) in enumerate(LIVES, 1):
            lines = [f'{{"op":"{op}","name":"{name}"}}'.encode() for op, name in commands]
            embedded.host.publish(Topic.RULES, [(b"r", line, None) for line in lines])
            embedded.tick(at)
            asyncio.run(publish(on_kafka.settings, Topic.RULES, [(b"r", line) for line in lines]))
            start += len(lines)
            wait_until(
                lambda n=start: n_records(on_kafka, Topic.CYCLE_PARTS) >= n,  # type: ignore[misc]
                timeout_s=60,
                what="the commands to be handed on",
            )
            tick(on_kafka, day(at))
            wait_closed(on_kafka, number)
            start = n_records(on_kafka, Topic.CYCLE_PARTS)
        expected = lives([json.loads(r.value) for r in records(embedded.host.store, Topic.RULE_EVENTS)])

    assert lives(values(on_kafka.settings, Topic.RULE_EVENTS)) == expected
    assert [
        round(float(str(step[2])), 5) for step in expected["decays"] if step[1] in ("decayed", "demoted")
    ][:5] == [0.475, 0.45125, 0.42869, 0.40725, 0.38689]
    assert "demoted" in {step[1] for step in expected["decays"]}
    assert "promoted" in {step[1] for step in expected["returns"] if int(str(step[0])) > 5}
    assert not {step[1] for step in expected["kept"]} & {"decayed", "demoted"}
    assert "promoted" in {step[1] for step in expected["candidate"]}
    assert "pruned" in {step[1] for step in expected["never"]}


@pytest.mark.slow
def test_cycles_go_on_over_deaths_and_each_is_audited_once(kafka_worker: Callable[..., Cluster]) -> None:
    found = kafka_worker(partitions=4, n=2, **SHORT)
    add_rule(found)
    lines = life(max(24, N_CYCLES * 2))
    share = len(lines) // N_CYCLES
    every = 10 if N_CYCLES >= 20 else 3
    for number in range(1, N_CYCLES + 1):
        found.publish(lines[(number - 1) * share : number * share if number < N_CYCLES else None])
        tick(found, Instant(day(0) + number * DAY_MS))
        if number % every == 0:
            next(worker for worker in found.workers if worker.running).kill()
            found.start_worker(wait=False)
    found.wait_done()
    tick(found, Instant(day(0) + (N_CYCLES + 1) * DAY_MS))
    wait_closed(found, N_CYCLES + 1)

    audits = audits_of(found)
    assert sorted(audits) == list(range(1, N_CYCLES + 2))
    assert_sums(found, audits, lines)
    told = values(found.settings, Topic.RULE_EVENTS)
    assert len({(e["cycle"], e["event"]) for e in told}) == len({e["event_id"] for e in told})


@pytest.mark.slow
@pytest.mark.parametrize("step", CYCLES_STEPS)
@pytest.mark.parametrize("times", [3, 6])
def test_an_owner_killed_at_any_step_of_the_audit_leaves_nothing_out(
    cluster: Callable[..., Cluster], step: str, times: int
) -> None:
    found = cluster(partitions=2, **SHORT)
    lines = life(8, n_years=1)
    add_rule(found)
    found.publish(lines)
    tick(found, day(1))

    dying = found.start_worker(wait=False, FACTDRIFT_FAILPOINT=f"{step}:{times}")
    tick(found, day(2))
    tick(found, day(3))
    assert dying.wait_for_exit(60) == -SIGKILL
    found.start_worker()
    found.wait_done()
    tick(found, day(4))
    wait_closed(found, 4)

    audits = audits_of(found)
    assert sorted(audits) == [1, 2, 3, 4]
    assert_sums(found, audits, lines)
    (rule,) = (decode_rule(stored) for stored in single_table(found, "rules").values())
    told = {e["event_id"]: e["event"] for e in values(found.settings, Topic.RULE_EVENTS)}
    assert Counter(told.values()) == Counter(point.step.value for point in rule.history)
    assert rule.closed == 4


@pytest.mark.slow
def test_a_cycle_waits_for_a_partition_that_nobody_works_on(cluster: Callable[..., Cluster]) -> None:
    found = cluster(partitions=2, **SHORT)
    first, second = found.start_worker(), found.start_worker()
    found.wait_shared()
    lines = life(8, n_years=1)
    found.publish(lines)
    found.wait_done()

    first.pause()  # its partition has no other owner until its session ends
    tick(found, day(1))
    wait_closed(found, 1)
    first.kill()

    assert second.running
    assert_sums(found, audits_of(found), lines)
    assert not any(key.startswith(b"0/") for key in single_table(found, OPEN_TABLE))


@pytest.mark.slow
def test_the_clock_ticks_by_itself_while_there_is_input_and_then_stands_still(
    kafka_worker: Callable[..., Cluster],
) -> None:
    found = kafka_worker(partitions=2, n=2, FACTDRIFT_TICK_S="0.5")
    lines = life(8, n_years=1)

    found.publish(lines)
    found.wait_done()
    wait_until(lambda: bool(audits_of(found)), timeout_s=60, what="a cycle to be closed")
    # Once every record is in a closed cycle no more ticks come: the clock's end stays where it is.
    wait_until(
        lambda: sum(a["observations_processed"] for a in audits_of(found).values()) == len(lines),
        timeout_s=60,
        what="all input to be audited",
    )

    assert_sums(found, audits_of(found), lines)
