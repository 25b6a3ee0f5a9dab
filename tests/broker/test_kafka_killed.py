"""A retract and a supersede through REST while the worker is killed: applied once, whatever was answered."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL

import pytest

from streams.kafka.failpoints import (
    CHANGELOG_ACKNOWLEDGED,
    INTAKE_ACKNOWLEDGED,
    OUTPUTS_ACKNOWLEDGED,
    OUTPUTS_SENT,
    TABLE_WRITTEN,
)
from tests.api import once
from tests.api.served import Served
from tests.broker.cluster import Cluster
from tests.broker.feeds import events
from tests.parts.processes import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]

SEED = 4711
N = 6
WORKER = {"FACTDRIFT_KAFKA_SESSION_TIMEOUT_S": "3", "FACTDRIFT_TICK_S": "3600"}


@contextmanager
def api_of(cluster: Cluster, folder: Path) -> Iterator[Served]:
    """An API on the cluster that does not wait for long."""
    served = Served(
        folder, command="api", FACTDRIFT_API_OUTCOME_TIMEOUT_S="1", FACTDRIFT_API_RATE_PER_S="0",
        **cluster.environment,
    )  # fmt: skip
    try:
        yield served
    finally:
        served.end()


def learnt(cluster: Cluster, served: Served, moved: list[str], back: list[str]) -> None:
    """Publish what is said of everybody, and return when the read model has it."""
    for lines in once.observations(moved, back):
        served.learn(*lines)
        cluster.wait_done()

    def all_there() -> bool:
        return all(len(served.get("/v1/facts", subject=name)["items"]) == 1 for name in moved) and all(
            len(served.get("/v1/facts", subject=name)["items"]) == 2 for name in back
        )

    wait_until(all_there, timeout_s=120, what="the facts to be read")


def assert_once(cluster: Cluster, served: Served, moved: list[str], back: list[str]) -> None:
    """Everything is applied once: on the topics now, and in the read model as soon as it has followed."""
    cluster.wait_done()
    once.assert_published_once(events(cluster.settings), moved, back)

    def followed() -> bool:
        return all(
            [fact["object"] for fact in served.get("/v1/facts", subject=name)["items"]] == ["Oslo"]
            for name in back
        ) and all(served.client.get(f"/v1/corrections/c {name}").is_success for name in moved)

    wait_until(followed, timeout_s=120, what="the read model to follow")
    once.assert_read_once(served, moved, back)


@pytest.mark.parametrize(
    ("step", "times"),
    [
        (INTAKE_ACKNOWLEDGED, 1),
        (OUTPUTS_SENT, 1),
        (OUTPUTS_ACKNOWLEDGED, 1),
        (CHANGELOG_ACKNOWLEDGED, 2),
        (TABLE_WRITTEN, 1),
    ],
)
def test_corrections_of_a_worker_that_dies_at_a_step_are_applied_once(
    cluster: Callable[..., Cluster], tmp_path: Path, step: str, times: int
) -> None:
    found = cluster(partitions=2, **WORKER)
    first = found.start_worker()
    moved, back = once.people(0, N)
    with api_of(found, tmp_path / "api") as served:
        learnt(found, served, moved, back)
        commands = once.corrections(served, moved, back)
        first.terminate()
        dying = found.start_worker(wait=False, FACTDRIFT_FAILPOINT=f"{step}:{times}")

        sender = once.Sender(served, commands)
        assert dying.wait_for_exit(120) == -SIGKILL
        assert len(sender.wait()) == len(commands)  # durable before it was answered: nobody was cut off
        found.start_worker()
        assert_once(found, served, moved, back)
        assert set(once.Sender(served, commands).wait()) == {"unchanged"}  # what is applied is not sent again
        assert_once(found, served, moved, back)


def test_corrections_sent_while_workers_are_killed_at_any_moment_are_applied_once(
    cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = cluster(partitions=2, FACTDRIFT_BATCH_MAX="3", **WORKER)
    chance = random.Random(SEED)
    worker = found.start_worker()
    with api_of(found, tmp_path / "api") as served:
        for number in range(3):
            moved, back = once.people(number, N)
            learnt(found, served, moved, back)
            commands = once.corrections(served, moved, back)
            chance.shuffle(commands)
            n_answered = chance.randrange(1, len(commands))

            sender = once.Sender(served, commands)
            sender.wait_for(n_answered)
            worker.kill()
            assert len(sender.wait()) == len(commands)
            worker = found.start_worker()
            assert_once(found, served, moved, back)
