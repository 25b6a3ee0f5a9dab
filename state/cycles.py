"""Cycles: the span between two ticks, what one partition did in it, and what all of them did.

A tick closes the cycle that was under way and begins the next; it stands in the log like any input, so a
replay closes the same cycles at the same places. Facts never depend on it (DESIGN 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from state.instants import DAY_MS, Instant
from state.trust_counts import Counts as TrustCounts

EDGES_MAX: Final = 100  # ids of one kind in the part of one partition; the counts are never cut


NO_CYCLE: Final = 0
"""The number of a tick that closes no cycle. Those of cycles begin with 1."""


class Tick(msgspec.Struct, frozen=True, kw_only=True, tag="tick", omit_defaults=True):
    """The end of cycle `number`, from 1. `now` is what the owner of the clock took for the time.

    Under the number of a cycle that is closed already it closes none, and only lets time pass: a replay of
    years in few cycles sends such ticks, and a partition that has something to say before the next cycle is
    closed, so that what depends on the time is seen in time. Under `NO_CYCLE` it does so whatever was closed
    before it is read. `is_idle`: nothing was observed in the cycle, it was closed only because entities are
    in flux.
    """

    number: int
    now: Instant
    is_idle: bool = False


class Clock(msgspec.Struct, frozen=True, array_like=True):
    """The newest tick that a partition has read; number 0 before the first."""

    number: int = 0
    now: Instant | None = None

    @property
    def cycle(self) -> int:
        """The number of the cycle under way."""
        return self.number + 1

    def after(self, tick: Tick) -> Clock:
        """The clock once it has read a tick: the same one where the tick was read before."""
        if tick.number > self.number:
            return Clock(tick.number, tick.now)
        passes = tick.number in (self.number, NO_CYCLE) and (self.now is None or tick.now > self.now)
        return Clock(self.number, tick.now) if passes else self


def reaches_another_day(now: Instant | None, at: Instant) -> bool:
    """Whether `at` lies on a later day (UTC) than `now`."""
    return now is not None and at // DAY_MS > now // DAY_MS


class Counts(msgspec.Struct, array_like=True):
    """What happened, in numbers: new observations, events of facts, alerts."""

    observations_processed: int = 0
    facts_created: int = 0
    facts_reinforced: int = 0
    facts_invalidated: int = 0
    drift_alerts: int = 0

    def add(self, other: Counts) -> None:
        """Count everything of `other` as well."""
        for name in COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


COUNTERS: Final = Counts.__struct_fields__
"""The five counters, as they are named on the wire."""

EDGES: Final = ("processed", "created", "reinforced", "invalidated")
"""How a cycle is joined to observations (the first) and to facts."""


class Part(msgspec.Struct, kw_only=True, omit_defaults=True, tag="part"):
    """What one partition did in one cycle. `n_unstable` is how many entities are in flux at its end.

    `first_offset` and `reached_offset` are those of the first and the last internal record of the cycle,
    the tick that closed it. Edges are ids, in order, each once, at most `EDGES_MAX` of a kind. `matched`
    says how often each rule matched, `trust` what its claims say about sources, by namespace.
    """

    cycle: int
    partition: int
    now: Instant = Instant(0)
    is_idle: bool = False
    first_offset: int = -1
    reached_offset: int = -1
    counts: dict[str, Counts] = {}
    edges: dict[str, list[str]] = {}
    matched: dict[str, int] = {}
    n_unstable: int = 0
    trust: dict[str, TrustCounts] = {}

    def count(self, namespace: str) -> Counts:
        """The counts of one namespace, to be added to."""
        return self.counts.setdefault(namespace, Counts())

    def join(self, kind: str, identity: str) -> None:
        """Join the cycle to an observation or a fact, if there is room and it is not joined yet."""
        joined = self.edges.setdefault(kind, [])
        if len(joined) < EDGES_MAX and identity not in joined:
            joined.append(identity)


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What all partitions did in one cycle. `parts` are in order of the partition."""

    cycle: int
    now: Instant
    is_idle: bool
    total: Counts
    counts: Mapping[str, Counts]
    edges: Mapping[str, Sequence[str]]
    matched: Mapping[str, int]
    n_unstable: int
    parts: Sequence[Part]


def assemble(parts: Iterable[Part]) -> Audit:
    """The audit of a cycle from the parts of all partitions, whichever came first.

    Should two owners of the clock ever have meant different times by one tick, the later one counts.
    """
    ordered = sorted(parts, key=lambda part: part.partition)
    total, counts = Counts(), dict[str, Counts]()
    edges: dict[str, list[str]] = {kind: [] for kind in EDGES}
    matched: dict[str, int] = {}
    for part in ordered:
        assert part.cycle == ordered[0].cycle, "parts of one cycle"
        for namespace, found in part.counts.items():
            counts.setdefault(namespace, Counts()).add(found)
            total.add(found)
        for kind, ids in part.edges.items():
            edges[kind] += ids
        for rule, times in part.matched.items():
            matched[rule] = matched.get(rule, 0) + times
    return Audit(
        cycle=ordered[0].cycle,
        now=max(part.now for part in ordered),
        is_idle=all(part.is_idle for part in ordered),
        total=total,
        counts=dict(sorted(counts.items())),
        edges=edges,
        matched=dict(sorted(matched.items())),
        n_unstable=sum(part.n_unstable for part in ordered),
        parts=ordered,
    )
