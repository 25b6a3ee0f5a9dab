"""Workers whose tables were built with another model of vectors, or other aliases: refused, or told of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams.kafka.naming import read_marks
from streams.kafka.notes import committed
from tests.broker.cluster import READY_S, Cluster
from tests.broker.feeds import events, greatest_observed_at, kafka_facts, observation
from tests.parts.processes import Process, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]

STRICTER: dict[str, Any] = {"FACTDRIFT_VECTORS_THRESHOLD": "0.99"}  # another threshold is another model
NOW = greatest_observed_at([b'{"observed_at": "2024-06-05"}'])
FEED = [
    observation(subject, "prefers", value, at)
    for subject in ("Kim", "Ann", "Lee", "Max", "Noor", "Ole")
    for value, at in (("adoption agencies", "2024-01-05"), ("adoption agency", "2024-02-05"))
]


def accepting(found: Cluster, **environment: Any) -> Process:
    arguments = ("worker", "--accept-model-change")
    return found.start_worker(module="agents.main", arguments=arguments, **environment)


def noted(found: Cluster, name: str) -> dict[int, str | None]:
    """What the last commit of each partition says of a mark."""
    commits = asyncio.run(committed(found.kafka))
    return {partition: read_marks(commit.note).get(name) for partition, commit in commits.items()}


def wait_refused(worker: Process) -> None:
    assert worker.wait_for_exit(READY_S) == 3, worker.log_tail()
    assert "model_changed: the tables of partition " in worker.log_tail()
    assert "--accept-model-change" in worker.log_tail()


def objects(found: Cluster, subject: str) -> list[tuple[object, int]]:
    facts = kafka_facts(found.settings, now=NOW)
    return sorted((fact["object"], fact["support"]) for fact in facts if fact["subject"] == subject)


def test_a_worker_with_another_model_is_refused_and_the_others_go_on(
    kafka_worker: Callable[..., Cluster],
) -> None:
    cluster = kafka_worker(partitions=3)
    cluster.publish(FEED)
    cluster.wait_done()
    worker, log_size = cluster.workers[0], cluster.workers[0].log_size

    wait_refused(cluster.start_worker(wait=False, **STRICTER))

    assert "partitions=" not in cluster.workers[1].log_tail(), "it joined the group"
    cluster.publish([observation("Kim", "drinks", "tea", "2024-03-05")])
    cluster.wait_done()
    assert worker.running
    assert b"ready" not in worker.log.read_bytes()[log_size:], "partitions moved"
    assert objects(cluster, "Kim") == [("adoption agency", 2), ("tea", 1)]


def test_once_accepted_claims_are_compared_anew_when_touched_and_no_partition_asks_again(
    kafka_worker: Callable[..., Cluster],
) -> None:
    cluster = kafka_worker(partitions=3)
    cluster.publish(FEED)
    cluster.wait_done()
    assert {len(noted(cluster, "model")), len(set(noted(cluster, "model").values()))} == {3, 1}
    assert cluster.workers[0].terminate() == 0
    n_events = len(events(cluster.settings))

    worker = accepting(cluster, **STRICTER)
    wait_until(
        lambda: {str(model).rsplit("/", 1)[1] for model in noted(cluster, "model").values()} == {"0.99"},
        timeout_s=READY_S,
        what="every partition to be noted with the new model",
    )
    cluster.publish([observation("Kim", "prefers", "adoption agencies", "2024-06-05")])
    cluster.wait_done()

    assert "go on with" in worker.log_tail()
    assert {value for value, _ in objects(cluster, "Kim")} == {"adoption agencies", "adoption agency"}
    assert objects(cluster, "Ann") == [("adoption agency", 2)], "a claim was compared that nothing touched"
    new = [event for event in events(cluster.settings) if event["model"].endswith("/0.99")]
    assert {event["subject"] for event in new} == {"Kim"}
    assert len(new) == len(events(cluster.settings)) - n_events

    assert worker.terminate() == 0
    wait_refused(cluster.start_worker(wait=False))  # the old model is now the other one
    cluster.start_worker(**STRICTER)  # and the new one needs no flag


def test_a_worker_of_the_old_model_takes_no_partition_of_the_new_one(
    kafka_worker: Callable[..., Cluster],
) -> None:
    cluster = kafka_worker(partitions=2)
    cluster.publish(FEED)
    cluster.wait_done()
    old = cluster.workers[0]

    new = accepting(cluster, **STRICTER)
    cluster.wait_shared()
    wait_until(lambda: len(set(noted(cluster, "model").values())) == 2, timeout_s=READY_S, what="two models")
    assert new.terminate() == 0

    wait_refused(old)


def test_other_aliases_are_told_of_and_gone_on_with(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    file = tmp_path / "predicates.toml"
    file.write_text('[aliases]\nprefers = ["would rather have"]\n', encoding="utf-8")
    table: dict[str, Any] = {"FACTDRIFT_PREDICATES": str(file)}
    cluster = kafka_worker(partitions=2)
    cluster.publish([observation("Kim", "would rather have", "tea", "2024-01-05")])
    cluster.wait_done()
    assert cluster.workers[0].terminate() == 0

    worker = cluster.start_worker(**table)
    cluster.publish(
        [
            observation("Kim", "would rather have", "coffee", "2024-02-05"),
            observation("Kim", "prefers", "coffee", "2024-02-06"),
        ]
    )
    cluster.wait_done()

    assert worker.log_tail().count("aliases_changed: the tables of partition ") == 1
    found = sorted(
        (f["predicate"], f["object"], f["support"]) for f in kafka_facts(cluster.settings, now=NOW)
    )
    assert found == [("prefers", "coffee", 2), ("would rather have", "tea", 1)]
    assert worker.terminate() == 0

    again = cluster.start_worker(**table)
    assert "aliases_changed" not in again.log_tail()
