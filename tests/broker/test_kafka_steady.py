"""Steady load on two workers, one of which is killed again and again.

    FACTDRIFT_TEST_STEADY_MINUTES=24 pytest -m long -s tests/broker/test_kafka_steady.py

prints what it was like. Without the variable it takes two minutes, with a kill in every half of one; whether
memory stays as it is can only be seen in more, since RocksDB fills its buffers first.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psutil
import pytest

from state.instants import DAY_MS, Instant, format_instant, parse_instant
from tests.broker.cluster import Cluster
from tests.broker.feeds import observation
from tests.broker.test_kafka_crashes import assert_as_embedded
from tests.parts.processes import Process, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]

MINUTES = float(os.environ.get("FACTDRIFT_TEST_STEADY_MINUTES", "2"))
LONG_MINUTES = 12
KILL_EVERY_S = 60.0 if MINUTES >= LONG_MINUTES else 30.0
PER_S = 200
N_SUBJECTS = 200
MIB = 1024 * 1024
BEGINS = parse_instant("2010-01-01T00:00:00Z")  # what is said of tomorrow is refused, by the hour of the run
PLACES = ("Oslo", "Bergen", "Lisbon", "Nairobi", "Quito", "Perth", "Lima", "Pune")


def steady(n: int) -> list[bytes]:
    """People of whom something is said every second for ever: the state stays as large as it is."""
    chance = random.Random(24)
    lives_in = [chance.choice(PLACES) for _ in range(N_SUBJECTS)]
    lines = []
    for number in range(n):
        subject = chance.randrange(N_SUBJECTS)
        if chance.random() < 1 / 40:
            lives_in[subject] = chance.choice(PLACES)
        place = lives_in[subject] if chance.random() < 0.9 else chance.choice(PLACES)
        at = Instant(BEGINS + number * (DAY_MS // 200))
        lines.append(
            observation(
                f"person {subject}",
                "lives_in",
                place,
                format_instant(at),
                observation_id=f"s{number}",
                source={"id": f"source {number % 20}", "document": f"{number % 20}-{number // 5_000}"},
            )
        )
    return lines


def memory_mib(worker: Process) -> float:
    return psutil.Process(worker.pid).memory_info().rss / MIB


@pytest.mark.timeout(int(MINUTES * 60) + 900)
def test_a_worker_that_lives_on_keeps_its_memory_while_another_is_killed_again_and_again(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    found = kafka_worker(n=2)
    lives_on, dying = found.workers
    lines = steady(round(MINUTES * 60 * PER_S))
    began = time.monotonic()
    memory: list[float] = []
    lags: list[int] = []
    n_kills, next_kill = 0, KILL_EVERY_S / 2

    for second, start in enumerate(range(0, len(lines), PER_S)):
        wait_until(
            lambda at=began + second: time.monotonic() >= at, timeout_s=60, what="the next second to begin"
        )
        found.publish(lines[start : start + PER_S])
        if second >= next_kill:
            next_kill += KILL_EVERY_S
            dying.kill()
            dying = found.start_worker(wait=False)
            n_kills += 1
        if second % 5 == 4:
            memory.append(memory_mib(lives_on))
            lags.append(sum(p.lag for p in found.progress()))
            print(f"{second + 1} s: {n_kills} kills, lag {lags[-1]}, {memory[-1]:.0f} MiB", flush=True)  # noqa: T201

    found.wait_done()
    assert sum(p.lag for p in found.progress()) == 0
    assert lives_on.running
    quarter = len(memory) // 4
    early, late = median(memory[quarter : 2 * quarter]), median(memory[-quarter:])
    print(f"{n_kills} kills, {early:.0f}, then {late:.0f} MiB, lag at most {max(lags)}")  # noqa: T201
    assert n_kills >= 3
    assert min(lags[-quarter:]) <= PER_S, "it falls behind for good"
    assert_as_embedded(found, lines, tmp_path / "embedded")
    assert MINUTES < LONG_MINUTES or late <= early * 1.1, f"memory of the worker that lives on: {memory}"
