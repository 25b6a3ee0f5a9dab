"""Drift against a plain list of instants: any changes, any ticks, any crash between two writes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis.strategies as st
from hypothesis import given
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agents.drift import DRIFT_TABLE, Drift
from agents.drift_watch import load, shard_of, watch_key
from agents.following import Folded, Touched
from state import stored_claim as claims
from state.changes import Change, Kind, Revision
from state.cycles import Clock, Tick
from state.drift import (
    AHEAD_MS,
    KEPT_MAX,
    UNSTABLE_ABOVE,
    WINDOW_MS,
    Entity,
    alert_in_sight,
    due,
    judge,
)
from state.drift_causes import Cause
from state.drift_news import Bearing, News
from state.facts import Fact
from state.identity import ClaimId, FactId
from state.instants import DAY_MS, Instant
from state.predicates import Predicate
from streams.codec import Batch, decode_batch
from streams.host import Output, Record, Tables, Write
from streams.keys import Offset, Partition, subject_key
from streams.topics import Topic
from tests.builders import day

SUBJECTS = ("kim", "lee")
FACTS = tuple(f"f{number}" for number in range(9))

# -- the hosts' part ------------------------------------------------------------------------


class Stamped:
    """Tables in memory whose keys remember the last record that they hold, as on Kafka."""

    n_partitions = 1

    def __init__(self) -> None:
        self.held: dict[tuple[str, bytes], tuple[bytes | None, int]] = {}

    def get(self, table: str, key: bytes) -> bytes | None:
        return self.held.get((table, key), (None, -1))[0]

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        raise NotImplementedError("drift scans nothing")

    def applied(self, table: str, key: bytes, record: Record) -> bool:
        return self.held.get((table, key), (None, -1))[1] >= record.offset

    def values(self) -> dict[tuple[str, bytes], bytes | None]:
        return {at: value for at, (value, _) in self.held.items()}

    def write(self, writes: Sequence[Write], offset: int) -> None:
        for write in writes:
            self.held[write.table, write.key] = (write.value, offset)


def record(offset: int, at: Instant) -> Record:
    return Record(Topic.BY_CLAIM, Partition(0), Offset(offset), None, b"", at)


def fact(name: str, subject: str, *, reason: str | None, at: Instant | None, declared: bool) -> Fact:
    return Fact(
        fact_id=FactId(f"{subject}-{name}"), claim=ClaimId("c"), namespace="default", subject=subject.title(),
        predicate="lives_in", declared=declared, form=name, ordinal=0, object=name, lo=None,
        hi=None if at is None else at, lo_granularity=None, hi_granularity=None if at is None else "day",
        reason=reason, contested=False, rivals=(), support=1, dissent=0, observations=1, votes=None,
        decided_at=at, decided_observed_at=at, previous_fact_id=None, invalidated_by=None,
        supported_by=(), dissented_by=(),
    )  # fmt: skip


def touched(subject: str, changes: Sequence[Change]) -> Touched:
    about = claims.Claim(
        claim=ClaimId("c"), namespace="default", subject=subject, predicate="lives_in",
        layout=claims.layout_of(Predicate("lives_in")),
    )  # fmt: skip
    return Touched(about, list(changes), [], [])


# -- the machine ----------------------------------------------------------------------------


class DriftMachine(RuleBasedStateMachine):
    """The follower on the left; on the right, for each subject a list of instants and what was said last.

    Records are as old as the newest tick, so what is in sight is what a tick of now would say.
    """

    def __init__(self) -> None:
        super().__init__()
        self.state = Stamped()
        self.unharmed = Stamped()
        self.is_live = True
        self.follower = Drift(lambda: self.is_live)
        self.waiting: list[bytes] = []  # ticks that were asked for and stand in the log unread
        self.asked: set[str] = set()
        self.offset = -1
        self.clock = Clock()
        self.versions: dict[str, int] = {}
        self.retired: dict[str, dict[str, tuple[Instant, bool]]] = {subject: {} for subject in SUBJECTS}
        self.said: dict[tuple[str, bool], bool] = {}
        self.n_told = dict.fromkeys(SUBJECTS, 0)

    @initialize(is_live=st.booleans())
    def begin(self, is_live: bool) -> None:
        self.is_live = is_live

    def deliver(self, folded: Folded, crash: random.Random) -> list[dict[str, Any]]:
        """Handle one record, perhaps dying between any two writes, then once more."""
        self.waiting_before = len(self.waiting)
        published: dict[str, bytes] = {}
        for _ in range(crash.choice([0, 0, 1, 2])):
            tables = Tables(self.state)
            self.publish(self.follower.follow(tables, folded), published, again=bool(published))
            writes = tables.writes()
            self.state.write(crash.sample(writes, crash.randint(0, len(writes))), folded.record.offset)
        tables = Tables(self.state)
        self.publish(self.follower.follow(tables, folded), published, again=False)
        self.state.write(tables.writes(), folded.record.offset)
        tables = Tables(self.state)
        assert self.follower.follow(tables, folded) == [], "what is written is published already"
        assert tables.writes() == []
        tables = Tables(self.unharmed)
        self.follower.follow(tables, folded)
        self.unharmed.write(tables.writes(), folded.record.offset)
        assert self.state.values() == self.unharmed.values(), "a crash left something behind"
        return [json.loads(value) for value in published.values()]

    def publish(self, outputs: Sequence[Output], published: dict[str, bytes], *, again: bool) -> None:
        for output in outputs:
            if output.topic is Topic.BY_CLAIM:
                self.waiting.append(output.value)
                continue
            event_id = json.loads(output.value)["event_id"]
            assert published.setdefault(event_id, output.value) == output.value, "one id, two contents"

    def now(self) -> Instant:
        return self.clock.now or day(100)

    def folded(self, there: Sequence[Touched], moved: Clock, batch: Batch | None = None) -> Folded:
        self.offset += 1
        return Folded(
            record=record(self.offset, self.now()),
            batch=batch or Batch(1, []),
            touched=there,
            clock=self.clock,
            moved=moved,
            outputs=[],
            facts=lambda _namespace, _subject: [],
            evidence=lambda _claim: [],
        )

    def change(self, subject: str, name: str, kind: Kind, revision: str, **fields: Any) -> Change:
        made = fact(name, subject, **fields)
        version = self.versions[made.fact_id] = self.versions.get(made.fact_id, 0) + 1
        return Change(kind, revision, made, version)

    @rule(
        crash=st.randoms(use_true_random=False),
        steps=st.lists(
            st.tuples(
                st.sampled_from(SUBJECTS),
                st.sampled_from(FACTS),
                st.sampled_from([*["retire"] * 8, "reinstate", "withdraw", "redate", "end"]),
                st.sampled_from([*range(-9, 1)] * 4 + [*range(-45, 3)]),
                st.sampled_from([True, True, False]),
            ),
            min_size=1,
            max_size=16,
        ),
    )
    def facts_change(self, crash: random.Random, steps: list[tuple[str, str, str, int, bool]]) -> None:
        self.enter(crash, steps)

    def enter(self, crash: random.Random, steps: list[tuple[str, str, str, int, bool]]) -> None:
        changes: dict[str, list[Change]] = {}
        for subject, name, what, days_ago, declared in steps:
            at = Instant(self.now() + days_ago * DAY_MS)
            retired = self.retired[subject]
            if what == "retire":
                made = self.change(
                    subject, name, Kind.INVALIDATED, "", reason="outvoted", at=at, declared=declared
                )
                retired[name] = (at, declared)
                self.n_told[subject] += 1
            elif what == "redate":
                if name not in retired:
                    continue
                made = self.change(
                    subject, name, Kind.REVISED, Revision.REDATED, reason="outvoted", at=at, declared=declared
                )
                retired[name] = (at, declared)
            else:
                kind = Kind.INVALIDATED if what == "withdraw" else Kind.REVISED
                revision = {"withdraw": "", "reinstate": Revision.REINSTATED, "end": Revision.ENDED}[what]
                reason = {"withdraw": "withdrawn", "reinstate": None, "end": "ended"}[what]
                made = self.change(subject, name, kind, revision, reason=reason, at=None, declared=declared)
                retired.pop(name, None)
            changes.setdefault(subject, []).append(made)
        folded = self.folded([touched(subject, found) for subject, found in changes.items()], self.clock)
        assert self.deliver(folded, crash) == []
        in_sight = {s for s in changes if self.is_live and s not in self.asked and self.is_in_sight(s)}
        assert (len(self.waiting) > self.waiting_before) == bool(in_sight)
        self.asked |= in_sight

    def is_in_sight(self, subject: str) -> bool:
        """Whether a tick of now would say that the subject is in flux, which was not said yet."""
        return any(
            not self.said.get((subject, declared), False)
            and self.count(subject, self.now(), declared=declared) > UNSTABLE_ABOVE
            for declared in (True, False)
        )

    def count(self, subject: str, now: Instant, *, declared: bool) -> int:
        return sum(
            now - WINDOW_MS < at <= now and is_declared is declared
            for at, is_declared in self.retired[subject].values()
        )

    @rule(
        crash=st.randoms(use_true_random=False),
        subject=st.sampled_from(SUBJECTS),
        declared=st.booleans(),
        n=st.integers(3, 8),
        days_ago=st.sampled_from([0, 0, 5, 24, 29]),
    )
    def many_facts_are_retired(
        self, crash: random.Random, subject: str, declared: bool, n: int, days_ago: int
    ) -> None:
        """Chance alone seldom brings a subject above the limit."""
        steps = [(subject, name, "retire", -days_ago, declared) for name in FACTS[:n]]
        self.enter(crash, steps)

    @rule(
        crash=st.randoms(use_true_random=False),
        forward_ms=st.sampled_from([0, 0, 1, DAY_MS, 3 * DAY_MS, WINDOW_MS - 1, WINDOW_MS])
        | st.integers(0, 50 * DAY_MS),
    )
    def time_passes(self, crash: random.Random, forward_ms: int) -> None:
        now = Instant(self.now() + forward_ms)
        self.judged(Tick(number=self.clock.number + 1, now=now), None, crash)

    def judged(self, tick: Tick, batch: Batch | None, crash: random.Random) -> None:
        moved = self.clock.after(tick)
        assert moved.now is not None
        expected = self.transitions(moved.now)
        alerts = self.deliver(self.folded([], moved, batch), crash)

        told = {(a["subject"].lower(), a["signal"]): a["count"] for a in alerts}
        assert told == expected
        assert all(a["lifetime"] == self.n_told[a["subject"].lower()] for a in alerts)
        self.clock = moved
        self.asked.clear()

    @precondition(lambda self: self.waiting)
    @rule(crash=st.randoms(use_true_random=False))
    def a_tick_that_was_asked_for_is_read(self, crash: random.Random) -> None:
        batch = decode_batch(self.waiting.pop(0))
        (tick,) = [entry.usable for entry in batch.entries]
        assert isinstance(tick, Tick)
        number = self.clock.number
        self.judged(tick, batch, crash)
        assert self.clock.number == number, "it closes no cycle"

    @precondition(lambda self: self.clock.number > 0)
    @rule(crash=st.randoms(use_true_random=False))
    def a_tick_comes_twice(self, crash: random.Random) -> None:
        assert self.clock.now is not None
        tick = Tick(number=self.clock.number, now=self.clock.now)
        folded = self.folded([], self.clock.after(tick))
        assert self.deliver(folded, crash) == []

    def transitions(self, now: Instant) -> dict[tuple[str, str], int]:
        """What is to be said at this tick, by looking at each instant."""
        found = {}
        for subject in SUBJECTS:
            for declared, signals in ((True, ("unstable", "stable")), (False, ("churning", "settled"))):
                count = self.count(subject, now, declared=declared)
                is_on = self.said.get((subject, declared), False)
                if not is_on and count > UNSTABLE_ABOVE:
                    found[subject, signals[0]] = count
                if is_on and count == 0:
                    found[subject, signals[1]] = 0
                self.said[subject, declared] = count > 0 if is_on else count > UNSTABLE_ABOVE
        return found

    @invariant()
    def whoever_is_in_flux_is_under_watch(self) -> None:
        for subject in {subject for (subject, _), is_on in self.said.items() if is_on}:
            row_key = subject_key("default", subject)
            shard = self.state.get(DRIFT_TABLE, watch_key(shard_of(row_key)))
            assert shard is not None
            assert row_key in load(shard).due

    @invariant()
    def whoever_is_over_the_limit_is_told_of_or_a_tick_is_on_its_way(self) -> None:
        if self.is_live and any(map(self.is_in_sight, SUBJECTS)):
            assert self.waiting


TestDrift = DriftMachine.TestCase

# -- registers: any order, any number of times ----------------------------------------------

news = st.tuples(
    st.sampled_from(FACTS[:3]), st.sampled_from(list(Bearing)), st.integers(0, 39), st.booleans()
)


def told(steps: Sequence[tuple[str, Bearing, int, bool]]) -> list[News]:
    """The same as changes of facts, each with the next version of its fact."""
    versions: dict[str, int] = {}
    found = []
    for name, bearing, number, declared in steps:
        versions[name] = versions.get(name, 0) + 1
        at = None if bearing is Bearing.LEAVES else day(number)
        cause = Cause(ClaimId("c"), "p", name, name, "outvoted", None, 1, 0)
        found.append(
            News(FactId(name), versions[name], bearing, bearing is Bearing.ENTERS, declared, at, cause)
        )
    return found


@given(st.lists(news, max_size=14), st.randoms(use_true_random=False))
def test_changes_may_come_in_any_order_and_any_number_of_times(
    steps: list[tuple[str, Bearing, int, bool]], chance: random.Random
) -> None:
    ordered = told(steps)
    shuffled = ordered + chance.sample(ordered, len(ordered) // 2)
    chance.shuffle(shuffled)

    left, right = Entity(), Entity()
    for item in ordered:
        left.take(item)
    for item in shuffled:
        right.take(item)

    for declared in (True, False):
        assert left.counted(declared=declared) == right.counted(declared=declared)


@given(st.lists(news, max_size=14))
def test_the_last_word_on_each_fact_decides(steps: list[tuple[str, Bearing, int, bool]]) -> None:
    entity = Entity()
    expected: dict[str, tuple[Instant, bool] | None] = {}
    for item in told(steps):
        entity.take(item)
        if item.bearing is Bearing.LEAVES:
            expected[item.fact_id] = None
        elif item.bearing is Bearing.ENTERS or expected.get(item.fact_id) is not None:
            assert item.at is not None
            expected[item.fact_id] = (item.at, item.declared)

    for declared in (True, False):
        found = sorted((e[0], FactId(f)) for f, e in expected.items() if e is not None and e[1] is declared)
        assert entity.counted(declared=declared) == found
    assert entity.lifetime == sum(bearing is Bearing.ENTERS for _, bearing, _, _ in steps)


# -- when a tick is to look -----------------------------------------------------------------


def entity_of(days: Sequence[int], *, declared: bool = True) -> Entity:
    return entity_at([day(at) for at in days], declared=declared)


def entity_at(instants: Sequence[Instant], *, declared: bool = True) -> Entity:
    entity = Entity()
    for number, at in enumerate(instants):
        cause = Cause(ClaimId("c"), "p", number, str(number), "outvoted", None, 1, 0)
        entity.take(News(FactId(f"f{number}"), 1, Bearing.ENTERS, True, declared, at, cause))
    return entity


@given(st.lists(st.integers(0, 100), max_size=12), st.integers(0, 140), st.booleans(), st.booleans())
def test_a_tick_before_it_is_due_changes_nothing_and_the_one_at_it_does(
    days: list[int], now: int, declared: bool, in_flux: bool
) -> None:
    entity = entity_of(days, declared=declared)
    if in_flux and declared:
        entity.unstable_since = day(0)
    elif in_flux:
        entity.churning_since = day(0)
    first = next((at for at in range(now, 300) if judge(copied(entity), day(at))), None)

    found = due(entity, day(now))

    assert (None if found is None else max(found, day(now))) == (None if first is None else day(first))


def copied(entity: Entity) -> Entity:
    return Entity(dict(entity.retirements), entity.lifetime, entity.unstable_since, entity.churning_since)


@given(
    st.lists(st.tuples(st.sampled_from([-WINDOW_MS, 0, AHEAD_MS]), st.integers(-3, 3)), max_size=9),
    st.booleans(),
    st.booleans(),
)
def test_an_alert_is_in_sight_from_the_first_tick_on_that_would_raise_it(
    places: list[tuple[int, int]], declared: bool, in_flux: bool
) -> None:
    now = day(100)
    entity = entity_at([Instant(now + near + offset) for near, offset in places], declared=declared)
    if in_flux:
        entity.unstable_since, entity.churning_since = day(99), day(99)
    ticks = [Instant(now + ms) for ms in (*range(8), *range(AHEAD_MS - 4, AHEAD_MS + 1))]
    raised = [at for at in ticks if any(alert.causes for alert in judge(copied(entity), at))]

    assert alert_in_sight(entity, now) == min(raised, default=None)


def test_a_row_keeps_the_newest_only_and_none_that_is_out_of_reach() -> None:
    many = entity_of([50] * (KEPT_MAX + 10))
    many.tidy()
    old = entity_of([0, 9, 10, 11, 50])
    old.tidy()
    ahead = entity_of([0, 9, 10, 11, 50])
    ahead.tidy(now=day(20))

    assert len(many.retirements) == KEPT_MAX
    assert [at for at, _ in old.counted(declared=True)] == [day(11), day(50)]
    assert len(ahead.retirements) == 5


def test_a_key_of_the_index_is_none_of_a_subject() -> None:
    assert not subject_key("watch/1", "watch/1").startswith(b"watch/")
    assert DRIFT_TABLE in Drift.tables
