"""Workers that die, at every step and at any moment: nothing is lost, nothing is doubled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from signal import SIGKILL

import pytest

from streams.kafka.failpoints import CHANGELOG_ACKNOWLEDGED, STEPS, TABLE_WRITTEN
from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.broker.feeds import (
    Line,
    embedded_facts,
    events,
    facts_told_by,
    greatest_observed_at,
    kafka_facts,
    life,
    retract,
    values,
)
from tests.parts.processes import wait_until

pytestmark = pytest.mark.broker
SHORT = {"FACTDRIFT_KAFKA_SESSION_TIMEOUT_S": "3"}


def assert_told_once(found: Iterable[Line]) -> None:
    """Every version of every fact was told, by one event, whose every delivery has the same id."""
    ids: dict[tuple[str, int], set[str]] = defaultdict(set)
    for event in found:
        ids[event["fact_id"], event["version"]].add(event["event_id"])
    versions: dict[str, list[int]] = defaultdict(list)
    for (fact_id, version), told in ids.items():
        assert len(told) == 1, f"version {version} of {fact_id} was told as {told}"
        versions[fact_id].append(version)
    for fact_id, told_versions in versions.items():
        assert sorted(told_versions) == list(range(1, len(told_versions) + 1)), fact_id


def assert_as_embedded(cluster: Cluster, lines: list[bytes], folder: Path) -> None:
    """Facts, and what the events say, are those of a host that never crashed."""
    now = greatest_observed_at(lines)
    expected = embedded_facts(lines, folder, now=now)
    told = events(cluster.settings)
    assert len(expected) > 0
    assert kafka_facts(cluster.settings, now=now) == expected
    assert facts_told_by(told, now=now) == expected
    assert_told_once(told)


# A batch passes the steps of tables twice: the third time is a batch of which only the subjects are written,
# the fourth one whose claims are written too.
@pytest.mark.parametrize(
    ("step", "times"), [*((step, 3) for step in STEPS), (CHANGELOG_ACKNOWLEDGED, 4), (TABLE_WRITTEN, 4)]
)
def test_a_worker_killed_at_any_step_goes_on_where_it_was(
    cluster: Callable[..., Cluster], tmp_path: Path, step: str, times: int
) -> None:
    found = cluster(FACTDRIFT_BATCH_MAX="40", **SHORT)
    lines = [*life(20), b"no json", b"[]"]
    found.publish(lines)

    dying = found.start_worker(wait=False, FACTDRIFT_FAILPOINT=f"{step}:{times}")
    assert dying.wait_for_exit(60) == -SIGKILL
    found.start_worker()
    found.wait_done()
    # A retract finds its claim only if the subject knows of every claim that was written before the death.
    retracts = [retract(f"person {subject}", f"{subject}-1-0") for subject in range(20)]
    found.publish(retracts)
    found.wait_done()

    assert_as_embedded(found, [*lines, *retracts], tmp_path / "embedded")
    letters = values(found.settings, Topic.DEAD_LETTERS)
    assert {letter["code"] for letter in letters} == {"not_json", "not_an_object"}
    assert len({letter["dead_letter_id"] for letter in letters}) == 2


@pytest.mark.slow
def test_workers_killed_in_the_middle_of_a_feed_lose_and_double_nothing(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(partitions=4, n=2, FACTDRIFT_BATCH_MAX="50", **SHORT)
    lines = life(150)
    third = len(lines) // 3

    for start in (0, third, 2 * third):
        found.publish(lines[start : start + third])
        n_done = sum(p.committed for p in found.progress())
        wait_until(
            lambda n_done=n_done: sum(p.committed for p in found.progress()) > n_done,
            timeout_s=60,
            what="some of it to be committed",
        )
        next(worker for worker in found.workers if worker.running).kill()
        found.start_worker(wait=False)
    found.wait_done()

    assert_as_embedded(found, lines, tmp_path / "embedded")


@pytest.mark.slow
def test_a_worker_that_was_paused_for_longer_than_its_session_harms_nothing(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(partitions=4, n=1, FACTDRIFT_BATCH_MAX="50", **SHORT)
    lines = life(100)
    half = len(lines) // 2
    (paused,) = found.workers

    found.publish(lines[:half])
    wait_until(
        lambda: sum(p.committed for p in found.progress()) > 0, timeout_s=60, what="something to be committed"
    )
    paused.pause()
    found.start_worker()
    found.publish(lines[half:])
    found.wait_done()
    position = paused.log_size
    paused.resume()
    # It either learns that its partitions are gone and joins again, or was in mid-step and stops.
    wait_until(
        lambda: not paused.running or b"factdrift worker ready" in paused.log.read_bytes()[position:],
        timeout_s=60,
        what="the paused worker to find its place",
    )
    found.publish(lines)  # everything again: state that was harmed would show
    found.wait_done()

    assert_as_embedded(found, lines, tmp_path / "embedded")


@pytest.mark.slow
def test_a_broker_that_dies_and_comes_back_is_used_again(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(partitions=4, n=1, FACTDRIFT_BATCH_MAX="50")
    if found.broker.origin == "environment":
        pytest.skip("the user's broker is not ours to kill")
    lines = life(100)
    half = len(lines) // 2
    found.publish(lines[:half])
    wait_until(
        lambda: sum(p.committed for p in found.progress()) > 0, timeout_s=60, what="something to be committed"
    )

    found.broker.kill()
    found.broker.restart()
    found.publish(lines[half:])
    found.wait_done()

    assert_as_embedded(found, lines, tmp_path / "embedded")
