"""What readers ask of cycles and rules, from any log: which cycles are closed, what happened in one, what a
rule is worth.

Reads what the audit has published and keeps; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from agents.audit import AUDIT_KEY, AUDIT_TABLE, OPEN_TABLE, RULES_TABLE, Audited, decode_audited, decode_rule
from agents.logs import Log
from state.errors import FactdriftError
from state.rules import Rule
from state.standard_rules import standard_rules
from streams.topics import CHANGE_FEED, Topic

DEFAULT_NAMESPACE: Final = "default"
_decode: Final = msgspec.json.Decoder().decode


class NoSuchCycle(FactdriftError):
    """A cycle that no tick has closed yet, or whose record is no longer kept."""


class NoSuchRule(FactdriftError):
    """No rule has this name or id; the message says how to see them."""


@dataclass(frozen=True, slots=True)
class OpenCycle:
    """A cycle that a tick has closed and the audit has not: it waits for the `missing` partitions."""

    cycle: int
    missing: list[int]


def closed_cycles(log: Log) -> list[dict[str, Any]]:
    """The audit records, oldest first, each once."""
    found: dict[int, dict[str, Any]] = {}
    for record in log.read([Topic.CYCLES], from_start=True, follow=False):
        body = _decode(record.value)
        found.setdefault(body["cycle"], body)
    return [found[number] for number in sorted(found)]


def open_cycles(log: Log) -> list[OpenCycle]:
    """The cycles that wait for a partition, oldest first."""
    told = log.single_table(OPEN_TABLE)
    n_closed = audited_of(log).cycle
    there = {tuple(map(int, key.decode().split("/"))) for key in told}
    return [
        OpenCycle(number, [p for p in range(log.n_partitions) if (number, p) not in there])
        for number in range(n_closed + 1, log.n_ticks() + 1)
    ]


def audited_of(log: Log) -> Audited:
    """How far the audit is."""
    stored = log.single_table(AUDIT_TABLE).get(AUDIT_KEY)
    return Audited() if stored is None else decode_audited(stored)


def cycle(log: Log, number: int | None) -> dict[str, Any]:
    """The audit record of a cycle, by default of the newest closed one. Raises NoSuchCycle."""
    closed = {body["cycle"]: body for body in closed_cycles(log)}
    if number is None and closed:
        return closed[max(closed)]
    if number in closed:
        return closed[number]
    waiting = {found.cycle: found for found in open_cycles(log)}
    if number in waiting:
        missing = ", ".join(map(str, waiting[number].missing))
        raise NoSuchCycle(f"Cycle {number} is not closed: it waits for the partitions {missing}.")
    if not closed:
        raise NoSuchCycle("No cycle is closed yet. Close one with: factdrift cycle run")
    raise NoSuchCycle(
        f"Cycle {number} is not closed, or no longer kept; kept are {min(closed)} to {max(closed)}."
    )


def events_of(log: Log, number: int, topics: Iterable[Topic] = CHANGE_FEED) -> list[dict[str, Any]]:
    """The events of a cycle, each once, in order of their causes."""
    found: dict[str, dict[str, Any]] = {}
    for record in log.read(list(topics), from_start=True, follow=False):
        body = _decode(record.value)
        if body.get("cycle") == number:
            found.setdefault(body["event_id"], body)
    return sorted(found.values(), key=_order)


def _order(event: dict[str, Any]) -> tuple[int, str, int]:
    position = event.get("position", "").rsplit("/", 1)[-1]
    return (int(position) if position else 0, event.get("fact_id", ""), event.get("version", 0))


def rules(log: Log, namespace: str | None = None) -> list[Rule]:
    """The rules by namespace and name, and then the packaged ones."""
    found = [decode_rule(stored) for stored in log.single_table(RULES_TABLE).values()]
    wanted = [rule for rule in found if namespace in (None, rule.namespace)]
    return [*sorted(wanted, key=lambda rule: (rule.namespace, rule.name)), *standard_rules()]


def rule(log: Log, name: str, namespace: str = DEFAULT_NAMESPACE) -> Rule:
    """The rule of this name in a namespace, or with this id. Raises NoSuchRule."""
    for found in rules(log):
        if found.rule_id == name or (
            found.name == name and (found.is_standard or found.namespace == namespace)
        ):
            return found
    raise NoSuchRule(f"{namespace} has no rule {name}. See them all with: factdrift rules list")


def history(found: Rule) -> Iterator[dict[str, Any]]:
    """The steps in the life of a rule, oldest first, as far as they are kept with it."""
    for point in found.history:
        yield {
            "cycle": point.cycle,
            "event": point.step.value,
            "confidence": point.confidence,
            "standing": point.standing.value,
        }
