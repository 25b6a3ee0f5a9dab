"""`factdrift facts`, `history` and `rebuild read-model` on an embedded log: two clocks, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents.main import app
from tests.cases.world import World, observe
from tests.read_model.asked import recorded


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that learnt on 31 March 2024 that Kim had moved in January."""
    folder = tmp_path_factory.mktemp("data")
    world = World(folder)
    world.each(
        [
            recorded(observe("Oslo", 10, predicate="lives in"), 11),
            recorded(observe("Bergen", 20, valid_from=20, predicate="lives in"), 90),
            recorded(observe("tea", 95, predicate="drinks"), 95),
        ]
    )
    world.close()
    return folder


def factdrift(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    """Run a command as a program would."""
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", *map(str, arguments)], capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr.decode()
    return done


def read(*arguments: str | Path) -> list[dict[str, Any]]:
    """The JSON lines that a command writes into a pipe."""
    return [json.loads(line) for line in factdrift(*arguments).stdout.splitlines()]


def test_the_january_question_is_one_command_and_its_answer_another_one_today(data: Path) -> None:
    then = read("facts", "Kim", "--known-at", "two weeks ago", "--overlaps", "January", "--data", data)
    today = read("facts", "Kim", "--overlaps", "January", "--data", data)

    assert [(f["object"], f["state"]) for f in then] == [("Oslo", "open")]
    assert [(f["object"], f["state"]) for f in today] == [("Oslo", "retired"), ("Bergen", "open")]


def test_facts_are_filtered_by_name_value_and_state(data: Path) -> None:
    assert [f["object"] for f in read("facts", "--object", "OSLO", "--data", data)] == ["Oslo"]
    assert [f["object"] for f in read("facts", "kim", "drinks", "--data", data)] == ["tea"]
    assert [f["object"] for f in read("facts", "--state", "retired", "--data", data)] == ["Oslo"]
    assert [f["object"] for f in read("facts", "--valid-at", "2024-01-15", "--data", data)] == ["Oslo"]


def test_history_tells_every_version_with_the_time_at_which_it_was_recorded(data: Path) -> None:
    found = read("history", "KIM", "lives-in", "--data", data)
    known = read("history", "kim", "lives in", "--known-at", "2024-02-01", "--data", data)

    assert [(v["object"], v["version"], v["recorded_at"][:10]) for v in found] == [
        ("Oslo", 1, "2024-01-12"), ("Bergen", 1, "2024-03-31"), ("Oslo", 2, "2024-03-31"),
    ]  # fmt: skip
    assert [v["object"] for v in known] == ["Oslo"]
    assert read("history", "--fact", known[0]["fact_id"], "--data", data)[0]["object"] == "Oslo"


def test_a_limit_says_that_there_is_more(data: Path) -> None:
    done = factdrift("facts", "--limit", "1", "--data", data)

    assert len(done.stdout.splitlines()) == 1
    assert b"There is more" in done.stderr


def test_a_question_without_an_answer_has_exit_code_4(data: Path) -> None:
    assert factdrift("facts", "nobody", "--data", data, code=4).stdout == b""
    factdrift("history", "nobody", "--data", data, code=4)


def test_words_that_are_not_understood_are_told_with_examples(data: Path) -> None:
    done = factdrift("facts", "--known-at", "soonish", "--data", data, code=3)

    assert b"last month" in done.stderr


def test_without_a_folder_the_way_to_one_is_told() -> None:
    assert b"--data DIR" in factdrift("facts", code=3).stderr
    assert b"--fact" in factdrift("history", code=2).stderr


def test_a_rebuild_changes_no_answer(data: Path) -> None:
    before = factdrift("history", "kim", "--data", data).stdout
    assert read("rebuild", "read-model", "--data", data)[0]["records"] > 0

    after = [json.loads(line) for line in factdrift("history", "kim", "--data", data).stdout.splitlines()]

    told = [json.loads(line) for line in before.splitlines()]
    assert [{**v, "cursor": ""} for v in after] == [{**v, "cursor": ""} for v in told]


def test_tables_are_for_people(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.cli.facts.for_programs", lambda json: json)

    shown = CliRunner().invoke(app, ["facts", "kim", "--data", str(data)])
    told = CliRunner().invoke(app, ["history", "kim", "--data", str(data)])

    assert shown.exit_code == told.exit_code == 0
