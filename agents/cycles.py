"""What each partition did in a cycle: counted in the order of its log, told when a tick closes the cycle.

Follows consolidation and comes last, since it counts what the others publish too. A part holds each record
exactly once: what it counts lies under one key, which is durable before anything that the record does to a
claim. Alerts are counted under a key of their own, which is durable before whoever raised them has written
anything: once that began, a record that is read again may no longer give all its alerts.
"""

from __future__ import annotations

from typing import Final

import msgspec

from agents import trust_counting
from agents.following import Folded
from agents.rule_matching import PATTERNS_TABLE, RuleMatcher, take_changes
from state.changes import Kind
from state.cycles import Counts, Part, Tick
from streams.host import Output, Tables
from streams.keys import Partition
from streams.topics import Topic

PARTS_TABLE: Final = "cycle-parts"
ALERTS_TABLE: Final = "cycle-alerts"
PART_KEY: Final = b"part"
ALERTS_KEY: Final = b"alerts"
AUDIT_PARTITION: Final = Partition(0)

_COUNTER_OF: Final = {
    Kind.CREATED: ("created", "facts_created"),
    Kind.REINFORCED: ("reinforced", "facts_reinforced"),
    Kind.INVALIDATED: ("invalidated", "facts_invalidated"),
}
_IN_FLUX: Final = {"unstable": 1, "churning": 1, "stable": -1, "settled": -1}


class Alerts(msgspec.Struct, array_like=True):
    """The alerts of cycle `cycle`, by namespace, and how many entities are in flux after all alerts."""

    cycle: int = 0
    counts: dict[str, int] = {}
    n_unstable: int = 0


class _Alert(msgspec.Struct):
    """What is read of a drift alert."""

    namespace: str
    signal: str = ""


_encode: Final = msgspec.msgpack.Encoder().encode
_decode_part: Final = msgspec.msgpack.Decoder(Part).decode
_decode_alerts: Final = msgspec.msgpack.Decoder(Alerts).decode
_decode_alert: Final = msgspec.json.Decoder(_Alert).decode


class CycleParts:
    """The follower. Its table of alerts must be an early one (`agents.consolidation`).

    With `learns_trust` it also tells what `agents.trust_counting`, which comes before it, has counted.
    """

    tables = (PARTS_TABLE, PATTERNS_TABLE)
    early = (ALERTS_TABLE,)

    def __init__(self, *, learns_trust: bool = False) -> None:
        self._learns_trust = learns_trust
        self._matcher = RuleMatcher()

    def follow(self, tables: Tables, folded: Folded) -> list[Output]:
        """Count the record; at a tick, tell what the partition did in the cycle."""
        alerts = self._count_alerts(tables, folded)
        take_changes(tables, folded)
        if tables.applied(PARTS_TABLE, PART_KEY, folded.record):
            return []
        before = tables.get(PARTS_TABLE, PART_KEY)
        part = _begin(folded, 0) if before is None else _decode_part(before)
        self._count(tables, folded, part)
        outputs = []
        if folded.closes:
            if self._learns_trust:
                part.trust = trust_counting.told_at(tables, folded.moved.number)
            outputs.append(_told(folded, part, alerts))
            part = _begin(folded, folded.record.offset + 1)
        after = _encode(part)
        if after != before:
            tables.put(PARTS_TABLE, PART_KEY, after)
        return outputs

    def _count(self, tables: Tables, folded: Folded, part: Part) -> None:
        for touched in folded.touched:
            if not (touched.arrived or touched.changes):
                continue
            counts = part.count(touched.claim.namespace)
            counts.observations_processed += len(touched.arrived)
            for observation_id in touched.arrived:
                part.join("processed", observation_id)
            for change in touched.changes:
                if (counted := _COUNTER_OF.get(change.kind)) is not None:
                    edge, counter = counted
                    part.join(edge, change.fact.fact_id)
                    setattr(counts, counter, getattr(counts, counter) + 1)
        for rule, times in self._matcher.matched(tables, folded).items():
            part.matched[rule] = part.matched.get(rule, 0) + times

    def _count_alerts(self, tables: Tables, folded: Folded) -> Alerts:
        stored = tables.get(ALERTS_TABLE, ALERTS_KEY)
        alerts = Alerts() if stored is None else _decode_alerts(stored)
        raised = [o.value for o in folded.outputs if o.topic is Topic.DRIFT_ALERTS]
        if not raised or tables.applied(ALERTS_TABLE, ALERTS_KEY, folded.record):
            return alerts
        if alerts.cycle != folded.clock.cycle:
            alerts.cycle, alerts.counts = folded.clock.cycle, {}
        for value in raised:
            alert = _decode_alert(value)
            alerts.counts[alert.namespace] = alerts.counts.get(alert.namespace, 0) + 1
            alerts.n_unstable += _IN_FLUX.get(alert.signal, 0)
        tables.put(ALERTS_TABLE, ALERTS_KEY, _encode(alerts))
        return alerts


def _begin(folded: Folded, first_offset: int) -> Part:
    return Part(cycle=folded.moved.cycle, partition=folded.record.partition, first_offset=first_offset)


def _told(folded: Folded, part: Part, alerts: Alerts) -> Output:
    """The part of the cycle that the record closes, for the audit."""
    record, ticks = folded.record, [e.usable for e in folded.batch.entries if isinstance(e.usable, Tick)]
    assert folded.moved.now is not None
    part.cycle, part.now, part.is_idle = folded.moved.number, folded.moved.now, ticks[-1].is_idle
    part.reached_offset, part.n_unstable = record.offset, alerts.n_unstable
    if alerts.cycle == folded.clock.cycle:
        for namespace, times in alerts.counts.items():
            part.counts.setdefault(namespace, Counts()).drift_alerts = times
    return Output(Topic.CYCLE_PARTS, str(record.partition).encode(), _encode(part), AUDIT_PARTITION)
