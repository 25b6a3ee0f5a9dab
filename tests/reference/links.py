"""The plain twin of assertions and their lifecycle (DESIGN 6): every question answered from the whole log.

It works instant by instant and pair by pair: quadratic, without an index, and it keeps nothing between two
questions. It shares no code with `state/`. Values are given as clusters: it compares no texts. It knows no
links but explicit ones, since no answer depends on an inferred one.

Where the design leaves room, what is chosen:

1. An assertion is one document, one value and one polarity; a statement without document is one of its own.
   The value of a supersede is an assertion in the name of its decision.
2. A statement holds from its start to its end. Without an end of its own it lasts until the first end that
   the same assertion states later than its start and its observation. A report (an end alone, observed at or
   after it) holds in the one instant before the end, unless something of the assertion holds there anyway.
3. A decision concerns what was observed by `decided`. Taken about a value it concerns all that say so, its
   own replacement excepted. Of several decisions the earliest counts, a supersede before an invalidate.
4. A document ends what its predecessors said unless it says it too; then its own successors are asked. It
   ends it where it begins to say anything of the claim. Where a decision closes a statement, no document
   does.
5. What is over is named by what held last; of causes at one instant decision, document, own words.
6. A supersede or an invalidate that is taken back was never decided; a link stays.
7. A conflict between two is decided by the last explicit link on the pair; else rivals of independent
   documents conflict: two values of a single-valued predicate, or a value and its denial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

FOREVER = 10**12
SUPERSEDED, INVALIDATED, REPLACED, OVER = range(4)
STATE_OF = {SUPERSEDED: "superseded", INVALIDATED: "invalidated", REPLACED: "superseded", OVER: "historical"}

Name = tuple[str, str, bool]
"""An assertion: (who, value, affirmed)."""


@dataclass(frozen=True)
class Saying:
    id: str
    document: str | None
    value: str
    affirmed: bool
    lo: int
    hi: int | None
    observed: int
    recorded: int
    is_report: bool = False
    direct: bool = True
    confidence: float = 1.0
    replaces: str | None = None
    decision: str | None = None

    @property
    def who(self) -> str:
        if self.decision is not None:
            return f"decision {self.decision}"
        return f"saying {self.id}" if self.document is None else f"document {self.document}"

    @property
    def name(self) -> Name:
        return (self.who, self.value, self.affirmed)

    @property
    def first(self) -> int:
        return self.hi - 1 if self.is_report and self.hi is not None else self.lo


@dataclass(frozen=True)
class Taken:
    id: str
    recorded: int


@dataclass(frozen=True)
class Decision:
    """`target` is an assertion, or a value, meaning all that affirm it; `other` likewise for a link."""

    id: str
    kind: str
    target: Name | str
    at: int
    decided: int
    recorded: int
    value: str = ""
    other: Name | str | None = None


Event = Saying | Taken | Decision


@dataclass
class Answer:
    state: str
    preferred: Name | None = None
    dispute: frozenset[Name] = frozenset()


@dataclass
class World:
    """What is known of one claim, and what follows at an instant."""

    single: bool = True
    declared: bool = True
    sayings: list[Saying] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    means: Mapping[str, str] = field(default_factory=dict)

    def cluster(self, value: str) -> str:
        """What a value means: values of one cluster say the same."""
        return self.means.get(value, value)

    # -- what a statement says ------------------------------------------------------------

    def of(self, name: Name) -> list[Saying]:
        return [s for s in self.sayings if s.name == name]

    def own_end(self, s: Saying) -> int:
        if s.hi is not None:
            return s.hi
        stated = [o.hi for o in self.of(s.name) if o.hi is not None]
        return min((hi for hi in stated if hi > max(s.lo, s.observed)), default=FOREVER)

    def counts(self, s: Saying) -> bool:
        """False for a report of an end before which something else of the assertion holds."""
        if not s.is_report:
            return True
        others = [o for o in self.of(s.name) if not o.is_report]
        return not any(o.lo <= s.first < self.own_end(o) for o in others)

    # -- what ends it ---------------------------------------------------------------------

    def concerns(self, decision: Decision, s: Saying) -> bool:
        if s.decision == decision.id or s.observed > decision.decided:
            return False
        if isinstance(decision.target, str):
            return s.affirmed and self.cluster(s.value) == self.cluster(decision.target)
        return s.name == decision.target

    def says_otherwise_from(self, who: str, s: Saying) -> int | None:
        spoken = [o for o in self.sayings if o.who == who and (o.value == "") == (s.value == "")]
        if any((self.cluster(o.value), o.affirmed) == (self.cluster(s.value), s.affirmed) for o in spoken):
            return None
        return min((o.first for o in spoken), default=None)

    def replaced_at(self, s: Saying) -> int | None:
        found: list[int] = []
        seen = {s.who}
        asked = [s.who]
        while asked:
            who = asked.pop()
            for successor in {o.who for o in self.sayings if o.replaces and f"document {o.replaces}" == who}:
                if successor in seen:
                    continue
                seen.add(successor)
                at = self.says_otherwise_from(successor, s)
                if at is None:
                    asked.append(successor)
                else:
                    found.append(at)
        return min(found, default=None)

    def end(self, s: Saying) -> tuple[int, int]:
        """Where a statement stops to hold, and the cause."""
        own = self.own_end(s)
        closing = [d for d in self.decisions if d.kind in ("supersede", "invalidate") and self.concerns(d, s)]
        explicit = [(d.at, SUPERSEDED if d.kind == "supersede" else INVALIDATED) for d in closing]
        explicit = [end for end in explicit if end[0] < own]
        if explicit:
            return min(explicit)
        replaced = self.replaced_at(s)
        if replaced is not None and replaced < own:
            return (replaced, REPLACED)
        return (own, OVER)

    def holding(self, name: Name, t: int) -> list[Saying]:
        return [s for s in self.of(name) if self.counts(s) and s.first <= t < self.end(s)[0]]

    # -- how two of them relate -----------------------------------------------------------

    def lineage(self, who: str) -> set[str]:
        edges = [(s.who, f"document {s.replaces}") for s in self.sayings if s.replaces is not None]
        found = {who}
        while True:
            more = {b for a, b in edges if a in found} | {a for a, b in edges if b in found}
            if more <= found:
                return found
            found |= more

    def verdict(self, one: Name, other: Name) -> str | None:
        found = None
        for d in self.decisions:
            if d.other is None:
                continue
            if isinstance(d.target, str):
                named = {(self.cluster(value), True) for value in (d.target, str(d.other))}
                matches = named == {(self.cluster(name[1]), name[2]) for name in (one, other)}
            else:
                matches = {d.target, d.other} == {one, other}
            found = d.kind if matches else found
        return found

    def conflict(self, one: Name, other: Name) -> bool:
        verdict = self.verdict(one, other)
        if verdict is not None:
            return verdict == "contradicts"
        if not self.declared or other[0] in self.lineage(one[0]):
            return False
        if self.cluster(one[1]) == self.cluster(other[1]):
            return one[2] != other[2]
        return self.single and one[2] and other[2] and (one[1] == "") == (other[1] == "")

    def dispute(self, name: Name, standing: Iterable[Name]) -> frozenset[Name]:
        standing = list(standing)
        found = {name}
        while True:
            more = {b for b in standing for a in found if a != b and self.conflict(a, b)}
            if more <= found:
                return frozenset(found)
            found |= more

    # -- the answer -----------------------------------------------------------------------

    def rank(self, name: Name, t: int, ids: dict[Name, str]) -> tuple[bool, float, int, str]:
        held = self.holding(name, t)
        newest = max(held, key=lambda s: (s.lo, s.observed, s.id))
        start = t
        while self.holding(name, start - 1):
            start -= 1
        return (not newest.direct, -newest.confidence, -start, ids[name])

    def answers(self, t: int, ids: dict[Name, str]) -> dict[Name, Answer]:
        names = {s.name for s in self.sayings}
        standing = [name for name in names if self.holding(name, t)]
        return {name: self.answer(name, t, standing, ids) for name in names}

    def answer(self, name: Name, t: int, standing: list[Name], ids: dict[Name, str]) -> Answer:
        if name in standing:
            members = self.dispute(name, standing)
            if len(members) == 1:
                return Answer("current")
            best = min(members, key=lambda member: self.rank(member, t, ids))
            return Answer("conflicting", best, members)
        begun = [s for s in self.of(name) if self.counts(s) and s.first <= t]
        if not begun:
            return Answer("historical")
        ends = [(s.first, *self.end(s)) for s in begun]
        _, cause = max((max(first, at), -cause) for first, at, cause in ends)
        return Answer(STATE_OF[-cause])


def world(
    log: Iterable[Event],
    known_at: int,
    *,
    single: bool = True,
    declared: bool = True,
    means: Mapping[str, str] | None = None,
) -> World:
    """What was known at an instant: the log up to it, with each decision judged when it came."""
    found = World(single, declared, means=means or {})
    taken: set[str] = set()
    for event in log:
        if event.recorded > known_at:
            continue
        if isinstance(event, Taken):
            taken.add(event.id)
            found.sayings = [s for s in found.sayings if s.id != event.id]
            found.decisions = [d for d in found.decisions if d.id != event.id or d.other is not None]
        elif isinstance(event, Saying):
            if event.id not in taken and all(s.id != event.id for s in found.sayings):
                found.sayings.append(event)
        elif (event.other is not None or event.id not in taken) and _is_accepted(found, event):
            found.decisions.append(event)
            if event.kind == "supersede":
                found.sayings.append(
                    Saying(
                        event.id,
                        None,
                        event.value,
                        True,
                        event.at,
                        None,
                        event.decided,
                        event.recorded,
                        decision=event.id,
                    )
                )
    return found


def _is_accepted(known: World, decision: Decision) -> bool:
    if any(d.id == decision.id for d in known.decisions):
        return False
    targets = _named(known, decision.target)
    if not targets:
        return False
    if decision.other is not None:
        others = _named(known, decision.other)
        return bool(others) and others != targets
    ends = [known.end(s) for name in targets for s in known.of(name) if known.counts(s)]
    if decision.kind == "invalidate":
        return any(at > decision.at for at, _ in ends)
    return any(cause == OVER for _, cause in ends)


def _named(known: World, target: Name | str) -> set[Name]:
    names = {s.name for s in known.sayings}
    if isinstance(target, str):
        return {name for name in names if known.cluster(name[1]) == known.cluster(target) and name[2]}
    return {target} & names
