"""What a worker on a real broker does: the main job, told as a consumer of its topics sees it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.broker.feeds import (
    events,
    facts_told_by,
    greatest_observed_at,
    kafka_facts,
    observation,
    values,
)

pytestmark = pytest.mark.broker


def test_observations_become_facts_and_events(kafka_worker: Callable[..., Cluster]) -> None:
    cluster = kafka_worker()

    cluster.publish(
        [
            observation("Kim", "lives_in", "Oslo", "2024-01-05"),
            observation("Kim", "lives_in", "Bergen", "2024-06-05"),
            b"no json",
        ],
        key=b"kim",
    )
    cluster.wait_done()

    now = greatest_observed_at([b'{"observed_at": "2024-06-05"}'])
    facts = kafka_facts(cluster.settings, now=now)
    assert [(f["object"], f["state"], f["reason"]) for f in facts] == [
        ("Oslo", "retired", "outvoted"),
        ("Bergen", "open", None),
    ]
    assert facts_told_by(events(cluster.settings), now=now) == facts
    (letter,) = values(cluster.settings, Topic.DEAD_LETTERS)
    assert (letter["code"], letter["raw"], letter["origin_key"]) == ("not_json", "no json", "kim")
