"""The commands against a real broker and a real Redis, as a user types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.broker.cluster import Cluster
from tests.broker.feeds import observation
from tests.parts import or_skip
from tests.parts.redis import RedisServer, start_redis

pytestmark = pytest.mark.broker


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that answers. Missing: a skip on a user's machine, a failure in CI."""
    server = or_skip(lambda: start_redis(tmp_path))
    yield server
    server.stop()


def run(
    cluster: Cluster, *arguments: str, stdin: bytes = b"", code: int = 0, **environment: str
) -> list[dict[str, Any]]:
    """Run a command and return its JSON lines; the output goes to a pipe, so that is what it writes."""
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **cluster.environment, **environment},
    )
    assert done.returncode == code, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_is_published_is_seen_by_watch_and_what_is_wrong_by_dlq(
    kafka_worker: Callable[..., Cluster],
) -> None:
    cluster = kafka_worker()
    lines = [
        observation("Kim", "lives_in", "Oslo", "2024-01-05"),
        observation("Kim", "lives_in", "Bergen", "2024-06-05"),
        observation("Ada", "lives_in", "Rome", "2024-06-06"),
        b'{"subject": "Kim", "predicate": "lives_in", "observed_at": "never"}',
    ]

    assert run(cluster, "publish", "-", stdin=b"\n".join(lines)) == [{"published": 4}]
    cluster.wait_done()

    told = run(cluster, "watch", "--from-start", "--once", "--subject", "KIM")
    assert {(e["event"], e["object"]) for e in told} == {
        ("fact-created", "Oslo"),
        ("fact-invalidated", "Oslo"),
        ("fact-created", "Bergen"),
    }
    (letter,) = run(cluster, "dlq", "list")
    assert letter["code"] == "bad_instant"
    (shown,) = run(cluster, "dlq", "show", letter["dead_letter_id"][:8])
    assert shown["raw"] == lines[3].decode()
    assert run(cluster, "dlq", "replay", letter["dead_letter_id"]) == [{"replayed": 1}]
    cluster.wait_done()
    assert [d["code"] for d in run(cluster, "dlq", "list")] == ["bad_instant", "bad_instant"]


def test_topics_are_created_once_and_checked(cluster: Callable[..., Cluster]) -> None:
    found = cluster(topics=False)

    problems = run(found, "topics", "check", code=4)
    created = run(found, "topics", "create")
    again = run(found, "topics", "create")

    assert len(problems[0]["problems"]) == len(created[0]["created"]) > 10
    assert again == [{"created": []}]
    assert run(found, "topics", "check") == [{"problems": []}]


def test_doctor_is_content_with_a_broker_its_topics_and_redis(
    cluster: Callable[..., Cluster], redis_server: RedisServer
) -> None:
    findings = run(cluster(), "doctor", FACTDRIFT_REDIS_URL=redis_server.url)

    assert [f["what"] for f in findings if not f["well"]] == []
    assert {f["what"].split(" at ")[0] for f in findings} >= {"Kafka", "Redis", "topics", "predicates"}


def test_doctor_says_what_to_do_where_nothing_answers(cluster: Callable[..., Cluster]) -> None:
    found = cluster(topics=False)
    silent = {"FACTDRIFT_KAFKA_BOOTSTRAP": "127.0.0.1:1", "FACTDRIFT_REDIS_URL": "redis://127.0.0.1:1/0"}

    findings = run(found, "doctor", code=4, **silent)

    ill = {f["what"].split(" at ")[0]: f["advice"] for f in findings if not f["well"]}
    assert set(ill) == {"Kafka", "Redis"}
    assert "FACTDRIFT_KAFKA_BOOTSTRAP" in ill["Kafka"]
    assert "FACTDRIFT_REDIS_URL" in ill["Redis"]
