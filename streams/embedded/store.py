"""The log, the tables and the offsets of the embedded host, in one SQLite file (WAL).

Everything that one batch does is one transaction: after `kill -9` at any point the file holds the whole
batch or nothing of it. Holds no logic of its own; `streams.embedded.host` decides what is written.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from state.errors import FactdriftError
from state.instants import Instant
from streams.embedded.layout import SCHEMA, TRACES, configure
from streams.embedded.sqlite import transaction
from streams.host import Record, Write
from streams.keys import Offset, Partition
from streams.topics import SPEC_OF, Topic

FILE_NAME: Final = "factdrift.sqlite"
STORE_FORMAT: Final = 1
NO_TRACES: Final[Mapping[int, bytes]] = {}
BUSY_TIMEOUT_S: Final = 30.0  # one batch of another process takes milliseconds; longer means it hangs


class StoreFormat(FactdriftError):
    """The file was written by another release, or is no factdrift store at all."""


class EmbeddedLocked(FactdriftError):
    """Another process held the store for longer than a batch can take."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the import of a file got: `digest` is over the `bytes_done` bytes that were read."""

    bytes_done: int
    lines_done: int
    dead_done: int
    digest: bytes


class EmbeddedStore:
    """One SQLite file. Safe to open from several processes; one of them writes at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreFormat(
                f"{folder} cannot hold the log: {error.strerror}. Give another --data."
            ) from error
        with _translated(self.path):
            self._db = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            try:
                configure(self._db)
                self._prepare()
                self._lookup = self._db.cursor()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            names = {
                name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            if not names:
                for statement in SCHEMA:
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES ('format', ?)", (STORE_FORMAT,))
            elif not {"meta", "log"} <= names:
                raise StoreFormat(
                    f"{self.path} is an SQLite file, but no factdrift store. Give another --data."
                )
            found = self._db.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
            if found != (STORE_FORMAT,):
                raise StoreFormat(
                    f"{self.path} has format {found[0] if found else 'none'}, "
                    f"this release reads {STORE_FORMAT}. Start the release that wrote it, or replay your "
                    "observations into a new --data."
                )
            self._db.execute(TRACES)
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the file; what was not committed is gone."""
        self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside happens or nothing of it. Raises EmbeddedLocked after 30 s of waiting."""
        with _translated(self.path), transaction(self._db):
            yield

    # -- log --------------------------------------------------------------------------------

    def append(
        self,
        topic: Topic,
        partition: Partition,
        items: Sequence[tuple[bytes | None, bytes, Instant]],
        traces: Mapping[int, bytes] = NO_TRACES,
    ) -> Offset:
        """Write (key, value, recorded_at) records; on a compacted topic only the latest of a key is kept.

        There an empty value leaves nothing of the key, and nothing is kept of `traces`: the headers of the
        records that have one, by their number. Returns the offset of the first; a compacted topic has none.
        """
        if SPEC_OF[topic].compacted:
            latest = {key or b"": (value, recorded_at) for key, value, recorded_at in items}
            self._db.executemany(
                "DELETE FROM latest WHERE topic = ? AND key = ?",
                [(topic.value, key) for key, (value, _) in latest.items() if not value],
            )
            self._db.executemany(
                "INSERT INTO latest VALUES (?, ?, ?, ?) ON CONFLICT (topic, key) DO UPDATE "
                "SET value = excluded.value, recorded_at = excluded.recorded_at",
                [
                    (topic.value, key, value, recorded_at)
                    for key, (value, recorded_at) in latest.items()
                    if value
                ],
            )
            return Offset(0)
        start = self.end(topic, partition)
        self._db.executemany(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)",
            [
                (topic.value, partition, start + i, key, value, recorded_at)
                for i, (key, value, recorded_at) in enumerate(items)
            ],
        )
        self._db.execute(
            "INSERT INTO ends VALUES (?, ?, ?) "
            "ON CONFLICT (topic, partition) DO UPDATE SET next = excluded.next",
            (topic.value, partition, start + len(items)),
        )
        if traces:
            self._db.executemany(
                "INSERT INTO traces VALUES (?, ?, ?, ?)",
                [(topic.value, partition, start + number, trace) for number, trace in traces.items()],
            )
        return start

    def end(self, topic: Topic, partition: Partition) -> Offset:
        """The offset that the next record of a topic gets."""
        found = self._db.execute(
            "SELECT next FROM ends WHERE topic = ? AND partition = ?", (topic.value, partition)
        ).fetchone()
        return Offset(found[0] if found else 0)

    def read(self, topic: Topic, partition: Partition, start: int, limit: int) -> list[Record]:
        """At most `limit` records from offset `start` on."""
        rows = self._db.execute(
            'SELECT "offset", key, value, recorded_at, trace '
            'FROM log LEFT JOIN traces USING (topic, partition, "offset") '
            'WHERE topic = ? AND partition = ? AND "offset" >= ? ORDER BY "offset" LIMIT ?',
            (topic.value, partition, start, limit),
        )
        return [
            Record(topic, partition, Offset(offset), key, value, Instant(recorded_at), trace)
            for offset, key, value, recorded_at, trace in rows
        ]

    def latest(self, topic: Topic) -> Iterator[tuple[bytes, bytes]]:
        """(key, value) of a compacted topic, in order of the key."""
        yield from self._db.execute(
            "SELECT key, value FROM latest WHERE topic = ? ORDER BY key", (topic.value,)
        )

    # -- tables and offsets -----------------------------------------------------------------

    def get(self, table: str, key: bytes) -> bytes | None:
        """The stored value of a key, or None."""
        # One cursor for all, and read to its end: asked several times for each observation.
        found = self._lookup.execute(
            "SELECT value FROM tables WHERE name = ? AND key = ?", (table, key)
        ).fetchall()
        return found[0][0] if found else None

    def items(self, table: str, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) of a table, those whose key begins with `prefix`, in order of the key."""
        rows = self._db.execute(
            "SELECT key, value FROM tables WHERE name = ? AND key >= ? ORDER BY key", (table, prefix)
        )
        for key, value in rows:
            if not key.startswith(prefix):
                return
            yield key, value

    def write(self, writes: Iterable[Write]) -> None:
        """Apply changes of tables. Of several changes of one key the last one counts."""
        last = {(w.table, w.key): w.value for w in writes}
        puts = [(table, key, value) for (table, key), value in last.items() if value is not None]
        self._db.executemany(  # REPLACE would move the row to the end, and write its key anew
            "INSERT INTO tables VALUES (?, ?, ?) "
            "ON CONFLICT (name, key) DO UPDATE SET value = excluded.value",
            puts,
        )
        gone = [at for at, value in last.items() if value is None]
        if gone:
            self._db.executemany("DELETE FROM tables WHERE name = ? AND key = ?", gone)

    def next_offset(self, agent: str, topic: Topic, partition: Partition) -> Offset:
        """Where an agent goes on reading."""
        found = self._db.execute(
            "SELECT next FROM offsets WHERE agent = ? AND topic = ? AND partition = ?",
            (agent, topic.value, partition),
        ).fetchone()
        return Offset(found[0] if found else 0)

    def commit_offset(self, agent: str, topic: Topic, partition: Partition, offset: int) -> None:
        """Remember where an agent goes on reading."""
        self._db.execute(
            "INSERT OR REPLACE INTO offsets VALUES (?, ?, ?, ?)", (agent, topic.value, partition, offset)
        )

    # -- forgetting -------------------------------------------------------------------------

    def rewrite(self, topic: Topic, partition: Partition, offset: int, value: bytes) -> None:
        """Put another value in the place of a record, for the sake of what must be forgotten.

        An empty one leaves nothing of the record but its place: readers pass it over.
        """
        key = "key" if value else "NULL"
        self._db.execute(
            f'UPDATE log SET value = ?, key = {key} WHERE topic = ? AND partition = ? AND "offset" = ?',  # noqa: S608
            (value, topic.value, partition, offset),
        )
        self._db.execute(
            'DELETE FROM traces WHERE topic = ? AND partition = ? AND "offset" = ?',
            (topic.value, partition, offset),
        )

    def everything(self) -> Iterator[tuple[str, bytes, bytes]]:
        """Every row with bytes of its own: where it is, its key, its value."""
        for kind, name in (("topic", "log"), ("topic", "latest"), ("name", "tables")):
            rows = self._db.execute(f"SELECT {kind}, key, value FROM {name}")  # noqa: S608 both are ours
            for where, key, value in rows:
                yield f"{'table' if name == 'tables' else 'topic'} {where}", key or b"", value

    def reclaim(self) -> bool:
        """Rewrite the file, so that it holds nothing that was deleted or overwritten.

        False where another process that reads kept a part of it: to be done again.
        """
        with _translated(self.path):
            self._db.execute("PRAGMA secure_delete = ON")
            self._db.execute("VACUUM")
            busy, _, _ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    # -- marks ------------------------------------------------------------------------------

    def mark(self, name: str) -> str | None:
        """What was noted under a name about the tables as a whole, or None."""
        found = self._db.execute("SELECT value FROM meta WHERE name = ?", (f"mark:{name}",)).fetchone()
        return None if found is None else str(found[0])

    def set_mark(self, name: str, value: str) -> None:
        """Note something about the tables as a whole."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"mark:{name}", value))

    # -- imports ------------- ---------------------------------------------------------------

    def imported(self, name: str) -> Progress | None:
        """How far an unfinished import of this name got."""
        found = self._db.execute(
            "SELECT bytes_done, lines_done, dead_done, digest FROM imports WHERE name = ?", (name,)
        ).fetchone()
        return Progress(*found) if found else None

    def note_import(self, name: str, progress: Progress) -> None:
        """Remember how far an import got."""
        self._db.execute(
            "INSERT OR REPLACE INTO imports VALUES (?, ?, ?, ?, ?)",
            (name, progress.bytes_done, progress.lines_done, progress.dead_done, progress.digest),
        )

    def forget_import(self, name: str) -> None:
        """Forget an import that reached its end; the same file may then be imported again."""
        self._db.execute("DELETE FROM imports WHERE name = ?", (name,))


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours, with what the user can do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise EmbeddedLocked(
                f"{path} is locked by another process for over {BUSY_TIMEOUT_S:.0f} s. "
                "Stop that process, or give this one another --data."
            ) from error
        raise StoreFormat(
            f"{path} cannot be used: {error}. Check the folder's rights and free space."
        ) from error
    except sqlite3.DatabaseError as error:
        raise StoreFormat(f"{path} is no factdrift store: {error}. Give another --data.") from error
