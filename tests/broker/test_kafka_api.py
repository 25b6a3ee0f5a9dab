"""`factdrift api` over a real broker: durable writes, facts that follow, corrections and what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.served import Served, problem, said
from tests.broker.cluster import Cluster
from tests.parts.processes import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]


@pytest.fixture
def api(kafka_worker: Callable[..., Cluster], tmp_path: Path) -> Iterator[tuple[Served, Cluster]]:
    """An API beside a worker."""
    cluster = kafka_worker(partitions=2, n=1)
    served = Served(tmp_path / "api", command="api", **cluster.environment)
    yield served, cluster
    served.end()


def facts(served: Served, subject: str, n: int) -> Any:
    """The facts of a subject, once there are so many."""

    def found() -> Any:
        items = served.get("/v1/facts", subject=subject)["items"]
        return [items] if len(items) == n else None

    return wait_until(found, timeout_s=120, what=f"{n} facts of {subject}")[0]


def test_what_is_acknowledged_becomes_facts_and_corrections_tell_what_they_did(
    api: tuple[Served, Cluster],
) -> None:
    served, _ = api
    served.learn(said("kim", "Oslo", "2024-01-10", observation_id="k1"), said("lee", "Rome", "2024-01-10"))
    (fact,) = facts(served, "kim", 1)
    facts(served, "lee", 1)
    command = {
        "op": "supersede", "target": {"id": fact["fact_id"]}, "object": "Bergen", "valid_at": "2024-06-01",
        "decided_at": "2024-06-01", "reason": "moved", "correction_id": "c1",
    }  # fmt: skip

    first = served.correct(**command)
    if first.status_code == 202:  # a machine that is busy
        assert first.headers["Location"] == "/v1/corrections/c1"
    found = wait_until(
        lambda: (
            (answer := served.client.get("/v1/corrections/c1")).status_code == 200
            and len(answer.json()["events"]) == 2
            and answer.json()
        ),
        timeout_s=120,
        what="the outcome of the correction",
    )
    again = served.correct(**command)
    refused = served.correct(**{**command, "object": "Lima", "correction_id": "c2"})

    assert found["outcome"] == "applied"
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")
    assert problem(refused) == (409, "already_closed")
    assert [one["object"] for one in facts(served, "kim", 2)] == ["Oslo", "Bergen"]
    assert served.client.get("/readyz").status_code == 200


def test_a_retract_finds_whose_observation_it_is(api: tuple[Served, Cluster]) -> None:
    served, _ = api
    served.learn(said("ann", "Oslo", "2024-01-10", observation_id="a1"))
    facts(served, "ann", 1)

    assert served.correct(op="retract", observation_id="a1", reason="wrong person").status_code in (200, 202)
    facts(served, "ann", 0)
