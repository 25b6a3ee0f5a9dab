"""Which rules a partition's new facts match.

Each partition keeps a copy of the conditions of all rules, told to it through its own log, and looks at what
each record created or reinforced. Decides nothing about a rule's confidence (`state.rules`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from agents.following import Folded
from state.changes import Kind
from state.facts import Fact
from state.patterns import Condition, Seen, matches
from state.rules import RuleChange
from state.standard_rules import standard_rules
from state.stored_claim import Claim
from streams.host import Tables

PATTERNS_TABLE: Final = "rule-patterns"
PATTERNS_KEY: Final = b"rules"
_MATCHED_BY: Final = frozenset({Kind.CREATED, Kind.REINFORCED})


class Patterns(msgspec.Struct, array_like=True):
    """The rules of a partition: the newest change taken in, and conditions by namespace and rule id."""

    number: int = -1
    rules: dict[str, dict[str, tuple[Condition, ...]]] = {}


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Patterns).decode

Indexed = dict[str | None, list[tuple[str, tuple[Condition, ...]]]]
"""Rules by the predicates that their conditions name; None: any."""


class RuleMatcher:
    """Looks at facts with the rules of a partition. Keeps what it derived from them while they stay."""

    def __init__(self) -> None:
        self._stored: bytes | None = None
        self._index: dict[str, Indexed] = {}
        self._standard = _indexed([(rule.rule_id, rule.conditions) for rule in standard_rules()])

    def matched(self, tables: Tables, folded: Folded) -> dict[str, int]:
        """How often each rule is matched by what the record created and reinforced."""
        stored = tables.get(PATTERNS_TABLE, PATTERNS_KEY)
        if stored != self._stored:
            self._stored = stored
            rules = {} if stored is None else _decode(stored).rules
            self._index = {name: _indexed(list(found.items())) for name, found in rules.items()}
        found: dict[str, int] = defaultdict(int)
        for touched in folded.touched:
            facts = {c.fact.fact_id: c.fact for c in touched.changes if c.kind in _MATCHED_BY}
            for fact in facts.values():
                for rule in self._matched(folded, touched.claim, fact):
                    found[rule] += 1
        return dict(found)

    def _matched(self, folded: Folded, claim: Claim, fact: Fact) -> Iterator[str]:
        seen = _seen(claim, fact)
        for index in (self._standard, self._index.get(claim.namespace, {})):
            for rule, conditions in (*index.get(claim.predicate, ()), *index.get(None, ())):
                if matches(conditions, seen, lambda: _beside(folded, claim)):
                    yield rule


def take_changes(tables: Tables, folded: Folded) -> None:
    """Take in the rules that the record tells of, if it tells of any."""
    changes = [e.usable for e in folded.batch.entries if isinstance(e.usable, RuleChange)]
    if not changes or tables.applied(PATTERNS_TABLE, PATTERNS_KEY, folded.record):
        return
    stored = tables.get(PATTERNS_TABLE, PATTERNS_KEY)
    patterns = Patterns() if stored is None else _decode(stored)
    known = patterns.number  # several changes of one record have one number
    for change in changes:
        if change.number <= known:
            continue
        patterns.number = change.number
        rules = patterns.rules.setdefault(change.namespace, {})
        rules.pop(change.rule_id, None)
        if change.conditions:
            rules[change.rule_id] = change.conditions
        if not rules:
            del patterns.rules[change.namespace]
    tables.put(PATTERNS_TABLE, PATTERNS_KEY, _encode(patterns))


def _indexed(rules: Sequence[tuple[str, tuple[Condition, ...]]]) -> Indexed:
    found: Indexed = {}
    for rule, conditions in rules:
        named = {condition.predicate for condition in conditions}
        for predicate in [None] if None in named else sorted(p for p in named if p is not None):
            found.setdefault(predicate, []).append((rule, conditions))
    return found


def _seen(claim: Claim, fact: Fact) -> Seen:
    return Seen(claim.subject, claim.predicate, fact.form, claim.forms.cluster)


def _beside(folded: Folded, claim: Claim) -> Iterator[Seen]:
    """The open facts of the subject of a claim."""
    return (_seen(of, fact) for of, fact in folded.facts(claim.namespace, claim.subject))
