"""A worker whose vectors come from elsewhere: slow ones hold nobody else up, missing ones are repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agents.logs import KafkaLog
from agents.reclustering import due, request
from streams.host import Record
from streams.settings import Settings
from streams.topics import Topic
from tests.broker.cluster import DONE_S, Cluster
from tests.broker.feeds import events, greatest_observed_at, kafka_facts, observation, values
from tests.parts.embeddings import EmbeddingsServer, hangs, serving, status
from tests.parts.processes import wait_until

pytestmark = pytest.mark.broker

IDENTITY = "served-256@served/256/served/0.84"
NOW = greatest_observed_at([b'{"observed_at": "2024-06-05"}'])


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with serving() as found:
        yield found


def asking(server: EmbeddingsServer) -> dict[str, str]:
    """What a worker is told, so that it waits for vectors longer than any test does."""
    return {
        "FACTDRIFT_VECTORS": "openai",
        "FACTDRIFT_VECTORS_URL": server.url,
        "FACTDRIFT_VECTORS_MODEL": "served-256",
        "FACTDRIFT_VECTORS_DIMENSION": "256",
        "FACTDRIFT_VECTORS_THRESHOLD": "0.84",
        "FACTDRIFT_VECTORS_TIMEOUT_S": "600",
        "FACTDRIFT_VECTORS_REST_S": "0",
    }


def shown(settings: Settings) -> list[tuple[str, int, bool]]:
    facts = kafka_facts(settings, now=NOW)
    latest = {event["fact_id"]: event["degraded"] for event in events(settings)}
    return sorted((fact["object"], fact["support"], latest[fact["fact_id"]]) for fact in facts)


@pytest.mark.slow
def test_intake_goes_on_while_a_batch_waits_for_vectors(
    kafka_worker: Callable[..., Cluster], server: EmbeddingsServer
) -> None:
    cluster = kafka_worker(partitions=2, **asking(server))
    server.down = hangs
    cluster.publish(
        [
            observation("Kim", "works_with", "adoption agencies", "2024-01-05"),
            observation("Kim", "works_with", "adoption agency", "2024-06-05"),
        ]
    )
    wait_until(lambda: server.n_requests > 0, timeout_s=DONE_S, what="the batch to wait for vectors")

    cluster.publish([b"no json"])

    wait_until(
        lambda: len(values(cluster.settings, Topic.DEAD_LETTERS)) == 1,
        timeout_s=DONE_S,
        what="the dead letter of a record that came meanwhile",
    )
    assert events(cluster.settings) == [], "the batch did not wait"
    server.down = None
    server.released.set()
    cluster.wait_done()
    assert shown(cluster.settings) == [("adoption agency", 2, False)]


@pytest.mark.slow
def test_what_was_folded_without_vectors_is_repaired_through_the_log(
    kafka_worker: Callable[..., Cluster], server: EmbeddingsServer
) -> None:
    cluster = kafka_worker(partitions=2, **asking(server))
    server.down = status(400)
    cluster.publish(
        [
            observation("Kim", "works_with", "adoption agencies", "2024-01-05"),
            observation("Kim", "works_with", "adoption agency", "2024-06-05"),
        ]
    )
    cluster.wait_done()
    assert [is_degraded for _, _, is_degraded in shown(cluster.settings)] == [True, True]
    server.down = None
    log = KafkaLog(cluster.settings)

    try:
        claims_due = due(log, IDENTITY)
        n_asked = list(request(log, claims_due, batch_max=10))
        cluster.wait_done()
        left = due(log, IDENTITY)
    finally:
        log.close()

    assert [(one.subject, one.predicate, one.degraded) for one in claims_due] == [("Kim", "works_with", True)]
    assert (n_asked, left) == ([1], [])
    assert shown(cluster.settings) == [("adoption agency", 2, False)]


def test_the_newest_state_of_a_fact_tells_whether_its_claim_is_due() -> None:
    class Stored:
        """The `facts` topic as a log reads it: every version that compaction has left."""

        def __init__(self, *values: bytes) -> None:
            self.values = values

        def read(self, topics: object, *, from_start: bool, follow: bool) -> Iterator[Record]:
            for offset, value in enumerate(self.values):
                yield Record(None, 0, offset, b"f", value, 0)  # type: ignore[arg-type]

    body = b'{"claim_id":"c","namespace":"n","subject":"s","predicate":"p","model":"%s","degraded":%s}'
    old, today = b"m@0/1/mean/0.5", IDENTITY.encode()

    assert due(Stored(body % (today, b"true"), body % (today, b"false")), IDENTITY) == []  # type: ignore[arg-type]
    (found,) = due(Stored(body % (today, b"false"), body % (old, b"false")), IDENTITY)  # type: ignore[arg-type]
    assert (found.subject, found.degraded) == ("s", False)
