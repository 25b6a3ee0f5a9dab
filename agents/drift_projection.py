"""Filling the projection of drift from a log, and what its readers ask (DESIGN 5).

Where it is kept is `streams.drift.DriftStore`; which subjects are unstable was decided in their partitions.
Names may be given in any spelling: they are normalised as subjects are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from state.drift import Entity
from state.drift_causes import Cause, Pattern, looks_like
from state.identity import FactId
from state.instants import Instant
from state.names import normalise
from streams.drift import DriftStore, DriftStoreEmptied, DriftUnavailable, Filler, Kept, Place, inputs
from streams.embedded import PARTITION, EmbeddedStore
from streams.host import Record

BATCH_MAX = 2_000  # records taken in at once


# -- filling --------------------------------------------------------------------------------


def catch_up(store: DriftStore, log: EmbeddedStore) -> int:
    """Take in what is new in an embedded log; returns how many records. Raises DriftUnavailable.

    A store that was emptied meanwhile is filled from the beginning.
    """
    filler = Filler(store)
    n_taken = 0
    while True:
        try:
            filler.begin()
            for records in _chunks(_unread(log, filler.positions)):
                filler.take(records)
                n_taken += len(records)
        except DriftStoreEmptied:
            continue
        return n_taken


def _unread(log: EmbeddedStore, positions: Mapping[Place, int]) -> Iterator[Record]:
    for topic in inputs():
        start, end = positions.get((topic, int(PARTITION)), 0), log.end(topic, PARTITION)
        while start < end:
            for record in log.read(topic, PARTITION, start, BATCH_MAX):
                start = record.offset + 1
                yield record


def rebuild(store: DriftStore, records: Iterable[Record]) -> int:
    """Empty the store and fill it with all records of its topics; returns how many.

    Workers that fill the same store notice, and begin again as well; what is taken in twice counts once.
    Raises DriftUnavailable; where that happens half way, whoever fills the store next goes on there.
    """
    store.clear()
    filler = Filler(store)
    filler.begin()
    filler.positions.clear()  # a worker may already be further than this
    n_taken = 0
    for chunk in _chunks(iter(records)):
        filler.take(chunk)
        n_taken += len(chunk)
    return n_taken


def _chunks(records: Iterator[Record]) -> Iterator[list[Record]]:
    while chunk := list(islice(records, BATCH_MAX)):
        yield chunk


# -- asking ---------------------------------------------------------------------------------


Retired = tuple[Instant, FactId, Cause]
"""When a fact was retired, which one, and why."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a subject stands at an instant. `subject` is as it was last spelled, or as it was asked for.

    `retired` are the retirements of declared predicates in (now − 30 days, now], oldest first; `churned`
    those of the others. `looks_like` is of the first kind, and None where there are none.
    """

    namespace: str
    subject: str
    unstable_since: Instant | None = None
    churning_since: Instant | None = None
    lifetime: int = 0
    retired: list[Retired] = field(default_factory=list)
    churned: list[Retired] = field(default_factory=list)

    @property
    def is_unstable(self) -> bool:
        """Whether its newest alert says so."""
        return self.unstable_since is not None

    @property
    def is_churning(self) -> bool:
        """Whether its newest alert about undeclared predicates says so."""
        return self.churning_since is not None

    @property
    def looks_like(self) -> Pattern | None:
        """What its retirements have in common."""
        return looks_like([cause for _, _, cause in self.retired])


@dataclass(frozen=True, slots=True)
class Answers:
    """One standing for each name that was asked for; None where the store did not answer.

    `is_degraded` says that it did not, and `why` in a sentence. `now` is the instant it is about.
    """

    now: Instant
    standings: dict[str, Standing | None] = field(default_factory=dict)
    why: str | None = None

    @property
    def is_degraded(self) -> bool:
        """Whether the store did not answer."""
        return self.why is not None


def unstable(store: DriftStore, names: Sequence[str], namespace: str, now: Instant) -> Answers:
    """How each of these subjects stands, in any spelling; a name that nobody knows is a calm one.

    Never raises for a store that is away: a reader is to be told that nothing is known, not that all is
    well. `now` is the newest tick's (`DriftStore.begin().now`), or the reader's clock before the first.
    """
    standings: dict[str, Standing | None] = {}
    try:
        for name in names:
            kept = store.entity(namespace, normalise(name))
            standings[name] = Standing(namespace, name) if kept is None else standing(kept, now)
    except DriftUnavailable as error:
        return Answers(now, dict.fromkeys(names), str(error))
    return Answers(now, standings)


def in_flux(store: DriftStore, namespace: str | None, now: Instant) -> list[Standing]:
    """Every subject that is unstable or churning, or has something in a window; those in flux first.

    Then in order of what is in the window, most first, and of the name. Raises DriftUnavailable.
    """
    found = [
        standing(kept, now)
        for about in store.names(namespace, now)
        if (kept := store.entity(*about)) is not None
    ]
    found = [one for one in found if one.is_unstable or one.is_churning or one.retired or one.churned]
    found.sort(
        key=lambda one: (
            not one.is_unstable,
            not one.is_churning,
            -len(one.retired),
            -len(one.churned),
            one.namespace,
            one.subject,
        )
    )
    return found


def standing(kept: Kept, now: Instant) -> Standing:
    """How a subject stands at an instant."""
    entity: Entity = kept.entity
    return Standing(
        kept.namespace,
        kept.spelling,
        entity.unstable_since,
        entity.churning_since,
        kept.lifetime,
        entity.within(now, declared=True),
        entity.within(now, declared=False),
    )
