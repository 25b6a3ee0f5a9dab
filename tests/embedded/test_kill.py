"""`kill -9` at random moments of a replay, again and again: nothing lost, nothing doubled.

The moments are chosen by a seed, so that a failure can be repeated; each kill comes after a random number
of batches has become durable, which the test reads from the log itself.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streams.embedded.store import FILE_NAME
from streams.topics import Topic

N_OBSERVATIONS = 20_000
N_KILLS = 50
SEED = 4711


def world(seed: int) -> list[bytes]:
    """20,000 observations over 400 claims: moves, dissent, denials, late and doubled statements."""
    chance = random.Random(seed)
    lines = []
    for number in range(N_OBSERVATIONS):
        subject = f"entity {chance.randrange(400)}"
        at = 1_700_000_000 + number * 600 - (chance.randrange(86_400 * 20) if chance.random() < 0.05 else 0)
        body = {
            "observation_id": f"o{number if chance.random() > 0.01 else chance.randrange(number + 1)}",
            "subject": subject,
            "predicate": chance.choice(["lives_in", "works_at", "uses", "mood"]),
            "object": chance.choice(["Oslo", "Bergen", "Rome", "Lima", "Pune"]),
            "observed_at": at,
            "polarity": "denied" if chance.random() < 0.08 else "affirmed",
            "source": {"id": "s", "document": f"d{chance.randrange(3000)}"}
            if chance.random() < 0.7
            else None,
        }
        lines.append(json.dumps(body).encode() if chance.random() > 0.002 else b'{"broken": ')
    return lines


def command(source: Path, folder: Path) -> list[str]:
    return [
        sys.executable, "-m", "agents.main", "replay", str(source), "--data", str(folder / "log"),
        "--batch", "20", "--facts", str(folder / "facts"), "--events", str(folder / "events"), "--json",
    ]  # fmt: skip


def events_by_id(path: Path) -> dict[str, dict[str, object]]:
    """Events by their id; what depends on the clock of the run is left out."""
    found = {}
    for line in path.read_bytes().splitlines():
        event = json.loads(line)
        del event["recorded_at"]
        assert event["event_id"] not in found, "an event was published twice"
        found[event["event_id"]] = event
    return found


@pytest.mark.slow
def test_fifty_kills_leave_the_facts_and_events_of_an_undisturbed_run(tmp_path: Path) -> None:
    source = tmp_path / "world.jsonl"
    source.write_bytes(b"\n".join(world(SEED)) + b"\n")
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    calm.mkdir()
    rough.mkdir()
    undisturbed = subprocess.run(command(source, calm), capture_output=True, check=True)
    chance = random.Random(SEED)

    for _ in range(N_KILLS):
        process = subprocess.Popen(
            command(source, rough), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        goal = min(progress(rough) + chance.randint(1, 10) * 20, N_OBSERVATIONS * 9 // 10)
        wait_for_progress(rough, goal, process)
        time.sleep(chance.random() * 0.005)  # anywhere within a batch, not only at its start
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the replay ended before it could be killed"
    finished = subprocess.run(command(source, rough), capture_output=True, check=True)

    assert json.loads(finished.stdout)["resumed_at_line"] > 0
    for field in ("lines", "applied", "dead_letters"):
        assert json.loads(finished.stdout)[field] == json.loads(undisturbed.stdout)[field]
    assert (rough / "facts").read_bytes() == (calm / "facts").read_bytes()
    assert events_by_id(rough / "events") == events_by_id(calm / "events")


def progress(folder: Path) -> int:
    """How many public records have become durable, read beside the writer and without its lock."""
    path = folder / "log" / FILE_NAME
    if not path.is_file():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
        try:
            found = log.execute(
                "SELECT next FROM ends WHERE topic = ?", (Topic.OBSERVATIONS.value,)
            ).fetchone()
        except sqlite3.OperationalError:
            return 0  # the tables are just being made
    return int(found[0]) if found else 0


def wait_for_progress(folder: Path, goal: int, process: subprocess.Popen[bytes]) -> None:
    """Return as soon as `goal` records are durable; looks often, since a batch takes milliseconds."""
    deadline = time.monotonic() + 60
    while progress(folder) < goal:
        assert process.poll() is None, "the replay ended before it could be killed"
        assert time.monotonic() < deadline, f"waited in vain for record {goal} to become durable"
        time.sleep(0.001)
