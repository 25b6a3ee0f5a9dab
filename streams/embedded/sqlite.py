"""What the SQLite files of the embedded host share."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Everything inside happens or nothing of it; nobody else writes meanwhile. Raises sqlite3.Error."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise
