"""Identical input gives identical facts, ids and content, in both hosts: on real conversations and on
13,510 birth places, through two workers that share four partitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.broker.cluster import Cluster
from tests.broker.feeds import embedded_facts, events, facts_told_by, greatest_observed_at, kafka_facts
from tests.shared_data import shared_file

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.mark.parametrize(
    ("name", "n_lines"), [("locomo_observations.jsonl", 2_541), ("birthplaces_observations.jsonl", 13_510)]
)
def test_two_workers_find_the_facts_that_the_embedded_host_finds(
    kafka_worker: Callable[..., Cluster], tmp_path: Path, name: str, n_lines: int
) -> None:
    lines = shared_file(name).read_bytes().splitlines()
    assert len(lines) == n_lines
    now = greatest_observed_at(lines)
    cluster = kafka_worker(partitions=4, n=2)

    cluster.publish(lines)
    cluster.wait_done()

    found = kafka_facts(cluster.settings, now=now)
    assert found == embedded_facts(lines, tmp_path / "embedded", now=now)
    assert facts_told_by(events(cluster.settings), now=now) == found
