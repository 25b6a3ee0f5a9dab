"""The pictures of the concepts show what a run of today gives."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

REPOSITORY = Path(__file__).parents[2]
KEPT = REPOSITORY / "docs" / "pictures"


def test_the_pictures_are_those_that_a_run_gives(tmp_path: Path) -> None:
    subprocess.run([sys.executable, REPOSITORY / "docs" / "draw.py", tmp_path], check=True)

    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_text("utf-8") for path in KEPT.glob("*.svg")}
    stale = sorted(name for name in drawn.keys() | kept.keys() if drawn.get(name) != kept.get(name))
    assert stale == [], f"stale in docs/pictures/: {', '.join(stale)}. Run `make pictures`."
    assert all(Xml.fromstring(text).tag.endswith("svg") for text in drawn.values())


def test_every_command_beside_a_picture_has_an_answer(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "concepts.md").read_text("utf-8")
    asked = [shlex.split(line) for line in re.findall(r"^ {4}factdrift (.+) --data log$", page, re.MULTILINE)]
    assert len(asked) == len(list(KEPT.glob("*.svg")))

    for words in [["replay", str(REPOSITORY / "examples" / "world.jsonl")], *asked]:
        command = [sys.executable, "-m", "agents.main", *words, "--data", str(tmp_path / "log")]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stdout != b"") == (0, True), f"{words}: {done.stderr.decode()}"


def test_each_picture_is_shown_with_words_for_who_cannot_see_it() -> None:
    page = (REPOSITORY / "docs" / "concepts.md").read_text("utf-8")

    for path in KEPT.glob("*.svg"):
        before, found, _ = page.partition(f"](pictures/{path.name})")
        assert found, path.name
        assert len(before.rpartition("![")[2].split()) > 10, path.name
