"""Rules and cycles with the answers that a user would call right, through the whole embedded host."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from agents import composition
from agents.audit import RULES_TABLE, decode_rule
from agents.replay import records, replay
from agents.replay_ticks import LINES_PER_CYCLE
from state.cycles import Tick
from state.rules import CONFIDENCE_NEW, Rule, Standing, closed, matched, rule_id
from streams.codec import decode_batch
from streams.settings import Settings
from streams.topics import Topic
from tests.builders import day
from tests.cases.world import World, fresh, iso, observe

NAME = "lives in rome"
IN_ROME = [{"predicate": "lives_in", "object": "Rome"}]


def command(world: World, op: str, name: str = NAME, **fields: Any) -> None:
    line = json.dumps({"op": op, "name": name, **fields}).encode()
    world.host.publish(Topic.RULES, [(None, line, None)])


def told(world: World, topic: Topic) -> list[dict[str, Any]]:
    return [json.loads(record.value) for record in records(world.host.store, topic)]


def steps(world: World, name: str = NAME) -> list[str]:
    return [event["event"] for event in told(world, Topic.RULE_EVENTS) if event["name"] == name]


def of(world: World, name: str = NAME, namespace: str = "default") -> Rule:
    stored = world.host.store.get(RULES_TABLE, rule_id(namespace, name).encode())
    assert stored is not None
    return decode_rule(stored)


def a_rule(standing: Standing, confidence: float, *, since: float | None = None) -> Rule:
    return Rule(
        rule_id="r",
        namespace="default",
        name="r",
        standing=standing,
        base=confidence,
        since=None if since is None else day(since),
    )


# -- CASES, "Rules" -------------------------------------------------------------------------


def test_from_half_active_without_a_match_it_is_demoted_at_the_fifth_cycle() -> None:
    with fresh() as world:
        command(world, "added", when=IN_ROME)
        command(world, "validated")
        lived = []
        for number in range(1, 6):
            world.tick(number)
            lived.append((round(of(world).confidence, 5), of(world).standing))

    assert [confidence for confidence, _ in lived] == [0.475, 0.45125, 0.42869, 0.40725, 0.38689]
    assert [standing for _, standing in lived] == [Standing.ACTIVE] * 4 + [Standing.DEMOTED]


def test_a_confidence_of_exactly_0_40_stays() -> None:
    found, _ = closed(a_rule(Standing.ACTIVE, 0.40 / 0.95), cycle=1, now=day(1))

    assert (found.confidence, found.standing) == (0.40, Standing.ACTIVE)


def test_demoted_at_0_55_and_one_match_is_active_at_0_60() -> None:
    found, _ = matched(a_rule(Standing.DEMOTED, 0.55, since=0), cycle=1)
    found, _ = closed(found, cycle=1, now=day(1))

    assert (found.confidence, found.standing) == (0.60, Standing.ACTIVE)


def test_a_candidate_at_0_65_is_active_at_its_next_cycle() -> None:
    found, _ = closed(a_rule(Standing.CANDIDATE, 0.65), cycle=1, now=day(1))

    assert found.standing is Standing.ACTIVE


@pytest.mark.parametrize("standing", [Standing.DEMOTED, Standing.CANDIDATE])
@pytest.mark.parametrize(("days", "expected"), [(90, Standing.PRUNED), (89, None)])
def test_demoted_or_candidate_it_is_pruned_ninety_days_after_its_last_match(
    standing: Standing, days: int, expected: Standing | None
) -> None:
    found, _ = closed(a_rule(standing, CONFIDENCE_NEW, since=0), cycle=7, now=day(days))

    assert found.standing is (expected or standing)


def test_never_matched_it_is_pruned_ninety_days_after_it_was_added() -> None:
    with fresh() as world:
        command(world, "added", when=IN_ROME)
        world.tick(3).tick(92)
        assert of(world).standing is Standing.CANDIDATE
        world.tick(93)
        assert of(world).standing is Standing.PRUNED
        assert steps(world)[-1] == "pruned"


def test_an_active_rule_is_never_pruned() -> None:
    found, _ = closed(a_rule(Standing.ACTIVE, 1.0, since=0), cycle=7, now=day(900))

    assert found.standing is Standing.ACTIVE


def test_a_rule_that_matches_in_every_cycle_never_decays() -> None:
    with fresh() as world:
        command(world, "added", when=IN_ROME)
        for number in range(14):
            world.publish(observe("Rome", number, subject=f"person {number}", predicate="lives_in"))
            world.tick(number)

        assert "decayed" not in steps(world)
        assert of(world).confidence == 1.0
        assert [step for step in steps(world) if step != "matched"] == ["added", "promoted"]


# -- patterns -------------------------------------------------------------------------------


def matches(world: World, name: str = NAME) -> int:
    audit = told(world, Topic.CYCLES)[-1]
    found = {m["rule_id"]: m["matches"] for m in audit["rules_matched"]}
    return int(found.get(rule_id("default", name), 0))


def test_a_conjunction_is_matched_by_facts_of_one_subject_whatever_came_between() -> None:
    both = [{"predicate": "works_at", "object": "Acme"}, {"predicate": "located_in", "object": "York"}]
    with fresh() as world:
        command(world, "added", when=both)
        world.publish(observe("Acme", 0, subject="kim", predicate="works_at"))
        world.publish(observe("York", 1, subject="lee", predicate="located_in"))
        world.tick(1)
        assert matches(world) == 0

        world.publish(observe("York", 2, subject="kim", predicate="located_in")).tick(2)
        assert matches(world) == 1


def test_a_conjunction_is_not_matched_by_a_fact_that_has_ended() -> None:
    both = [{"predicate": "works_at", "object": "Acme"}, {"predicate": "located_in", "object": "York"}]
    with fresh() as world:
        command(world, "added", when=both)
        world.each(
            [
                observe("Acme", 0, subject="kim", predicate="works_at"),
                observe("Globex", 1, subject="kim", predicate="works_at"),
                observe("York", 2, subject="kim", predicate="located_in"),
            ]
        )
        world.tick(2)

        assert matches(world) == 0


def test_a_rule_of_one_namespace_is_not_matched_in_another() -> None:
    with fresh() as world:
        command(world, "added", when=IN_ROME)
        world.publish(observe("Rome", 0, predicate="lives_in", namespace="other")).tick(0)
        assert matches(world) == 0

        world.publish(observe("Rome", 0, predicate="lives_in")).tick(1)
        assert matches(world) == 1


def test_a_removed_rule_is_matched_no_more_and_its_name_is_free_again() -> None:
    with fresh() as world:
        command(world, "added", when=IN_ROME)
        command(world, "removed")
        world.publish(observe("Rome", 0, predicate="lives_in")).tick(0)
        assert matches(world) == 0
        assert world.host.store.get(RULES_TABLE, rule_id("default", NAME).encode()) is None

        command(world, "added", when=IN_ROME)
        world.publish(observe("Rome", 1, predicate="lives_in")).tick(1)
        assert matches(world) == 1


def test_packaged_rules_are_matched_and_counted_in_every_namespace() -> None:
    with fresh() as world:
        world.publish(observe("Rome", 0, predicate="lives_in", namespace="other")).tick(0)

        assert [m["name"] for m in told(world, Topic.CYCLES)[-1]["rules_matched"]] == ["residence"]


@pytest.mark.parametrize(
    ("op", "name", "code"),
    [
        ("added", NAME, "duplicate_rule"),
        ("added", "residence", "duplicate_rule"),
        ("removed", "residence", "standard_rule"),
        ("matched", "nobody's", "unknown_rule"),
    ],
)
def test_what_cannot_be_done_is_a_dead_letter_with_its_reason(op: str, name: str, code: str) -> None:
    with fresh() as world:
        command(world, "added", when=IN_ROME)
        command(world, op, name)

        (letter,) = world.dead_letters()
        assert letter["code"] == code
        assert json.loads(letter["raw"])["name"] == name
        assert steps(world) == ["added"]


# -- cycles ---------------------------------------------------------------------------------


def test_a_cycle_without_input_is_closed_with_zeros() -> None:
    with fresh() as world:
        world.tick(1).tick(2)

        audits = told(world, Topic.CYCLES)
        assert [audit["cycle"] for audit in audits] == [1, 2]
        assert {audit["observations_processed"] for audit in audits} == {0}
        assert [audit["now"] for audit in audits] == [iso(1), iso(2)]


def test_facts_do_not_depend_on_ticks() -> None:
    lines = [observe(value, at, predicate="lives_in") for at, value in enumerate("AABBBAC")]
    with fresh() as still, fresh() as ticking:
        still.each(lines)
        for number, line in enumerate(lines):
            ticking.publish(line).tick(number)

        assert ticking.lines() == still.lines()


def test_an_observation_that_arrives_again_is_counted_once() -> None:
    line = observe("Rome", 0, predicate="lives_in", id="one")
    with fresh() as world:
        world.publish(line, line).publish(line).tick(0)
        world.publish(line).tick(1)

        assert [audit["observations_processed"] for audit in told(world, Topic.CYCLES)] == [1, 0]


def a_file(n: int) -> bytes:
    lines = [
        observe(["Rome", "Oslo", "Bath"][n // 7 % 3], n / 20, subject=f"p{n % 11}", predicate="lives_in")
        for n in range(n)
    ]
    lines[5] = {"subject": "no one"}
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def ticks_of(world: World) -> list[tuple[int, str]]:
    return [(audit["cycle"], audit["now"]) for audit in told(world, Topic.CYCLES)]


@pytest.mark.parametrize("batch_max", [1, 7, 499, 500, 501, 5000])
def test_a_replay_ticks_at_the_same_places_in_batches_of_any_size(batch_max: int) -> None:
    n = 2 * LINES_PER_CYCLE + 3
    with fresh() as world:
        replay(world.host, None, io.BytesIO(a_file(n)), batch_max=batch_max)

        assert ticks_of(world) == [
            (1, iso((LINES_PER_CYCLE - 1) / 20)),
            (2, iso((2 * LINES_PER_CYCLE - 1) / 20)),
            (3, iso((n - 1) / 20)),
        ]
        processed = sum(audit["observations_processed"] for audit in told(world, Topic.CYCLES))
        assert processed == n - 1


def test_a_file_of_whole_cycles_is_not_followed_by_an_empty_one() -> None:
    with fresh() as world:
        replay(world.host, None, io.BytesIO(a_file(LINES_PER_CYCLE)), batch_max=500)

        assert len(ticks_of(world)) == 1


def test_the_same_replay_gives_the_same_cycles_alerts_and_rule_events() -> None:
    def run() -> list[Any]:
        with fresh() as world:
            command(world, "added", when=IN_ROME)
            replay(world.host, None, io.BytesIO(a_file(700)), batch_max=100)
            found = [told(world, t) for t in (Topic.CYCLES, Topic.RULE_EVENTS, Topic.DRIFT_ALERTS)]
            hidden = ("closed_at", "recorded_at")
            return [[{k: v for k, v in b.items() if k not in hidden} for b in bodies] for bodies in found]

    once, again = run(), run()
    assert once == again
    assert len(once[0]) == 2
    assert len(once[1]) > 2


def test_a_replay_that_was_cut_short_goes_on_with_the_same_ticks(tmp_path: Path) -> None:
    file, n = tmp_path / "lines.jsonl", LINES_PER_CYCLE + 220
    file.write_bytes(a_file(n))
    whole, parts = World(tmp_path / "whole"), composition.embedded(Settings(), tmp_path / "parts")
    with file.open("rb") as stream:
        replay(whole.host, file, stream, batch_max=60)

    class Killed(Exception):
        pass

    class Dies:
        """Lets the second report of progress be the last: a run does one batch at most."""

        def __init__(self) -> None:
            self.n_calls = 0

        def __call__(self, _n_bytes: int) -> None:
            self.n_calls += 1
            if self.n_calls == 2:
                raise Killed

    for _ in range(30):
        try:
            with file.open("rb") as stream:
                replay(parts, file, stream, batch_max=60, progressed=Dies())
            break
        except Killed:
            continue
    else:
        pytest.fail("the replay never came to its end")

    def of_log(store: Any) -> list[object]:
        entries = [decode_batch(r.value).entries for r in records(store, Topic.BY_CLAIM)]
        return [[e.usable if isinstance(e.usable, Tick) else e.offset for e in found] for found in entries]

    assert of_log(parts.store) == of_log(whole.host.store)
    parts.store.close()
    whole.close()
