"""The life of a rule as a machine: any matches, any cycles, compared with the formula written out plainly."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from state import rules
from state.instants import DAY_MS, Instant
from state.rules import Point, Rule, Standing, Step
from tests.builders import day


class RuleLife(RuleBasedStateMachine):
    """One rule beside a list of what happened to it; its confidence is recomputed from that list."""

    def __init__(self) -> None:
        super().__init__()
        self.cycle = 1
        self.now = day(0)
        self.rule, self.points = rules.added(Rule(rule_id="r", namespace="n", name="r"), cycle=1)
        self.lived: list[str] = []  # "match", "miss" or "idle" of each closed cycle, while it was not pruned
        self.matched_now = False
        self.changes: list[tuple[int, Step]] = []
        self.last_match_at: Instant | None = None

    def note(self, found: tuple[Rule, list[Point]]) -> list[Point]:
        before, (self.rule, points) = self.rule, found
        self.points += points
        self.changes += [
            (p.cycle, p.step) for p in points if p.step in (Step.PROMOTED, Step.DEMOTED, Step.PRUNED)
        ]
        if not points:
            assert self.rule.standing is before.standing
        return points

    @rule()
    def match(self) -> None:
        points = self.note(rules.matched(self.rule, cycle=self.cycle))
        first = not self.matched_now and self.rule.standing is not Standing.PRUNED
        assert [p.step for p in points] == ([Step.MATCHED] if first else [])
        self.matched_now = self.matched_now or first

    @rule()
    def validate(self) -> None:
        self.note(rules.validated(self.rule, cycle=self.cycle))

    @rule(days=st.integers(0, 100), is_idle=st.booleans())
    def close(self, days: int, is_idle: bool) -> None:
        self.now = Instant(self.now + days * DAY_MS)
        before = self.rule
        points = self.note(rules.closed(self.rule, cycle=self.cycle, now=self.now, is_idle=is_idle))
        if before.standing is not Standing.PRUNED:
            self.lived.append("match" if self.matched_now else "idle" if is_idle else "miss")
            if self.matched_now or self.last_match_at is None:
                self.last_match_at = self.now
            self.check_close(before, [p.step for p in points], is_idle=is_idle)
        assert rules.closed(self.rule, cycle=self.cycle, now=self.now) == (self.rule, [])
        self.cycle, self.matched_now = self.cycle + 1, False

    def check_close(self, before: Rule, steps: list[Step], *, is_idle: bool) -> None:
        """What the standing must be, by the sentences of the design."""
        assert (Step.DECAYED in steps) == (not self.matched_now and not is_idle)
        confidence = self.plain()
        if before.changed_in == self.cycle:  # vouched for in this very cycle
            expected = before.standing
        elif before.standing is Standing.ACTIVE:
            expected = Standing.DEMOTED if confidence < 0.40 else Standing.ACTIVE
        elif confidence >= 0.60:
            expected = Standing.ACTIVE
        else:
            assert self.last_match_at is not None
            gone = self.now - self.last_match_at >= 90 * DAY_MS
            expected = Standing.PRUNED if gone else before.standing
        assert self.rule.standing is expected

    def plain(self) -> float:
        """The confidence from everything that was lived through: 0.95^missed and 0.05 for each match."""
        confidence = 0.5
        for what in [*self.lived, *(["match"] if self.matched_now and not self.is_counted else [])]:
            if what == "match":
                confidence = min(1.0, round(confidence + 0.05, 9))
            elif what == "miss":
                confidence *= 0.95
        return round(confidence, 7)

    @property
    def is_counted(self) -> bool:
        """Whether the cycle under way is among those lived through."""
        return len(self.lived) == self.cycle

    @invariant()
    def its_confidence_follows_from_its_life(self) -> None:
        assert abs(self.rule.confidence - self.plain()) < 1e-6
        assert 0.0 <= self.rule.confidence <= 1.0

    @invariant()
    def it_changes_at_most_once_in_a_cycle(self) -> None:
        cycles = [cycle for cycle, _ in self.changes]
        assert len(cycles) == len(set(cycles))

    @invariant()
    def no_step_is_told_twice(self) -> None:
        told = [(p.cycle, p.step) for p in self.points]
        assert len(told) == len(set(told))

    @precondition(lambda self: self.rule.standing is Standing.PRUNED)
    @rule(days=st.integers(0, 10))
    def stay_gone(self, days: int) -> None:
        self.close(days, is_idle=False)
        assert self.rule.standing is Standing.PRUNED


TestRuleLife = RuleLife.TestCase
