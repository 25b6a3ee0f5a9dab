"""Rules: whether a named piece of formal knowledge still earns its keep.

Decides how a rule's confidence moves and what the rule counts as. A rule that matches in a cycle gains once;
one that does not loses a twentieth; between the two thresholds it stays what it is, so it never flaps
(DESIGN 7). What a rule matches is `state.patterns`; who tells a rule that it matched is elsewhere.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from state.identity import derive
from state.instants import DAY_MS, Instant
from state.patterns import Condition

CONFIDENCE_NEW: Final = 0.5
CONFIDENCE_MAX: Final = 1.0
DECAY: Final = 0.95  # of what is left, in each cycle without a match
BOOST: Final = 0.05  # by the first match in a cycle
DEMOTE_BELOW: Final = 0.40
PROMOTE_FROM: Final = 0.60
PRUNE_AFTER_MS: Final = 90 * DAY_MS
HISTORY_MAX: Final = 200  # points kept with a rule; all of them are on the topic `rule-events`
_DIGITS: Final = 9  # sums of 0.05 must not fall short of a threshold by the last bit of a float

assert 0 < DEMOTE_BELOW < CONFIDENCE_NEW < PROMOTE_FROM <= CONFIDENCE_MAX
assert BOOST < PROMOTE_FROM - DEMOTE_BELOW, "one match must not take a rule across both thresholds"


class Standing(enum.StrEnum):
    """What a rule counts as. A pruned rule is kept for its history and comes back only by being added."""

    CANDIDATE = "candidate"
    ACTIVE = "active"
    DEMOTED = "demoted"
    PRUNED = "pruned"


class Step(enum.StrEnum):
    """What happened to a rule."""

    ADDED = "added"
    MATCHED = "matched"
    PROMOTED = "promoted"
    DEMOTED = "demoted"
    DECAYED = "decayed"
    PRUNED = "pruned"
    REMOVED = "removed"


class Point(msgspec.Struct, frozen=True, array_like=True):
    """One step in the life of a rule, and what it was afterwards."""

    cycle: int
    step: Step
    confidence: float
    standing: Standing


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule as it stands.

    `base` is the confidence at the last match, or when the rule was added, and `missed` how many cycles
    went by since. `since` is the `now` of the tick that closed the cycle of the last match, or else the
    cycle in which the rule was added; None until that tick. `matched_in` is the last cycle with a match,
    `closed` the last cycle that the rule has been through, `changed_in` the last cycle in which it became
    active, demoted or pruned. `born` and `reached` are the places, in the log of its owner, of the command
    that added it and of the last command that it holds.
    """

    rule_id: str
    namespace: str
    name: str
    conditions: tuple[Condition, ...] = ()
    description: str | None = None
    is_standard: bool = False
    standing: Standing = Standing.CANDIDATE
    base: float = CONFIDENCE_NEW
    missed: int = 0
    since: Instant | None = None
    matched_in: int = 0
    n_matches: int = 0
    closed: int = 0
    changed_in: int = 0
    born: int = -1
    reached: int = -1
    history: tuple[Point, ...] = ()

    @property
    def confidence(self) -> float:
        """0.95^missed of what it was at the last match."""
        return round(self.base * DECAY**self.missed, _DIGITS)


class RuleChange(msgspec.Struct, frozen=True, kw_only=True, tag="rule-change", omit_defaults=True):
    """What every partition is told of a rule: from here on it is matched, or, without `conditions`, is not.

    `number` rises from change to change, so that one which was sent again is recognised.
    """

    number: int
    rule_id: str
    namespace: str
    conditions: tuple[Condition, ...] = ()


def rule_id(namespace: str, name: str) -> str:
    """The id of the rule with this name: one name, one rule."""
    return derive("rule", namespace, name)


def added(rule: Rule, *, cycle: int) -> tuple[Rule, list[Point]]:
    """A new rule, in the cycle under way."""
    return _stepped(rule, cycle, Step.ADDED)


def matched(rule: Rule, *, cycle: int, times: int = 1) -> tuple[Rule, list[Point]]:
    """The rule once it has matched in the cycle under way. Only the first match of a cycle adds anything.

    What it counts as changes when the cycle closes, not before.
    """
    counted = msgspec.structs.replace(rule, n_matches=rule.n_matches + times)
    if rule.is_standard or rule.standing is Standing.PRUNED or rule.matched_in >= cycle:
        return counted, []
    confidence = min(CONFIDENCE_MAX, round(rule.confidence + BOOST, _DIGITS))
    return _stepped(
        msgspec.structs.replace(counted, base=confidence, missed=0, matched_in=cycle), cycle, Step.MATCHED
    )


def validated(rule: Rule, *, cycle: int) -> tuple[Rule, list[Point]]:
    """The rule once a person has vouched for it: a candidate becomes active, any other stays what it is."""
    if rule.is_standard or rule.standing is not Standing.CANDIDATE:
        return rule, []
    return _stepped(
        msgspec.structs.replace(rule, standing=Standing.ACTIVE, changed_in=cycle), cycle, Step.PROMOTED
    )


def closed(rule: Rule, *, cycle: int, now: Instant, is_idle: bool = False) -> tuple[Rule, list[Point]]:
    """The rule after a cycle, whose matches it has been told of before: it decays, and it may change once.

    An idle cycle, in which nothing was observed, speaks against no rule. A cycle that the rule has been
    through changes nothing. A standard rule never changes.
    """
    if rule.closed >= cycle:
        return rule, []
    if rule.is_standard or rule.standing is Standing.PRUNED:
        return msgspec.structs.replace(rule, closed=cycle), []
    points: list[Point] = []
    matches = rule.matched_in >= cycle
    since = now if matches or rule.since is None else rule.since
    rule = msgspec.structs.replace(rule, closed=cycle, since=since)
    if not matches and not is_idle:
        rule, points = _stepped(msgspec.structs.replace(rule, missed=rule.missed + 1), cycle, Step.DECAYED)
    change = _change(rule, now) if rule.changed_in < cycle else None
    if change is not None:
        standing, step = change
        rule = msgspec.structs.replace(rule, standing=standing, changed_in=cycle)
        rule, more = _stepped(rule, cycle, step)
        points += more
    return rule, points


def _change(rule: Rule, now: Instant) -> tuple[Standing, Step] | None:
    """What becomes of a rule at the end of a cycle, if anything."""
    if rule.standing is Standing.ACTIVE:
        return (Standing.DEMOTED, Step.DEMOTED) if rule.confidence < DEMOTE_BELOW else None
    if rule.confidence >= PROMOTE_FROM:
        return Standing.ACTIVE, Step.PROMOTED
    assert rule.since is not None
    return (Standing.PRUNED, Step.PRUNED) if now - rule.since >= PRUNE_AFTER_MS else None


def _stepped(rule: Rule, cycle: int, step: Step) -> tuple[Rule, list[Point]]:
    point = Point(cycle, step, rule.confidence, rule.standing)
    return msgspec.structs.replace(rule, history=(*rule.history, point)[-HISTORY_MAX:]), [point]


def removed(rule: Rule, *, cycle: int) -> tuple[Rule, list[Point]]:
    """The rule as it goes, taken back by whoever added it."""
    return _stepped(rule, cycle, Step.REMOVED)
