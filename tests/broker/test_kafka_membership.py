"""Static membership: a worker with a name of its own that comes back soon keeps its partitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.broker.cluster import READY_S, Cluster
from tests.broker.feeds import life
from tests.broker.test_kafka_crashes import assert_as_embedded

pytestmark = [pytest.mark.broker, pytest.mark.long]
LONG = 600  # of a session: one that ran out would show as a worker that is never ready
assert LONG > 2 * READY_S


@pytest.mark.parametrize("death", ["killed", "asked to stop"])
def test_a_worker_with_a_name_is_back_at_once_and_moves_nothing(
    cluster: Callable[..., Cluster], tmp_path: Path, death: str
) -> None:
    found = cluster(partitions=4, FACTDRIFT_KAFKA_SESSION_TIMEOUT_S=str(LONG))
    lines = life(10)
    half = len(lines) // 2
    first = found.start_worker(FACTDRIFT_KAFKA_GROUP_INSTANCE_ID="a")
    second = found.start_worker(FACTDRIFT_KAFKA_GROUP_INSTANCE_ID="b")
    found.wait_shared()
    found.publish(lines[:half])
    found.wait_done()
    kept = second.log_size

    if death == "killed":
        first.kill()
    else:
        assert first.terminate() == 0
    found.start_worker(FACTDRIFT_KAFKA_GROUP_INSTANCE_ID="a")  # waits until it says that it is ready
    found.publish(lines[half:])
    found.wait_done()

    assert b"factdrift worker ready" not in second.log.read_bytes()[kept:], "the other one was disturbed"
    assert_as_embedded(found, lines, tmp_path / "embedded")
