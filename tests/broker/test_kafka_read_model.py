"""The read model over Kafka: following, going on, and rebuilding with and without the change feed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from agents.read_model import ReadModel, follow_kafka, open_url, rebuild_kafka
from state.instants import INSTANT_MAX
from tests.broker.cluster import Cluster
from tests.broker.feeds import kafka_facts, life, retract
from tests.read_model.asked import all_facts, lines, rows

pytestmark = pytest.mark.broker

ORDER = {"fact_versions": ["seq"], "facts": ["seq"], "rule_events": ["seq"]}
"""What says in which order records of several partitions arrived; no two readers need agree on it."""


@pytest.fixture
def model(tmp_path: Path) -> Iterator[ReadModel]:
    """An empty read model in a file."""
    url = URL.create("sqlite", database=str(tmp_path / "read-model.sqlite"))
    with contextlib.closing(open_url(url)) as found:
        yield found


def test_the_read_model_follows_stops_goes_on_and_is_rebuilt(
    kafka_worker: Callable[..., Cluster], model: ReadModel
) -> None:
    cluster = kafka_worker(partitions=4, n=1, FACTDRIFT_BATCH_MAX="50")
    feed = life(40)

    cluster.publish(feed[: len(feed) // 2])
    cluster.wait_done()
    first = asyncio.run(follow_kafka(model, cluster.settings, to_end=True))
    cluster.publish([*feed[len(feed) // 2 :], retract("person-1", "no-such-id")])
    cluster.wait_done()
    rest = asyncio.run(follow_kafka(model, cluster.settings, to_end=True))
    nothing = asyncio.run(follow_kafka(model, cluster.settings, to_end=True))

    assert first > 0
    assert rest > 0
    assert nothing == 0
    with model.reading() as connection:
        found = lines(all_facts(connection, now=INSTANT_MAX), now=INSTANT_MAX)
    assert found == kafka_facts(cluster.settings, now=INSTANT_MAX)

    original = rows(model, without=ORDER)
    asyncio.run(rebuild_kafka(model, cluster.settings))
    assert rows(model, without=ORDER) == original

    # As where retention has removed the change feed: every event is derived from the internal topic.
    asyncio.run(rebuild_kafka(model, cluster.settings, derive=True))
    assert rows(model, without=ORDER) == original
