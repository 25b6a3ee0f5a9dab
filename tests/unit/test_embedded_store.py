"""The embedded log: one transaction or nothing, one format, one writer at a time, imports that go on."""

from __future__ import annotations

import io
import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agents import composition
from agents.replay import Report, events, fact_lines, records, replay
from state.instants import Instant
from streams.embedded import PARTITION, EmbeddedHost, EmbeddedLocked, EmbeddedStore, Progress, StoreFormat
from streams.embedded.store import FILE_NAME, STORE_FORMAT
from streams.host import Agent, Effects, Output, Record, State, Write
from streams.keys import Partition
from streams.settings import Settings
from streams.topics import Topic
from tests.builders import day

ROOT = Path(__file__).parents[2]
Opened = Callable[..., EmbeddedStore]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens stores, in the test's own folder unless another is given, and closes them afterwards."""
    stores: list[EmbeddedStore] = []

    def open_(folder: Path | None = None) -> EmbeddedStore:
        stores.append(EmbeddedStore(folder or tmp_path / "log"))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


def everything(store: EmbeddedStore) -> list[object]:
    """All rows of all tables."""
    names = [name for (name,) in store._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [(name, list(store._db.execute(f"SELECT * FROM {name}"))) for name in sorted(names)]


def write_one_of_each(store: EmbeddedStore, value: bytes) -> None:
    store.append(Topic.OBSERVATIONS, PARTITION, [(None, value, day(1)), (b"k", value, day(2))])
    store.append(Topic.FACTS, PARTITION, [(b"fact", value, day(1))])
    store.write([Write("claims", b"k", value), Write("claims", value, b"x"), Write("claims", b"gone", None)])
    store.commit_offset("intake", Topic.OBSERVATIONS, PARTITION, len(value))
    store.note_import("file", Progress(len(value), 1, 0, value))


# -- transactions ---------------------------------------------------------------------------


def test_what_is_committed_is_there_for_the_next_one_to_open_it(opened: Opened) -> None:
    store = opened()
    with store.transaction():
        write_one_of_each(store, b"v1")
    before = everything(store)
    store.close()

    again = opened()

    assert everything(again) == before
    assert again.read(Topic.OBSERVATIONS, PARTITION, 0, 9) == [
        Record(Topic.OBSERVATIONS, PARTITION, 0, None, b"v1", day(1)),  # type: ignore[arg-type]
        Record(Topic.OBSERVATIONS, PARTITION, 1, b"k", b"v1", day(2)),  # type: ignore[arg-type]
    ]
    assert list(again.latest(Topic.FACTS)) == [(b"fact", b"v1")]
    assert (again.get("claims", b"k"), again.get("claims", b"gone")) == (b"v1", None)
    assert again.next_offset("intake", Topic.OBSERVATIONS, PARTITION) == 2
    assert again.imported("file") == Progress(2, 1, 0, b"v1")


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, MemoryError, GeneratorExit])
def test_a_transaction_that_fails_leaves_nothing_behind(opened: Opened, problem: type[BaseException]) -> None:
    store = opened()
    with store.transaction():
        write_one_of_each(store, b"v1")
    before = everything(store)

    def break_off() -> None:
        with store.transaction():
            write_one_of_each(store, b"longer")
            store.write([Write("claims", b"k", None)])
            store.forget_import("file")
            assert everything(store) != before
            raise problem

    with pytest.raises(problem):
        break_off()

    assert everything(store) == before
    with store.transaction():
        write_one_of_each(store, b"v2")
    assert store.get("claims", b"k") == b"v2"


def test_a_refusal_by_sqlite_inside_a_transaction_takes_the_rest_of_it_back(opened: Opened) -> None:
    store = opened()
    before = everything(store)

    def violate_a_key() -> None:
        with store.transaction():
            write_one_of_each(store, b"v1")
            store._db.execute("INSERT INTO offsets VALUES ('intake', 'observations', 0, 1)")

    with pytest.raises(StoreFormat):
        violate_a_key()

    assert everything(store) == before


