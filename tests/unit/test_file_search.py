"""Looking for words in files: every byte of every file, and no lock of a database is lost by it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agents.file_search import SearchFailed, search

BLOCK = 1 << 20


def test_words_are_found_in_any_file_at_any_place_and_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a").write_bytes(b"x" * 10)
    (tmp_path / "below" / "across").write_bytes(b"x" * (BLOCK - 3) + b"SecRet" + b"y" * 5)
    (tmp_path / "below" / "end").write_bytes(b"x" * BLOCK + b"secret")
    (tmp_path / "empty").write_bytes(b"")

    found = search(tmp_path, [b"secret", b"nothing like it"])

    assert found == [
        ("a", 10, False),
        ("below/across", BLOCK + 8, True),
        ("below/end", BLOCK + 6, True),
        ("empty", 0, False),
    ]
    assert search(tmp_path / "none", [b"secret"]) == []


def test_a_search_that_comes_to_no_end_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")

    with pytest.raises(SearchFailed, match="cannot be searched"):
        search(tmp_path, [])  # no forms: nothing to look for


def test_a_database_that_is_being_written_stays_locked_for_others_while_it_is_searched(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.sqlite"
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = DELETE")
    database.execute("CREATE TABLE t (x)")
    database.execute("BEGIN EXCLUSIVE")
    database.execute("INSERT INTO t VALUES ('secret')")

    search(tmp_path, [b"secret"])

    other = (
        "import sqlite3, sys\n"
        "try: sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')\n"
        "except sqlite3.OperationalError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", other, str(path)], capture_output=True, text=True, check=True
    )
    assert "locked" in done.stdout
    database.close()
