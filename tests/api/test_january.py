"""What did we believe last week about what was true in January? One question, on the packaged example.

The world example was learnt in the order of `recorded_at`. Up to 10 June 2024 its newest observation is of 5
June, which is what now means there; last week ended on 2 June, and January is that of 2024. On 10 June it was
taken back that Auckland is the capital of New Zealand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.served import ROOT, Served
from tests.api.surfaces import CommandLine, Rest, Surface, Tools

EXAMPLE = ROOT / "examples" / "world.jsonl"
UNTIL_10_JUNE = 448  # lines
BELIEVED = {"overlaps": "January", "known_at": "last week", "limit": 1000}
TODAY = {"overlaps": "January", "limit": 1000}
CAPITAL = {"subject": "new zealand", "predicate": "capital"}


def replay(folder: Path, n_lines: int | None = None) -> Path:
    """The example, or its first lines, replayed into a log by the command line."""
    lines = b"".join(EXAMPLE.read_bytes().splitlines(keepends=True)[:n_lines])
    command = [sys.executable, "-m", "agents.main", "replay", "-", "--data", str(folder), "--json"]
    subprocess.run(command, input=lines, capture_output=True, check=True, cwd=ROOT, timeout=300)
    return folder


@pytest.fixture(scope="module")
def in_june(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The example as far as it had been learnt by 10 June 2024, served."""
    served = Served(replay(tmp_path_factory.mktemp("june") / "log", UNTIL_10_JUNE))
    yield served
    served.end()


def asked(served: Served) -> dict[str, Surface]:
    """REST of the service, the command line on its folder, MCP on the folder and by URL."""
    folder = ("--data", str(served.folder))
    return {
        "rest": Rest(served),
        "command line": CommandLine(*folder),
        "mcp": Tools(*folder),
        "mcp by url": Tools("--url", served.url),
    }


def believed(items: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {(fact["subject"], fact["predicate"], str(fact["object"])) for fact in items}


def test_what_did_we_believe_last_week_about_what_was_true_in_january(in_june: Served) -> None:
    then = Rest(in_june).ask("facts", **BELIEVED)
    today = Rest(in_june).ask("facts", **TODAY)

    assert ("New Zealand", "capital", "Auckland") in believed(then) - believed(today)
    assert ("New Zealand", "capital", "Wellington") in believed(today) - believed(then)
    assert len(then) > 60
    for name, surface in asked(in_june).items():
        assert surface.ask("facts", **BELIEVED) == then, name
        assert surface.ask("facts", **TODAY) == today, name


def test_the_whole_example_gives_the_same_answer_about_that_week_by_its_dates(
    in_june: Served, tmp_path: Path
) -> None:
    whole = CommandLine("--data", str(replay(tmp_path / "log")))
    dates = {"overlaps": "January 2024", "known_at": "2024-06-02", "limit": 1000}

    assert believed(whole.ask("facts", **dates)) == believed(Rest(in_june).ask("facts", **BELIEVED))


def test_why_we_believed_it_last_week_is_explained_alike_on_every_surface(in_june: Served) -> None:
    then = in_june.get("/v1/why", **CAPITAL, known_at="last week")
    today = in_june.get("/v1/why", **CAPITAL)
    command = CommandLine("--data", str(in_june.folder))

    assert [fact["object"] for fact in then["facts"]][-1] == "Auckland"
    assert [fact["object"] for fact in today["facts"]] == ["Wellington"]
    for clocks, answer in (({"known_at": "last week"}, then), ({}, today)):
        arguments = [a for name, value in clocks.items() for a in (f"--{name.replace('_', '-')}", value)]
        (line,) = command._run("why", *CAPITAL.values(), *arguments, "--json", codes=(0,))
        assert json.loads(line) == answer
        assert Tools("--data", str(in_june.folder)).call("why", {**CAPITAL, **clocks}) == answer


def test_why_tells_a_person_what_was_believed_then(in_june: Served) -> None:
    command = CommandLine("--data", str(in_june.folder), COLUMNS="200", FORCE_COLOR="1")

    then = command._start("why", *CAPITAL.values(), "--known-at", "last week")
    unknown = command._start("why", *CAPITAL.values(), "--known-at", "1990")

    assert b"Auckland" in then.stdout
    assert unknown.returncode == 4


def test_what_was_published_by_last_week_is_alike_on_every_surface(in_june: Served) -> None:
    query = {"subject": "new zealand", "known_at": "last week", "limit": 1000}
    then = Rest(in_june).ask("history", **query)

    assert "Auckland" in {str(version["object"]) for version in then}
    assert "reinstated" not in {version["revision"] for version in then}
    for name, surface in asked(in_june).items():
        assert surface.ask("history", **query) == then, name
