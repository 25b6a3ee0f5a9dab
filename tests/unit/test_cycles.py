"""Ticks and clocks, parts and audits, where a replay ticks, and the commands that show all of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agents.clock import tick_of, tick_request, time_passes
from agents.main import app
from agents.replay_ticks import LINES_PER_CYCLE, Ticking, Ticks, closes_at_end
from state.cycles import EDGES_MAX, NO_CYCLE, Clock, Counts, Part, Tick, assemble
from state.instants import Instant, format_instant
from streams.codec import decode_batch
from streams.host import Record
from streams.keys import Offset, Partition
from streams.topics import Topic
from tests.builders import day

# -- the clock ------------------------------------------------------------------------------


def test_a_tick_moves_the_clock_and_one_that_comes_again_does_not() -> None:
    moved = Clock().after(Tick(number=1, now=day(1)))

    assert moved == Clock(1, day(1))
    assert moved.cycle == 2
    assert moved.after(Tick(number=1, now=day(1))) is moved
    assert Clock(2, day(2)).after(Tick(number=1, now=day(1))) == Clock(2, day(2))


def test_time_passes_under_the_number_of_a_closed_cycle_and_closes_none() -> None:
    clock = Clock(3, day(1))

    assert clock.after(Tick(number=3, now=day(2))) == Clock(3, day(2))
    assert clock.after(Tick(number=3, now=day(0))) is clock
    assert Clock().after(Tick(number=0, now=day(0))) == Clock(0, day(0))


def test_a_tick_of_no_cycle_lets_time_pass_whatever_was_closed_before_it_is_read() -> None:
    clock = Clock(3, day(1))
    (entry,) = decode_batch(time_passes(day(2))).entries

    assert entry.usable == Tick(number=NO_CYCLE, now=day(2))
    assert clock.after(Tick(number=NO_CYCLE, now=day(2))) == Clock(3, day(2))
    assert clock.after(Tick(number=NO_CYCLE, now=day(1))) is clock
    assert clock.after(Tick(number=2, now=day(2))) is clock


def clock_record(value: bytes, offset: int = 4) -> Record:
    return Record(Topic.CLOCK, Partition(0), Offset(offset), None, value, day(9))


def test_the_number_of_a_tick_is_that_of_its_record() -> None:
    assert tick_of(clock_record(tick_request(day(1)))) == Tick(number=5, now=day(1))
    assert tick_of(clock_record(tick_request())) == Tick(number=5, now=day(9))
    assert tick_of(clock_record(tick_request(is_idle=True))).is_idle


@pytest.mark.parametrize("value", [b"", b"no json", b"[]", b'{"now": 5}', b'{"now": "soon"}', b"\xff"])
def test_whatever_the_record_holds_it_closes_its_cycle(value: bytes) -> None:
    assert tick_of(clock_record(value)).number == 5


# -- parts ----------------------------------------------------------------------------------


def test_an_audit_is_the_sum_of_its_parts_in_whatever_order_they_came() -> None:
    parts = [
        Part(cycle=2, partition=1, now=day(2), counts={"a": Counts(1, 2, 3, 4, 5)}, matched={"r": 1}),
        Part(cycle=2, partition=0, now=day(1), counts={"b": Counts(10), "a": Counts(1)}, matched={"r": 2}),
    ]

    found = assemble(parts)

    assert found == assemble(reversed(parts))
    assert (found.now, found.total, found.matched) == (day(2), Counts(12, 2, 3, 4, 5), {"r": 3})
    assert found.counts == {"a": Counts(2, 2, 3, 4, 5), "b": Counts(10)}
    assert [part.partition for part in found.parts] == [0, 1]


def test_a_cycle_is_idle_only_if_every_part_is() -> None:
    parts = [Part(cycle=1, partition=0, is_idle=True), Part(cycle=1, partition=1)]

    assert not assemble(parts).is_idle
    assert assemble(parts[:1]).is_idle


def test_edges_are_cut_and_counts_are_not() -> None:
    part = Part(cycle=1, partition=0)

    for number in range(EDGES_MAX + 5):
        part.join("created", f"fact {number}")
        part.join("created", "fact 0")
        part.count("a").facts_created += 1

    assert part.edges == {"created": [f"fact {number}" for number in range(EDGES_MAX)]}
    assert part.counts["a"].facts_created == EDGES_MAX + 5


# -- where a replay ticks -------------------------------------------------------------------


def line(at: Instant, **fields: object) -> bytes:
    return json.dumps(
        {"subject": "kim", "predicate": "p", "object": "x", "observed_at": format_instant(at), **fields}
    ).encode()


def cut(lines: list[bytes], *, now: Instant | None = None, n_before: int = 0) -> list[int | Ticking]:
    """How many lines each stretch has, and what the clock does between them."""
    parts = Ticks(now, lambda _line: day(300)).cut(lines, n_before=n_before)
    return [len(part) if isinstance(part, list) else part for part in parts]


def test_time_passes_before_the_first_observation_of_a_later_day() -> None:
    found = cut([line(day(0)), line(day(0.9)), line(day(1)), line(day(0.5)), line(day(5))])

    assert found == [2, Ticking.TIME_PASSES, 2, Ticking.TIME_PASSES, 1]


def test_nothing_passes_before_the_first_observation_of_all() -> None:
    assert cut([line(day(4))]) == [1]
    assert cut([line(day(4))], now=day(2)) == [Ticking.TIME_PASSES, 1]
    assert cut([line(day(1))], now=day(2)) == [1]


@pytest.mark.parametrize(
    "bad", [b"junk", b"[]", b"{}", line(day(999)), line(day(5), subject=""), line(day(5), observed_at="soon")]
)
def test_a_line_that_cannot_be_used_moves_no_time(bad: bytes) -> None:
    assert cut([line(day(0)), bad, line(day(1))]) == [2, Ticking.TIME_PASSES, 1]


def test_a_cycle_closes_after_every_five_hundredth_line_of_the_whole_input() -> None:
    lines = [line(day(0))] * 3

    assert cut(lines, n_before=LINES_PER_CYCLE - 2) == [2, Ticking.CYCLE_CLOSES, 1]
    assert [closes_at_end(n) for n in (0, 1, LINES_PER_CYCLE, LINES_PER_CYCLE + 1)] == [
        False,
        True,
        False,
        True,
    ]


# -- the commands ---------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> str:
    file, folder = tmp_path / "lines.jsonl", str(tmp_path / "log")
    file.write_bytes(line(day(0), predicate="lives_in", object="Rome", observation_id="one") + b"\n")
    assert run("replay", str(file), "--data", folder).exit_code == 0
    return folder


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def lines_of(result: Result) -> list[dict[str, object]]:
    assert result.exit_code == 0, result.output
    return [json.loads(text) for text in result.stdout.splitlines()]


def test_cycles_are_listed_and_one_shows_why_its_facts_exist(data: str) -> None:
    (listed,) = lines_of(run("cycles", "list", "--data", data))
    (shown,) = lines_of(run("cycles", "show", "1", "--data", data))

    assert (listed["state"], listed["cycle"], listed["facts_created"]) == ("closed", 1, 1)
    events = shown["events"]
    assert isinstance(events, list)
    (event,) = events
    assert (event["event"], event["supported_by"]) == ("fact-created", ["one"])


def test_a_cycle_is_closed_by_command_at_a_time_that_may_be_given(data: str) -> None:
    assert lines_of(run("cycle", "run", "--data", data)) == [{"cycle": 2}]
    assert lines_of(run("cycle", "run", "--data", data, "--now", "2030-01-01")) == [{"cycle": 3}]

    found = lines_of(run("cycles", "list", "--data", data))
    assert [body["now"] for body in found][1:] == [format_instant(day(0)), "2030-01-01T00:00:00Z"]


def test_a_cycle_that_is_not_there_is_named(data: str) -> None:
    found = run("cycles", "show", "7", "--data", data)

    assert found.exit_code != 0
    assert "Cycle 7 is not closed" in str(found.exception)


def test_a_rule_is_added_shown_vouched_for_and_removed(data: str) -> None:
    assert run("rules", "add", "in rome", "--when", "lives_in = Rome", "--data", data).exit_code == 0
    assert run("rules", "validate", "in rome", "--data", data).exit_code == 0
    assert run("rules", "match", "in rome", "--data", data).exit_code == 0

    (shown,) = lines_of(run("rules", "show", "in rome", "--data", data))
    assert (shown["standing"], shown["confidence"], shown["when"]) == ("active", 0.55, ["lives_in = Rome"])
    history = shown["history"]
    assert isinstance(history, list)
    assert [step["event"] for step in history] == ["added", "promoted", "matched"]

    assert run("rules", "remove", "in rome", "--data", data).exit_code == 0
    listed = lines_of(run("rules", "list", "--data", data))
    assert {rule["standard"] for rule in listed} == {True}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "residence"), "There is a rule residence already"),
        (("add", "r", "--when", " / "), "--when"),
        (("remove", "residence"), "never changes"),
        (("show", "nobody's"), "factdrift rules list"),
    ],
)
def test_what_a_command_cannot_do_is_one_sentence(data: str, words: tuple[str, ...], says: str) -> None:
    found = run("rules", *words, "--data", data)

    assert found.exit_code != 0
    assert says in str(found.exception)
