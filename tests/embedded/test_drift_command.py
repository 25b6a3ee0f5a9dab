"""`factdrift drift` on an embedded log, as a process would be asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agents.main import app
from streams.embedded.drift import DRIFT_FILE
from tests.cases.world import iso, observe

DAYS = (1, 8, 15, 22, 29)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which Kim moved five times in thirty days, and Lee once."""
    folder = tmp_path_factory.mktemp("drift")
    lines = [observe(f"city {n}", at, subject="Kim", predicate="lives_in") for n, at in enumerate([0, *DAYS])]
    lines += [observe(f"city {n}", 29 + n, subject="Lee", predicate="lives_in") for n in range(2)]
    file = folder / "lines.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert run("replay", str(file), "--data", str(folder / "log")).exit_code == 0
    return folder / "log"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_list_has_the_unstable_first_and_as_of_the_newest_tick(data: Path) -> None:
    kim, lee = rows(run("drift", "list", "--data", str(data), "--json"))

    assert (kim["subject"], kim["unstable"], kim["count"], kim["looks_like"]) == ("Kim", True, 5, "move")
    assert (kim["now"], kim["unstable_since"]) == (iso(30), iso(29))
    assert (lee["subject"], lee["unstable"], lee["count"], lee["advice"]) == ("Lee", False, 1, None)


def test_show_answers_for_any_spelling_with_every_cause(data: Path) -> None:
    (kim,) = rows(run("drift", "show", " KIM ", "--data", str(data), "--json"))

    assert [cause["object"] for cause in kim["causes"]] == [f"city {n}" for n in range(5)]
    assert [cause["decided_observed_at"] for cause in kim["causes"]] == [iso(at) for at in DAYS]
    assert kim["advice"]


def test_whom_nobody_knows_is_calm(data: Path) -> None:
    (ann,) = rows(run("drift", "show", "Ann", "--data", str(data), "--json"))

    assert (ann["subject"], ann["unstable"], ann["lifetime"], ann["causes"]) == ("Ann", False, 0, [])


def test_another_namespace_is_another_list(data: Path) -> None:
    assert rows(run("drift", "list", "--namespace", "elsewhere", "--data", str(data), "--json")) == []


def test_a_rebuild_gives_the_same_and_so_does_a_deleted_file(data: Path) -> None:
    before = rows(run("drift", "list", "--data", str(data), "--json"))

    (rebuilt,) = rows(run("drift", "rebuild", "--data", str(data), "--json"))
    assert rebuilt["records"] >= 7
    assert rows(run("drift", "list", "--data", str(data), "--json")) == before
    for file in data.glob(f"{DRIFT_FILE}*"):
        file.unlink()
    assert rows(run("drift", "list", "--data", str(data), "--json")) == before


def test_a_file_that_is_none_is_said_to_be_safe_to_delete(data: Path) -> None:
    for file in data.glob(f"{DRIFT_FILE}*"):
        file.unlink()
    (data / DRIFT_FILE).write_bytes(b"no database, and longer than a header of SQLite is" * 9)

    result = run("drift", "list", "--data", str(data), "--json")

    assert result.exception is not None
    assert "delete it" in str(result.exception)
    (data / DRIFT_FILE).unlink()


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    result = run("drift", "list", "--data", str(tmp_path))

    assert "holds no factdrift log" in str(result.exception)
