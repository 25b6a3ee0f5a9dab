"""The projection of drift beside an embedded log: an SQLite file of its own (DESIGN 5).

A file of its own, because it may be deleted at any time and must not make the log wait. How far it is stands
in the same transaction as what it holds.
"""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from state.drift import WINDOW_MS, Entity
from state.instants import Instant
from streams.drift import Batch, DriftStoreEmptied, DriftUnavailable, Kept, Place, Progress, updated
from streams.embedded.sqlite import transaction
from streams.topics import Topic

DRIFT_FILE: Final = "drift.sqlite"
_FORMAT: Final = 1
_WAIT_S: Final = 30.0
_SCHEMA: Final = """
CREATE TABLE entities (
    namespace TEXT NOT NULL, name TEXT NOT NULL, spelling TEXT NOT NULL, value BLOB NOT NULL,
    said INTEGER NOT NULL, newest INTEGER, in_flux INTEGER NOT NULL, PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
CREATE INDEX entities_by_newest ON entities (newest);
CREATE INDEX entities_in_flux ON entities (in_flux) WHERE in_flux;
CREATE TABLE positions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
_TABLES: Final = ("entities", "positions", "meta")

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Entity).decode


class SqliteDriftStore:
    """A `DriftStore` in `folder`. Several processes may use it; one of them writes at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / DRIFT_FILE
        with self._translated():
            self._db = sqlite3.connect(
                self.path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            # A projection that loses its last moments catches up; the log is what must be durable.
            self._db.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def begin(self) -> Progress:
        """How far the file is; one of another release is emptied."""
        with self._transaction():
            if self._db.execute("PRAGMA user_version").fetchone() != (_FORMAT,):
                self._make()
            return self._progress()

    def clear(self) -> None:
        """Empty the file and begin a new generation."""
        with self._transaction():
            self._make()

    def reclaim(self) -> None:
        """Rewrite the file, so that it holds nothing that was deleted or overwritten."""
        with self._translated():
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _make(self) -> None:
        for table in _TABLES:
            self._db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA.split(";\n"):
            if statement.strip():
                self._db.execute(statement)
        self._db.execute("INSERT INTO meta VALUES ('generation', ?), ('now', NULL)", (uuid.uuid4().hex,))
        self._db.execute(f"PRAGMA user_version = {_FORMAT}")

    def _progress(self) -> Progress:
        meta = dict(self._db.execute("SELECT name, value FROM meta"))
        rows = self._db.execute("SELECT topic, partition, next FROM positions")
        positions: dict[Place, int] = {(Topic(topic), partition): at for topic, partition, at in rows}
        now = meta["now"]
        return Progress(meta["generation"], positions, None if now is None else Instant(int(now)))

    def apply(self, generation: str, batch: Batch) -> None:
        """Take a batch in, with how far it reaches, in one transaction."""
        with self._transaction():
            progress = self._progress()
            if progress.generation != generation or any(
                progress.positions.get(place, start) < start for place, (start, _) in batch.reached.items()
            ):
                raise DriftStoreEmptied(f"{self.path} was emptied or replaced meanwhile.")
            done = {place: progress.positions.get(place, 0) for place in batch.reached}
            self._take(batch, done)
            self._db.executemany(
                "INSERT OR REPLACE INTO positions VALUES (?, ?, ?)",
                [
                    (topic.value, partition, max(done[topic, partition], end))
                    for (topic, partition), (_, end) in batch.reached.items()
                ],
            )
            if batch.now is not None and (progress.now is None or batch.now > progress.now):
                self._db.execute("UPDATE meta SET value = ? WHERE name = 'now'", (str(batch.now),))

    def _take(self, batch: Batch, done: dict[Place, int]) -> None:
        # Everything of a file is in one partition of the log.
        next_of = {topic: at for (topic, _), at in done.items()}
        touched: dict[tuple[str, str], Kept] = {}
        for update in batch.updates:
            if update.offset < next_of[update.topic]:
                continue
            about = (update.namespace, update.name)
            kept = touched.get(about) or self._entity(*about) or Kept(*about, update.spelling, Entity())
            touched[about] = updated(kept, update)
        for kept in touched.values():
            kept.entity.tidy()
        self._db.executemany(
            "INSERT OR REPLACE INTO entities VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(*about, kept.spelling, *_columns(kept)) for about, kept in touched.items()],
        )

    def forget(self, namespace: str, name: str) -> None:
        """Delete what is known about a subject, by its normal form."""
        with self._transaction():
            self._db.execute("DELETE FROM entities WHERE namespace = ? AND name = ?", (namespace, name))

    def entity(self, namespace: str, name: str) -> Kept | None:
        """What is known about a subject, by its normal form."""
        with self._translated():
            return self._entity(namespace, name)

    def _entity(self, namespace: str, name: str) -> Kept | None:
        found = self._db.execute(
            "SELECT spelling, value, said FROM entities WHERE namespace = ? AND name = ?", (namespace, name)
        ).fetchone()
        return None if found is None else Kept(namespace, name, found[0], _decode(found[1]), found[2])

    def names(self, namespace: str | None, now: Instant) -> list[tuple[str, str]]:
        """(namespace, name) of all that are in flux or may have something in a window at `now`, in order."""
        with self._translated():
            return self._db.execute(
                "SELECT namespace, name FROM entities WHERE (in_flux OR newest > ?) "
                "AND (? IS NULL OR namespace = ?) ORDER BY namespace, name",
                (now - WINDOW_MS, namespace, namespace),
            ).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._translated(), transaction(self._db):
            yield

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise DriftUnavailable(
                f"{self.path} cannot be used: {error}. It holds nothing that the log does not: delete it, "
                "and it is made again."
            ) from error


def _columns(kept: Kept) -> tuple[bytes, int, int | None, bool]:
    entity = kept.entity
    newest = max((held.at for held in entity.retirements.values() if held.at is not None), default=None)
    in_flux = entity.unstable_since is not None or entity.churning_since is not None
    return _encode(entity), kept.said, newest, in_flux
