"""A worker that asks a language model: order and acknowledgement stay, and nothing counts twice."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from signal import SIGKILL

import pytest

from state.observations import Observation
from state.refinement import Outcome
from streams.codec import Entry, decode_batch
from streams.kafka import read_topic
from streams.kafka.failpoints import INTAKE_ACKNOWLEDGED
from streams.settings import Settings
from streams.topics import Topic
from tests.broker.cluster import DONE_S, Cluster
from tests.broker.feeds import greatest_observed_at, kafka_facts, observation, values
from tests.parts.language import Asked, Fault, Handler, LanguageServer, environment, hangs, serving
from tests.parts.processes import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.slow]

N = 60
NOW = greatest_observed_at([b'{"observed_at": "2024-12-31"}'])


@pytest.fixture
def server() -> Iterator[LanguageServer]:
    with serving() as found:
        yield found


def entries(settings: Settings) -> dict[int, list[Entry]]:
    """The entries of the internal topic, by partition, in order."""

    async def read() -> dict[int, list[Entry]]:
        found: dict[int, list[Entry]] = {}
        async for record in read_topic(settings, Topic.BY_CLAIM):
            found.setdefault(record.partition, []).extend(decode_batch(record.value).entries)
        return found

    return asyncio.run(read())


def said(found: dict[int, list[Entry]]) -> list[Observation]:
    usables = [entry.usable for of_partition in found.values() for entry in of_partition]
    return [usable for usable in usables if isinstance(usable, Observation)]


def feed(n: int) -> list[bytes]:
    return [
        observation(
            f"Person {number % 5}", "was living in", f"the city of place {number % 5}", "2024-01-05",
            observation_id=f"o{number}", content=f"message {number}",
        )
        for number in range(n)
    ]  # fmt: skip


def test_a_batch_is_refined_at_once_and_published_in_its_order(
    kafka_worker: Callable[..., Cluster], server: LanguageServer
) -> None:
    def last(handler: Handler, right: str) -> None:
        wait_until(lambda: handler.server.n_requests >= 16, timeout_s=DONE_S, what="others to be asked")
        handler.answer(right)

    slow: dict[str, Fault] = {"message 0": last}
    server.fault_of = lambda asked: slow.get(asked["text"])
    cluster = kafka_worker(partitions=2, **environment(server), FACTDRIFT_BATCH_LINGER_MS="2000")

    cluster.publish([*feed(N), b"no json"], key=b"one partition")
    cluster.wait_done()

    found = entries(cluster.settings)
    for of_partition in found.values():
        offsets = [entry.offset for entry in of_partition]
        assert offsets == sorted(offsets)
    assert Counter(one.refinement.outcome for one in said(found) if one.refinement) == {Outcome.REFINED: N}
    assert {fact["predicate"] for fact in kafka_facts(cluster.settings, now=NOW)} == {"lives_in"}
    assert [letter["code"] for letter in values(cluster.settings, Topic.DEAD_LETTERS)] == ["not_json"]
    assert 2 <= server.most_at_once <= 16


def test_a_model_that_hangs_delays_a_batch_and_loses_nothing(
    kafka_worker: Callable[..., Cluster], server: LanguageServer
) -> None:
    server.down = hangs
    told = {**environment(server), "FACTDRIFT_LLM_BATCH_TIMEOUT_S": "3"}
    cluster = kafka_worker(partitions=2, **told)

    cluster.publish(feed(N))
    cluster.wait_done()

    outcomes = Counter(one.refinement.outcome for one in said(entries(cluster.settings)) if one.refinement)
    assert outcomes == {Outcome.TIMED_OUT: N}
    assert sum(fact["support"] for fact in kafka_facts(cluster.settings, now=NOW)) == N


def test_a_batch_that_is_read_again_after_a_crash_counts_once_though_the_model_changed_its_mind(
    cluster: Callable[..., Cluster], server: LanguageServer
) -> None:
    def other_words(asked: Asked) -> str:
        asked_before = server.n_tries[asked["text"]]
        server.n_tries[asked["text"]] += 1
        return json.dumps({"predicate": f"relation_{'abc'[asked_before]}", "object": "Oslo"})

    server.model = other_words
    found = cluster(partitions=2, **environment(server), FACTDRIFT_KAFKA_SESSION_TIMEOUT_S="3")
    found.publish(feed(N))

    dying = found.start_worker(wait=False, FACTDRIFT_FAILPOINT=f"{INTAKE_ACKNOWLEDGED}:1")
    assert dying.wait_for_exit(120) == -SIGKILL
    found.start_worker()
    found.wait_done()

    sent = Counter(one.statement.observation_id for one in said(entries(found.settings)))
    assert max(sent.values()) == 2, "the first batch was not sent again"
    facts = kafka_facts(found.settings, now=NOW)
    assert sum(fact["support"] for fact in facts) == N
    assert {fact["predicate"] for fact in facts} <= {"relation_a", "relation_b"}
