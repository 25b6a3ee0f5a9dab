"""How soon the dashboard shows something: a page with 10^5 entities, a search, a drift alert.

The log is made by the embedded host from a fixed seed: every entity lives somewhere, one in a hundred is
contested. A real `factdrift serve` on it is looked at by a real Chromium. Every page is opened in a context
of its own, so with an empty cache, and timed by the browser itself: when it painted first, and when its
content was there. A search is timed in the page, from the key to the changed list, with all that lies
between: the pause of 80 ms that waits for the next key, the way to the service and back, and drawing. How
an alert is timed is said in `benchmarks.alert_latency`.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles

from agents import composition
from benchmarks import Options
from benchmarks.alert_latency import alert_latency
from benchmarks.record import Figure, out, show
from state.instants import DAY_MS, Instant, format_instant, parse_instant
from streams.embedded import EmbeddedHost
from streams.settings import Settings
from streams.topics import Topic
from streams.wire import to_json
from tests.parts.browser import Chromium, Watched, start_chromium
from tests.parts.processes import start_process

N_ENTITIES = 100_000
N_ENTITIES_QUICK = 2_000
N_VISITS = 7
N_SEARCHES = 40
BATCH = 2_000
ONE_CONTESTED_IN = 100
START = parse_instant("2024-01-01T00:00:00Z")
CONTESTED = ("Oslo", "Oslo", "Bergen", "Oslo", "Bergen", "Bergen")
SYLLABLES = ("ka", "lo", "mi", "ne", "ru", "sa", "ti", "vo", "xi", "ze", "ba", "do", "fe", "gu", "hi", "jo")
PARTS = ("pages", "alerts")
PAGES = ("", "entities", "queue", "cycles", "health")

_SEARCH = """(typed) => new Promise((done) => {
  const field = document.getElementById("search"), list = document.getElementById("found");
  const begun = performance.now();
  const seen = new MutationObserver(() => {
    if (!list.textContent) return;
    seen.disconnect();
    done(performance.now() - begun);
  });
  list.innerHTML = "";
  seen.observe(list, {childList: true, subtree: true});
  field.value = typed;
  field.dispatchEvent(new Event("input", {bubbles: true}));
})"""
_PAINTS = "() => performance.getEntriesByType('paint').map((one) => [one.name, one.startTime])"


def run(options: Options) -> list[Figure]:
    """Measure the parts asked for, and print what each took. Raises PartMissing."""
    asked = [name for name in PARTS if not options.only or name in options.only]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="factdrift-bench-") as folder:
        if "pages" in asked:
            figures += _pages(Path(folder), N_ENTITIES_QUICK if options.quick else N_ENTITIES)
        if "alerts" in asked:
            chromium = start_chromium()
            try:
                figures += alert_latency(chromium, Path(folder), quick=options.quick)
            finally:
                chromium.stop()
    return figures


def _pages(folder: Path, n_entities: int) -> list[Figure]:
    """Make the log, open the pages, and search."""
    log = folder / "log"
    host = composition.embedded(Settings(), log)
    host.start()
    names = make_log(host, n_entities)
    host.store.close()
    out.print(f"A log of {len(names):,} entities is made; the service builds its read model.")
    service = start_process(
        [sys.executable, "-m", "agents.main", "serve", "--data", str(log), "--port", "0"],
        name="factdrift serve", log=folder / "serve.log", folder=Path(__file__).parents[1],
    )  # fmt: skip
    try:
        url = service.wait_for_line(r"factdrift listens on (http://\S+)", 1_800)[1]
        chromium = start_chromium()
        try:
            return [*_visits(chromium, url, n_entities), *_searches(chromium, url, names)]
        finally:
            chromium.stop()
    finally:
        service.terminate()


def make_log(host: EmbeddedHost, n_entities: int) -> list[str]:
    """Publish what is said of each entity; returns their names."""
    chance = random.Random(11)
    names: list[str] = []
    batch: list[bytes] = []

    def publish() -> None:
        host.publish(Topic.OBSERVATIONS, [(None, line, None) for line in batch])
        batch.clear()

    for number in range(n_entities):
        name = "".join(chance.choice(SYLLABLES) for _ in range(4)).capitalize() + f" {number}"
        names.append(name)
        values = CONTESTED if number % ONE_CONTESTED_IN == 0 else ("Oslo",)
        for place, value in enumerate(values):
            at = Instant(START + place * DAY_MS + chance.randrange(DAY_MS))
            batch.append(
                to_json(
                    {
                        "subject": name,
                        "predicate": "lives_in",
                        "object": value,
                        "observed_at": format_instant(at),
                        "source": {"id": "bench", "document": f"d{place}"},
                    }
                )
            )
        if len(batch) >= BATCH:
            publish()
    publish()
    return names


# -- what is timed ----------------------------------------------------------------------------


def _visits(chromium: Chromium, url: str, n_entities: int) -> list[Figure]:
    figures, rows = [], []
    for page in PAGES:
        paints, contents = [], []
        for _ in range(N_VISITS):
            with chromium.page(viewport={"width": 1280, "height": 800}) as watched:
                paint, content = _visit(watched, f"{url}/dashboard/{page}")
            paints.append(paint)
            contents.append(content)
        name = page or "drift"
        more = {
            "first_paint_ms": median(paints), "first_paint_max_ms": max(paints),
            "content_ms": median(contents), "content_max_ms": max(contents),
        }  # fmt: skip
        figures.append(Figure(f"dashboard/{name}", n_entities, None, more))
        rows.append((name, *(f"{value:,.0f}" for value in more.values())))
    show(
        f"Opening a page with {n_entities:,} entities, empty cache, {N_VISITS} visits each: ms",
        ("page", "first paint", "at most", "content", "at most"),
        rows,
    )
    return figures


def _visit(watched: Watched, url: str) -> tuple[float, float]:
    """When the browser painted first, and when the content was there; ms after the navigation began."""
    watched.page.goto(url, wait_until="commit")
    content = watched.page.wait_for_function(
        "() => document.querySelector('.region .card, .region table') && performance.now()"
    ).json_value()
    watched.page.wait_for_function(f"() => ({_PAINTS})().length > 0")
    paints: dict[str, float] = dict(watched.page.evaluate(_PAINTS))
    assert content is not None
    return paints.get("first-contentful-paint", paints["first-paint"]), float(content)


def _searches(chromium: Chromium, url: str, names: Sequence[str]) -> list[Figure]:
    chance = random.Random(5)
    kinds = {
        "beginning": [chance.choice(names)[: chance.randint(3, 6)] for _ in range(N_SEARCHES)],
        "middle": [chance.choice(names)[2:9].strip() for _ in range(N_SEARCHES)],
        "nothing": [f"qqq{number}" for number in range(N_SEARCHES)],
    }
    figures, rows = [], []
    with chromium.page() as watched:
        watched.page.goto(f"{url}/dashboard/")
        watched.page.wait_for_function("() => window.socket && window.socket.connected")
        for kind, typed in kinds.items():
            times = [float(watched.page.evaluate(_SEARCH, text)) for text in typed]
            more = {"median_ms": median(times), "p95_ms": quantiles(times, n=20)[18], "max_ms": max(times)}
            figures.append(Figure(f"dashboard/search-{kind}", len(times), sum(times) / 1000, more))
            rows.append((kind, str(len(times)), *(f"{value:,.0f}" for value in more.values())))
    show(
        "Searching as someone types, from the key to the list: ms",
        ("what is typed", "searches", "median", "95 % within", "at most"),
        rows,
    )
    return figures
