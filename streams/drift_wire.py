"""Drift alerts as JSON: the one place that writes them (DESIGN 5).

The shape is `streams.events.DriftAlert`; tests hold the two together.
"""

from __future__ import annotations

from typing import Final

from state.drift import UNSTABLE_ABOVE, WINDOW_MS, Alert
from state.drift_causes import advice, looks_like
from state.identity import derive
from state.instants import INSTANT_MIN, Instant, format_instant
from streams.events import SCHEMA_VERSION
from streams.host import Record
from streams.wire import to_json

CAUSES_MAX: Final = 20  # in one event; its count is of all of them


def drift_alert(
    alert: Alert, *, namespace: str, name: str, spelling: str, now: Instant, lifetime: int, cycle: int,
    record: Record,
) -> bytes:  # fmt: skip
    """The event of one transition, which `record` caused. `name` is the subject's normal form.

    The same transition at the same record has the same id, whatever crashed in between.
    """
    causes = [cause for _, _, cause in alert.causes]
    pattern = looks_like(causes)
    return to_json(
        {
            "schema_version": SCHEMA_VERSION,
            "event_id": derive("drift-alert", namespace, name, record.position, alert.kind.value),
            "signal": alert.kind.value,
            "namespace": namespace,
            "subject": spelling,
            "now": format_instant(now),
            "since": format_instant(alert.since),
            "window_start": format_instant(Instant(max(now - WINDOW_MS, INSTANT_MIN))),
            "count": len(causes),
            "limit": UNSTABLE_ABOVE,
            "lifetime": lifetime,
            "looks_like": None if pattern is None else pattern.value,
            "advice": advice(alert.kind, causes),
            "causes": [
                {
                    "fact_id": fact_id,
                    "predicate": cause.predicate,
                    "object": cause.object,
                    "reason": cause.reason,
                    "decided_observed_at": format_instant(at),
                    "votes": cause.votes,
                }
                for at, fact_id, cause in alert.causes[-CAUSES_MAX:]
            ],
            "recorded_at": format_instant(record.recorded_at),
            "cycle": cycle,
            "position": record.position,
        }
    )
