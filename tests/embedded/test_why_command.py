"""`factdrift why` on the demo's observations: sentences on a terminal, JSON in a pipe, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents import composition
from agents.replay import replay
from streams.settings import Settings

pty = pytest.importorskip("pty", reason="a terminal needs a Unix system")
WORLD = Path(__file__).parents[2] / "examples" / "world.jsonl"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedded log with the demo's observations."""
    folder = tmp_path_factory.mktemp("world")
    host = composition.embedded(Settings(), folder)
    try:
        with WORLD.open("rb") as stream:
            replay(host, None, stream, batch_max=Settings().batch_max)
    finally:
        host.store.close()
    return folder


def why(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a program would."""
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "why", *map(str, arguments)], capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr.decode()
    return done


def read(*arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(why(*arguments).stdout)
    return found


def on_a_terminal(*arguments: str | Path) -> str:
    """What a person sees on a terminal of 100 columns."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "agents.main", "why", *map(str, arguments)],
        stdout=slave, env={**os.environ, "COLUMNS": "100"},
    ) as running:  # fmt: skip
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 65_536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(master)
    assert running.returncode == 0
    return seen.decode().replace("\r\n", "\n")


def test_the_contested_river_reads_like_an_explanation(world: Path) -> None:
    text = on_a_terminal("earth", "Longest River", "--data", world)

    assert text.startswith(
        "Earth / longest river has been Nile since 1985-01-01 (8 votes for it, 6 against).\n"
        "It opened with encyclopedia/1985; nothing else held then.\n"
        "It is contested: of the newest five votes, 3 say Amazon and 2 say Nile.\n"
        "  - 2023-11-01  Amazon  newswire/2023-11-01 (w-440)\n"
        "  - 2023-01-01  Nile    encyclopedia/2023 (w-408)\n"
        "  - 2022-06-01  Amazon  newswire/2022-06-01 (w-320)\n"
        "  - 2020-01-01  Nile    almanac/2020 (w-284)\n"
        "  - 2018-05-01  Amazon  travel-guide/2018 (w-256)\n"
        "It stays because Amazon is only one ahead, and not all of its votes are later than the last for\n"
        "Nile; two more votes for Amazon would decide.\n"
    )
    assert max(map(len, text.splitlines())) <= 100


def test_a_value_that_held_once(world: Path) -> None:
    text = on_a_terminal("Kazakhstan", "capital", "nur-sultan", "--data", world)

    assert text.startswith(
        "Kazakhstan / capital is not Nur-Sultan now. What holds is Astana, since 2022-09-17;"
    )
    assert "Kazakhstan / capital was Nur-Sultan from 2019-03-23 until 2022-09-17 (4 votes for it" in text
    assert "It was outvoted by Astana, 3 to 2 of the newest five votes." in text


def test_a_value_that_never_held(world: Path) -> None:
    text = on_a_terminal("Canada", "capital", "Toronto", "--data", world)

    assert text.startswith("Canada / capital was never Toronto.\nSix statements of one document said so:")
    assert "A document has one vote, however often it repeats itself.\n" in text
    assert (
        "\nWhat holds is Ottawa, since 1867-07-01; three more votes for Toronto would change that.\n" in text
    )


def test_in_a_pipe_it_is_json_with_every_statement_once(world: Path) -> None:
    found = read("KAZAKHSTAN", "Capital", "--data", world, "--namespace", "world")

    assert [(f["object"], f["valid"]["lo"][:10], f["opened"]["how"]) for f in found["facts"]] == [
        ("Almaty", "1991-12-16", "said"),
        ("Astana", "1997-12-10", "won"),
        ("Nur-Sultan", "2019-03-23", "won"),
        ("Astana", "2022-09-17", "won"),
    ]
    lines = [json.loads(line) for line in WORLD.read_bytes().splitlines() if b"Kazakhstan" in line]
    ids = sorted(x["observation_id"] for x in lines if x.get("predicate") == "capital")
    sides = [f[side] for f in found["facts"] for side in ("supported_by", "dissented_by", "closed_by")]
    named = [s["observation_id"] for side in (*sides, found["aside"], found["duplicates"]) for s in side]
    assert sorted(named) == ids
    assert found["facts"][0]["decision"]["rivals"][0]["clean_switch_by"] == "w-107"
    assert found["value"] is None


def test_the_facts_are_those_of_the_log(world: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "replay", WORLD, "--facts", tmp_path / "facts"],
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.returncode == 0
    lines = map(json.loads, (tmp_path / "facts").read_bytes().splitlines())
    published = {f["fact_id"]: f for f in lines if (f["subject"], f["predicate"]) == ("Twitter", "ceo")}

    found = {f["fact_id"]: f for f in read("twitter", "CEO", "--data", world)["facts"]}

    assert found.keys() == published.keys()
    for fact_id, fact in published.items():
        assert {name: found[fact_id][name] for name in ("valid", "support", "dissent", "object")} == {
            name: fact[name] for name in ("valid", "support", "dissent", "object")
        }


def test_only_what_holds_then(world: Path) -> None:
    found = read("Kazakhstan", "capital", "--data", world, "--at", "in 2005")

    assert [f["object"] for f in found["facts"]] == ["Astana"]
    assert found["during"]["lo"] == "2005-01-01T00:00:00Z"
    assert "No fact of Kazakhstan / capital holds then.\n" in on_a_terminal(
        "Kazakhstan", "capital", "--data", world, "--at", "before 1950"
    )


def test_near_names_are_offered_where_nothing_is_known(world: Path) -> None:
    subject = why("Kazakstan", "capital", "--data", world, code=4)
    predicate = why("Kazakhstan", "capitol", "--data", world, code=4)
    elsewhere = why("Kazakhstan", "capital", "--namespace", "cern", "--data", world, code=4)

    assert b"Nothing was heard about Kazakstan. Near: kazakhstan" in subject.stderr
    assert b"Known of Kazakhstan: capital" in b" ".join(predicate.stderr.split())
    assert b"in the namespace cern" in elsewhere.stderr
    assert subject.stdout == predicate.stdout == elsewhere.stdout == b""


def test_what_is_missing_is_told_with_the_next_step(tmp_path: Path) -> None:
    no_data = why("Earth", "longest_river", code=3)
    no_log = why("Earth", "longest_river", "--data", tmp_path, code=3)

    assert b"factdrift replay FILE --data DIR" in b" ".join(no_data.stderr.split())
    assert b"holds no factdrift log" in b" ".join(no_log.stderr.split())
