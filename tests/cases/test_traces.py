"""Traceparents of observations, carried to the events that they cause; and nothing else changes by them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from agents import composition
from agents.clock import tick_request
from agents.traces import LINKED_MAX
from state.errors import FactdriftError
from state.traceparent import Traceparent, parse
from streams.embedded import PARTITION, EmbeddedHost
from streams.host import Record
from streams.otel import OtelTracing
from streams.settings import Settings
from streams.topics import CHANGE_FEED, Topic
from streams.tracing import OFF, Tracing
from tests.builders import day
from tests.cases.world import observe, retract

EVENTS = (*CHANGE_FEED, Topic.DRIFT_ALERTS, Topic.DEAD_LETTERS)
Traced = tuple[dict[str, Any] | bytes, bytes | None]
"""A line and its traceparent."""


def header(number: int, *, flags: int = 1) -> bytes:
    """The traceparent of trace `number`."""
    return Traceparent(f"{number:032x}", f"{number:016x}", flags).header()


def trace_of(found: bytes | None) -> int | None:
    """The number of a trace."""
    place = None if found is None else parse(found)
    return None if place is None else int(place.trace_id, 16)


class Log:
    """An embedded host whose clock stands still, and what it published."""

    def __init__(self, folder: Path, tracing: Tracing = OFF) -> None:
        self.host = composition.embedded(Settings(), folder, tracing=tracing)
        self.host.clock = lambda: day(400)

    def publish(self, *lines: Traced, topic: Topic = Topic.OBSERVATIONS) -> Log:
        """One batch."""
        written = [line if isinstance(line, bytes) else json.dumps(line).encode() for line, _ in lines]
        traces = {number: trace for number, (_, trace) in enumerate(lines) if trace is not None}
        self.host.publish(topic, [(None, one, None) for one in written], traces=traces)
        return self

    def tick(self, now: float) -> Log:
        """Close the cycle."""
        self.host.publish(Topic.CLOCK, [(None, tick_request(day(now)), None)])
        return self

    def records(self, *topics: Topic) -> list[Record]:
        """What stands on some topics."""
        return [r for topic in topics for r in self.host.store.read(topic, PARTITION, 0, 100_000)]

    def traces(self, *topics: Topic) -> list[int | None]:
        """The trace of each record on some topics."""
        return [trace_of(record.trace) for record in self.records(*topics)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    found = Log(tmp_path / "log")
    yield found
    found.host.store.close()


STORY: list[Traced] = [
    (observe("red", 1, id="a"), header(1)),
    (observe("red", 2, id="b"), header(2)),
    (observe("blue", 3, id="c"), None),
    (observe("blue", 4, id="d"), header(4)),
    (observe("blue", 5, id="e"), header(5)),
    (b"no json", header(6)),
    (observe("green", 5, id="e"), header(7)),
    (observe("Oslo", 3, id="f", subject="li", predicate="lives in"), header(8)),
]


# -- carried --------------------------------------------------------------------------------


def test_an_event_bears_the_traceparent_of_the_observation_that_caused_it(log: Log) -> None:
    for line in STORY[:2]:
        log.publish(line)

    assert [r.trace for r in log.records(Topic.FACT_CREATED)] == [header(1)]
    assert [r.trace for r in log.records(Topic.FACT_REINFORCED)] == [header(2)]


def test_an_event_of_an_observation_without_one_bears_none(log: Log) -> None:
    log.publish((observe("red", 1), None)).publish((observe("red", 2), b"00-malformed"))

    assert log.records(Topic.FACT_CREATED)[0].trace is None
    assert all(trace is None for trace in log.traces(*EVENTS))


def test_each_claim_of_a_batch_has_its_own(log: Log) -> None:
    log.publish(*[(observe("x", 1, subject=f"s{number}"), header(number)) for number in range(1, 20)])

    created = log.records(Topic.FACT_CREATED)
    assert {json.loads(r.value)["subject"]: trace_of(r.trace) for r in created} == {
        f"s{number}": number for number in range(1, 20)
    }


def test_of_several_observations_the_one_that_decided_counts(log: Log) -> None:
    log.publish((observe("red", 1, document="0"), None))
    log.publish(
        (observe("blue", 5, document="1"), header(1)),
        (observe("blue", 6, document="2"), header(2)),
        (observe("blue", 7, document="3"), header(3)),
        (observe("red", 4, document="4"), header(4)),
    )

    (ended,) = log.records(Topic.FACT_INVALIDATED)
    decided_at = json.loads(ended.value)["decided_observed_at"]
    said_at = {number: observe("", at)["observed_at"] for number, at in ((1, 5), (2, 6), (3, 7), (4, 4))}
    assert said_at[trace_of(ended.trace) or 0] == decided_at.replace(".000", "")


def test_of_several_observations_that_support_a_fact_the_newest_counts(log: Log) -> None:
    log.publish((observe("red", 1, id="a"), None))
    log.publish(
        (observe("red", 2, id="b"), header(1)),
        (observe("red", 3, id="c"), header(2)),
        (observe("blue", 1, id="d"), header(3)),
    )

    (event,) = log.records(Topic.FACT_REINFORCED)
    assert trace_of(event.trace) == 2


def test_a_retract_bears_its_own_to_what_it_ends(log: Log) -> None:
    log.publish((observe("red", 1, id="a"), header(1)), (observe("x", 1, id="b", subject="li"), header(2)))
    log.publish((retract("a"), header(3)), topic=Topic.CORRECTIONS)

    assert log.traces(Topic.FACT_INVALIDATED) == [3]


def test_a_dead_letter_bears_that_of_its_record(log: Log) -> None:
    log.publish(STORY[0], STORY[4], STORY[5], STORY[6])

    letters = {json.loads(r.value)["code"]: trace_of(r.trace) for r in log.records(Topic.DEAD_LETTERS)}
    assert letters["not_json"] == 6
    assert letters["duplicate_id"] in (5, 7)


def test_a_drift_alert_bears_that_of_its_newest_cause_and_after_a_restart_none(tmp_path: Path) -> None:
    moves: list[Traced] = [
        (observe(f"place {number}", number, predicate="lives in", id=f"m{number}"), header(number))
        for number in range(1, 9)
    ]
    log, again = Log(tmp_path / "a"), Log(tmp_path / "b")
    for move in moves:
        log.publish(move)
        again.publish(move)
    again.host.store.close()
    again = Log(tmp_path / "b")

    log.tick(10)
    again.tick(10)

    (alert,), (later,) = log.records(Topic.DRIFT_ALERTS), again.records(Topic.DRIFT_ALERTS)
    assert trace_of(alert.trace) == 8
    assert later.trace is None
    assert later.value == alert.value


def test_what_is_forgotten_loses_its_place_in_a_trace(log: Log) -> None:
    log.publish(STORY[0])
    log.host.store.rewrite(Topic.FACT_CREATED, PARTITION, 0, b"")

    assert log.records(Topic.FACT_CREATED)[0].trace is None


# -- and nothing else -----------------------------------------------------------------------


def everything(host: EmbeddedHost) -> list[tuple[str, bytes, bytes]]:
    """All that a store holds but the traces themselves."""
    return sorted(host.store.everything())


@pytest.mark.parametrize("batch", [1, 3, len(STORY)])
def test_facts_events_and_ids_are_the_same_with_and_without(tmp_path: Path, batch: int) -> None:
    bare = [(line, None) for line, _ in STORY]
    stores = []
    for name, lines, tracing in (
        ("without", bare, OFF),
        ("passed", STORY, OFF),
        ("recorded", STORY, OtelTracing(TracerProvider())),
        ("begun", bare, OtelTracing(TracerProvider())),
    ):
        log = Log(tmp_path / name, tracing)
        for start in range(0, len(lines), batch):
            log.publish(*lines[start : start + batch])
        log.tick(10)
        stores.append(everything(log.host))
        log.host.store.close()

    assert len(stores[0]) > 20
    assert all(store == stores[0] for store in stores[1:])


def test_batches_are_cut_where_they_would_be_without(tmp_path: Path) -> None:
    lines = [
        (observe(f"v{number}", number % 30, subject=f"s{number}"), header(number + 1)) for number in range(60)
    ]
    cut = []
    for name, traced in (("with", lines), ("without", [(line, None) for line, _ in lines])):
        host = composition.embedded(Settings(batch_bytes_max=2_000), tmp_path / name)
        log = Log(tmp_path / name)
        log.host = host
        log.publish(*traced)
        cut.append([len(r.value) for r in log.records(Topic.BY_CLAIM)])
        host.store.close()

    assert len(cut[0]) > 3
    assert cut[0] == cut[1]


# -- recorded -------------------------------------------------------------------------------


class Recorded(Log):
    """A log whose spans are kept."""

    def __init__(self, folder: Path) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        super().__init__(folder, OtelTracing(provider))

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of a name."""
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    found = Recorded(tmp_path / "log")
    yield found
    found.host.store.close()


