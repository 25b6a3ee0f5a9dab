"""`factdrift serve` as a service: readers while it writes, `kill -9`, an orderly end, cycles, readiness."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.api.served import Served, said
from tests.parts.processes import wait_until

Serve = Callable[..., Served]
READERS = 60


def test_sixty_readers_are_answered_rightly_while_observations_come_in(serve: Serve) -> None:
    served = serve(FACTDRIFT_API_RATE_PER_S="0")
    done = threading.Event()
    n_read = [0] * READERS

    def read(number: int) -> list[str]:
        """Faults: answers that are none, or a subject whose one fact has no or several open values."""
        faults = []
        with httpx.Client(base_url=served.url, timeout=60) as client:
            while not done.is_set() or n_read[number] == 0:
                subject = f"s{n_read[number] % 20}"
                found = client.get("/v1/facts", params={"subject": subject, "state": "open"})
                n_read[number] += 1
                if found.status_code != 200 or len(found.json()["items"]) > 1:
                    faults.append(found.text)
        return faults

    def write() -> None:
        try:
            for n in range(40):
                served.learn(*[said(f"s{m}", f"v{n // 10}", f"2024-01-{1 + n // 2:02}") for m in range(20)])
        finally:
            done.set()

    with ThreadPoolExecutor(READERS + 1) as threads:
        writing = threads.submit(write)
        faults = [fault for found in threads.map(read, range(READERS)) for fault in found]
        writing.result()

    assert faults == []
    assert min(n_read) > 0
    assert len(served.get("/v1/facts", state="open", limit=1000)["items"]) == 20


def test_nothing_that_was_acknowledged_is_lost_by_kill_9(serve: Serve) -> None:
    served = serve()
    chance = random.Random(4711)
    acknowledged: list[str] = []
    sent = 0
    for _ in range(3):
        stop_after = len(acknowledged) + chance.randrange(3, 12)
        writers = []

        def write(number: int, sent: int, url: str = served.url) -> None:
            with httpx.Client(base_url=url, timeout=60) as client:
                for n in range(200):
                    name = f"kill {number} {n} {sent}"
                    try:
                        answer = client.post(
                            "/v1/observations", json=said(name, "Oslo", "2024-01-10", observation_id=name)
                        )
                    except httpx.HTTPError:
                        return
                    if answer.status_code == 200:
                        acknowledged.append(name)

        for number in range(4):
            sent += 1000
            writers.append(threading.Thread(target=write, args=(number, sent)))
            writers[-1].start()
        wait_until(lambda n=stop_after: len(acknowledged) >= n, timeout_s=120, what="acknowledgements")
        served.kill()
        for writer in writers:
            writer.join()
        served.start()

    known: set[str] = set()
    cursor: str | None = None
    while True:
        page = served.get("/v1/facts", limit=1000, **({"cursor": cursor} if cursor else {}))
        known |= {fact["subject"] for fact in page["items"]}
        cursor = page["next"]
        if cursor is None:
            break
    assert len(acknowledged) >= 9
    assert set(acknowledged) <= known


def test_told_to_stop_it_ends_streams_and_answers_what_was_asked(serve: Serve) -> None:
    served = serve()
    with (
        httpx.Client(base_url=served.url, timeout=60) as client,
        client.stream("GET", "/v1/changes") as response,
    ):
        lines = response.iter_lines()
        next(lines)
        served.process._leader.send_signal(signal.SIGTERM)
        rest = list(lines)  # ends, and is not cut off

    assert rest == [""]
    assert served.process.wait_for_exit(60) == 0
    served.start()
    assert served.get("/v1/facts")["items"] == []


def test_a_port_that_is_taken_is_told_in_a_sentence(served: Served, tmp_path: Any) -> None:
    import subprocess
    import sys

    from tests.api.served import ROOT

    port = httpx.URL(served.url).port
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "serve", "--data", str(tmp_path / "log"), "--port", str(port)],
        capture_output=True, cwd=ROOT, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 3
    assert f"Port {port}" in " ".join(done.stderr.decode().split())


def test_a_folder_that_holds_something_else_is_refused_in_a_sentence(tmp_path: Any) -> None:
    import subprocess
    import sys

    from tests.api.served import ROOT

    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "factdrift.sqlite").write_bytes(b"no database, whatever its name says" * 100)
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "serve", "--data", str(tmp_path / "log"), "--port", "0"],
        capture_output=True, cwd=ROOT, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 3
    assert "no factdrift store" in " ".join(done.stderr.decode().split())


def test_cycles_are_closed_while_there_is_input(serve: Serve) -> None:
    served = serve(FACTDRIFT_TICK_S="0.2")
    served.learn(said("kim", "Oslo", "2024-01-10"))

    def cycles() -> Any:
        return served.get("/v1/cycles")["items"]

    (cycle,) = wait_until(cycles, timeout_s=60, what="the first cycle to be closed")
    assert (cycle["cycle"], cycle["observations_processed"], cycle["facts_created"]) == (1, 1, 1)
    assert served.get("/v1/cycles/1") == cycle
    served.learn(said("kim", "Oslo", "2024-01-11"))
    wait_until(lambda: len(cycles()) == 2, timeout_s=60, what="the second cycle to be closed")
    # Without input none is closed: the third is that of the third observation.
    served.learn(said("kim", "Oslo", "2024-01-12"))
    wait_until(lambda: len(cycles()) == 3, timeout_s=60, what="the third cycle to be closed")
    assert [one["observations_processed"] for one in cycles()] == [1, 1, 1]


def test_numbers_tell_what_was_asked_and_what_became_of_it(serve: Serve) -> None:
    served = serve()
    served.publish(said("kim", "Oslo", "2024-01-10"), {"subject": "kim"})
    served.get("/v1/facts")
    served.refused("/v1/facts/none")

    text = served.client.get("/metrics").text

    for line in (
        'factdrift_api_observations_total{result="accepted"} 1.0',
        'factdrift_api_observations_total{result="missing_field"} 1.0',
        'factdrift_api_requests_total{method="GET",route="/v1/facts",status="200"} 1.0',
        'factdrift_api_requests_total{method="GET",route="/v1/facts/{fact_id}",status="404"} 1.0',
    ):
        assert line in text, line
