"""`factdrift import` as a command: what comes out, what is accounted for, and the facts that follow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.unit.test_importing import ADDED, DELETED, EDGE, MEMORY, NODES, UPDATED

ROOT = Path(__file__).parents[2]


def command(*words: object, text: str | None = None) -> tuple[int, list[Any], str]:
    """Exit code, JSON lines and errors of `factdrift …`."""
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", *map(str, words)],
        capture_output=True, text=True, cwd=ROOT, input=text, check=False,
    )  # fmt: skip
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def facts(folder: Path, *words: str) -> list[tuple[str, str, str]]:
    """(subject, object, state) of the facts of a log; exit code 4 says that there are none."""
    code, found, errors = command("facts", "--data", folder, "--json", *words)
    assert code == (0 if found else 4), errors
    return [(fact["subject"], fact["object"], fact["state"]) for fact in found]


def test_a_memory_that_was_updated_and_deleted_held_as_long_as_it_did(tmp_path: Path) -> None:
    export, log = tmp_path / "mem0.json", tmp_path / "log"
    export.write_text(
        json.dumps(
            {"results": [], "history": [{**one, "user_id": "alice"} for one in (ADDED, UPDATED, DELETED)]}
        )
    )

    code, (told,), errors = command("import", "mem0", export, "--data", log)

    assert (code, told["used"], told["observations"]) == (0, 1, 3), errors
    assert facts(log, "--valid-at", "2024-03-01") == [("alice", "Works at Acme", "open")]
    assert facts(log, "--valid-at", "2024-08-01") == [("alice", "Works at Initech", "open")]
    assert facts(log, "--valid-at", "2024-10-01") == []
    # What mem0 did not know yet is not known at that clock either.
    assert facts(log, "--known-at", "2024-03-01", "--valid-at", "2024-03-01") == [
        ("alice", "Works at Acme", "open")
    ]


def test_importing_twice_changes_nothing(tmp_path: Path) -> None:
    export, log = tmp_path / "edges.json", tmp_path / "log"
    export.write_text(json.dumps({"edges": [EDGE], "nodes": NODES}))
    command("import", "graphiti", export, "--data", log)
    before = command("watch", "--data", log, "--from-start", "--once", "--json")[1]

    code, (told,), _ = command("import", "graphiti", export, "--data", log)

    assert (code, told["observations"]) == (0, 2)
    assert command("watch", "--data", log, "--from-start", "--once", "--json")[1] == before
    assert len(before) > 0


def test_an_edge_keeps_both_of_its_clocks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    edge = {**EDGE, "invalid_at": "2024-06-01T00:00:00Z", "expired_at": "2024-07-01T00:00:00Z"}

    code, _, errors = command(
        "import", "graphiti", "-", "--data", log, text=json.dumps({"edges": [edge], "nodes": NODES})
    )

    assert code == 0, errors
    at = ("--namespace", "team", "--valid-at", "2024-06-15")
    assert facts(log, *at, "--known-at", "2024-06-20") == [("Kim", "Acme", "open")]  # nobody had noticed
    assert facts(log, *at) == []


def test_what_is_printed_is_what_replay_and_publish_take(tmp_path: Path) -> None:
    table = "who,where,when\nkim,Oslo,2024-01-10\nkim,Rome,someday\n"

    code, lines, errors = command(
        "import", "csv", "-", "--column", "subject=who", "--column", "object=where",
        "--column", "observed_at=when", "--set", "predicate=lives in", "--errors", tmp_path / "errors",
        text=table,
    )  # fmt: skip

    assert code == 4
    assert "2 items, 1 used, 1 refused, 1 observations" in errors
    (refused,) = map(json.loads, (tmp_path / "errors").read_text().splitlines())
    assert (refused["item"], refused["code"]) == (3, "bad_instant")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    code, (told,), _ = command("replay", "-", "--json", text=text)
    assert (code, told["applied"], told["dead_letters"]) == (0, 1, 0)


def test_without_a_file_for_them_refusals_are_told_one_by_one(tmp_path: Path) -> None:
    export = tmp_path / "mem0.json"
    export.write_text(json.dumps([{**MEMORY, "user_id": None}]))

    code, lines, errors = command("import", "mem0", export)

    assert (code, lines) == (4, [])
    assert "Item 1 [missing_field]: The memory has no user_id" in errors


def test_a_wrong_use_is_a_sentence(tmp_path: Path) -> None:
    assert command("import", "mem0", tmp_path / "none")[0] == 3
    assert command("import", "csv", "-", text="")[0] == 3
    assert command("import", "csv", "-", "--column", "subject", text="a\n")[0] == 2
    assert command("import", "csv", "-", "--delimiter", ";;", text="a\n")[0] == 2