def test_spans_follow_an_observation_to_its_event(recorded: Recorded) -> None:
    recorded.publish(STORY[0])

    (intake,), (folded,) = recorded.named("intake"), recorded.named("consolidation")
    (emitted,) = recorded.named("emit fact-created")
    (event,) = recorded.records(Topic.FACT_CREATED)
    assert intake.parent is not None
    assert intake.parent.span_id == 1
    assert intake.parent.is_remote
    assert folded.parent is not None
    assert emitted.parent is not None
    assert folded.parent.span_id == intake.context.span_id
    assert emitted.parent.span_id == folded.context.span_id
    assert {span.context.trace_id for span in (intake, folded, emitted)} == {1}
    assert event.trace == Traceparent(f"{1:032x}", f"{emitted.context.span_id:016x}", 1).header()
    assert emitted.kind is SpanKind.PRODUCER
    assert emitted.attributes is not None
    assert emitted.attributes["factdrift.event_id"] == json.loads(event.value)["event_id"]


def test_a_batch_has_a_span_of_its_own_that_is_linked_both_ways(recorded: Recorded) -> None:
    recorded.publish(*STORY[:2])

    (batch,) = recorded.named("intake batch")
    assert batch.parent is None
    assert [link.context.trace_id for link in batch.links] == [1, 2]
    linked = {link.context.span_id for span in recorded.named("intake") for link in span.links}
    assert linked == {batch.context.span_id}
    assert batch.attributes is not None
    assert batch.attributes["messaging.batch.message_count"] == 2


