"""Replaying files of observations into an embedded log, so that a killed replay goes on where it was.

Batches are cut by count, and the place in the file is committed together with what the batch did, and with
the ticks of the clock in between (`agents.replay_ticks`). Reads lines, knows no terminal: progress is
reported through a callback.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from agents.clock import tick_request, time_passes
from agents.intake import CLOCK_TABLE, NOW_KEY, replay_now
from agents.replay_ticks import Ticking, Ticks, closes_at_end
from state.errors import FactdriftError
from state.instants import Instant
from state.validation import recorded_at_of
from streams.embedded import PARTITION, EmbeddedHost, EmbeddedStore, Progress
from streams.embedded.host import Items
from streams.host import Output, Record
from streams.topics import CHANGE_FEED, Topic
from streams.wire import fact_line, line_order

_decode: Final = msgspec.json.Decoder().decode
_READ_MAX: Final = 1_000

LIVE_MARK: Final = "live"
"""Noted in a log that a service has taken observations into as they happened: its time is that of the clock
on the wall, and no longer that of what was replayed."""

Append = tuple[Topic, Items]
"""Records for one topic."""


class UnreadableFile(FactdriftError):
    """A file of observations that cannot be opened or read."""


@dataclass(slots=True)
class Report:
    """What became of a file: `n_applied` + `n_dead` = `n_lines`, always."""

    name: str
    n_lines: int = 0
    n_dead: int = 0
    resumed_at: int = 0
    dead: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)

    @property
    def n_applied(self) -> int:
        """Lines that are part of the evidence now, duplicates of one observation among them."""
        return self.n_lines - self.n_dead


def replay(
    host: EmbeddedHost,
    path: Path | None,
    stream: BinaryIO,
    *,
    batch_max: int,
    progressed: Callable[[int], None] = lambda _n_bytes: None,
    ticks: bool = True,
) -> Report:
    """Publish every line of a stream. `path` is None for standard input, which cannot be resumed.

    A file that was replayed to its end may be replayed again: its observations are recognised by id
    and change nothing. `progressed` is called with the bytes read since the last call. Without `ticks` the
    clock stands still: what is published belongs to the cycle under way.
    """
    name = "-" if path is None else str(path.resolve())
    report = Report("-" if path is None else str(path))
    done, digest = 0, hashlib.sha256()
    if path is not None:
        done, digest = _resume(host.store, name, stream, report)
        progressed(done)
    clock = _Clock(host) if ticks else None
    for lines in _batches(stream, batch_max):
        n_bytes = sum(len(line) for line in lines)
        for line in lines:
            digest.update(line)
        done += n_bytes
        before = Progress(done, report.n_lines + len(lines), report.n_dead, digest.digest())
        appends = _untouched(lines) if clock is None else clock.appends(lines, n_before=report.n_lines)
        outputs = _publish(host, name if path is not None else None, appends, before)
        report.n_lines += len(lines)
        _count(report, outputs)
        progressed(n_bytes)
    last = clock.last(report.n_lines) if clock is not None else ()
    _count(report, host.publish_each(last, then=lambda _outputs: host.store.forget_import(name)))
    return report


class _Clock:
    """The clock of one replay: appends ticks among the lines, each with the greatest observed_at so far."""

    def __init__(self, host: EmbeddedHost) -> None:
        self._store = host.store
        self._ticks = Ticks(self._now(), lambda line: _recorded_at(line) or host.clock())

    def appends(self, lines: list[bytes], *, n_before: int) -> Iterator[Append]:
        for part in self._ticks.cut(lines, n_before=n_before):
            if isinstance(part, list):
                yield from _untouched(part)
            elif part is Ticking.CYCLE_CLOSES:
                yield from self._close()
            elif (now := self._now()) is not None:
                n_closed = self._store.end(Topic.CLOCK, PARTITION)
                yield Topic.BY_CLAIM, [(None, time_passes(now, n_closed=n_closed), None)]

    def last(self, n_lines: int) -> Iterator[Append]:
        """The tick at the end of the input."""
        if closes_at_end(n_lines):
            yield from self._close()

    def _close(self) -> Iterator[Append]:
        now = self._now()
        if now is not None:  # nothing was ever observed: there is no time to take
            yield Topic.CLOCK, [(None, tick_request(now), None)]

    def _now(self) -> Instant | None:
        return replay_now(self._store.get(CLOCK_TABLE, NOW_KEY))


def _untouched(lines: list[bytes]) -> Iterator[Append]:
    yield Topic.OBSERVATIONS, [(None, line.rstrip(b"\r\n"), _recorded_at(line)) for line in lines]


def _resume(store: EmbeddedStore, name: str, stream: BinaryIO, report: Report) -> tuple[int, Any]:
    """Move the stream to where an unfinished replay of the same file was, if it still starts the same.

    Returns the bytes that are done, and the digest over them.
    """
    progress = store.imported(name)
    digest = hashlib.sha256()
    left = progress.bytes_done if progress is not None else 0
    while left:
        block = stream.read(min(left, 1 << 20))
        if not block:
            break
        digest.update(block)
        left -= len(block)
    if progress is not None and left == 0 and digest.digest() == progress.digest:
        report.n_lines = report.resumed_at = progress.lines_done
        report.n_dead = progress.dead_done
        return progress.bytes_done, digest
    stream.seek(0)
    return 0, hashlib.sha256()


def _batches(stream: BinaryIO, batch_max: int) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    for line in stream:
        lines.append(line)
        if len(lines) == batch_max:
            yield lines
            lines = []
    if lines:
        yield lines


def _publish(
    host: EmbeddedHost, name: str | None, appends: Iterable[Append], before: Progress
) -> list[Output]:
    """One batch, and in the same transaction the place in the file behind it."""

    def note(found: list[Output]) -> None:
        if name is not None:
            n_dead = sum(output.topic is Topic.DEAD_LETTERS for output in found)
            host.store.note_import(
                name,
                Progress(before.bytes_done, before.lines_done, before.dead_done + n_dead, before.digest),
            )

    return host.publish_each(appends, then=note)


def _recorded_at(line: bytes) -> Instant | None:
    return recorded_at_of(line) if b'"recorded_at"' in line else None


def _count(report: Report, outputs: list[Output]) -> None:
    for output in outputs:
        if output.topic is Topic.DEAD_LETTERS:
            report.n_dead += 1
            report.dead[_decode(output.value)["code"]] += 1
        elif output.topic in CHANGE_FEED:
            report.events[output.topic.value] += 1


# -- what a log holds -----------------------------------------------------------------------


def now_of(store: EmbeddedStore, default: Instant) -> Instant:
    """What "now" means in a log: in a replay the greatest observed_at, in a service's log `default`."""
    if store.mark(LIVE_MARK) is not None:
        return default
    now = replay_now(store.get(CLOCK_TABLE, NOW_KEY))
    return default if now is None else now


def fact_lines(store: EmbeddedStore, *, now: Instant) -> list[dict[str, Any]]:
    """All facts of the log as lines of `--facts`, in their order; withdrawn ones are left out."""
    bodies = (_decode(value) for _, value in store.latest(Topic.FACTS))
    lines = [fact_line(body, now=now) for body in bodies if body["reason"] != "withdrawn"]
    lines.sort(key=line_order)
    return lines


def events(store: EmbeddedStore) -> list[dict[str, Any]]:
    """Every event of the change feed, in the order of its cause, then fact, then version."""
    found: list[dict[str, Any]] = []
    for topic in CHANGE_FEED:
        found.extend(_decode(record.value) for record in records(store, topic))
    found.sort(
        key=lambda event: (int(event["position"].rsplit("/", 1)[1]), event["fact_id"], event["version"])
    )
    return found


def records(store: EmbeddedStore, topic: Topic, start: int = 0) -> Iterator[Record]:
    """The records of a topic from an offset on, up to its present end."""
    while True:
        found = store.read(topic, PARTITION, start, _READ_MAX)
        yield from (record for record in found if record.value)  # the others were erased
        if len(found) < _READ_MAX:
            return
        start = found[-1].offset + 1
