"""How long after an observation is published its drift alert is seen, by `serve` and over Kafka.

A real Chromium looks at the page of drift, and another entity at a time retires its fifth fact. The clock
starts right before the observation is handed over (by HTTP to `factdrift serve`; by a plain Kafka producer to
a worker beside `factdrift api`) and stops in the page, with the frame that shows the card; both are the clock
of this machine. All settings that could make it faster have their defaults: a tick comes once a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from aiokafka import AIOKafkaProducer

from agents.composition import wall_clock
from benchmarks.kafka.cluster import Cluster, cluster
from benchmarks.record import Figure, show
from state.instants import DAY_MS, Instant, format_instant
from streams.kafka import topic_name
from streams.kafka.connection import client_options
from streams.kafka.reading import read_topics
from streams.topics import Topic
from tests.parts.browser import Chromium, Watched
from tests.parts.kafka import start_kafka
from tests.parts.processes import Process, start_process, wait_until

N_ALERTS = 20
N_ALERTS_QUICK = 3
CITIES = ("Oslo", "Bergen", "Rome", "Lima", "Cairo", "Quito")
READY_S = 120
ROOT = Path(__file__).parents[1]

_AWAIT = """(name) => { window.seen = new Promise((done) => {
  const seen = new MutationObserver(() => {
    if (![...document.querySelectorAll("li.card")].some((card) => card.textContent.includes(name))) return;
    seen.disconnect();
    requestAnimationFrame(() => done(Date.now()));
  });
  seen.observe(document.body, {childList: true, subtree: true, characterData: true});
}); }"""

Line = dict[str, Any]
Steps = dict[str, float]
"""Milliseconds after the observation was handed over, by what had happened by then."""


def alert_latency(chromium: Chromium, folder: Path, *, quick: bool) -> list[Figure]:
    """Measure both ways and print them. Raises PartMissing where there is no Kafka."""
    n_alerts = N_ALERTS_QUICK if quick else N_ALERTS
    figures = [_figure("serve", _by_serve(chromium, folder, n_alerts))]
    figures.append(_figure("kafka", _by_kafka(chromium, folder, n_alerts)))
    return figures


def _figure(way: str, measured: Sequence[Steps]) -> Figure:
    steps = {name: [one[name] for one in measured] for name in measured[0]}
    show(
        f"An alert by {way}, {len(measured)} times: ms after its observation was handed over",
        ("", "median", "at most"),
        [(name, f"{median(values):,.0f}", f"{max(values):,.0f}") for name, values in steps.items()],
    )
    seen = steps["seen in the browser"]
    more = {"median_ms": median(seen), "max_ms": max(seen)}
    return Figure(f"dashboard/alert-{way}", len(measured), None, more)


def _moves(name: str) -> list[Line]:
    now = wall_clock()
    return [
        {"subject": name, "predicate": "lives_in", "object": city, "observed_at": _at(now, number)}
        for number, city in enumerate(CITIES)
    ]


def _at(now: Instant, number: int) -> str:
    return format_instant(Instant(now - (len(CITIES) - 1 - number) * DAY_MS))


class _Page:
    """The page of drift, and the service that shows it."""

    def __init__(self, watched: Watched, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=READY_S)
        self._page = watched.page
        self._page.goto(f"{url}/dashboard/")
        self._page.wait_for_function("() => window.socket && window.socket.connected")

    def measure(self, name: str, publish: Callable[[Sequence[Line]], None]) -> tuple[Instant, Steps]:
        """Let an entity become unstable; when its last observation was handed over, and what came when."""
        *before, last = _moves(name)
        publish(before)
        wait_until(lambda: self._n_facts(name) == len(before), timeout_s=READY_S, what=f"facts of {name}")
        self._page.evaluate(_AWAIT, name)
        began = wall_clock()
        publish([last])
        acknowledged = wall_clock()
        seen: float = self._page.evaluate("() => window.seen")
        return began, {"acknowledged": acknowledged - began, "seen in the browser": seen - began}

    def _n_facts(self, name: str) -> int:
        found = self.client.get("/v1/facts", params={"subject": name})
        return len(found.json()["items"]) if found.status_code == httpx.codes.OK else 0


@contextlib.contextmanager
def _service(command: str, folder: Path, **environment: str) -> Iterator[str]:
    service = start_process(
        [sys.executable, "-m", "agents.main", command, "--data", str(folder / command), "--port", "0"],
        name=f"factdrift {command}", log=folder / f"{command}.log", environment=environment, folder=ROOT,
    )  # fmt: skip
    try:
        yield service.wait_for_line(r"factdrift listens on (http://\S+)", READY_S)[1]
    finally:
        service.terminate()


def _by_serve(chromium: Chromium, folder: Path, n_alerts: int) -> list[Steps]:
    with _service("serve", folder) as url, chromium.page() as watched:
        page = _Page(watched, url)

        def publish(lines: Sequence[Line]) -> None:
            page.client.post("/v1/observations", json=list(lines)).raise_for_status()

        page.measure("Warm-up", publish)
        return [page.measure(f"Rita {number}", publish)[1] for number in range(n_alerts)]


# -- over Kafka -------------------------------------------------------------------------------


def _by_kafka(chromium: Chromium, folder: Path, n_alerts: int) -> list[Steps]:
    with contextlib.ExitStack() as stack:
        loop = stack.enter_context(_Loop())
        broker = start_kafka(folder)
        stack.callback(broker.stop)
        making = cluster(broker.bootstrap, folder)
        topics: Cluster = loop.run(making.__aenter__())
        stack.callback(lambda: loop.run(making.__aexit__(None, None, None)))
        worker = _worker(topics)
        stack.callback(worker.terminate)
        url = stack.enter_context(_service("api", folder, **topics.environment))
        producer = loop.run(_producer(topics))
        stack.callback(lambda: loop.run(producer.stop()))
        page = _Page(stack.enter_context(chromium.page()), url)
        name = topic_name(topics.kafka, Topic.OBSERVATIONS)

        def publish(lines: Sequence[Line]) -> None:
            for line in lines:
                loop.run(
                    producer.send_and_wait(name, json.dumps(line).encode(), key=line["subject"].encode())
                )

        page.measure("Warm-up", publish)
        measured = {f"Rita {n}": page.measure(f"Rita {n}", publish) for n in range(n_alerts)}
        between = loop.run(_between(topics))
    return [
        {
            "acknowledged": steps["acknowledged"],
            "the fifth fact is retired": between[Topic.FACT_INVALIDATED, who] - began,
            "the alert is published": between[Topic.DRIFT_ALERTS, who] - began,
            "seen in the browser": steps["seen in the browser"],
        }
        for who, (began, steps) in measured.items()
    ]


def _worker(topics: Cluster) -> Process:
    worker = start_process(
        [sys.executable, "-m", "agents.main", "worker"],
        name="factdrift worker", log=topics.folder / "worker.log",
        environment={**topics.environment, "FACTDRIFT_LOG_LEVEL": "info"}, folder=ROOT,
    )  # fmt: skip
    worker.wait_for_line(r"^factdrift worker ready", READY_S)
    return worker


async def _producer(topics: Cluster) -> AIOKafkaProducer:
    producer = AIOKafkaProducer(**client_options(topics.kafka), acks="all")
    await producer.start()
    return producer


async def _between(topics: Cluster) -> dict[tuple[Topic, str], Instant]:
    """When the broker took the last event of each kind about each entity."""
    found: dict[tuple[Topic, str], Instant] = {}
    wanted = (Topic.FACT_INVALIDATED, Topic.DRIFT_ALERTS)
    async for record in read_topics(topics.settings, wanted):
        about = (record.topic, json.loads(record.value)["subject"])
        found[about] = max(record.recorded_at, found.get(about, record.recorded_at))
    return found


class _Loop:
    """An event loop in a thread of its own: the browser has one in this thread."""

    def __enter__(self) -> _Loop:
        self._threads = ThreadPoolExecutor(1)
        self._runner = asyncio.Runner()
        return self

    def run(self, doing: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine gives."""
        return self._threads.submit(self._runner.run, doing).result()

    def __exit__(self, *_exception: object) -> None:
        self._threads.submit(self._runner.close).result()
        self._threads.shutdown()
