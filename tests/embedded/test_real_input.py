"""Real input through `factdrift replay`: every line accounted for, and one outcome whatever the order."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared_data import shared_file

FILES = ["locomo_observations.jsonl", "birthplaces_observations.jsonl"]


def factdrift(*arguments: str | Path, stdin: bytes | None = None) -> dict[str, object]:
    """Run a replay as a user does and return its summary."""
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "replay", *map(str, arguments), "--json"],
        input=stdin, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_accounted_for_and_the_order_of_lines_changes_no_byte(
    name: str, tmp_path: Path
) -> None:
    source = shared_file(name)
    lines = source.read_bytes().splitlines(keepends=True)
    shuffled = lines.copy()
    random.Random(4711).shuffle(shuffled)
    (tmp_path / "shuffled.jsonl").write_bytes(b"".join(shuffled))
    (tmp_path / "first.jsonl").write_bytes(b"".join(lines[1::2]))
    (tmp_path / "second.jsonl").write_bytes(b"".join(lines[::2]))

    once = factdrift(source, "--facts", tmp_path / "once")
    factdrift(source, source, "--facts", tmp_path / "twice")
    factdrift(tmp_path / "shuffled.jsonl", "--batch", "137", "--facts", tmp_path / "shuffled")
    factdrift(tmp_path / "first.jsonl", "--data", tmp_path / "log", "--facts", tmp_path / "half")
    factdrift(tmp_path / "second.jsonl", "--data", tmp_path / "log", "--facts", tmp_path / "split")

    assert once["lines"] == len(lines)
    assert once["applied"] + once["dead_letters"] == len(lines)  # type: ignore[operator]
    facts = (tmp_path / "once").read_bytes()
    assert facts.count(b"\n") == sum(once["facts"].values()) > 0  # type: ignore[attr-defined]
    assert (tmp_path / "half").read_bytes() != facts
    assert (tmp_path / "twice").read_bytes() == facts
    assert (tmp_path / "shuffled").read_bytes() == facts
    assert (tmp_path / "split").read_bytes() == facts
