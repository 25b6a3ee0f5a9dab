"""`factdrift api` over a real broker: durable writes, facts that follow, corrections and what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.served import Served, problem, said
from tests.api.surfaces import Rest, Surface, Tools
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


def forgotten(served: Served, surface: Surface, **fields: str) -> Any:
    """The outcome of a wish, once the read model has erased what it names."""
    first = surface.correct(op="forget", reason="asked for", **fields)
    assert isinstance(first, dict), first
    assert first["outcome"] in ("applied", "pending")
    assert first["erased"]["observations-dlq"] == 1

    def carried_out() -> Any:
        answer = served.client.get(f"/v1/corrections/{first['correction_id']}")
        return answer.status_code == 200 and answer.json()["outcome"] == "applied" and answer.json()

    return wait_until(carried_out, timeout_s=180, what="the wish to be fulfilled")


@pytest.mark.parametrize("by", ["rest", "mcp"])
def test_what_is_forgotten_leaves_the_read_model_and_what_topics_hold_is_told_with_its_end(
    api: tuple[Served, Cluster], by: str
) -> None:
    served, cluster = api
    surface: Surface = Rest(served) if by == "rest" else Tools("--url", served.url)
    served.learn(
        said("Kim Secretname", "Oslo", "2024-01-10"),
        said("Kim Secretname", "Secretville", "2024-02-10"),
        said("bystander", "Oslo", "2024-01-10"),
    )
    facts(served, "kim secretname", 2)
    facts(served, "bystander", 1)
    cluster.publish([b'{"subject": "Kim Secretname", broken', b'{"subject": "bystander", broken'])
    cluster.wait_done()

    answer = forgotten(served, surface, scope="subject", subject="kim secretname")

    assert {event["reason"] for event in answer["events"]} == {"withdrawn"}
    assert {event["object"] for event in answer["events"]} == {None}
    proof = served.get("/v1/forgotten", subject="Kim Secretname", text="Secretville")
    left = {find["where"] for find in proof["left"]}
    assert not [where for where in left if where.startswith("file")], left
    assert "topic observations-dlq" not in left
    assert any(where.startswith("file read-model.sqlite") for where in proof["looked_in"])
    until = {find["where"]: find["until"] for find in proof["append_only"]}
    assert until["topic observations-by-claim"] is None
    assert until["topic observations"] is not None
    assert until["topic fact-created"] > until["topic observations"]
    assert served.get("/v1/facts", subject="kim secretname")["items"] == []
    facts(served, "bystander", 1)

    served.learn(said("Kim Secretname", "Lima", "2024-03-10"))
    assert [fact["object"] for fact in facts(served, "kim secretname", 1)] == ["Lima"]


def test_a_source_is_forgotten_in_every_partition(api: tuple[Served, Cluster]) -> None:
    served, cluster = api
    gossip = {"id": "gossip"}
    served.learn(
        *[said(f"s{n}", "Nowhereville", "2024-01-10", source=gossip) for n in range(8)],
        said("s0", "Oslo", "2024-01-05", source={"id": "press"}),
    )
    facts(served, "s0", 2)
    for n in range(1, 8):
        facts(served, f"s{n}", 1)
    cluster.publish([b'{"subject": "x", "source": {"id": "gossip"}}'])
    cluster.wait_done()

    forgotten(served, Rest(served), scope="source", source="gossip")

    assert [fact["object"] for fact in facts(served, "s0", 1)] == ["Oslo"]
    for n in range(1, 8):
        assert facts(served, f"s{n}", 0) == []
    left = {find["where"] for find in served.get("/v1/forgotten", text="Nowhereville")["left"]}
    assert not [where for where in left if where.startswith("file")], left
