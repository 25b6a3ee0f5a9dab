"""What the broker tests publish, and how they compare what came out of two hosts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agents import composition
from agents.replay import fact_lines
from state.instants import Instant, parse_instant
from streams.kafka import latest_facts, read_topic
from streams.settings import Settings
from streams.topics import CHANGE_FEED, Topic
from streams.wire import fact_line, line_order

BATCH = 500
Line = dict[str, Any]


def observation(subject: str, predicate: str, value: object, at: str, **more: object) -> bytes:
    """One observation as its JSON line."""
    return json.dumps(
        {"subject": subject, "predicate": predicate, "object": value, "observed_at": at, **more}
    ).encode()


def retract(subject: str, observation_id: str) -> bytes:
    """The correction that takes one observation back, as its JSON line."""
    return json.dumps(
        {"op": "retract", "namespace": "default", "subject": subject, "observation_id": observation_id}
    ).encode()


def life(n_subjects: int, n_years: int = 4) -> list[bytes]:
    """People who move every year: claims with several facts, spread over all partitions."""
    cities = ["Oslo", "Bergen", "Lisbon", "Nairobi", "Quito", "Perth"]
    return [
        observation(
            f"person {subject}",
            "lives_in",
            cities[(subject + year) % len(cities)],
            f"{2001 + year}-0{1 + month}-05",
            observation_id=f"{subject}-{year}-{month}",
        )
        for year in range(n_years)
        for month in range(3)
        for subject in range(n_subjects)
    ]


def greatest_observed_at(lines: Iterable[bytes]) -> Instant:
    """What "now" means after a feed."""
    found = []
    for line in lines:
        try:
            found.append(parse_instant(json.loads(line)["observed_at"]))
        except (ValueError, TypeError, KeyError):  # a bad line of the feed
            continue
    return Instant(max(found))


def embedded_facts(lines: Sequence[bytes], folder: Path, *, now: Instant) -> list[Line]:
    """The facts that the embedded host makes of these lines."""
    host = composition.embedded(Settings(), folder)
    try:
        for start in range(0, len(lines), BATCH):
            host.publish(Topic.OBSERVATIONS, [(None, line, None) for line in lines[start : start + BATCH]])
        return fact_lines(host.store, now=now)
    finally:
        host.store.close()


def kafka_facts(settings: Settings, *, now: Instant) -> list[Line]:
    """The facts that are on the topic `facts`, in the form of the embedded host's."""
    bodies = asyncio.run(latest_facts(settings)).values()
    lines = [fact_line(body, now=now) for body in bodies if body["reason"] != "withdrawn"]
    lines.sort(key=line_order)
    # Through JSON, as they would be in a file: tuples and lists are the same there.
    return json.loads(json.dumps(lines))  # type: ignore[no-any-return]


def values(settings: Settings, topic: Topic) -> list[Line]:
    """Every record of a topic, decoded."""

    async def read() -> list[Line]:
        return [msgspec.json.decode(record.value) async for record in read_topic(settings, topic)]

    return asyncio.run(read())


def events(settings: Settings) -> list[Line]:
    """Every event of the change feed, repeated deliveries included."""
    return [event for topic in CHANGE_FEED for event in values(settings, topic)]


def facts_told_by(found: Iterable[Line], *, now: Instant, keep: Callable[[Line], bool] = bool) -> list[Line]:
    """The facts as a consumer of events knows them who keeps the greatest version of each."""
    latest: dict[str, Line] = {}
    for event in found:
        held = latest.get(event["fact_id"])
        if keep(event) and (held is None or event["version"] > held["version"]):
            latest[event["fact_id"]] = event
    lines = [fact_line(body, now=now) for body in latest.values() if body["reason"] != "withdrawn"]
    lines.sort(key=line_order)
    return json.loads(json.dumps(lines))  # type: ignore[no-any-return]
