"""How the embedded log lies in its file: what it promises, and files that an earlier release laid out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents import composition
from agents.replay import events, fact_lines
from state.instants import Instant
from streams.embedded import PARTITION, EmbeddedHost, EmbeddedStore
from streams.embedded.layout import PAGE_BYTES, SCHEMA
from streams.embedded.store import FILE_NAME, STORE_FORMAT
from streams.host import Write
from streams.settings import Settings
from streams.topics import Topic
from streams.wire import to_json
from tests.builders import day

NOW = day(900)
SORTED_BY_KEY = ("log", "latest", "tables")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., EmbeddedStore]]:
    """Opens stores in folders of the test, and closes them afterwards."""
    stores: list[EmbeddedStore] = []

    def open_(name: str = "log") -> EmbeddedStore:
        stores.append(EmbeddedStore(tmp_path / name))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


def as_earlier_releases_made_it(folder: Path) -> None:
    """An empty file of format 1 as it was before rows lay in the order of their arrival."""
    folder.mkdir()
    database = sqlite3.connect(folder / FILE_NAME)
    database.execute("PRAGMA journal_mode = WAL")
    for statement in SCHEMA:
        is_sorted = any(f"CREATE TABLE {name} " in statement for name in SORTED_BY_KEY)
        database.execute(f"{statement} WITHOUT ROWID" if is_sorted else statement)
    database.execute("INSERT INTO meta VALUES ('format', ?)", (STORE_FORMAT,))
    database.commit()
    database.close()


def publish_some(store: EmbeddedStore) -> None:
    """Observations that create facts, say them again and outvote them, and one that is taken back."""
    clock: Callable[[], Instant] = lambda: NOW  # noqa: E731
    agents = [*composition.agents(Settings(), keeps_index=True), *composition.single_agents()]
    host = EmbeddedHost(store, agents, clock=clock)
    for start in range(0, 60, 20):
        records = [
            to_json(
                {
                    "observation_id": f"o{number}",
                    "subject": f"Kim {number % 7}",
                    "predicate": ("lives_in", "likes")[number % 2],
                    "object": ("Oslo", "hiking in the mountains", "a hike in the mountains")[number % 3],
                    "observed_at": f"2023-01-{number % 28 + 1:02}T00:00:00Z",
                }
            )
            for number in range(start, start + 20)
        ]
        host.publish(Topic.OBSERVATIONS, [(None, record, None) for record in records])
    host.publish(Topic.CORRECTIONS, [(None, to_json({"op": "retract", "observation_id": "o3"}), None)])


def rows(store: EmbeddedStore) -> dict[str, list[tuple[object, ...]]]:
    names = [name for (name,) in store._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: sorted(store._db.execute(f"SELECT * FROM {name}"), key=repr) for name in names}


def test_a_file_of_an_earlier_layout_holds_the_same_after_the_same_input(
    opened: Callable[..., EmbeddedStore], tmp_path: Path
) -> None:
    as_earlier_releases_made_it(tmp_path / "earlier")
    earlier, today = opened("earlier"), opened("today")

    publish_some(earlier)
    publish_some(today)

    assert rows(earlier) == rows(today)
    assert fact_lines(earlier, now=NOW) == fact_lines(today, now=NOW) != []
    assert events(earlier) == events(today)
    assert list(earlier.latest(Topic.FACTS)) == list(today.latest(Topic.FACTS))


@pytest.mark.parametrize("is_earlier", [False, True])
def test_every_commit_waits_for_the_disk(
    opened: Callable[..., EmbeddedStore], tmp_path: Path, is_earlier: bool
) -> None:
    if is_earlier:
        as_earlier_releases_made_it(tmp_path / "log")

    database = opened()._db

    assert database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    expected = 4096 if is_earlier else PAGE_BYTES
    assert database.execute("PRAGMA page_size").fetchone() == (expected,)


def test_a_row_is_changed_where_it_lies_however_often_it_is_written(
    opened: Callable[..., EmbeddedStore],
) -> None:
    store = opened()

    for number in range(3):
        with store.transaction():
            store.write([Write("claims", b"k", b"v%d" % number), Write("claims", b"other%d" % number, b"")])

    found = store._db.execute("SELECT rowid, value FROM tables WHERE key = x'6b'").fetchall()
    assert found == [(1, b"v2")]


def test_what_was_looked_up_is_what_is_stored_now_also_after_a_batch_was_taken_back(
    opened: Callable[..., EmbeddedStore],
) -> None:
    store = opened()
    with store.transaction():
        store.write([Write("claims", b"k", b"before")])

    def break_off() -> None:
        with store.transaction():
            store.write([Write("claims", b"k", b"never"), Write("claims", b"new", b"never")])
            assert (store.get("claims", b"k"), store.get("claims", b"new")) == (b"never", b"never")
            raise RuntimeError("broken off")

    with pytest.raises(RuntimeError, match="broken off"):
        break_off()

    assert (store.get("claims", b"k"), store.get("claims", b"new")) == (b"before", None)


@pytest.mark.parametrize("key", [b"k", b"no such key"])
def test_a_lookup_keeps_no_reader_that_others_would_have_to_wait_for(
    opened: Callable[..., EmbeddedStore], key: bytes
) -> None:
    looking, writing = opened(), opened()
    with writing.transaction():
        writing.write([Write("claims", b"k", b"v1")])
        writing.append(Topic.OBSERVATIONS, PARTITION, [(None, b"o", NOW)])
    looking.get("claims", key)

    with writing.transaction():
        writing.write([Write("claims", b"k", b"v2")])

    assert writing.reclaim(), "the log of changes can be emptied: nobody reads an older state"
    assert looking.get("claims", b"k") == b"v2"