def test_what_another_connection_has_not_committed_cannot_be_seen(opened: Opened) -> None:
    writer, reader = opened(), opened()

    with writer.transaction():
        write_one_of_each(writer, b"v1")
        assert reader.end(Topic.OBSERVATIONS, PARTITION) == 0
        assert reader.get("claims", b"k") is None

    assert reader.end(Topic.OBSERVATIONS, PARTITION) == 2
    assert reader.get("claims", b"k") == b"v1"


# -- the file -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "found"), [("UPDATE meta SET value = 99", "99"), ("DELETE FROM meta", "none")]
)
def test_another_format_is_refused_with_what_to_do(opened: Opened, change: str, found: str) -> None:
    store = opened()
    store._db.execute(change)
    store.close()

    with pytest.raises(StoreFormat) as caught:
        opened()

    assert str(caught.value) == (
        f"{store.path} has format {found}, this release reads {STORE_FORMAT}. Start the release that wrote "
        "it, or replay your observations into a new --data."
    )


@pytest.mark.parametrize(
    "content", [b"subject,predicate\n" * 200, b"\x00" * 4096, b"SQLite format 3\x00 not really"]
)
def test_a_file_that_is_no_sqlite_file_is_refused_and_left_alone(
    opened: Opened, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)

    with pytest.raises(StoreFormat) as caught:
        opened(tmp_path)

    assert str(tmp_path / FILE_NAME) in str(caught.value)
    assert str(caught.value).endswith("Give another --data.")
    assert (tmp_path / FILE_NAME).read_bytes() == content


@pytest.mark.parametrize("schema", ["CREATE TABLE people (name)", "CREATE TABLE meta (key, value)"])
def test_the_sqlite_file_of_another_program_is_refused_and_left_alone(
    opened: Opened, tmp_path: Path, schema: str
) -> None:
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute(schema)
    other.commit()

    with pytest.raises(StoreFormat, match=r"no factdrift store\. Give another --data\.$"):
        opened(tmp_path)

    assert len(list(other.execute("SELECT name FROM sqlite_master"))) == 1
    other.close()


