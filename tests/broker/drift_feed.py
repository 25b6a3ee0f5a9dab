"""What the projection of drift reads, as tests make it: events of facts and alerts on their topics."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from state.drift import Entity
from state.drift_causes import AlertKind
from state.instants import Instant, format_instant
from streams.drift import DriftStore, Filler, Kept, read_batch, updated
from streams.host import Record
from streams.keys import Offset, Partition
from streams.topics import Topic
from tests.builders import day


class Feed:
    """Records with offsets as a log gives them, each topic with one partition."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._ends: Counter[Topic] = Counter()
        self._versions: Counter[str] = Counter()

    def append(self, topic: Topic, body: dict[str, Any]) -> Record:
        made = Record(
            topic, Partition(0), Offset(self._ends[topic]), None, msgspec.json.encode(body), Instant(0)
        )
        self._ends[topic] += 1
        self.records.append(made)
        return made

    def retire(self, subject: str, fact: str, at: float, **fields: Any) -> Record:
        """A fact was outvoted by a statement of day `at`."""
        return self.fact("fact-invalidated", subject, fact, at, **{"reason": "outvoted", **fields})

    def revise(self, subject: str, fact: str, at: float | None, revision: str, **fields: Any) -> Record:
        """A fact was revised."""
        return self.fact("fact-revised", subject, fact, at, revision=revision, **fields)

    def fact(self, event: str, subject: str, fact: str, at: float | None, **fields: Any) -> Record:
        """An event of a fact, of which the fields say only what matters."""
        namespace = fields.pop("namespace", "default")
        fact_id = f"{namespace}/{subject}/{fact}"
        self._versions[fact_id] += 1
        decided = None if at is None else format_instant(day(at))
        body = {
            "event": event, "fact_id": fact_id, "version": self._versions[fact_id], "claim_id": "c",
            "namespace": namespace, "subject": subject, "predicate": "lives_in", "declared": True,
            "form": fact, "support": 1, "dissent": 0, "valid": {"hi": decided}, "object": fact,
            "reason": None, "revision": None, "votes": None, "decided_observed_at": decided,
        }  # fmt: skip
        return self.append(Topic(event), {**body, **fields})

    def alert(
        self, subject: str, signal: str, now: float, *, namespace: str = "default", lifetime: int = 0
    ) -> Record:
        """A drift alert at day `now`."""
        at = format_instant(day(now))
        return self.append(
            Topic.DRIFT_ALERTS,
            {
                "signal": signal, "namespace": namespace, "subject": subject, "now": at, "since": at,
                "lifetime": lifetime,
            },
        )  # fmt: skip


def fill(store: DriftStore, records: Sequence[Record]) -> None:
    """Give a store some records, as one batch."""
    filler = Filler(store)
    filler.begin()
    filler.take(records)


def expected(records: Iterable[Record]) -> dict[tuple[str, str], Kept]:
    """What a store is to know after these records, each given once, by the pure rule alone."""
    found: dict[tuple[str, str], Kept] = {}
    for update in read_batch(list(records), {}).updates:
        about = (update.namespace, update.name)
        held = found.get(about) or Kept(*about, update.spelling, Entity())
        found[about] = updated(held, update)
    for kept in found.values():
        kept.entity.tidy()
    return found


def agrees(store: DriftStore, records: Sequence[Record]) -> bool:
    """Assert that a store knows about every subject what the pure rule says, and lists who is in flux."""
    wanted = expected(records)
    for about, kept in wanted.items():
        assert store.entity(*about) == kept
        entity = kept.entity
        if entity.unstable_since is not None or entity.churning_since is not None:
            assert about in store.names(None, day(1_000))
    return True


def random_feed(n: int, *, n_subjects: int, seed: int, n_facts: int = 6) -> Feed:
    """Retirements, revisions and alerts of some subjects over forty days, most of them retirements."""
    chance = random.Random(seed)
    feed = Feed()
    for _ in range(n):
        subject, fact = f"Subject {chance.randrange(n_subjects)}", f"f{chance.randrange(n_facts)}"
        at = chance.randrange(0, 39 * 4) / 4
        match chance.randrange(10):
            case 0:
                feed.revise(subject, fact, None, "reinstated")
            case 1:
                feed.revise(subject, fact, at, "redated", reason="outvoted")
            case 2:
                feed.alert(subject, chance.choice(list(AlertKind)), at, lifetime=chance.randrange(9))
            case 3:
                feed.retire(subject, fact, at, reason="withdrawn")
            case _:
                feed.retire(subject, fact, at, declared=chance.random() < 0.7, dissent=chance.randrange(2))
    return feed
