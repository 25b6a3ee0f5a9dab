"""The audit: one record for each cycle, once every partition has told its part; and the life of the rules.

Runs once for all partitions, over one log that holds the parts and the commands about rules in one order. A
cycle is closed by its last missing part; with a partition that nobody works on it stays open, and readers see
whose part is missing. Rules are told of their matches and decay when a cycle closes, once, in the same step.

A record is taken in by two stages of writes. 1. Parts and rules: doing it again to what it was done to
changes nothing, as a rule knows which cycle it has been through and which command it holds. 2. One value,
which says how far the log is taken in, what cycle is closed and which rules there are. Outputs are durable
before both. So a crash anywhere means that one record is taken in again, from where it was, with the same
outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from agents.audit_wire import audit_record, rule_event
from agents.clock import tick_request
from agents.rule_log import Forwarded, decode_entry
from agents.trust_totals import TOTALS_TABLE, take_told
from state.cycles import Audit, Part, assemble
from state.errors import BadInput
from state.instants import Instant
from state.rule_commands import RuleCommand
from state.rules import Point, Rule, RuleChange, Standing, added, closed, matched, removed, validated
from state.standard_rules import is_taken, standard_ids
from streams.codec import encode_entry, join_entries
from streams.host import Agent, Effects, Output, Record, State, Tables
from streams.keys import Partition, key
from streams.topics import Topic
from streams.wire import dead_letter

AUDIT_TABLE: Final = "cycle-audit"
OPEN_TABLE: Final = "cycle-open"
RULES_TABLE: Final = "rules"
AUDIT_KEY: Final = b"audit"


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """How far the audit is: the log taken in, the newest closed cycle, the ids of all rules.

    `offsets` are those of the ticks that closed that cycle, by partition; `n_unstable` is how many entities
    were in flux then.
    """

    reached: int = -1
    cycle: int = 0
    now: Instant | None = None
    n_unstable: int = 0
    offsets: tuple[int, ...] = ()
    rules: tuple[str, ...] = ()


_encode: Final = msgspec.msgpack.Encoder().encode
decode_audited: Final = msgspec.msgpack.Decoder(Audited).decode
_decode_part: Final = msgspec.msgpack.Decoder(Part).decode
decode_rule: Final = msgspec.msgpack.Decoder(Rule).decode


def audited(tables: Tables | State) -> Audited:
    """How far the audit is."""
    stored = tables.get(AUDIT_TABLE, AUDIT_KEY)
    return Audited() if stored is None else decode_audited(stored)


def due(state: State, has_input: bool) -> bytes | None:
    """What to append to the clock when its time has come: a tick only where one would change something.

    Without input a cycle is closed only while entities are in flux, so that they are seen to come to rest.
    """
    if has_input:
        return tick_request()
    return tick_request(is_idle=True) if audited(state).n_unstable else None


def ends_of_cycle(state: State) -> tuple[int, ...]:
    """The ends that the partitions had right after the newest closed cycle; none before the first."""
    return tuple(offset + 1 for offset in audited(state).offsets)


def part_key(cycle: int, partition: int) -> bytes:
    """Where the part of a partition lies until the cycle after the next one is closed."""
    return f"{cycle}/{partition}".encode()


def audit(*, learns_trust: bool = False) -> Agent:
    """The agent that closes cycles and keeps the rules; with `learns_trust` also what is known of sources."""

    def apply(state: State, records: Sequence[Record]) -> Effects:
        tables, effects = Tables(state), Effects()
        for record in records:
            if record.offset > audited(tables).reached:
                effects.outputs += _Step(tables, record, learns_trust=learns_trust).take()
        effects.writes += tables.writes()
        return effects

    known = (TOTALS_TABLE,) if learns_trust else ()
    stages = ((OPEN_TABLE, RULES_TABLE, *known), (AUDIT_TABLE,))
    return Agent("cycle-audit", (Topic.CYCLE_PARTS,), stages, apply)


class _Step:
    """One record of the audit's log, taken in."""

    def __init__(self, tables: Tables, record: Record, *, learns_trust: bool) -> None:
        self.tables = tables
        self.record = record
        self.learns_trust = learns_trust
        self.before = audited(tables)
        self.outputs: list[Output] = []
        self.changes: list[RuleChange] = []

    def take(self) -> list[Output]:
        """Do what the record asks for, and note that it is taken in."""
        after = self.before
        entry = decode_entry(self.record.value)
        if isinstance(entry, Part):
            after = self._part(entry)
        elif isinstance(entry, Forwarded):
            try:
                after = self._command(entry.command())
            except BadInput as bad:
                origin = entry.origin()
                letter = dead_letter(origin, bad.code, bad.message)
                self.outputs.append(Output(Topic.DEAD_LETTERS, origin.key, letter))
        if self.changes:
            self._tell_partitions()
        after = msgspec.structs.replace(after, reached=self.record.offset)
        self.tables.put(AUDIT_TABLE, AUDIT_KEY, _encode(after))
        return self.outputs

    # -- cycles -----------------------------------------------------------------------------

    def _part(self, part: Part) -> Audited:
        """Keep a part; with the last one that was missing the cycle is closed. One told again is let be."""
        if part.cycle <= self.before.cycle:
            return self.before
        own = part_key(part.cycle, part.partition)
        if self.tables.get(OPEN_TABLE, own) is None:
            self.tables.put(OPEN_TABLE, own, _encode(part))
        numbers = range(self.tables.n_partitions)
        stored = [self.tables.get(OPEN_TABLE, part_key(part.cycle, number)) for number in numbers]
        if any(value is None for value in stored):
            return self.before
        found = assemble(_decode_part(value) for value in stored if value is not None)
        names = {rule.rule_id: rule.name for rule in self._rules(found.matched)}
        value = audit_record(found, names=names, closed_at=self.record.recorded_at)
        self.outputs.append(Output(Topic.CYCLES, str(found.cycle).encode(), value))
        self._close_rules(found)
        if self.learns_trust:
            self.outputs += take_told(self.tables, found, self.record)
        for number in numbers:  # those of this cycle may be needed again, should the next write be lost
            self.tables.put(OPEN_TABLE, part_key(found.cycle - 1, number), None)
        return msgspec.structs.replace(
            self.before,
            cycle=found.cycle,
            now=found.now,
            n_unstable=found.n_unstable,
            offsets=tuple(part.reached_offset for part in found.parts),
        )

    def _close_rules(self, found: Audit) -> None:
        for identity in self.before.rules:
            rule = self._rule(identity)
            if rule is None or rule.closed >= found.cycle:
                continue
            points: list[Point] = []
            if times := found.matched.get(identity, 0):
                rule, points = matched(rule, cycle=found.cycle, times=times)
            was = rule.standing
            rule, more = closed(rule, cycle=found.cycle, now=found.now, is_idle=found.is_idle)
            self._keep(rule, [*points, *more])
            if rule.standing is Standing.PRUNED and was is not Standing.PRUNED and rule.conditions:
                self._change(rule, ends=True)

    # -- rules ------------------------------------------------------------------------------

    def _command(self, command: RuleCommand) -> Audited:
        """Do what somebody says of a rule. Raises BadInput where it cannot be done."""
        if command.op == "added":
            return self._add(command)
        if command.rule_id in standard_ids() or (command.name and is_taken(command.name)):
            raise BadInput("standard_rule", f"The rule {command.name or command.rule_id} never changes.")
        if command.rule_id not in self.before.rules:
            raise BadInput(
                "unknown_rule", f"No rule {command.name or command.rule_id} in {command.namespace}."
            )
        rule = self._rule(command.rule_id)
        if command.op == "removed":
            return self._remove(command.rule_id, rule)
        if rule is None or rule.reached >= self.record.offset:
            return self.before
        step = matched if command.op == "matched" else validated
        rule, points = step(rule, cycle=self.before.cycle + 1)
        self._keep(msgspec.structs.replace(rule, reached=self.record.offset), points)
        return self.before

    def _add(self, command: RuleCommand) -> Audited:
        if is_taken(command.name):
            raise BadInput("duplicate_rule", f"A packaged rule has the name {command.name}.")
        held = self._rule(command.rule_id) if command.rule_id in self.before.rules else None
        if held is not None and held.standing is not Standing.PRUNED and held.born != self.record.offset:
            raise BadInput(
                "duplicate_rule", f"{command.namespace} has a rule {command.name}; remove it first."
            )
        rule = Rule(
            rule_id=command.rule_id,
            namespace=command.namespace,
            name=command.name,
            conditions=command.conditions,
            description=command.description,
            closed=self.before.cycle,
            born=self.record.offset,
            reached=self.record.offset,
        )
        rule, points = added(rule, cycle=self.before.cycle + 1)
        self._keep(rule, points)
        self._change(rule, ends=not rule.conditions)
        return msgspec.structs.replace(self.before, rules=tuple(sorted({*self.before.rules, rule.rule_id})))

    def _remove(self, identity: str, rule: Rule | None) -> Audited:
        if rule is not None:
            self._events(*removed(rule, cycle=self.before.cycle + 1))
            self._change(rule, ends=True)
            self.tables.put(RULES_TABLE, identity.encode(), None)
        return msgspec.structs.replace(
            self.before, rules=tuple(known for known in self.before.rules if known != identity)
        )

    def _rules(self, ids: Iterable[str]) -> Iterator[Rule]:
        """The rules with these ids, packaged ones among them, as far as there are any."""
        for identity in ids:
            rule = standard_ids().get(identity) or self._rule(identity)
            if rule is not None:
                yield rule

    def _rule(self, identity: str) -> Rule | None:
        stored = self.tables.get(RULES_TABLE, identity.encode())
        return None if stored is None else decode_rule(stored)

    def _keep(self, rule: Rule, points: Iterable[Point]) -> None:
        self._events(rule, points)
        self.tables.put(RULES_TABLE, rule.rule_id.encode(), _encode(rule))

    def _events(self, rule: Rule, points: Iterable[Point]) -> None:
        for point in points:
            event = rule_event(rule, point, recorded_at=self.record.recorded_at)
            self.outputs.append(Output(Topic.RULE_EVENTS, key(rule.rule_id), event))

    def _change(self, rule: Rule, *, ends: bool) -> None:
        self.changes.append(
            RuleChange(
                number=self.record.offset,
                rule_id=rule.rule_id,
                namespace=rule.namespace,
                conditions=() if ends else rule.conditions,
            )
        )

    def _tell_partitions(self) -> None:
        """Tell every partition what to match from now on, all changes of this record at once."""
        topic, partition, offset = self.record.topic.value, self.record.partition, self.record.offset
        told = join_entries([encode_entry(topic, partition, offset, change) for change in self.changes])
        self.outputs += [
            Output(Topic.BY_CLAIM, None, told, Partition(number))
            for number in range(self.tables.n_partitions)
        ]
