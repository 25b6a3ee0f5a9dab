"""Decisions of people in the fold: they hold against what was said before, and yield to what comes later."""

from __future__ import annotations

from itertools import permutations

import pytest

from state.changes import Kind
from state.predicates import Predicate
from state.statements import Statement
from tests.builders import decision
from tests.builders import statement as built
from tests.kept import KeptClaim, facts_of

SINGLE, MULTI, NEVER = Predicate("p"), Predicate("p", "multi"), Predicate("p", change="never")


def spans(live: KeptClaim) -> list[tuple[object, object, object, object]]:
    """(value, lo, hi, reason) of every fact that was not withdrawn, in order of time."""
    facts = [p.fact for p in live.seen.values() if p.fact.reason != "withdrawn"]
    found = [(f.object, f.lo, f.hi, f.reason) for f in facts]
    return sorted(found, key=lambda span: (span[1], span[0]))


def told(*batches: list[Statement], predicate: Predicate = SINGLE) -> KeptClaim:
    """A claim that took in some batches; checked against the fold of all evidence after each."""
    live, all_of_it = KeptClaim(predicate), []
    for batch in batches:
        live.apply(batch)
        all_of_it += batch
        assert live.facts() == facts_of(all_of_it, predicate)
    return live


A1 = built("a", 1, id="a1", document="one")
MOVED = decision("moved", closes="a", opens="b", at=4, decided_at=5)


def test_a_supersede_closes_the_target_and_opens_the_replacement_at_its_instant() -> None:
    live = told([A1], MOVED)

    assert spans(live) == [("a", 1, 4, "superseded"), ("b", 4, None, None)]
    closed, opened = sorted((p.fact for p in live.seen.values()), key=lambda f: f.lo or 0)
    assert (closed.closed_by, closed.invalidated_by) == ("moved", opened.fact_id)
    assert (opened.opened_by, opened.support, opened.object) == ("moved+", 0, "b")


def test_an_invalidate_leaves_a_gap() -> None:
    assert spans(told([A1], decision("wrong", closes="a", at=4, decided_at=5))) == [
        ("a", 1, 4, "invalidated")
    ]


def test_the_same_decision_again_changes_nothing() -> None:
    live = told([A1], MOVED)

    assert live.apply(MOVED) == []


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_arrival_does_not_matter(order: tuple[int, ...]) -> None:
    batches = [[A1, built("a", 2, id="a2")], MOVED, [built("a", 3, id="late", valid_from=6)]]

    live = told(*(batches[i] for i in order))

    assert spans(live) == [("a", 1, 4, "superseded"), ("b", 4, None, None)]


def test_what_was_said_before_a_decision_never_counts_again_for_what_it_closed() -> None:
    older = [built("a", 3, id=f"old{i}", valid_from=10, document=f"d{i}") for i in range(20)]

    assert spans(told([A1], MOVED, older)) == [("a", 1, 4, "superseded"), ("b", 4, None, None)]


def test_one_later_voice_does_not_overturn_a_decision_and_a_lead_of_two_does() -> None:
    live = told([A1], MOVED, [built("a", 7, id="x1", document="x1")])
    assert spans(live)[-1] == ("b", 4, None, None)

    live.apply([built("a", 8, id="x2", document="x2")])

    assert spans(live) == [("a", 1, 4, "superseded"), ("b", 4, 7, "outvoted"), ("a", 7, None, None)]
    newest = max((p.fact for p in live.seen.values()), key=lambda f: f.lo or 0)
    assert newest.against == "moved"


def test_an_invalidated_value_needs_two_later_voices_and_another_value_needs_one() -> None:
    wrong = decision("wrong", closes="a", at=4, decided_at=5)
    live = told([A1], wrong, [built("a", 6, id="x1", document="x1")])
    assert spans(live) == [("a", 1, 4, "invalidated")]
    live.apply([built("a", 7, id="x2", document="x2")])
    assert spans(live) == [("a", 1, 4, "invalidated"), ("a", 7, None, None)]

    other = told([A1], wrong, [built("c", 6, id="c1", document="x1")])
    assert spans(other) == [("a", 1, 4, "invalidated"), ("c", 6, None, None)]


def test_a_fact_that_is_invalidated_from_its_own_start_never_was() -> None:
    live = told([A1], decision("wrong", closes="a", at=1, decided_at=5))

    assert spans(live) == []
    assert [p.fact.reason for p in live.seen.values()] == ["withdrawn"]


def test_a_decision_that_is_taken_back_leaves_what_would_have_been_without_it() -> None:
    live = told([A1], MOVED)

    live.apply([], ["moved"])

    assert spans(live) == [("a", 1, None, None)]


def test_a_later_decision_can_bring_the_first_value_back() -> None:
    back = decision("back", closes="b", opens="a", at=8, decided_at=9)

    live = told([A1], MOVED, back)

    assert spans(live) == [
        ("a", 1, 4, "superseded"),
        ("b", 4, 8, "superseded"),
        ("a", 8, None, None),
    ]
    assert max((p.fact for p in live.seen.values()), key=lambda f: f.lo or 0).against is None


def test_two_decisions_for_one_instant_count_in_the_order_in_which_they_were_taken() -> None:
    second = decision("second", closes="b", opens="c", at=4, decided_at=6)

    for batches in ([A1], MOVED, second), ([A1], second, MOVED):
        live = told(*batches)
        assert spans(live) == [("a", 1, 4, "superseded"), ("c", 4, None, None)]


def test_a_decision_for_a_later_day_is_announced_and_holds_from_then_on() -> None:
    live = told([A1], decision("moves", closes="a", opens="b", at=9, decided_at=5))

    assert spans(live) == [("a", 1, 9, "superseded"), ("b", 9, None, None)]


def test_under_many_values_only_the_one_that_was_named_is_closed() -> None:
    live = told([A1, built("c", 2, id="c1")], MOVED, predicate=MULTI)

    assert spans(live) == [("a", 1, 4, "superseded"), ("c", 2, None, None), ("b", 4, None, None)] or spans(
        live
    ) == [("a", 1, 4, "superseded"), ("b", 4, None, None), ("c", 2, None, None)]


def test_a_decision_on_what_never_changes_holds_for_all_of_time() -> None:
    born = [built("a", i, id=f"a{i}", document=f"d{i}") for i in (1, 2, 3)]

    live = told(born, MOVED, predicate=NEVER)

    assert [(f.object, f.support) for f in (p.fact for p in live.seen.values()) if f.reason is None] == [
        ("b", 0)
    ]


def test_a_closing_is_told_as_an_invalidation_with_the_decision_that_made_it() -> None:
    live = KeptClaim(SINGLE)
    live.apply([A1])

    changes = live.apply(MOVED)

    assert [(c.kind, c.fact.object) for c in changes] == [
        (Kind.INVALIDATED, "a"),
        (Kind.CREATED, "b"),
    ] or [(c.kind, c.fact.object) for c in changes] == [(Kind.CREATED, "b"), (Kind.INVALIDATED, "a")]
    assert {c.fact.decided_observed_at for c in changes if c.kind is Kind.INVALIDATED} == {5}
