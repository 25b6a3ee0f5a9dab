"""Facts of single assertions: the rules of `state.own_facts` that are rare in any history."""

from __future__ import annotations

import msgspec

from state.corrections import Invalidate, Target
from state.episodes import Episode, Reason
from state.forms import Forms
from state.instants import Instant
from state.own_decisions import judged
from state.own_facts import fold_own
from state.statements import Statement, order
from tests.builders import decision, statement
from tests.disputing import CLAIM, LOCATED_IN, Disputed, invalidate
from tests.disputing import said as stated


def said(form: str, at: int, *, id: str, document: str = "d1", **more: int | None) -> Statement:  # noqa: A002
    return statement(form, at, id=id, source="s", document=document, **more)  # type: ignore[arg-type]


def facts(*statements: Statement) -> list[Episode]:
    episodes, _ = fold_own(sorted(statements, key=order), {}, timeless=False)
    return episodes


def spans(*statements: Statement) -> list[tuple[str, int | None, int | None, str | None]]:
    return [
        (e.form, e.lo and e.lo.at, e.hi and e.hi.at, e.reason and e.reason.value)
        for e in facts(*statements)
    ]  # fmt: skip


def test_a_report_of_an_end_where_nothing_is_known_has_an_unknown_start() -> None:
    assert spans(said("a", 9, id="late", valid_to=5)) == [("a", None, 5, "ended")]


def test_a_report_of_a_later_end_begins_where_the_fact_before_it_ended() -> None:
    first = said("a", 1, id="first", valid_from=1, valid_to=3)

    assert spans(first, said("a", 9, id="late", valid_to=7)) == [("a", 1, 3, "ended"), ("a", 3, 7, "ended")]


def test_a_report_of_an_end_that_is_known_supports_the_fact_that_it_ends() -> None:
    first = said("a", 1, id="first", valid_from=1, valid_to=5)

    (fact,) = facts(first, said("a", 9, id="late", valid_to=5))

    assert (fact.observations, fact.support, fact.supported_by) == (2, 1, ["first", "late"])


def test_stretches_that_meet_are_one_fact() -> None:
    one = said("a", 1, id="one", valid_from=1, valid_to=3)

    assert spans(one, said("a", 2, id="two", valid_from=3)) == [("a", 1, None, None)]


def test_decisions_that_replace_each_other_at_one_instant_end_with_nothing_left_open() -> None:
    there = decision("x1", closes="a", opens="b", at=5, decided_at=5)
    back = decision("x2", closes="b", opens="a", at=5, decided_at=5)

    (fact,) = facts(said("a", 1, id="a"), *there, *back)

    assert (fact.reason, fact.closed_by, fact.follower) == (Reason.SUPERSEDED, ("x1", 5), None)


def test_a_replacement_that_is_replaced_later_is_named_as_what_followed() -> None:
    first = decision("x1", closes="a", opens="b", at=5, decided_at=5)
    second = decision("x2", closes="b", opens="c", at=8, decided_at=8)

    found = {e.form: e for e in facts(said("a", 1, id="a"), *first, *second)}

    assert found["a"].follower == (found["b"].name, 0)
    assert found["b"].follower == (found["c"].name, 0)
    assert (found["c"].hi, found["c"].opened_by) == (None, "x2+")


def test_what_is_fed_back_is_no_assertion() -> None:
    assert facts(msgspec.structs.replace(said("a", 1, id="a"), votes=False)) == []


def test_a_decision_without_its_time_counts_for_all_that_its_target_had_been_observed_to_say() -> None:
    target = said("a", 5, id="a")
    undated = Invalidate(
        correction_id="x1", claim=CLAIM, namespace="default", subject="kim", predicate="located_in",
        reason="wrong", recorded_at=Instant(3), decided_at=None, content_hash="h",
        target=Target(observation_ids=("a",)), valid_at=Instant(7), granularity="day",
    )  # fmt: skip

    entered = judged(undated, [target], predicate=LOCATED_IN, forms=Forms())

    assert isinstance(entered, list)
    assert spans(target, *entered) == [("a", 5, 7, "invalidated")]


def test_a_decision_that_was_taken_back_before_it_came_makes_no_link() -> None:
    claim = Disputed()
    claim.batch(stated("Paris", 1, document="D1", id="F1"))
    claim.retract("c1", 2)

    claim.batch(invalidate(claim.target("F1"), 3, id="c1"))

    assert (claim.links, claim.refusals, claim.lives(9)) == ([], [], {"F1": "current"})
