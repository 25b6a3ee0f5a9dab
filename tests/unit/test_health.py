"""When a worker counts as healthy and ready, what it counts, and that it says so whatever its loop does."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from state.instants import Instant
from streams.host import Output, Record
from streams.kafka.errors import REFUSALS, HealthPortUnusable
from streams.kafka.health import PartitionSigns, Standing, Vitals, Watch, followed
from streams.kafka.health_server import HealthServer
from streams.kafka.metrics import Metrics
from streams.keys import Offset, Partition
from streams.settings import KafkaSettings
from streams.topics import Topic

LIMIT_S = 30.0
COMMIT_LIMIT_S = 31.0
NOW = 1_000.0


def vitals(**signs: object) -> Vitals:
    """A worker that is well at `NOW`, but for what is given."""
    well = {"loop_at": NOW - 1, "broker_at": NOW - 1, "beat_age_s": lambda: 0.5}
    return Vitals(
        LIMIT_S,
        COMMIT_LIMIT_S,
        Metrics(),
        **{"started_at": NOW - 900, **well, **signs},  # type: ignore[arg-type]
    )


def standing(committed: int, end: int, *, polled: object = None, partition: int = 0) -> Standing:
    return Standing("workers", "observations-by-claim", partition, committed, end, polled)


def signs(
    found: Standing, *, moved_at: float = NOW, polled_at: float = NOW
) -> dict[tuple[str, str, int], PartitionSigns]:
    return {(found.group, found.topic, found.partition): PartitionSigns(found, moved_at, polled_at)}


def ill(found: Vitals) -> dict[str, str]:
    """The checks that fail, with their sentences."""
    return {check.name: check.why for check in found.health(NOW) if not check.ok}


def test_a_worker_that_has_just_started_is_healthy_and_not_ready() -> None:
    found = Vitals(LIMIT_S, COMMIT_LIMIT_S, Metrics(), started_at=NOW)

    assert ill(found) == {}
    assert {check.name for check in found.readiness(NOW) if not check.ok} == {
        "intake",
        "consolidation",
        "tables",
    }


@pytest.mark.parametrize(
    ("sign", "check"),
    [
        ({"loop_at": NOW - LIMIT_S - 0.1}, "event_loop"),
        ({"loop_at": None, "started_at": NOW - LIMIT_S - 0.1}, "event_loop"),
        ({"broker_at": NOW - LIMIT_S - 0.1}, "broker"),
        ({"broker_at": None, "started_at": NOW - LIMIT_S - 0.1}, "broker"),
        ({"beat_age_s": lambda: LIMIT_S + 0.1}, "heartbeats"),
        ({"stopping": "It was told to stop."}, "running"),
        ({"partitions": signs(standing(5, 9), moved_at=NOW - COMMIT_LIMIT_S - 0.1)}, "commits"),
        ({"partitions": signs(standing(9, 9), polled_at=NOW - LIMIT_S - 0.1)}, "fetches"),
    ],
)
def test_what_stands_still_for_longer_than_a_session_is_named(sign: dict[str, object], check: str) -> None:
    assert set(ill(vitals(**sign))) == {check}


@pytest.mark.parametrize(
    "sign",
    [
        {"loop_at": NOW - LIMIT_S},
        {"broker_at": NOW - LIMIT_S},
        {"beat_age_s": lambda: LIMIT_S},
        {"beat_age_s": lambda: None},
        {"partitions": signs(standing(5, 9), moved_at=NOW - COMMIT_LIMIT_S)},
        {"partitions": signs(standing(9, 9), polled_at=NOW - LIMIT_S)},
        # Where nothing is left to do, an old commit is no fault; where something is, an old answer is none.
        {"partitions": signs(standing(9, 9), moved_at=NOW - 900)},
        {"partitions": signs(standing(5, 9), polled_at=NOW - 900)},
    ],
)
def test_what_stands_still_for_a_session_at_most_is_no_fault(sign: dict[str, object]) -> None:
    assert ill(vitals(**sign)) == {}


def test_the_worst_partition_is_named_with_what_is_left_to_do() -> None:
    partitions = signs(standing(5, 9), moved_at=NOW - 2) | signs(
        standing(1, 8, partition=3), moved_at=NOW - 40
    )

    found = ill(vitals(partitions=partitions))

    where, rest = "observations-by-claim/3", "waited 40.0 s for a commit, 7 records to go; 31 s are allowed."
    assert found == {"commits": f"{where} has {rest}"}


def test_a_worker_is_ready_when_it_has_its_partitions_and_its_tables_are_restored() -> None:
    found = vitals(assigned=[0, 2], intake_assigned=True)
    found.metrics.recovery.begin()
    found.metrics.recovery.expect("claims-changelog", 0, 70)
    found.metrics.restored("claims-changelog", 0, n_records=30, left=40)

    (waiting,) = [check for check in found.readiness(NOW) if not check.ok]
    found.metrics.recovery.end()

    assert (waiting.name, waiting.why) == ("tables", "Being restored, about 40 records to go.")
    assert all(check.ok for check in found.readiness(NOW))


def test_a_worker_without_partitions_stands_by_and_is_ready() -> None:
    assert all(check.ok for check in vitals(assigned=[], intake_assigned=True).readiness(NOW))


def test_the_clock_of_what_waits_starts_when_it_is_first_seen_waiting_and_again_with_each_commit() -> None:
    seen: list[float] = []
    known: dict[tuple[str, str, int], PartitionSigns] = {}
    looks = [
        (1, 5, 5),
        (2, 5, 7),
        (3, 5, 9),
        (4, 6, 9),
        (5, 6, 9),
        (6, 9, 9),
        (7, 9, 9),
        (8, 9, 10),
        (9, 9, 10),
    ]
    for now, committed, end in looks:
        known = followed(known, [standing(committed, end)], float(now))
        (sign,) = known.values()
        seen.append(sign.commit_age_s(float(now)))

    #             idle, new, still, moved, still, idle, idle, new, still
    assert seen == [0, 0, 1, 0, 1, 0, 0, 0, 1]


def test_an_answer_of_the_broker_is_known_by_its_mark_and_a_partition_that_is_gone_is_forgotten() -> None:
    first = followed({}, [standing(1, 1, polled="a"), standing(1, 1, partition=1, polled="a")], 1.0)
    second = followed(first, [standing(1, 1, polled="a")], 2.0)
    third = followed(second, [standing(1, 1, polled="b")], 3.0)

    assert [[sign.polled_at for sign in look.values()] for look in (first, second, third)] == [
        [1.0, 1.0],
        [1.0],
        [3.0],
    ]


# -- counting -------------------------------------------------------------------------------


def record(topic: Topic, offset: int = 0, *, partition: int = 0, value: bytes = b"{}") -> Record:
    return Record(topic, Partition(partition), Offset(offset), None, value, Instant(0))


def numbers(text: bytes) -> dict[str, float]:
    """Every sample, by name and labels as they are written."""
    return {
        sample.name + "".join(f" {value}" for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_a_batch_is_counted_by_topic_and_its_dead_letters_by_code() -> None:
    metrics = Metrics()
    letters = [
        Output(Topic.DEAD_LETTERS, None, json.dumps({"code": code, "raw": "x"}).encode())
        for code in ("not_json", "not_json", "too_large")
    ]

    metrics.handled(
        "intake",
        [record(Topic.OBSERVATIONS, value=b"12345"), record(Topic.OBSERVATIONS), record(Topic.CORRECTIONS)],
        [Output(Topic.BY_CLAIM, None, b""), *letters],
    )

    found = numbers(metrics.text())
    assert found["factdrift_records_total observations"] == 2
    assert found["factdrift_records_total corrections"] == 1
    assert found["factdrift_outputs_total observations-by-claim"] == 1
    assert found["factdrift_dead_letters_total not_json"] == 2
    assert found["factdrift_dead_letters_total too_large"] == 1
    assert found["factdrift_batch_records_sum intake"] == 3
    assert found["factdrift_batch_bytes_sum intake"] == 9
    assert not any(name.partition(" ")[0].endswith("_created") for name in found)


def test_a_batch_is_a_repeat_when_a_key_holds_it_or_when_this_process_handled_it_before() -> None:
    metrics = Metrics()

    metrics.placed(record(Topic.BY_CLAIM, 7), n_found_applied=0, n_outputs=3)
    metrics.placed(record(Topic.BY_CLAIM, 7, partition=1), n_found_applied=0, n_outputs=3)
    assert numbers(metrics.text())["factdrift_batches_repeated_total"] == 0
    metrics.placed(record(Topic.BY_CLAIM, 7), n_found_applied=0, n_outputs=3)
    metrics.placed(record(Topic.BY_CLAIM, 8), n_found_applied=5, n_outputs=1)

    found = numbers(metrics.text())
    assert found["factdrift_batches_repeated_total"] == 2
    assert found["factdrift_keys_found_applied_total"] == 5
    assert found["factdrift_reemitted_total"] == 4


def test_what_an_agent_computes_is_timed_also_when_it_fails() -> None:
    metrics = Metrics()

    with pytest.raises(LookupError), metrics.applying("consolidation"):
        raise LookupError

    assert numbers(metrics.text())["factdrift_apply_seconds_count consolidation"] == 1


def test_two_workers_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()

    one.handled("intake", [record(Topic.OBSERVATIONS)], [])

    assert "factdrift_records_total observations" not in numbers(other.text())


def test_signs_of_a_partition_are_shown_with_its_names() -> None:
    watch = Watch(KafkaSettings(), metrics := Metrics())
    watch.vitals.partitions = signs(standing(5, 9, partition=3), moved_at=time.monotonic())

    found = numbers(metrics.text())

    assert found["factdrift_lag_records workers 3 observations-by-claim"] == 4
    assert found["factdrift_healthy"] == 1
    assert found["factdrift_ready"] == 0


# -- the watch and the server ---------------------------------------------------------------


def test_the_watch_notes_who_answered_and_asks_why_where_nobody_does() -> None:
    async def watched(answers: bool) -> tuple[Vitals, bool]:
        watch = Watch(KafkaSettings(), Metrics())
        watch.vitals.limit_s = 0.001
        asked = asyncio.Event()

        async def standings() -> list[Standing]:
            return [standing(1, 2)]

        async def ping() -> bool:
            if answers:
                asked.set()
            return answers

        async def silent() -> None:
            asked.set()

        watching = asyncio.create_task(watch.run(standings=standings, ping=ping, silent=silent))
        async with asyncio.timeout(30):  # only a hang reaches it
            await asked.wait()
        await asyncio.sleep(0)
        watching.cancel()
        return watch.vitals, bool(watch.vitals.partitions)

    heard, _ = asyncio.run(watched(True))
    unheard, looked = asyncio.run(watched(False))

    assert heard.broker_at is not None
    assert unheard.broker_at is None
    assert looked


@pytest.fixture
def server() -> Iterator[HealthServer]:
    """A server on a free port, over a worker that has just started."""
    found = HealthServer(Watch(KafkaSettings(), Metrics()).vitals, host="127.0.0.1", port=0)
    yield found
    found.stop()


def ask(url: str) -> tuple[int, str, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read()


def test_the_server_answers_each_question_with_its_status(server: HealthServer) -> None:
    health, readiness, metrics = (ask(server.url + path) for path in ("/healthz", "/readyz", "/metrics"))

    assert (health[0], json.loads(health[2])["ok"]) == (200, True)
    assert (readiness[0], json.loads(readiness[2])["ok"]) == (503, False)
    assert json.loads(readiness[2])["why"][0] == "intake: Not in its group yet."
    assert metrics[:2] == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert numbers(metrics[2])["factdrift_healthy"] == 1
    assert ask(server.url + "/elsewhere")[0] == 404


def test_a_port_that_is_taken_and_one_that_is_none_are_refused_with_what_to_set() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for port in (taken.getsockname()[1], 70_000):
            with pytest.raises(HealthPortUnusable, match=rf"on 127\.0\.0\.1:{port}: .*FACTDRIFT_HEALTH_PORT"):
                HealthServer(Watch(KafkaSettings(), Metrics()).vitals, host="127.0.0.1", port=port)


def test_a_server_that_was_stopped_lets_go_of_its_port(server: HealthServer) -> None:
    server.stop()
    server.stop()

    again = HealthServer(Watch(KafkaSettings(), Metrics()).vitals, host="127.0.0.1", port=server.port)
    try:
        assert ask(again.url + "/healthz")[0] == 200
    finally:
        again.stop()


# -- the page for operators -----------------------------------------------------------------

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "kafka-operations.md").read_text("utf-8")


def test_the_page_for_operators_names_every_metric() -> None:
    watch = Watch(KafkaSettings(), metrics := Metrics())
    watch.vitals.beat_age_s = lambda: 0.0

    exposed = re.findall(r"^# TYPE (factdrift_\w+) ", metrics.text().decode(), re.MULTILINE)

    assert len(exposed) > 15
    assert [name for name in exposed if f"`{name}`" not in PAGE] == []


def test_the_page_for_operators_has_a_row_for_every_check_and_every_refusal() -> None:
    found = vitals(stopping="It was told to stop.")
    checks = [check.name for check in (*found.health(NOW), *found.readiness(NOW))]

    first_cells = re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE)
    rows = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}

    assert {*checks, *REFUSALS} - rows == set()
