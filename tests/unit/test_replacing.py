"""What newer documents end in the fold: the rules of `state.replacing` that are rare in any history."""

from __future__ import annotations

import msgspec

from state.policy import Policy
from state.predicates import Predicate
from state.replacing import replacing_of
from state.statements import Statement
from state.timeline import fold
from tests.builders import statement
from tests.kept import KeptClaim, facts_of

SINGLE, MULTI, NEVER = Predicate("p"), Predicate("p", "multi"), Predicate("p", change="never")


def said(form: str, at: int, *, document: str, replaces: str | None = None, **more: int) -> Statement:
    found = statement(form, at, id=f"{document}-{form}-{at}", source="s", document=document, **more)  # type: ignore[arg-type]
    return msgspec.structs.replace(found, supersedes=replaces)


def spans(*statements: Statement, predicate: Predicate = SINGLE) -> list[tuple[object, ...]]:
    folded = fold(statements, predicate, Policy(), {})
    return [
        (e.form, e.lo and e.lo.at, e.hi and e.hi.at, e.reason and e.reason.value) for e in folded.episodes
    ]


def test_where_no_document_replaces_another_nothing_is_kept() -> None:
    assert replacing_of([said("a", 1, document="d1")], str) is None


def test_a_document_ends_its_predecessor_where_it_begins_to_speak_of_the_claim() -> None:
    newer = [said("b", 5, document="d2", replaces="d1"), said("c", 7, document="d2", replaces="d1")]

    found = replacing_of([said("a", 1, document="d1"), *newer], str)

    assert found is not None
    assert [(r.who, r.form, r.at, r.by) for r in found.ended] == [("d1:sd1", "a", 5, "d2-b-5")]


def test_a_successor_that_says_the_same_leaves_the_end_to_its_own_successor() -> None:
    same = said("a", 5, document="d2", replaces="d1")
    other = said("b", 8, document="d3", replaces="d2")

    assert spans(said("a", 1, document="d1"), same, other) == [
        ("a", 1, 8, "superseded"), ("b", 8, None, None),
    ]  # fmt: skip


def test_a_fact_whose_document_is_replaced_is_superseded_and_names_the_newer_statement() -> None:
    folded = fold(
        [said("a", 1, document="d1"), said("b", 5, document="d2", replaces="d1")], SINGLE, Policy(), {}
    )

    assert [e.replaced_by for e in folded.episodes] == [("d2-b-5", 5), None]
    assert folded.episodes[0].closed_by is None


def test_an_end_of_its_own_at_the_same_instant_goes_before_the_newer_document() -> None:
    bounded = said("a", 1, document="d1", valid_from=1, valid_to=5)

    assert spans(bounded, said("b", 5, document="d2", replaces="d1"))[0] == ("a", 1, 5, "ended")


def test_a_document_that_was_replaced_says_nothing_any_more() -> None:
    newer = said("b", 5, document="d2", replaces="d1")

    assert spans(said("a", 6, document="d1"), said("a", 7, document="d1"), newer) == [("b", 5, None, None)]


def test_who_says_the_same_without_end_holds_the_fact_open() -> None:
    others = [said("a", 2, document="d3"), said("b", 5, document="d2", replaces="d1")]

    assert spans(said("a", 1, document="d1"), *others, predicate=MULTI) == [
        ("a", 1, None, None), ("b", 5, None, None),
    ]  # fmt: skip


def test_who_announced_the_same_holds_the_fact_open_although_an_announcement_is_no_vote() -> None:
    announced = [said("a", 1, document=name, valid_from=50) for name in ("d1", "d3")]
    newer = said("b", 2, document="d2", replaces="d1", valid_from=60)

    assert ("a", 50, None, None) in spans(*announced, newer, predicate=MULTI)
    assert ("a", 50, 60, "superseded") in spans(announced[0], newer, predicate=MULTI)


def test_what_a_replaced_document_said_without_end_does_not_outlive_an_end_told_later() -> None:
    without_end = said("a", 1, document="d1")
    bounded = said("a", 2, document="d3", valid_from=2, valid_to=4)

    found = spans(without_end, bounded, said("b", 9, document="d2", replaces="d1"))

    assert found == [("a", 1, 4, "ended"), ("b", 9, None, None)]


def test_where_nothing_ever_changes_a_replaced_document_has_no_vote() -> None:
    older = [said("a", 1, document=name) for name in ("d1", "d2")]
    newer = [said("b", 2, document="d3", replaces="d1"), said("b", 3, document="d4", replaces="d2")]

    assert [span[0] for span in spans(*older, newer[0], predicate=NEVER)] == ["a"]
    assert [span[0] for span in spans(*older, *newer, predicate=NEVER)] == ["b"]


def test_a_claim_that_is_kept_learns_of_a_replacement_that_comes_later_where_nothing_ever_changes() -> None:
    older = [said("a", 1, document=name) for name in ("d1", "d2")]
    newer = [said("b", 2, document="d3", replaces="d1"), said("b", 3, document="d4", replaces="d2")]
    claim = KeptClaim(NEVER)

    for one in [*older, *newer]:
        claim.apply([one])

    assert claim.facts() == facts_of([*older, *newer], NEVER)
    assert [fact["form"] for fact in claim.facts()] == ["b"]
