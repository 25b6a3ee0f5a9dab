"""Drift: how fast the projection takes invalidations in, and how long a rebuild takes, on both stores.

One process reads events as they lie in the log and writes to a real Redis on this machine, and to SQLite. The
steady rate is that of batches of 2,000 into a store that is kept; the rebuild empties it and fills it again.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from agents.drift_projection import BATCH_MAX, rebuild
from benchmarks import Options
from benchmarks.record import Figure, show_speed
from state.instants import DAY_MS, Instant, format_instant, parse_instant
from streams.drift import DriftStore, Filler
from streams.embedded.drift import SqliteDriftStore
from streams.host import Record
from streams.keys import Offset, Partition
from streams.redis import RedisDriftStore
from streams.topics import Topic
from tests.parts.redis import start_redis

N_INVALIDATIONS = 100_000
N_ENTITIES = 10_000
START = parse_instant("2024-01-01T00:00:00Z")
DAYS = 40


def run(options: Options) -> list[Figure]:
    """Measure both stores."""
    n, n_entities = N_INVALIDATIONS, N_ENTITIES
    if options.quick:
        n, n_entities = n // 20, n_entities // 20
    feed = list(_feed(n, n_entities))
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="factdrift-drift-") as folder, ExitStack() as stack:
        server = start_redis(Path(folder))
        stack.callback(server.stop)
        stores: dict[str, DriftStore] = {
            "redis": RedisDriftStore(server.url, prefix="benchmark-"),
            "sqlite": SqliteDriftStore(Path(folder)),
        }
        for name, store in stores.items():
            stack.callback(store.close)
            seconds = _steady(store, feed)
            figures.append(Figure(f"drift/{name}_steady", n, seconds, note=f"{n_entities:,} entities"))
            started = time.perf_counter()
            assert rebuild(store, feed) == n
            figures.append(Figure(f"drift/{name}_rebuild", n, time.perf_counter() - started))
    show_speed("The projection of drift", figures)
    return figures


def _steady(store: DriftStore, feed: list[Record]) -> float:
    filler = Filler(store)
    filler.begin()
    started = time.perf_counter()
    for start in range(0, len(feed), BATCH_MAX):
        filler.take(feed[start : start + BATCH_MAX])
    return time.perf_counter() - started


def _feed(n: int, n_entities: int) -> Iterator[Record]:
    """Invalidations of random entities, in order of the deciding statements, as events tell them."""
    chance = random.Random(7)
    for number in range(n):
        at = format_instant(Instant(START + number * DAYS * DAY_MS // n))
        subject = f"Entity {chance.randrange(n_entities)}"
        body = {
            "event": "fact-invalidated", "fact_id": f"{number:08}-5c3b-5a63-9f6c-0f6c6f1d7f6e", "version": 2,
            "claim_id": f"{subject} lives_in", "namespace": "default", "subject": subject,
            "predicate": "lives_in", "declared": True, "form": f"t:{number}", "support": 2, "dissent": 0,
            "valid": {"lo": None, "hi": at}, "object": f"City {number}", "reason": "outvoted",
            "revision": None, "votes": "outvoted 2:1 of the last 3 by another city",
            "decided_observed_at": at, "recorded_at": at, "supported_by": ["o1", "o2"], "dissented_by": [],
        }  # fmt: skip
        value = msgspec.json.encode(body)
        yield Record(Topic.FACT_INVALIDATED, Partition(0), Offset(number), None, value, START)
