"""How the embedded log lies in its SQLite file: the tables, and what the file and a connection are set to.

Decides what is fast, never what is kept: a store of any layout that ever was answers the same statements.

Most keys are hashes, so each new row belongs to another place of a tree that is sorted by key. Rows of a
kilobyte in such a tree make a page of their own dirty each, and a row that does not fit a page is read as a
whole whenever a key is compared with it: an internal record is half a megabyte. So rows lie one behind the
other, as they came, and only a tree of keys is sorted. The small tables have no other key than their own.
"""

from __future__ import annotations

import sqlite3
from typing import Final

SCHEMA: Final = (
    """CREATE TABLE log (
        topic TEXT NOT NULL, partition INTEGER NOT NULL, "offset" INTEGER NOT NULL,
        key BLOB, value BLOB NOT NULL, recorded_at INTEGER NOT NULL,
        PRIMARY KEY (topic, partition, "offset")
    )""",
    """CREATE TABLE latest (
        topic TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, recorded_at INTEGER NOT NULL,
        PRIMARY KEY (topic, key)
    )""",
    """CREATE TABLE tables (
        name TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (name, key)
    )""",
    """CREATE TABLE ends (
        topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
        PRIMARY KEY (topic, partition)
    ) WITHOUT ROWID""",
    """CREATE TABLE offsets (
        agent TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
        PRIMARY KEY (agent, topic, partition)
    ) WITHOUT ROWID""",
    """CREATE TABLE imports (
        name TEXT PRIMARY KEY, bytes_done INTEGER NOT NULL, lines_done INTEGER NOT NULL,
        dead_done INTEGER NOT NULL, digest BLOB NOT NULL
    ) WITHOUT ROWID""",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
)
"""What a new file begins with. Files of earlier releases have all tables WITHOUT ROWID."""

TRACES: Final = """CREATE TABLE IF NOT EXISTS traces (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, "offset" INTEGER NOT NULL, trace BLOB NOT NULL,
    PRIMARY KEY (topic, partition, "offset")
) WITHOUT ROWID"""
"""The headers of records that have one. Files of earlier releases are given it when they are opened."""

PAGE_BYTES: Final = 8_192  # a page is written as a whole for each key in it; half of them for a row of 3 kB
CACHE_KIB: Final = 65_536  # what one batch makes dirty, and the trees of keys of some 100,000 claims
CHECKPOINT_PAGES: Final = 8_000  # 64 MB: what several batches change is carried over once


def configure(database: sqlite3.Connection) -> None:
    """Set up a connection. What is committed is on the disk when COMMIT returns."""
    database.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file; an old one keeps its own
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    database.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
