"""The life of a rule, step by step; what conditions mean; which commands can be used."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from state import rules
from state.errors import BadInput
from state.patterns import Seen, condition, matches, parse, shown
from state.rule_commands import RULE_CODES, read_command
from state.rules import Rule, Standing, Step
from state.standard_rules import standard_rules
from tests.builders import day


def rule(**fields: Any) -> Rule:
    return Rule(rule_id="r", namespace="default", name="r", **fields)


# -- one cycle ------------------------------------------------------------------------------


def test_a_second_match_of_a_cycle_counts_and_adds_nothing() -> None:
    once, _ = rules.matched(rule(), cycle=4)
    twice, points = rules.matched(once, cycle=4)

    assert (once.confidence, twice.confidence, twice.n_matches) == (0.55, 0.55, 2)
    assert points == []


def test_a_match_takes_back_no_decay_but_ends_it() -> None:
    decayed = rule(standing=Standing.ACTIVE, base=0.8, missed=3)

    found, _ = rules.matched(decayed, cycle=4)

    assert found.confidence == pytest.approx(0.8 * 0.95**3 + 0.05)
    assert found.missed == 0


def test_confidence_never_exceeds_one() -> None:
    found, _ = rules.matched(rule(base=0.98), cycle=1)

    assert found.confidence == 1.0


def test_a_cycle_that_a_rule_has_been_through_changes_nothing() -> None:
    once, _ = rules.closed(rule(), cycle=3, now=day(1))

    assert rules.closed(once, cycle=3, now=day(9)) == (once, [])
    assert rules.closed(once, cycle=2, now=day(9)) == (once, [])


def test_an_idle_cycle_speaks_against_no_rule() -> None:
    found, points = rules.closed(rule(standing=Standing.ACTIVE), cycle=1, now=day(1), is_idle=True)

    assert found.confidence == 0.5
    assert points == []


def test_only_a_candidate_becomes_active_by_being_vouched_for() -> None:
    active, points = rules.validated(rule(base=0.41), cycle=2)

    assert (active.standing, [p.step for p in points]) == (Standing.ACTIVE, [Step.PROMOTED])
    for standing in (Standing.ACTIVE, Standing.DEMOTED, Standing.PRUNED):
        assert rules.validated(rule(standing=standing), cycle=2)[1] == []


def test_a_rule_that_was_just_vouched_for_is_not_demoted_in_the_same_cycle() -> None:
    active, _ = rules.validated(rule(base=0.3), cycle=2)

    active, _ = rules.closed(active, cycle=2, now=day(1))
    assert active.standing is Standing.ACTIVE

    active, _ = rules.closed(active, cycle=3, now=day(1))
    assert active.standing is Standing.DEMOTED


def test_a_packaged_rule_never_changes() -> None:
    for packaged in standard_rules():
        matched, points = rules.matched(packaged, cycle=1)
        closed, more = rules.closed(matched, cycle=2, now=day(999))

        assert (closed.confidence, closed.standing, points, more) == (1.0, Standing.ACTIVE, [], [])


def test_a_pruned_rule_stays_pruned() -> None:
    pruned = rule(standing=Standing.PRUNED, base=0.9)

    matched, points = rules.matched(pruned, cycle=1)
    closed, more = rules.closed(matched, cycle=1, now=day(1))

    assert (closed.standing, points, more) == (Standing.PRUNED, [], [])


def test_the_history_keeps_the_newest_points() -> None:
    found = rule(standing=Standing.DEMOTED, base=0.5)

    for cycle in range(1, rules.HISTORY_MAX + 10):
        found, _ = rules.closed(found, cycle=cycle, now=day(1))

    assert len(found.history) == rules.HISTORY_MAX
    assert found.history[-1].cycle == rules.HISTORY_MAX + 9


# -- conditions -----------------------------------------------------------------------------


def seen(subject: str, predicate: str, form: str) -> Seen:
    return Seen(subject, predicate, form, lambda form: form)


ACME, YORK = seen("kim", "works_at", "t:acme"), seen("kim", "located_in", "t:york")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("works_at", ("*", "works_at", None)),
        ("works at = Acme", ("*", "works_at", "Acme")),
        ("Kim / works_at", ("kim", "works_at", None)),
        ("Kim / * = 5 kg", ("kim", "*", "5 kg")),
        ("* / * = Acme", ("*", "*", "Acme")),
        ("a/b / works_at = x = y", ("a/b", "works_at", "x = y")),
    ],
)
def test_a_condition_is_read_as_it_is_shown(text: str, expected: tuple[str, str, str | None]) -> None:
    found = parse(text)

    assert (found.subject or "*", found.predicate or "*", found.object) == expected
    assert parse(shown(found)) == found


def test_objects_are_compared_by_what_they_mean() -> None:
    weight = condition(None, "weighs", "5000 g")

    assert matches([weight], seen("kim", "weighs", condition(None, None, "5 kg").form or ""), list)


def test_a_conjunction_is_met_by_facts_of_one_subject_together() -> None:
    both = [parse("works_at = Acme"), parse("located_in = York")]

    assert matches(both, ACME, lambda: [ACME, YORK])
    assert matches(both, YORK, lambda: [ACME, YORK])
    assert not matches(both, ACME, lambda: [ACME])
    assert not matches(both, seen("kim", "likes", "t:tea"), lambda: [ACME, YORK])


def test_a_fact_without_object_meets_no_condition_on_one() -> None:
    assert not matches([parse("runs = fast")], seen("kim", "runs", ""), list)
    assert matches([parse("runs")], seen("kim", "runs", ""), list)


def test_a_rule_without_conditions_is_met_by_nothing() -> None:
    assert not matches([], ACME, lambda: [ACME])


# -- commands -------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "missing_field"),
    ({"op": "promoted", "name": "r"}, "wrong_type"),
    ({"op": "added"}, "missing_field"),
    ({"op": "added", "rule_id": "x"}, "missing_field"),
    ({"op": "matched"}, "missing_field"),
    ({"op": "added", "name": " "}, "wrong_type"),
    ({"op": "added", "name": 5}, "wrong_type"),
    ({"op": "added", "name": "r" * 201}, "wrong_type"),
    ({"op": "added", "name": "a\x00"}, "control_character"),
    ({"op": "added", "name": "r", "when": "works_at"}, "wrong_type"),
    ({"op": "added", "name": "r", "when": ["works_at"]}, "wrong_type"),
    ({"op": "added", "name": "r", "when": [{}]}, "blank_condition"),
    ({"op": "added", "name": "r", "when": [{"predicate": "!"}]}, "blank_predicate"),
    ({"op": "added", "name": "r", "when": [{"object": "..."}]}, "blank_object"),
    ({"op": "added", "name": "r", "when": [{"object": [1]}]}, "wrong_type"),
    ({"op": "added", "name": "r", "when": [{"subject": "a"}, {"subject": "b"}]}, "several_subjects"),
    ({"op": "added", "name": "r", "when": [{"predicate": f"p{n}"} for n in range(9)]}, "wrong_type"),
]


@pytest.mark.parametrize(("fields", "code"), REFUSED)
def test_a_command_that_cannot_be_used_says_why(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_command(fields)

    assert refusal.value.code == code


def test_every_code_of_a_door_is_shown_by_a_row() -> None:
    by_the_owner = {"duplicate_rule", "standard_rule", "unknown_rule"}

    assert set(RULE_CODES) - by_the_owner <= {code for _, code in REFUSED}


def test_a_name_is_one_rule_in_each_namespace() -> None:
    one = read_command({"op": "added", "name": "a  rule"})
    same = read_command({"op": "matched", "name": " a rule "})
    other = read_command({"op": "added", "name": "a rule", "namespace": "work"})

    assert one.rule_id == same.rule_id != other.rule_id


def test_packaged_rules_have_conditions_and_a_description() -> None:
    assert len(standard_rules()) >= 5
    for packaged in standard_rules():
        assert packaged.conditions
        assert packaged.description
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(packaged), type=Rule) == packaged
