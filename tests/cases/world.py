"""Drives the embedded host with lines as producers send them, and reads back all that it published.

Decides nothing and knows no case: days in, days out. Every world has a log of its own.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import factorial
from pathlib import Path
from typing import Any

from agents import composition
from agents.clock import tick_request
from agents.consolidation import CLAIMS_TABLE
from agents.replay import events, fact_lines, now_of, records, replay
from state.instants import DAY_MS, Instant, format_instant, parse_instant
from streams.settings import Settings
from streams.topics import Topic
from streams.wire import fact_line, line_order, to_json
from tests.builders import DAY_ZERO, day

Line = Mapping[str, Any] | bytes
"""What a producer publishes: an observation or a correction, or bytes that may be neither."""

Fact = dict[str, Any]
Event = dict[str, Any]

# -- what goes in ---------------------------------------------------------------------------


def iso(number: float) -> str:
    """Day `number` of the cases as text: 0 is 2024-01-01T00:00:00Z."""
    return format_instant(day(number))


def observe(
    value: object,
    at: float | str,
    *,
    id: str | None = None,  # noqa: A002
    document: str | None = None,
    subject: str = "kim",
    predicate: str = "prefers",
    valid_from: float | str | None = None,
    valid_to: float | str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """`kim prefers value`, observed on day `at`. Days are numbers, text is passed on as it is written.

    Without `id` the observation has the hash of its content for one; without `document` it is a voice
    of its own.
    """
    found: dict[str, Any] = {"subject": subject, "predicate": predicate, "observed_at": _written(at)}
    if value is not None:
        found["object"] = value
    if id is not None:
        found["observation_id"] = id
    if document is not None:
        found["source"] = {"id": "s", "document": document}
    if valid_from is not None:
        found["valid_from"] = _written(valid_from)
    if valid_to is not None:
        found["valid_to"] = _written(valid_to)
    return {**found, **fields}


def deny(value: object, at: float | str, **fields: Any) -> dict[str, Any]:
    """`kim does not prefer value (any more)`, observed on day `at`."""
    return observe(value, at, polarity="denied", **fields)


def retract(observation_id: str, **fields: Any) -> dict[str, Any]:
    """A correction: the observation counts as never made."""
    return {"op": "retract", "observation_id": observation_id, **fields}


def numbered(lines: Iterable[Mapping[str, Any]], *, prefix: str = "o") -> list[dict[str, Any]]:
    """The same observations, each with an id that says its place in the list."""
    return [{**line, "observation_id": f"{prefix}{number:03}"} for number, line in enumerate(lines)]


def with_own_documents(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same observations, each from a document that says nothing else."""
    return [{**line, "source": {"id": "s", "document": f"doc-{number}"}} for number, line in enumerate(lines)]


def batchings(n: int) -> Iterator[list[int]]:
    """Every way to cut `n` lines, in their order, into batches: the sizes of the batches."""
    for cuts in range(2 ** max(n - 1, 0)):
        sizes = [1]
        for place in range(n - 1):
            if cuts >> place & 1:
                sizes.append(1)
            else:
                sizes[-1] += 1
        yield sizes


def _written(at: float | str) -> str:
    return at if isinstance(at, str) else iso(at)


# -- the host -------------------------------------------------------------------------------