def test_what_else_caused_an_event_is_linked_and_bounded(recorded: Recorded) -> None:
    lines = [(observe("red", 1, document=f"d{number}"), header(number)) for number in range(1, 40)]
    recorded.publish(*lines)

    (emitted,) = recorded.named("emit fact-created")
    linked = [link.context.trace_id for link in emitted.links]
    assert len(linked) == len(set(linked)) == LINKED_MAX
    assert emitted.context.trace_id not in linked


def test_observations_of_one_request_share_one_span(recorded: Recorded) -> None:
    recorded.publish(*[(observe("x", 1, subject=f"s{number}"), header(9)) for number in range(30)])

    assert len(recorded.named("intake")) == len(recorded.named("consolidation")) == 1
    assert len(recorded.named("emit fact-created")) == 30


def test_what_the_publisher_does_not_record_is_not_recorded_and_goes_on(recorded: Recorded) -> None:
    recorded.publish((observe("red", 1), header(3, flags=0)))

    found = parse(recorded.records(Topic.FACT_CREATED)[0].trace or b"")
    assert recorded.named("intake") == recorded.named("emit fact-created") == []
    assert found is not None
    assert (int(found.trace_id, 16), found.is_sampled) == (3, False)


def test_a_span_says_no_word_of_a_record(recorded: Recorded) -> None:
    recorded.publish((observe("hush", 1, subject="whisper", predicate="murmurs", content="psst"), header(1)))

    told = [span.to_json() for span in recorded.exporter.get_finished_spans()]
    assert len(told) >= 5
    assert not any(word in one for one in told for word in ("hush", "whisper", "murmurs", "psst"))


def test_a_batch_that_fails_ends_its_spans_as_failed_and_tells_no_words(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    record = Record(Topic.OBSERVATIONS, PARTITION, 0, None, b"{}", day(1), header(1))  # type: ignore[arg-type]

    with pytest.raises(FactdriftError), OtelTracing(provider).handling("intake", [record]):
        raise FactdriftError("a name that nobody may read")

    spans = exporter.get_finished_spans()
    assert {span.name for span in spans} == {"intake", "intake batch"}
    assert {span.status.status_code.name for span in spans} == {"ERROR"}
    assert not any("nobody" in span.to_json() for span in spans)


def test_a_tracer_that_is_switched_off_by_the_standard_passes_headers_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    log = Log(tmp_path / "log", OtelTracing(TracerProvider()))
    log.publish(STORY[0])

    assert [r.trace for r in log.records(Topic.FACT_CREATED)] == [header(1)]
    log.host.store.close()


def traced_numbers(records: Sequence[Record]) -> list[int]:
    return [number for number, record in enumerate(records) if record.trace is not None]


def test_a_file_of_an_earlier_release_gets_a_place_for_traces(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.publish((observe("red", 1), None))
    log.host.store._db.execute("DROP TABLE traces")
    log.host.store.close()

    again = Log(tmp_path / "log").publish(STORY[1], (observe("red", 3), None))

    assert traced_numbers(again.records(Topic.OBSERVATIONS)) == [1]
    again.host.store.close()
