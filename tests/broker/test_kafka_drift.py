"""Drift on Kafka: F26 through a worker and its Redis, which may go away and come back empty."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.clock import tick_request
from agents.drift_projection import Standing, unstable
from streams.drift import DriftUnavailable
from streams.events import DriftAlert
from streams.kafka import publish
from streams.kafka.reading import read_topic
from streams.redis import RedisDriftStore
from streams.topics import Topic
from tests.broker.cluster import REPOSITORY, Cluster
from tests.builders import day
from tests.cases.world import iso, observe
from tests.parts import or_skip
from tests.parts.processes import wait_until
from tests.parts.redis import RedisServer, start_redis

pytestmark = [pytest.mark.broker, pytest.mark.redis, pytest.mark.long]
IN_29_DAYS, IN_31_DAYS = (1, 8, 15, 22, 30), (1, 8, 15, 22, 32)
CAUGHT_UP_S = 120


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    found = or_skip(lambda: start_redis(tmp_path))
    if found.origin == "environment":
        pytest.skip("the user's Redis is not ours to kill")
    yield found
    found.stop()


def moves(subject: str, days: Sequence[float]) -> list[bytes]:
    lines = [observe(f"value {n}", at, subject=subject) for n, at in enumerate([0, *days])]
    return [json.dumps(line).encode() for line in lines]


def tick(cluster: Cluster, number: float) -> None:
    """Close the cycle on day `number`, after everything before it was consolidated."""
    cluster.wait_done()
    asyncio.run(publish(cluster.settings, Topic.CLOCK, [(None, tick_request(day(number)))]))


def alerts(cluster: Cluster) -> list[dict[str, Any]]:
    async def read() -> list[dict[str, Any]]:
        return [json.loads(record.value) async for record in read_topic(cluster.settings, Topic.DRIFT_ALERTS)]

    found = {alert["event_id"]: alert for alert in asyncio.run(read())}
    return sorted(found.values(), key=lambda alert: (alert["now"], alert["subject"]))


def wait_for_alerts(cluster: Cluster, n: int) -> list[tuple[str, str, str, int]]:
    found = wait_until(
        lambda: len(now := alerts(cluster)) >= n and now, timeout_s=CAUGHT_UP_S, what=f"{n} drift alerts"
    )
    assert isinstance(found, list)
    for alert in found:
        DriftAlert.model_validate_json(json.dumps(alert))
    return [(a["signal"], a["subject"], a["now"], a["count"]) for a in found]


def asked(store: RedisDriftStore, name: str, number: float) -> Standing | None:
    return unstable(store, [name], "default", day(number)).standings[name]


def command(cluster: Cluster, *words: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "drift", *words, "--json"],
        cwd=REPOSITORY, env={**os.environ, **cluster.environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_f26_on_kafka_with_a_redis_that_dies_and_comes_back_empty(
    kafka_worker: Callable[..., Cluster], server: RedisServer
) -> None:
    cluster = kafka_worker(n=1, FACTDRIFT_REDIS_URL=server.url)
    store = RedisDriftStore(server.url, prefix=cluster.kafka.prefix)
    cluster.publish([*moves("kim", IN_29_DAYS), *moves("lee", IN_31_DAYS)])

    tick(cluster, 30)
    assert wait_for_alerts(cluster, 1) == [("unstable", "kim", iso(30), 5)]
    kim = wait_until(
        lambda: (found := asked(store, " KIM", 30)) is not None and found.is_unstable and found,
        timeout_s=CAUGHT_UP_S,
        what="Redis to know",
    )
    assert isinstance(kim, Standing)
    assert [cause.object for _, _, cause in kim.retired] == [f"value {n}" for n in range(5)]
    assert [one["subject"] for one in command(cluster, "list") if one["unstable"]] == ["kim"]

    server.kill()
    with pytest.raises(DriftUnavailable):
        store.begin()
    cluster.publish(moves("ann", (31, 32, 33, 34, 35)))
    tick(cluster, 36)
    assert len(wait_for_alerts(cluster, 2)) == 2, "facts and alerts go on without Redis"
    server.restart(empty=True)
    wait_until(
        lambda: all((s := asked(store, n, 36)) is not None and s.is_unstable for n in ("kim", "ann")),
        timeout_s=CAUGHT_UP_S,
        what="an empty Redis to be filled again",
    )

    before = command(cluster, "list")
    (rebuilt,) = command(cluster, "rebuild")
    assert rebuilt["records"] > 0
    assert command(cluster, "list") == before

    tick(cluster, 70)
    stable = [a for a in wait_for_alerts(cluster, 4) if a[0] == "stable"]
    assert stable == [("stable", "ann", iso(70), 0), ("stable", "kim", iso(70), 0)]
    wait_until(
        lambda: (found := asked(store, "kim", 70)) is not None and not found.is_unstable,
        timeout_s=CAUGHT_UP_S,
        what="Redis to know that kim is stable",
    )
    store.close()
    assert "Drift is degraded" in cluster.workers[0].log.read_text()
    assert cluster.workers[0].running