class World:
    """One embedded host on a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.host = composition.embedded(Settings(), folder)

    def close(self) -> None:
        """Close the log."""
        self.host.store.close()

    def publish(self, *lines: Line) -> World:
        """One batch: everything in it becomes durable at once."""
        written = b"".join((line if isinstance(line, bytes) else _line(line)) + b"\n" for line in lines)
        replay(self.host, None, io.BytesIO(written), batch_max=max(len(lines), 1), ticks=False)
        return self

    def tick(self, now: float | None = None) -> World:
        """Close the cycle under way, on day `now`; without it at the greatest observed_at."""
        self.host.publish(Topic.CLOCK, [(None, tick_request(self.now if now is None else day(now)), None)])
        return self

    def each(self, lines: Iterable[Line]) -> World:
        """Every line in a batch of its own."""
        for line in lines:
            self.publish(line)
        return self

    def batches(self, lines: Sequence[Line], sizes: Iterable[int]) -> World:
        """The lines in batches of these sizes; what is left over is the last batch."""
        start = 0
        for size in sizes:
            self.publish(*lines[start : start + size])
            start += size
        if start < len(lines):
            self.publish(*lines[start:])
        return self

    # -- what came out ----------------------------------------------------------------------

    @property
    def now(self) -> Instant:
        """The greatest observed_at of the input."""
        return now_of(self.host.store, DAY_ZERO)

    def facts(self, *, at: float | None = None) -> list[Fact]:
        """All facts, with their states on day `at`; without it, at the greatest observed_at."""
        return fact_lines(self.host.store, now=self.now if at is None else day(at))

    def lines(self) -> list[bytes]:
        """All facts, byte for byte as `--facts` writes them."""
        return [to_json(line) for line in self.facts()]

    def events(self) -> list[Event]:
        """The change feed, in order."""
        return events(self.host.store)

    def told(self) -> list[Fact]:
        """All facts as a reader knows them who has only the change feed and keeps the newest version."""
        newest: dict[str, Event] = {}
        for event in self.events():
            known = newest.get(event["fact_id"])
            assert event["version"] == (known["version"] + 1 if known else 1), "a version is missing"
            newest[event["fact_id"]] = event
        found = [
            fact_line(event, now=self.now) for event in newest.values() if event["reason"] != "withdrawn"
        ]
        return sorted(found, key=line_order)

    def dead_letters(self) -> list[dict[str, Any]]:
        """The dead letters, in order."""
        return [json.loads(record.value) for record in records(self.host.store, Topic.DEAD_LETTERS)]

    def stored_claims(self) -> bytes:
        """All that the claims table holds, as one string of bytes."""
        store = self.host.store
        ids = sorted({event["claim_id"] for event in self.events()})
        return b"".join(store.get(CLAIMS_TABLE, claim.encode("ascii")) or b"" for claim in ids)


def _line(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False).encode()


@contextlib.contextmanager
def fresh() -> Iterator[World]:
    """A world that is gone afterwards, for tests that need many."""
    with tempfile.TemporaryDirectory(prefix="factdrift-case-") as folder:
        world = World(Path(folder))
        try:
            yield world
        finally:
            world.close()


def arrivals(lines: Sequence[Line], *, at_most: int = 8) -> Iterator[tuple[list[Line], list[int]]]:
    """Orders of arrival, each with a batching: all orders where there are few, else a fixed sample.

    Always among them: in the given order as one batch and one by one, and backwards one by one.
    """
    given, one_by_one = list(lines), [1] * len(lines)
    yield given, [len(given)]
    yield given, one_by_one
    yield given[::-1], one_by_one
    chance = random.Random(len(given))
    if factorial(len(given)) <= at_most:
        orders = [list(order) for order in itertools.permutations(given)]
    else:
        orders = [chance.sample(given, len(given)) for _ in range(at_most)]
    for order in orders:
        yield order, [chance.randint(1, 4) for _ in range(len(order))]


def agreed(lines: Sequence[Line], *, at: float | None = None, at_most: int = 8) -> list[Fact]:
    """The facts that the lines give, after asserting that every order of arrival gives the same.

    Compared byte for byte, and with what the change feed alone tells. `at` as in `World.facts`.
    """
    first: tuple[list[bytes], list[Fact]] | None = None
    for order, sizes in arrivals(lines, at_most=at_most):
        with fresh() as world:
            world.batches(order, sizes)
            found = (world.lines(), world.facts(at=at))
            assert world.told() == world.facts(), "the change feed tells other facts"
            if first is None:
                first = found
            assert found == first, f"batches of {sizes} of {order} give other facts"
    assert first is not None
    return first[1]


# -- what came out, in short ----------------------------------------------------------------

Span = tuple[object, float | None, float | None, str, str | None]


def spans(facts: Iterable[Fact]) -> list[Span]:
    """(object, from day, to day, state, reason) of every fact; a day is None where the bound is open."""
    return [
        (
            fact["object"],
            day_of(fact["valid"]["lo"]),
            day_of(fact["valid"]["hi"]),
            fact["state"],
            fact["reason"],
        )
        for fact in facts
    ]


def counts(facts: Iterable[Fact]) -> list[tuple[object, int, int, int]]:
    """(object, support, dissent, observations) of every fact."""
    return [(fact["object"], fact["support"], fact["dissent"], fact["observations"]) for fact in facts]


def objects(facts: Iterable[Fact]) -> list[object]:
    """The shown value of every fact."""
    return [fact["object"] for fact in facts]


def holding(facts: Iterable[Fact], at: float) -> list[object]:
    """The values that hold on day `at`."""
    found = []
    for fact in facts:
        lo, hi = day_of(fact["valid"]["lo"]), day_of(fact["valid"]["hi"])
        if (lo is None or lo <= at) and (hi is None or at < hi):
            found.append(fact["object"])
    return found


def retirements(happened: Iterable[Event]) -> list[tuple[object, str]]:
    """(object, reason) of every invalidation by votes: what drift counts. Withdrawals are none."""
    return [
        (event["object"], event["reason"])
        for event in happened
        if event["event"] == "fact-invalidated" and event["reason"] != "withdrawn"
    ]


def story(happened: Iterable[Event]) -> list[tuple[object, str]]:
    """(object, kind of event) in order; a revision by its own name."""
    return [
        (event["object"], event["revision"] or event["event"].removeprefix("fact-")) for event in happened
    ]


def day_of(written: str | None) -> float | None:
    """The day of the cases on which an instant lies; whole days are whole numbers."""
    if written is None:
        return None
    days, rest = divmod(parse_instant(written) - DAY_ZERO, DAY_MS)
    return days + rest / DAY_MS if rest else days
