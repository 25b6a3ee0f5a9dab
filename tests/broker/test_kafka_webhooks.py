"""Webhooks from a real broker: a receiver that was down, a deliverer that died, two that share the work."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agents.clock import tick_request
from state.webhooks import written_secret
from streams.kafka import publish
from streams.kafka.reading import read_topic
from streams.topics import Topic
from tests.api.served import Served
from tests.broker.cluster import REPOSITORY, Cluster
from tests.builders import day
from tests.cases.world import observe
from tests.parts.processes import Process, start_process, wait_until
from tests.parts.receiver import KEY, SECRET_NAME, receiving, write_config

pytestmark = [pytest.mark.broker, pytest.mark.long]

ALERTS = (Topic.FACT_INVALIDATED, Topic.DRIFT_ALERTS)
WAIT_S = 120
DAYS = (1, 8, 15, 22, 28)


def learn_moves(cluster: Cluster, *subjects: str) -> None:
    """Subjects that move five times each."""
    cluster.publish(
        [
            json.dumps(observe(f"value {number}", at, subject=subject)).encode()
            for subject in subjects
            for number, at in enumerate([0, *DAYS])
        ]
    )


def tick(cluster: Cluster, number: float) -> None:
    """Close the cycle on day `number`, after everything before it was consolidated."""
    cluster.wait_done()
    asyncio.run(publish(cluster.settings, Topic.CLOCK, [(None, tick_request(day(number)))]))


def alerts(cluster: Cluster) -> dict[str, bytes]:
    """Every alert on the topics, by id, as it stands there."""

    async def read() -> list[bytes]:
        return [r.value for topic in ALERTS async for r in read_topic(cluster.settings, topic)]

    return {json.loads(value)["event_id"]: value for value in asyncio.run(read())}


def wait_for_alerts(cluster: Cluster, n: int) -> dict[str, bytes]:
    return wait_until(
        lambda: len(found := alerts(cluster)) == n and found, timeout_s=WAIT_S, what=f"{n} alerts"
    )


Deliver = Callable[..., Process]


@pytest.fixture
def deliver(tmp_path: Path) -> Iterator[Deliver]:
    """Starts `factdrift webhooks run` on a cluster; ended with the test."""
    with ExitStack() as stack:

        def start(cluster: Cluster, config: Path, *options: str) -> Process:
            process = cluster_process(cluster, tmp_path / "webhooks.log", config, *options)
            stack.callback(process.kill)
            process.wait_for_line("^factdrift webhooks ready", WAIT_S)
            return process

        yield start


def cluster_process(cluster: Cluster, log: Path, config: Path, *options: str) -> Process:
    return start_process(
        [sys.executable, "-m", "agents.main", "webhooks", "run", "--config", config, *options],
        name="factdrift webhooks run",
        log=log,
        environment={**cluster.environment, SECRET_NAME: written_secret(KEY)},
        folder=REPOSITORY,
    )


def command(cluster: Cluster, *words: object) -> tuple[int, list[Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "webhooks", *map(str, words)],
        capture_output=True, text=True, cwd=REPOSITORY, check=False,
        env={**os.environ, **cluster.environment, SECRET_NAME: written_secret(KEY)},
    )  # fmt: skip
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_receiver_that_was_down_gets_each_alert_once_by_id_though_the_deliverer_was_killed(
    kafka_worker: Callable[..., Cluster], tmp_path: Path, deliver: Deliver
) -> None:
    cluster = kafka_worker(partitions=2)
    with receiving(up=False) as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        learn_moves(cluster, "kim", "lee", "max")
        first = deliver(cluster, config)
        first.wait_for_line("Webhook a takes nothing at present: it cannot be reached", WAIT_S)
        tick(cluster, 29)
        expected = wait_for_alerts(cluster, 18)  # five moves and an alert for each of three subjects
        first.kill()
        second = deliver(cluster, config)
        second.wait_for_line("Webhook a takes nothing at present: it cannot be reached", WAIT_S)

        receiver.come_up()

        assert receiver.wait_for(len(expected), WAIT_S) == expected
        assert receiver.forged == []
        second.kill()
        learn_moves(cluster, "one more")
        third = deliver(cluster, config)
        more = wait_for_alerts(cluster, 23)
        assert receiver.wait_for(len(more), WAIT_S) == more
        assert third.terminate() == 0
        n_calls = len(receiver.calls)

        fourth = deliver(cluster, config)  # all is committed: the last one has nothing to send again
        learn_moves(cluster, "the last")
        receiver.wait_for(28, WAIT_S)
        assert len(receiver.calls) == n_calls + 5
        assert fourth.terminate() == 0


def test_two_deliverers_share_the_work_and_keep_the_order_of_a_subject(
    kafka_worker: Callable[..., Cluster], tmp_path: Path, deliver: Deliver
) -> None:
    cluster = kafka_worker(partitions=4)
    subjects = [f"subject {number}" for number in range(12)]
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, topics=["fact-invalidated"])
        first, second = deliver(cluster, config), deliver(cluster, config)
        learn_moves(cluster, *subjects[:6])
        receiver.wait_for(15, WAIT_S)
        assert second.terminate() == 0
        learn_moves(cluster, *subjects[6:])
        receiver.wait_for(60, WAIT_S)
        assert first.terminate() == 0

        by_subject: dict[str, list[str]] = {}
        seen: set[str] = set()
        for call in receiver.calls:
            if call.event_id not in seen:
                seen.add(call.event_id)
                by_subject.setdefault(call.event["subject"], []).append(call.event["object"])
        assert by_subject == {subject: [f"value {n}" for n in range(5)] for subject in subjects}
        assert len(receiver.calls) == 60  # an orderly end commits first, so nothing is sent twice


def test_what_is_refused_is_a_dead_letter_that_can_be_sent_again(
    kafka_worker: Callable[..., Cluster], tmp_path: Path, deliver: Deliver
) -> None:
    cluster = kafka_worker(partitions=2)
    with receiving() as receiver:
        receiver.answer_of = lambda call: 422 if call.event["object"] == "value 2" else 204
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        process = deliver(cluster, config, "--health-port", "0")
        learn_moves(cluster, "kim")
        receiver.wait_for(4, WAIT_S)
        assert process.terminate() == 0

        code, listed = command(cluster, "list")
        (letter,) = listed
        assert (code, letter["code"], letter["status"]) == (0, "refused", 422)
        receiver.answer_of = lambda _call: 204
        assert command(cluster, "replay", "--config", config) == (0, [{"sent": 1, "failed": 0}])
        assert len(receiver.delivered) == 5


def test_the_api_delivers_where_a_file_of_webhooks_is_set(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = kafka_worker(partitions=2)
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver})
        environment = {**cluster.environment, "FACTDRIFT_WEBHOOKS": str(config)}
        environment[SECRET_NAME] = written_secret(KEY)
        served = Served(tmp_path / "api", command="api", **environment)
        try:
            learn_moves(cluster, "kim")
            receiver.wait_for(5, WAIT_S)
        finally:
            served.end()

    assert receiver.delivered == alerts(cluster)
