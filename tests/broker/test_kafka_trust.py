"""Learnt trust on Kafka: partitions count, the audit learns, and all weigh by the same snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from agents.trust_totals import TOTALS_TABLE, Learnt
from state.trust import NEUTRAL, source_key
from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.broker.feeds import values
from tests.broker.test_kafka_cycles import single_table, tick, wait_closed
from tests.builders import day
from tests.embedded.test_trust import DISPUTE, Line, drawn
from tests.parts.processes import wait_until

pytestmark = pytest.mark.broker
LEARNED = {
    "FACTDRIFT_TRUST": "learned",
    "FACTDRIFT_VECTORS": "none",
    "FACTDRIFT_KAFKA_SESSION_TIMEOUT_S": "3",
}


def publish(found: Cluster, lines: list[Line]) -> None:
    found.publish([json.dumps(line).encode() for line in lines])
    found.wait_done()


def held(found: Cluster, subject: str) -> dict[str, Any]:
    """The newest state of the open fact about a subject."""
    newest = {
        body["fact_id"]: body for body in values(found.settings, Topic.FACTS) if body["subject"] == subject
    }
    [fact] = [body for body in newest.values() if body["reason"] is None]
    return fact


def test_the_audit_learns_from_all_partitions_and_each_weighs_by_its_snapshot(
    kafka_worker: Callable[..., Cluster],
) -> None:
    found = kafka_worker(partitions=3, n=1, **LEARNED)
    publish(found, drawn(120))
    tick(found, day(1))
    wait_closed(found, 1)
    found.wait_done()

    learnt = msgspec.msgpack.decode(single_table(found, TOTALS_TABLE)[b'["default"]'], type=Learnt)
    publish(found, [{**line, "subject": name} for name in ("zoe", "ann", "bea", "eve") for line in DISPUTE])

    assert (learnt.n_known, learnt.number) == (3 * 120, 1)
    assert learnt.weights[source_key("default", "poor")] < NEUTRAL
    for name in ("zoe", "ann", "bea", "eve"):
        assert (held(found, name)["object"], held(found, name)["policy_version"]) == ("Oslo", "1+trust=1")


def test_after_a_death_the_same_is_known_and_nothing_counts_twice(
    kafka_worker: Callable[..., Cluster],
) -> None:
    found = kafka_worker(partitions=2, n=1, **LEARNED)
    lines = drawn(120)
    publish(found, lines[:180])
    found.workers[0].kill()
    found.start_worker()
    publish(found, lines[180:])
    tick(found, day(1))
    wait_closed(found, 1)

    def n_known() -> int:
        stored = single_table(found, TOTALS_TABLE).get(b'["default"]')
        return 0 if stored is None else msgspec.msgpack.decode(stored, type=Learnt).n_known

    wait_until(lambda: n_known() > 0, timeout_s=60, what="the audit to have learnt")
    assert n_known() == 3 * 120
    publish(found, DISPUTE)
    assert held(found, "zoe")["object"] == "Oslo"