def test_an_empty_file_becomes_a_store(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()

    assert opened(tmp_path).end(Topic.OBSERVATIONS, PARTITION) == 0


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_folder_that_cannot_be_made_is_refused_with_a_sentence(
    opened: Opened, tmp_path: Path, below: str
) -> None:
    (tmp_path / "file").write_text("not a folder")

    with pytest.raises(StoreFormat, match=r"cannot hold the log: .*\. Give another --data\.$"):
        opened(tmp_path / "file" / below)


def test_a_folder_in_place_of_the_file_is_refused_with_a_sentence(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()

    with pytest.raises(StoreFormat, match=r"cannot be used: .*\.$"):
        opened(tmp_path)


def test_folders_are_made_as_needed(opened: Opened, tmp_path: Path) -> None:
    opened(tmp_path / "a" / "b")

    assert (tmp_path / "a" / "b" / FILE_NAME).is_file()


# -- several processes ----------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from streams.embedded import PARTITION, EmbeddedStore
from streams.topics import Topic

store = EmbeddedStore(Path(sys.argv[1]))
with store.transaction():
    store.append(Topic.OBSERVATIONS, PARTITION, [(None, b"theirs", 0)])
    print("held", flush=True)
    sys.stdin.readline()
"""

WRITER = """
import sys
from pathlib import Path
from streams.embedded import PARTITION, EmbeddedStore
from streams.topics import Topic

sys.stdin.readline()
store = EmbeddedStore(Path(sys.argv[1]))
for number in range(50):
    with store.transaction():
        store.append(Topic.OBSERVATIONS, PARTITION, [(sys.argv[2].encode(), b"%d" % number, 0)])
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def hold(tmp_path: Path, opened: Opened) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts another process that holds an unfinished transaction until it reads a line."""
    opened().close()
    processes: list[subprocess.Popen[str]] = []

    def start_holder() -> subprocess.Popen[str]:
        processes.append(start(HOLDER, tmp_path / "log"))
        stdout = processes[-1].stdout
        assert stdout is not None
        assert stdout.readline() == "held\n"
        return processes[-1]

    yield start_holder
    for process in processes:
        process.kill()
        process.communicate()


def values(store: EmbeddedStore) -> list[bytes]:
    return [record.value for record in records(store, Topic.OBSERVATIONS)]


def test_a_second_process_waits_for_the_first_and_both_are_applied(
    hold: Callable[[], subprocess.Popen[str]], tmp_path: Path, opened: Opened
) -> None:
    is_open, is_held, begins = threading.Event(), threading.Event(), threading.Event()

    def write() -> None:
        store = EmbeddedStore(tmp_path / "log")
        is_open.set()
        assert is_held.wait(60)
        store._db.set_trace_callback(lambda _statement: begins.set())
        with store.transaction():
            store.append(Topic.OBSERVATIONS, PARTITION, [(None, b"ours", day(1))])
        store.close()

    ours = threading.Thread(target=write)
    ours.start()
    assert is_open.wait(60)
    theirs = hold()
    is_held.set()
    assert begins.wait(60)
    theirs.communicate("go on\n")
    ours.join()

    assert theirs.returncode == 0
    assert values(opened()) == [b"theirs", b"ours"]


def test_waiting_ends_with_a_sentence_that_says_what_to_do(
    hold: Callable[[], subprocess.Popen[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.embedded.store.BUSY_TIMEOUT_S", 0.01)
    hold()

    with pytest.raises(EmbeddedLocked) as caught:
        EmbeddedStore(tmp_path / "log")

    assert "is locked by another process" in str(caught.value)
    assert str(caught.value).endswith("Stop that process, or give this one another --data.")


def test_a_transaction_that_cannot_begin_does_nothing(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.embedded.store.BUSY_TIMEOUT_S", 0.01)
    first, second = opened(), opened()

    with first.transaction():
        first.append(Topic.OBSERVATIONS, PARTITION, [(None, b"theirs", day(1))])
        with pytest.raises(EmbeddedLocked), second.transaction():
            pytest.fail("the transaction has begun although another one holds the log")

    with second.transaction():
        second.append(Topic.OBSERVATIONS, PARTITION, [(None, b"ours", day(1))])
    assert values(first) == [b"theirs", b"ours"]


def test_a_process_that_is_killed_in_a_transaction_leaves_nothing_of_it(
    hold: Callable[[], subprocess.Popen[str]], opened: Opened
) -> None:
    holder = hold()
    holder.send_signal(signal.SIGKILL)
    holder.wait()

    store = opened()

    assert values(store) == []
    assert store.end(Topic.OBSERVATIONS, PARTITION) == 0


def test_processes_that_create_and_write_one_log_at_once_lose_nothing(tmp_path: Path, opened: Opened) -> None:
    names = ["a", "b", "c"]
    writers = [start(WRITER, tmp_path / "log", name) for name in names]

    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()

    assert [writer.returncode for writer in writers] == [0, 0, 0]
    found = list(records(opened(), Topic.OBSERVATIONS))
    assert [record.offset for record in found] == list(range(150))
    for name in names:
        written = [record.value for record in found if record.key == name.encode()]
        assert written == [b"%d" % number for number in range(50)]


# -- log, compacted topics, tables ----------------------------------------------------------


def test_offsets_count_up_from_0_in_each_partition_of_each_topic(opened: Opened) -> None:
    store = opened()
    for topic in (Topic.OBSERVATIONS, Topic.CORRECTIONS):
        for partition in (Partition(0), Partition(1)):
            for value in (b"a", b"b"):
                store.append(topic, partition, [(None, value, day(1)), (None, value * 2, day(2))])

    for topic in (Topic.OBSERVATIONS, Topic.CORRECTIONS):
        for partition in (Partition(0), Partition(1)):
            found = store.read(topic, partition, 0, 99)
            assert [(r.topic, r.partition, r.offset) for r in found] == [
                (topic, partition, n) for n in range(4)
            ]
            assert [r.value for r in found] == [b"a", b"aa", b"b", b"bb"]
            assert store.end(topic, partition) == 4


def test_an_append_of_nothing_changes_nothing(opened: Opened) -> None:
    store = opened()

    store.append(Topic.OBSERVATIONS, PARTITION, [])
    store.append(Topic.FACTS, PARTITION, [])

    assert store.end(Topic.OBSERVATIONS, PARTITION) == 0
    assert store.read(Topic.OBSERVATIONS, PARTITION, 0, 9) == []


@pytest.mark.parametrize(
    ("start_at", "limit", "offsets"),
    [
        (0, 3, [0, 1, 2]),
        (3, 3, [3, 4, 5]),
        (8, 3, [8, 9]),
        (10, 3, []),
        (99, 3, []),
        (0, 99, list(range(10))),
    ],
)
def test_a_read_begins_at_its_offset_and_keeps_its_limit(
    opened: Opened, start_at: int, limit: int, offsets: list[int]
) -> None:
    store = opened()
    store.append(Topic.OBSERVATIONS, PARTITION, [(None, b"x", day(1))] * 10)

    assert [r.offset for r in store.read(Topic.OBSERVATIONS, PARTITION, start_at, limit)] == offsets


def test_a_compacted_topic_holds_the_latest_value_of_each_key_in_order_of_the_key(opened: Opened) -> None:
    store = opened()

    store.append(Topic.FACTS, PARTITION, [(b"b", b"1", day(1)), (b"a", b"2", day(1)), (b"b", b"3", day(2))])
    store.append(Topic.FACTS, PARTITION, [(b"c", b"4", day(3)), (b"a", b"5", day(3))])

    assert list(store.latest(Topic.FACTS)) == [(b"a", b"5"), (b"b", b"3"), (b"c", b"4")]
    assert store.end(Topic.FACTS, PARTITION) == 0
    assert store.read(Topic.FACTS, PARTITION, 0, 9) == []
    assert list(store.latest(Topic.OBSERVATIONS)) == []


def test_tables_are_apart_and_of_several_changes_of_one_key_the_last_counts(opened: Opened) -> None:
    store = opened()
    store.write([Write("t", b"b", b"1"), Write("t", b"a", b"1"), Write("u", b"a", b"other")])
    assert list(store.items("t")) == [(b"a", b"1"), (b"b", b"1")]

    store.write(
        [Write("t", b"a", None), Write("t", b"a", b"2"), Write("t", b"b", b"2"), Write("t", b"b", None)]
    )

    assert list(store.items("t")) == [(b"a", b"2")]
    assert list(store.items("u")) == [(b"a", b"other")]
    assert (store.get("t", b"a"), store.get("t", b"b"), store.get("u", b"a")) == (b"2", None, b"other")


def test_each_agent_has_its_own_place_in_each_topic(opened: Opened) -> None:
    store = opened()

    store.commit_offset("a", Topic.OBSERVATIONS, PARTITION, 5)
    store.commit_offset("a", Topic.CORRECTIONS, PARTITION, 6)
    store.commit_offset("a", Topic.OBSERVATIONS, PARTITION, 7)

    assert store.next_offset("a", Topic.OBSERVATIONS, PARTITION) == 7
    assert store.next_offset("a", Topic.CORRECTIONS, PARTITION) == 6
    assert store.next_offset("b", Topic.OBSERVATIONS, PARTITION) == 0


# -- the host -------------------------------------------------------------------------------


def echo(name: str, source: Topic, target: Topic, *, breaks_on: bytes = b"?") -> Agent:
    """An agent that passes records on, counts them in a table, and breaks on one value."""

    def apply(state: State, found: Sequence[Record]) -> Effects:
        if any(record.value == breaks_on for record in found):
            raise RuntimeError(f"{name} broke")
        n = int(state.get(name, b"n") or b"0") + len(found)
        return Effects([Write(name, b"n", b"%d" % n)], [Output(target, r.key, r.value) for r in found])

    return Agent(name, (source,), ((name,),), apply)


def chain(store: EmbeddedStore, **options: Any) -> EmbeddedHost:
    first = echo("first", Topic.OBSERVATIONS, Topic.BY_CLAIM)
    second = echo("second", Topic.BY_CLAIM, Topic.FACT_CREATED, **options)
    return EmbeddedHost(store, [first, second], clock=lambda: day(50))


def test_one_publish_runs_every_agent_until_nothing_is_unread(opened: Opened) -> None:
    store = opened()

    outputs = chain(store).publish(Topic.OBSERVATIONS, [(b"k", b"a", None), (None, b"b", day(3))])

    assert [(o.topic, o.value) for o in outputs] == [
        (Topic.BY_CLAIM, b"a"),
        (Topic.BY_CLAIM, b"b"),
        (Topic.FACT_CREATED, b"a"),
        (Topic.FACT_CREATED, b"b"),
    ]
    assert [r.value for r in records(store, Topic.FACT_CREATED)] == [b"a", b"b"]
    assert [r.recorded_at for r in records(store, Topic.OBSERVATIONS)] == [day(50), day(3)]
    assert (store.get("first", b"n"), store.get("second", b"n")) == (b"2", b"2")


def test_an_agent_that_breaks_takes_the_whole_batch_back_and_the_next_batch_goes_on(opened: Opened) -> None:
    store = opened()
    host = chain(store, breaks_on=b"b")
    host.publish(Topic.OBSERVATIONS, [(None, b"a", None)])
    before = everything(store)

    with pytest.raises(RuntimeError, match="second broke"):
        host.publish(Topic.OBSERVATIONS, [(None, b"b", None)])

    assert everything(store) == before
    host.publish(Topic.OBSERVATIONS, [(None, b"c", None)])
    assert [r.value for r in records(store, Topic.FACT_CREATED)] == [b"a", b"c"]
    assert [r.offset for r in records(store, Topic.OBSERVATIONS)] == [0, 1]


def test_what_the_caller_adds_is_part_of_the_transaction(opened: Opened) -> None:
    store = opened()
    host = chain(store)
    before = everything(store)

    def fail(found: list[Output]) -> None:
        assert len(found) == 2
        raise RuntimeError("the caller broke")

    with pytest.raises(RuntimeError, match="the caller broke"):
        host.publish(Topic.OBSERVATIONS, [(None, b"a", None)], then=fail)

    assert everything(store) == before


def test_records_are_read_in_portions_and_none_is_left(opened: Opened) -> None:
    store = opened()

    chain(store).publish(Topic.OBSERVATIONS, [(None, b"%d" % n, None) for n in range(4_500)])

    assert (store.get("first", b"n"), store.get("second", b"n")) == (b"4500", b"4500")
    assert len(list(records(store, Topic.FACT_CREATED))) == 4_500


def test_what_follows_from_a_batch_is_as_new_as_the_newest_record_in_it(opened: Opened) -> None:
    store = opened()

    chain(store).publish(
        Topic.OBSERVATIONS, [(None, b"a", day(3)), (None, b"b", day(9)), (None, b"c", day(5))]
    )

    assert {r.recorded_at for r in records(store, Topic.FACT_CREATED)} == {day(9)}


# -- imports --------------------------------------------------------------------------------


def numbered(number: int) -> dict[str, Any]:
    return {
        "observation_id": f"o{number}", "subject": f"entity {number % 3}", "predicate": "lives_in",
        "object": ["Oslo", "Rome", "Lima"][number // 5 % 3], "observed_at": 1_600_000_000 + number * 86_400,
        "source": {"id": "s", "document": f"d{number % 7}"},
    }  # fmt: skip


LINES = [json.dumps(numbered(n)).encode() + b"\n" for n in range(40)]
LINES[13] = b'{"broken"\n'
LINES[27] = b"\xff\n"
LINES[30] = LINES[2]


class Killed(Exception):
    """The end of a process in the middle of a file."""


class CutFile(io.BytesIO):
    """A file whose reader dies before line `after`."""

    def __init__(self, content: bytes, after: int) -> None:
        super().__init__(content)
        self.left = after

    def __next__(self) -> bytes:
        if self.left == 0:
            raise Killed
        self.left -= 1
        return super().__next__()


def host_on(store: EmbeddedStore) -> EmbeddedHost:
    return EmbeddedHost(store, composition.agents(Settings(), keeps_index=True), clock=lambda: day(500))


def replayed(host: EmbeddedHost, path: Path, *, batch_max: int = 7, cut_after: int | None = None) -> Report:
    content = path.read_bytes()
    stream = io.BytesIO(content) if cut_after is None else CutFile(content, cut_after)
    return replay(host, path, stream, batch_max=batch_max)


def outcome(store: EmbeddedStore) -> tuple[object, ...]:
    """All that an import leaves: facts, events, dead letters, and the log itself."""
    return (
        fact_lines(store, now=day(500)),
        events(store),
        [letter.value for letter in records(store, Topic.DEAD_LETTERS)],
        [record.value for record in records(store, Topic.OBSERVATIONS)],
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "observations.jsonl"
    path.write_bytes(b"".join(LINES))
    return path


@pytest.fixture
def in_one_go(opened: Opened, tmp_path: Path, source: Path) -> tuple[Report, tuple[object, ...]]:
    """The report and the outcome of an import that nobody interrupts."""
    store = opened(tmp_path / "in one go")
    report = replayed(host_on(store), source)
    return report, outcome(store)


def test_an_import_counts_every_line_once(in_one_go: tuple[Report, tuple[object, ...]]) -> None:
    report, _ = in_one_go

    assert (report.n_lines, report.n_dead, report.n_applied, report.resumed_at) == (40, 2, 38, 0)
    assert report.dead == {"not_json": 1, "not_utf8": 1}
    assert report.events["fact-created"] > 3


@pytest.mark.parametrize(
    "cuts", [[0], [6], [7], [8], [14], [20], [28], [35], [39], [40], [10, 3, 20], [7, 7, 7]]
)
def test_an_import_that_was_killed_goes_on_and_ends_as_if_nothing_had_happened(
    opened: Opened, source: Path, in_one_go: tuple[Report, tuple[object, ...]], cuts: list[int]
) -> None:
    whole, expected = in_one_go
    for cut in cuts:
        store = opened()
        with pytest.raises(Killed):
            replayed(host_on(store), source, cut_after=cut)
        store.close()

    store = opened()
    report = replayed(host_on(store), source)

    assert outcome(store) == expected
    assert (report.n_lines, report.n_dead, report.n_applied) == (whole.n_lines, whole.n_dead, whole.n_applied)
    assert report.resumed_at == sum(cut // 7 * 7 for cut in cuts)
    assert store.imported(str(source.resolve())) is None


def test_what_was_done_before_the_kill_is_kept(opened: Opened, source: Path) -> None:
    store = opened()

    with pytest.raises(Killed):
        replayed(host_on(store), source, cut_after=20)

    assert [r.value for r in records(store, Topic.OBSERVATIONS)] == [line.rstrip() for line in LINES[:14]]
    progress = store.imported(str(source.resolve()))
    assert progress is not None
    assert (progress.bytes_done, progress.lines_done) == (sum(map(len, LINES[:14])), 14)
    assert progress.dead_done == 1


def test_the_same_file_again_changes_nothing(opened: Opened, source: Path) -> None:
    store = opened()
    replayed(host_on(store), source)
    facts, log, _, _ = outcome(store)

    report = replayed(host_on(store), source, batch_max=11)

    again, log_again, _, _ = outcome(store)
    assert (again, log_again) == (facts, log)
    assert report.events == {}
    assert (report.n_lines, report.resumed_at) == (40, 0)


@pytest.mark.parametrize("at", [0, 6, 13])
def test_a_changed_file_under_the_old_name_starts_anew(opened: Opened, source: Path, at: int) -> None:
    store = opened()
    with pytest.raises(Killed):
        replayed(host_on(store), source, cut_after=20)
    changed = list(LINES)
    changed[at] = (
        json.dumps({**numbered(at), "observation_id": "new", "subject": "somebody new"}).encode() + b"\n"
    )
    source.write_bytes(b"".join(changed))

    report = replayed(host_on(store), source)

    assert (report.resumed_at, report.n_lines) == (0, 40)
    assert store.end(Topic.OBSERVATIONS, PARTITION) == 14 + 40
    assert "somebody new" in {line["subject"] for line in fact_lines(store, now=day(500))}


def test_a_file_that_became_shorter_than_what_was_done_starts_anew(opened: Opened, source: Path) -> None:
    store = opened()
    with pytest.raises(Killed):
        replayed(host_on(store), source, cut_after=20)
    source.write_bytes(b"".join(LINES[:10]))

    report = replayed(host_on(store), source)

    assert (report.resumed_at, report.n_lines) == (0, 10)


def test_a_file_that_grew_behind_what_was_done_goes_on(opened: Opened, source: Path) -> None:
    store = opened()
    with pytest.raises(Killed):
        replayed(host_on(store), source, cut_after=20)
    changed = json.dumps({**numbered(99), "subject": "somebody new"}).encode() + b"\n"
    source.write_bytes(b"".join([*LINES[:14], changed, *LINES[14:]]))

    report = replayed(host_on(store), source)

    assert (report.resumed_at, report.n_lines) == (14, 41)
    assert store.end(Topic.OBSERVATIONS, PARTITION) == 41
    assert "somebody new" in {line["subject"] for line in fact_lines(store, now=day(500))}


def test_a_copy_under_another_name_is_an_import_of_its_own(opened: Opened, source: Path) -> None:
    store = opened()
    with pytest.raises(Killed):
        replayed(host_on(store), source, cut_after=20)
    copy = source.with_name("copy.jsonl")
    copy.write_bytes(source.read_bytes())

    assert replayed(host_on(store), copy).resumed_at == 0
    assert replayed(host_on(store), source).resumed_at == 14


def test_standard_input_is_never_resumed(opened: Opened) -> None:
    store = opened()
    with pytest.raises(Killed):
        replay(host_on(store), None, CutFile(b"".join(LINES), 20), batch_max=7)

    report = replay(host_on(store), None, io.BytesIO(b"".join(LINES)), batch_max=7)

    assert (report.name, report.resumed_at, report.n_lines) == ("-", 0, 40)


def test_progress_is_told_in_bytes_and_adds_up_to_the_file(opened: Opened, source: Path) -> None:
    told: list[int] = []
    store = opened()
    with pytest.raises(Killed):
        replayed(host_on(store), source, cut_after=20)

    with source.open("rb") as stream:
        replay(host_on(store), source, stream, batch_max=7, progressed=told.append)

    assert told[0] == sum(map(len, LINES[:14]))
    assert sum(told) == source.stat().st_size


def test_a_last_line_without_a_line_break_is_a_line(opened: Opened, source: Path) -> None:
    source.write_bytes(LINES[0] + LINES[1].rstrip())

    assert replayed(host_on(opened()), source).n_applied == 2


def test_a_line_may_bring_its_recorded_time_along(opened: Opened, source: Path) -> None:
    lines = [{**numbered(0), "recorded_at": "2024-03-01T00:00:00Z"}, numbered(1)]
    source.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    store = opened()

    replayed(host_on(store), source)

    assert [Instant(r.recorded_at) for r in records(store, Topic.OBSERVATIONS)] == [day(60), day(500)]
