"""Audit records and rule events as JSON: the one place that writes them; `streams.events` describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from state.cycles import COUNTERS, EDGES, EDGES_MAX, Audit, Counts
from state.identity import derive
from state.instants import Instant, format_instant
from state.patterns import shown
from state.rules import Point, Rule
from streams.events import SCHEMA_VERSION
from streams.wire import to_json

EDGE_NAMES: Final = {kind: kind.upper() for kind in EDGES}


def audit_record(audit: Audit, *, names: Mapping[str, str], closed_at: Instant) -> bytes:
    """The record of a closed cycle.

    `closed_at` is when its last part was told, `names` are those of rules by their ids.
    """
    return to_json(
        {
            "schema_version": SCHEMA_VERSION,
            "audit_id": derive("cycle", audit.cycle),
            "cycle": audit.cycle,
            "now": format_instant(audit.now),
            "idle": audit.is_idle,
            **_counters(audit.total),
            "namespaces": [{"namespace": name, **_counters(found)} for name, found in audit.counts.items()],
            "edges": {EDGE_NAMES[kind]: list(ids) for kind, ids in audit.edges.items()},
            "edges_cut": any(len(ids) >= EDGES_MAX for part in audit.parts for ids in part.edges.values()),
            "rules_matched": [
                {"rule_id": rule, "name": names.get(rule), "matches": n} for rule, n in audit.matched.items()
            ],
            "in_flux": audit.n_unstable,
            "offsets": [
                {
                    "partition": part.partition,
                    "first": part.first_offset,
                    "reached": part.reached_offset,
                }
                for part in audit.parts
            ],
            "closed_at": format_instant(closed_at),
        }
    )


def _counters(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in COUNTERS}


def rule_event(rule: Rule, point: Point, *, recorded_at: Instant) -> bytes:
    """The event of one step in the life of a rule."""
    return to_json(
        {
            "schema_version": SCHEMA_VERSION,
            "event_id": derive("rule-event", rule.rule_id, rule.born, point.cycle, point.step.value),
            "event": point.step.value,
            **rule_fields(rule),
            "confidence": point.confidence,
            "standing": point.standing.value,
            "cycle": point.cycle,
            "recorded_at": format_instant(recorded_at),
        }
    )


def rule_fields(rule: Rule) -> dict[str, Any]:
    """A rule as it is shown, without its history."""
    return {
        "rule_id": rule.rule_id,
        "namespace": rule.namespace,
        "name": rule.name,
        "when": [shown(condition) for condition in rule.conditions],
        "description": rule.description,
        "standard": rule.is_standard,
        "confidence": rule.confidence,
        "standing": rule.standing.value,
        "missed": rule.missed,
        "matches": rule.n_matches,
    }
