"""CASES "Links" L1 to L12, each with others of its kind: assertions, links and lifecycle without a host.

Instants are small integers; `located_in` has one value at a time and `arbitration = explicit`.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from state.correction_records import read_correction
from state.corrections import Relate, Target
from state.endings import ClosedByFold
from state.errors import BadInput
from state.instants import Instant
from state.predicates import Predicate, packaged
from state.shelf import Shelf
from tests.disputing import LATEST, WORKS_ON, Disputed, invalidate, link, said, supersede

F1 = said("Paris", 1, document="D1", id="F1")
F2 = said("Paris", 2, document="D2", id="F2")
F3 = said("London", 3, document="D3", id="F3")


def dispute() -> Disputed:
    """L2: Paris twice, London once."""
    claim = Disputed()
    claim.each([F1, F2, F3])
    return claim


# -- L1 -------------------------------------------------------------------------------------


def test_l1_two_documents_that_say_the_same_confirm_each_other() -> None:
    claim = Disputed()

    claim.each([F1, F2])

    assert claim.told() == [("confirms", "inferred", "F2", "F1")]
    assert claim.lives(99) == {"F1": "current", "F2": "current"}


def test_l1_the_link_is_the_same_when_the_later_document_arrives_first() -> None:
    forwards, backwards = Disputed(), Disputed()

    forwards.each([F1, F2])
    backwards.each([F2, F1])

    assert backwards.told() == forwards.told()
    assert backwards.links[0].link_id == forwards.links[0].link_id


def test_l1_seven_sources_make_six_links_to_the_earliest() -> None:
    claim = Disputed()

    claim.batch(*[said("Paris", n, document=f"D{n}", id=f"F{n}") for n in range(1, 8)])

    assert claim.told() == [("confirms", "inferred", f"F{n}", "F1") for n in range(2, 8)]


def test_l1_a_document_that_repeats_itself_confirms_nothing() -> None:
    claim = Disputed()

    claim.each([F1, said("Paris", 5, document="D1", id="F1b"), said("Paris", 9, document="D1", id="F1c")])

    assert claim.links == []
    assert list(claim.lives(99)) == ["F1"]  # one document, one assertion


def test_l1_statements_without_document_are_assertions_of_their_own() -> None:
    claim = Disputed()

    claim.each([said("Paris", 1, id="a"), said("Paris", 2, id="b")])

    assert claim.told() == [("confirms", "inferred", "b", "a")]


def test_l1_spans_that_do_not_overlap_confirm_nothing() -> None:
    claim = Disputed()

    claim.each([said("Paris", 1, 5, document="D1"), said("Paris", 5, document="D2")])

    assert claim.links == []


def test_l1_what_came_out_of_factdrift_confirms_nothing() -> None:
    claim = Disputed()

    claim.each([F1, said("Paris", 2, document="D2", votes=False)])

    assert claim.links == []
    assert list(claim.lives(99)) == ["F1"]


# -- L2 -------------------------------------------------------------------------------------


def test_l2_another_value_contradicts_every_document_that_says_otherwise() -> None:
    claim = dispute()

    assert claim.told()[1:] == [
        ("contradicts", "inferred", "F3", "F2"),
        ("contradicts", "inferred", "F3", "F1"),
    ]
    at_99 = claim.at(99)
    assert {name: state.state.value for name, state in at_99.items()} == dict.fromkeys(
        ("F1", "F2", "F3"), "conflicting"
    )
    assert {state.preferred for state in at_99.values()} == {claim.id_of("F3")}
    assert at_99["F1"].basis == (
        "later valid_from (equal category and confidence); the conflict remains unresolved"
    )


def test_l2_read_before_the_other_value_began_there_is_no_conflict() -> None:
    assert dispute().lives(2) == {"F1": "current", "F2": "current"}  # 2.5 of the case, in whole instants


def test_l2_what_has_not_begun_is_historical() -> None:
    states = dispute().open().read(valid_at=Instant(2))

    (absent,) = [state for state in states if not state.has_begun]
    assert (absent.observation_ids, absent.state, absent.holds) == (("F3",), "historical", False)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_l2_any_order_of_arrival_gives_the_same_links_and_the_same_answers(order: tuple[int, ...]) -> None:
    claim = Disputed()

    claim.each([(F1, F2, F3)[n] for n in order])

    assert sorted(claim.told()) == sorted(dispute().told())
    assert claim.at(99) == dispute().at(99)


def test_l2_a_denial_contradicts_the_value_and_nothing_else() -> None:
    claim = Disputed()

    claim.each([F1, F3, said("London", 4, document="D4", id="F4", affirmed=False)])

    assert ("contradicts", "inferred", "F4", "F3") in claim.told()
    assert not any("F4" in one and "F1" in one for one in claim.told())


# -- L3 -------------------------------------------------------------------------------------


def test_l3_the_same_records_again_write_nothing() -> None:
    claim = dispute()
    links, head, table = list(claim.links), claim.head, dict(claim.table)

    again = claim.batch(F1, F2, F3)

    assert (again.links, again.changed, again.refusals) == ([], [], [])
    assert (claim.links, claim.head, claim.table) == (links, head, table)


def test_l3_a_replay_into_an_empty_log_gives_the_same_links_at_the_same_instants() -> None:
    first, replayed = dispute(), Disputed()

    replayed.batch(F1, F2, F3)

    assert sorted(map(repr, replayed.links)) == sorted(map(repr, first.links))
    assert {one.recorded_at for one in replayed.links} == {2, 3}


def test_l3_a_document_that_repeats_itself_is_not_linked_again() -> None:
    claim = dispute()

    applied = claim.batch(said("London", 7, document="D3", id="F3b"))

    assert applied.changed == [claim.id_of("F3")]
    assert applied.links == []


# -- L4, L5 ---------------------------------------------------------------------------------


def test_l4_values_of_a_multi_predicate_do_not_contradict_each_other() -> None:
    claim = Disputed(WORKS_ON)

    claim.each([said("X", 1, document="D1"), said("Y", 2, document="D2")])

    assert claim.links == []
    assert set(claim.lives(99).values()) == {"current"}


def test_l4_a_denial_contradicts_its_value_even_where_there_are_several() -> None:
    claim = Disputed(WORKS_ON)

    claim.each([said("X", 1, document="D1", id="X"), said("X", 2, document="D2", id="-X", affirmed=False)])

    assert claim.told() == [("contradicts", "inferred", "-X", "X")]


def test_l4_an_undeclared_predicate_contradicts_nothing() -> None:
    claim = Disputed(packaged().get("is_seen_with"))

    claim.each([F1, F3])

    assert claim.links == []
    assert set(claim.lives(99).values()) == {"current"}


def test_l5_one_document_does_not_contradict_itself() -> None:
    claim = Disputed()

    claim.each([said("Paris", 1, document="D1"), said("London", 1, document="D1")])

    assert claim.links == []
    assert set(claim.lives(99).values()) == {"current"}


LINEAGE = [
    said("Paris", 1, document="D1"),
    said("Paris", 2, document="D2", supersedes="D1"),
    said("Paris", 3, document="D3", supersedes="D2"),
    said("London", 3, document="D3", supersedes="D2"),
]


def test_l5_documents_of_one_lineage_are_never_independent() -> None:
    claim = Disputed()

    claim.each(LINEAGE)

    assert claim.links == []
    assert set(claim.lives(99).values()) == {"current"}


def test_l5_a_lineage_that_is_learnt_late_ends_the_conflict_and_the_trail_stays() -> None:
    claim = Disputed()

    claim.each([LINEAGE[0], *LINEAGE[2:]])
    before = claim.lives(99)
    claim.batch(LINEAGE[1])

    assert "conflicting" in before.values()
    assert set(claim.lives(99).values()) == {"current"}
    assert {one.kind for one in claim.links} == {"confirms", "contradicts"}


def test_l5_the_same_document_name_of_another_source_is_another_document() -> None:
    claim = Disputed()

    claim.each([said("Paris", 1, document="D1"), said("London", 1, document="D1", source="t", id="L")])

    assert [one.kind for one in claim.links] == ["contradicts"]


# -- L6, L7 ---------------------------------------------------------------------------------

DIRECT = said("Paris", 1, document="D1", id="direct", confidence=0.1)
EXTRACTED = said("London", 2, document="D2", id="extracted", confidence=0.99, extracted=True)


@pytest.mark.parametrize("arrivals", [(DIRECT, EXTRACTED), (EXTRACTED, DIRECT)])
def test_l6_direct_goes_before_extracted_in_either_order(arrivals: tuple[Any, ...]) -> None:
    claim = Disputed()

    claim.each(arrivals)

    at_99 = claim.at(99)
    assert {state.preferred for state in at_99.values()} == {claim.id_of("direct")}
    assert at_99["direct"].basis == "direct over extracted; the conflict remains unresolved"


def test_l6_of_two_direct_ones_the_higher_confidence_goes_first() -> None:
    claim = Disputed()

    claim.each([said("Paris", 1, document="D1", id="sure", confidence=0.9), F3])

    assert claim.at(99)["F3"].preferred == claim.id_of("sure")
    assert claim.at(99)["F3"].basis == "higher confidence (equal category); the conflict remains unresolved"


def test_l6_of_equals_the_smaller_id_goes_first() -> None:
    claim = Disputed()

    claim.each([F1, said("London", 1, document="D3", id="F3")])

    assert claim.at(99)["F1"].preferred == min(claim.id_of("F1"), claim.id_of("F3"))
    assert claim.at(99)["F1"].basis == (
        "smaller id (equal category, confidence and valid_from); the conflict remains unresolved"
    )


def test_l6_preferred_is_the_same_over_the_whole_dispute() -> None:
    claim = Disputed(Predicate("located_in", arbitration="explicit"))

    claim.each([F1, F3, said("Oslo", 4, document="D4", id="F4", confidence=0.1)])

    at_99 = claim.at(99)
    assert {state.preferred for state in at_99.values()} == {claim.id_of("F3")}
    assert at_99["F4"].dispute == tuple(claim.id_of(name) for name in ("F3", "F1", "F4"))


def test_l7_spans_that_meet_do_not_conflict() -> None:
    claim = Disputed()

    claim.each([said("Paris", 1, 5, document="D1", id="F1"), said("London", 5, document="D2", id="F2")])

    assert claim.links == []
    assert claim.lives(4) == {"F1": "current"}
    assert claim.lives(5) == {"F1": "historical", "F2": "current"}


# -- L8 -------------------------------------------------------------------------------------

OLD = said("X", 1, document="D1", id="F1")
NEW = said("Y", 5, document="D2", id="F2", supersedes="D1")


@pytest.mark.parametrize("arrivals", [(OLD, NEW), (NEW, OLD)])
def test_l8_a_document_that_replaces_another_ends_what_it_does_not_say_again(
    arrivals: tuple[Any, ...],
) -> None:
    claim = Disputed(WORKS_ON)

    claim.each(arrivals)

    assert claim.told() == [("supersedes", "inferred", "F2", "F1")]
    assert claim.lives(99) == {"F1": "superseded", "F2": "current"}
    old = claim.at(99)["F1"]
    assert (old.valid_from, old.valid_to, old.ended_by) == (1, 5, "D2")
    assert claim.lives(4) == {"F1": "current"}


def test_l8_what_the_new_document_says_again_goes_on() -> None:
    claim = Disputed(WORKS_ON)

    claim.batch(OLD, NEW, said("X", 5, document="D2", id="F3", supersedes="D1"))

    assert claim.links == []  # told at the end of the batch: X is said again in it
    assert claim.lives(99) == {"F1": "current", "F2": "current", "F3": "current"}


def test_l8_a_value_said_again_late_is_reinstated_and_the_trail_stays() -> None:
    claim = Disputed(WORKS_ON)

    claim.each([OLD, NEW, said("X", 5, document="D2", id="F3", recorded_at=9)])

    assert claim.lives(99)["F1"] == "current"
    assert claim.lives(99, known_at=8)["F1"] == "superseded"
    assert claim.told() == [("supersedes", "inferred", "F2", "F1")]


def test_l8_a_chain_of_documents_ends_what_its_last_does_not_say() -> None:
    claim = Disputed(WORKS_ON)

    claim.each([
        said("Y", 9, document="D3", id="F3", supersedes="D2"),
        OLD,
        said("X", 5, document="D2", id="F2", supersedes="D1"),
    ])  # fmt: skip

    assert claim.lives(8) == {"F1": "current", "F2": "current"}
    assert claim.lives(9) == {"F1": "superseded", "F2": "superseded", "F3": "current"}


# -- L9 -------------------------------------------------------------------------------------


def superseded() -> Disputed:
    claim = Disputed()
    claim.batch(F1)
    claim.batch(supersede(claim.target("F1"), "London", 4, id="c1"))
    return claim


def test_l9_a_supersede_closes_its_target_opens_its_replacement_and_links_both() -> None:
    claim = superseded()

    assert claim.told() == [("supersedes", "explicit", "c1", "F1")]
    assert claim.links[0].reason == "moved"
    at_99 = claim.at(99)
    assert (at_99["F1"].state, at_99["F1"].valid_from, at_99["F1"].valid_to) == ("superseded", 1, 4)
    assert (at_99["F1"].reason, at_99["F1"].ended_by) == ("moved", "c1")
    assert (at_99["c1"].state, at_99["c1"].valid_from, at_99["c1"].object) == ("current", 4, "London")
    assert claim.lives(3) == {"F1": "current"}


def test_l9_the_same_command_again_changes_nothing() -> None:
    claim = superseded()
    command = supersede(claim.target("F1"), "London", 4, id="c1", recorded_at=50)

    again = claim.batch(command)

    assert (again.links, again.refusals, again.changed) == ([], [], [])
    assert claim.lives(99) == {"F1": "superseded", "c1": "current"}


def test_l9_what_the_document_says_after_the_decision_counts_again() -> None:
    claim = superseded()

    claim.batch(said("Paris", 7, document="D1", id="F1b"))

    assert claim.lives(6) == {"F1": "superseded", "c1": "current"}
    assert claim.lives(8) == {"F1": "conflicting", "c1": "conflicting"}


def test_l9_what_had_been_observed_before_the_decision_does_not_count_again_however_late_it_comes() -> None:
    claim = superseded()

    claim.batch(said("Paris", 2, document="D1", id="F1b", recorded_at=60))

    assert claim.lives(99) == {"F1": "superseded", "c1": "current"}


def test_l9_a_replacement_can_be_superseded_too() -> None:
    claim = superseded()

    claim.batch(supersede(claim.target("c1"), "Oslo", 6, id="c2"))

    assert claim.lives(99) == {"F1": "superseded", "c1": "superseded", "c2": "current"}


def test_l9_what_is_over_is_named_by_what_held_last() -> None:
    claim = superseded()

    claim.batch(said("Paris", 12, 14, document="D1", id="F1b"))

    assert claim.lives(8)["F1"] == "superseded"
    assert claim.lives(20)["F1"] == "historical"


def test_l9_of_two_ends_at_one_instant_the_decision_names_it() -> None:
    claim = Disputed()
    claim.batch(
        said("Paris", 1, document="D1", id="F1", observed_at=5),
        said("Paris", 2, 4, document="D1", id="F1b", observed_at=5),
    )

    claim.batch(supersede(claim.target("F1"), "London", 4, id="c1", recorded_at=9))

    assert claim.lives(99)["F1"] == "superseded"


def test_l9_a_decision_without_an_instant_is_taken_after_all_that_it_speaks_about() -> None:
    claim = Disputed()
    claim.batch(said("Paris", 1, document="D1", id="F1", observed_at=12, recorded_at=9))  # a clock ahead
    command = supersede(claim.target("F1"), "London", 4, id="c1", recorded_at=10)

    claim.batch(msgspec.structs.replace(command, decided_at=None))

    assert claim.lives(99) == {"F1": "superseded", "c1": "current"}


# -- L10 ------------------------------------------------------------------------------------


def test_l10_an_invalidate_ends_the_conflict_from_then_on_and_the_past_keeps_it() -> None:
    claim = dispute()

    applied = claim.batch(invalidate(claim.target("F3"), 40, id="c1"))

    (made,) = applied.links
    assert (made.kind, made.source, made.target) == ("invalidates", claim.id_of("F3"), claim.id_of("F3"))
    assert claim.lives(40) == {"F1": "current", "F2": "current", "F3": "invalidated"}
    assert claim.lives(99) == claim.lives(40)
    assert set(claim.lives(35, known_at=39).values()) == {"conflicting"}
    assert set(claim.lives(99, known_at=39).values()) == {"conflicting"}
    assert set(claim.lives(35).values()) == {"conflicting"}  # it did hold until 40


# -- L11 ------------------------------------------------------------------------------------

BARE = {"subject": "Kim", "predicate": "located in", "target": {"id": "x"}, "reason": "because"}


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("blank_reason", {"op": "supersede", "object": "London", "reason": "   "}),
        ("blank_reason", {"op": "invalidate", "reason": "…"}),
        ("blank_reason", {"op": "forget", "scope": "subject", "reason": " "}),
        ("self_link", {"op": "link", "kind": "confirms", "source": {"id": "x"}}),
        ("link_kind_supersedes", {"op": "link", "kind": "supersedes", "source": {"id": "y"}}),
        ("link_kind_supersedes", {"op": "link", "kind": "invalidates", "source": {"id": "y"}}),
        ("bad_confidence", {"op": "supersede", "object": "London", "confidence": 1.2}),
        ("bad_confidence", {"op": "invalidate", "confidence": -0.1}),
        ("missing_field", {"op": "invalidate", "reason": None}),
        ("blank_target", {"op": "invalidate", "target": {}}),
        ("wrong_type", {"op": "link", "kind": "resembles", "source": {"id": "y"}}),
        ("wrong_type", {"op": "undo"}),
    ],
)
def test_l11_what_needs_no_state_to_be_refused_is_a_dead_letter_with_its_code(
    code: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(BadInput) as caught:
        read_correction(json.loads(json.dumps({**BARE, **fields})), recorded_at=Instant(9))

    assert caught.value.code == code
    assert caught.value.message.endswith(".")


UNKNOWN = Target(id="00000000-0000-5000-8000-000000000000")


def test_l11_what_the_claim_refuses_has_a_code_and_writes_nothing() -> None:
    claim = superseded()
    paris, c1 = claim.target("F1"), claim.target("c1")
    head, links, table = claim.head, list(claim.links), dict(claim.table)

    claim.batch(
        supersede(paris, "Oslo", 6, id="c2"),
        supersede(UNKNOWN, "Oslo", 6, id="c3"),
        invalidate(UNKNOWN, 6, id="c4"),
        invalidate(paris, 6, id="c5"),
        link("refines", paris, UNKNOWN, 6, id="c6"),
        link("refines", paris, Target(form="Paris"), 6, id="c7"),
        link("refines", c1, Target(observation_ids=("nobody",)), 6, id="c8"),
        supersede(c1, "Oslo", 6, id="c1", reason="another"),
    )

    assert [(refusal.correction_id, refusal.code) for refusal in claim.refusals] == [
        ("c2", "already_closed"),
        ("c3", "unknown_target"),
        ("c4", "unknown_target"),
        ("c5", "already_closed"),
        ("c6", "unknown_target"),
        ("c7", "self_link"),
        ("c8", "unknown_target"),
        ("c1", "correction_id_taken"),
    ]
    assert (claim.head, claim.links, claim.table) == (head, links, table)


def test_l11_an_invalidate_may_close_earlier_what_was_closed() -> None:
    claim = superseded()

    claim.batch(invalidate(claim.target("F1"), 2, id="c2", recorded_at=6))

    assert claim.refusals == []
    assert claim.lives(3) == {"F1": "invalidated"}


def test_l11_an_invalidate_that_would_close_nothing_earlier_is_refused() -> None:
    claim = superseded()

    claim.batch(invalidate(claim.target("F1"), 4, id="c2", recorded_at=6))

    assert [refusal.code for refusal in claim.refusals] == ["already_closed"]


# -- L12 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["refines", "confirms"])
def test_l12_a_link_between_two_that_conflict_reconciles_them(kind: str) -> None:
    claim = Disputed()
    claim.each([F1, F3])

    claim.batch(link(kind, claim.target("F3"), claim.target("F1"), 5, id="c1"))

    assert set(claim.lives(99).values()) == {"current"}
    assert set(claim.lives(99, known_at=5).values()) == {"current"}
    assert set(claim.lives(99, known_at=4).values()) == {"conflicting"}
    assert claim.told()[-1] == (kind, "explicit", "F3", "F1")


def test_l12_only_the_pair_is_reconciled() -> None:
    claim = dispute()

    claim.batch(link("refines", claim.target("F3"), claim.target("F1"), 5, id="c1"))

    assert claim.lives(99) == {"F1": "current", "F2": "conflicting", "F3": "conflicting"}


def test_l12_a_later_verdict_on_the_pair_replaces_the_earlier() -> None:
    claim = Disputed()
    claim.each([F1, F3])

    claim.batch(link("refines", claim.target("F3"), claim.target("F1"), 5, id="c1"))
    claim.batch(link("contradicts", claim.target("F3"), claim.target("F1"), 6, id="c2"))

    assert set(claim.lives(99).values()) == {"conflicting"}
    assert set(claim.lives(99, known_at=5).values()) == {"current"}


def test_l12_an_explicit_contradiction_counts_where_none_is_inferred() -> None:
    claim = Disputed(WORKS_ON)
    claim.each([said("X", 1, document="D1", id="X"), said("Y", 2, document="D2", id="Y")])

    claim.batch(link("contradicts", claim.target("X"), claim.target("Y"), 5, id="c1"))

    assert set(claim.lives(99).values()) == {"conflicting"}


# -- targets that are named by what they say ------------------------------------------------


def test_a_fact_id_that_no_assertion_has_is_found_by_its_value_under_vote() -> None:
    claim = Disputed(Predicate("located_in"))
    claim.each([F1, F2, F3])
    fact = Target(id="fact", form="Paris", at=Instant(2), observation_ids=("F1",))

    applied = claim.batch(supersede(fact, "Oslo", 10, id="c1"))

    assert claim.lives(99) == {
        "F1": "superseded", "F2": "superseded", "F3": "conflicting", "c1": "conflicting",
    }  # fmt: skip
    assert [one.kind for one in applied.links] == ["supersedes", "supersedes"]


def test_a_decision_about_a_value_closes_what_comes_late_and_was_observed_before_it() -> None:
    claim = Disputed(Predicate("located_in"))
    claim.each([F1])
    claim.batch(invalidate(Target(form="Paris"), 10, id="c1"))

    claim.each([
        said("Paris", 5, document="D5", id="F5", recorded_at=20),
        said("Paris", 11, document="D6", id="F6", recorded_at=20),
    ])  # fmt: skip

    assert claim.lives(99) == {"F1": "invalidated", "F5": "invalidated", "F6": "current"}


def test_under_explicit_a_lost_id_is_found_by_its_observations_and_closes_no_other() -> None:
    claim = dispute()

    claim.batch(invalidate(Target(id="gone", form="Paris", observation_ids=("F2",)), 10, id="c1"))

    assert claim.lives(99) == {"F1": "conflicting", "F2": "invalidated", "F3": "conflicting"}


def test_a_link_between_two_values_reconciles_all_that_say_them() -> None:
    claim = Disputed(Predicate("located_in"))
    claim.each([F1, F2, F3])

    claim.batch(link("refines", Target(form="London"), Target(form="Paris"), 5, id="c1"))

    assert set(claim.lives(99).values()) == {"current"}


# -- the fold, retracts, and what is kept ---------------------------------------------------


def test_what_the_fold_outvoted_is_invalidated_from_then_on() -> None:
    claim = Disputed(Predicate("located_in"))
    claim.each([F1, F3])
    outvoted = [ClosedByFold(cluster="Paris", lo=Instant(1), hi=Instant(3), reason="outvoted")]

    states = claim.at(99, closed_by_fold=outvoted)

    assert {name: state.state.value for name, state in states.items()} == {
        "F1": "invalidated", "F3": "current",
    }  # fmt: skip
    assert states["F1"].ended_by == "outvoted"


def test_a_retracted_statement_is_gone_now_and_was_there_before() -> None:
    claim = dispute()

    claim.retract("F3", 8)

    assert claim.lives(99) == {"F1": "current", "F2": "current"}
    assert set(claim.lives(99, known_at=7).values()) == {"conflicting"}


def test_what_was_retracted_is_linked_to_nothing_that_comes_later() -> None:
    claim = Disputed(kept=True)
    claim.each([F3])
    claim.retract("F3", 8)

    claim.each([F1, F2])

    assert [one.kind for one in claim.links] == ["confirms"]


def test_a_retract_may_come_before_what_it_takes_back() -> None:
    claim = Disputed()
    claim.retract("F3", 1)

    claim.each([F1, F3])

    assert claim.links == []
    assert claim.lives(99) == {"F1": "current"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_contents_under_one_id_the_smaller_hash_stays_whichever_came_first(
    order: tuple[int, int],
) -> None:
    small = msgspec.structs.replace(F1, content_hash="1")
    great = msgspec.structs.replace(F1, content_hash="2", form="London", spelling="London")
    claim = Disputed()

    claim.each([(small, great)[n] for n in order])

    assert claim.at(99)["F1"].object == "Paris"
    assert len(claim.at(99)) == 1


def test_a_verdict_on_two_documents_after_one_on_their_values_counts_for_the_two() -> None:
    claim = Disputed(Predicate("located_in"))
    claim.each([F1, F2, F3])

    claim.batch(link("refines", Target(form="London"), Target(form="Paris"), 5, id="c1"))
    claim.batch(link("contradicts", claim.target("F3"), claim.target("F1"), 6, id="c2"))

    assert claim.lives(99) == {"F1": "conflicting", "F2": "current", "F3": "conflicting"}


def test_two_decisions_and_a_hundred_statements_read_back_as_they_were_stored() -> None:
    claim = Disputed()
    claim.each([said("Paris", n, document=f"D{n}", id=f"F{n:03}") for n in range(1, 101)])
    claim.batch(supersede(claim.target("F001"), "London", 200, id="c1"))

    kept = claim.open().read(valid_at=Instant(LATEST))

    assert len(kept) == 101
    assert len(claim.links) == 100
    assert len(claim.table) == 3  # pages of 32 rows; the rest is in the head


def test_what_is_forgotten_is_gone_from_the_past_and_from_what_is_stored() -> None:
    claim = Disputed()
    claim.each([said("Paris", n, document=f"D{n}", id=f"F{n:03}") for n in range(1, 41)])
    secret = claim.id_of("F007")

    applied = claim.forget("D7", at=900)

    assert applied.changed == [secret]
    assert "F007" not in claim.at(99, known_at=50)
    assert not any(b"D7" in value for value in [*claim.table.values(), claim.head])


def test_a_claim_that_is_forgotten_leaves_no_page() -> None:
    claim = Disputed()
    claim.each([said("Paris", n, document=f"D{n}", id=f"F{n:03}") for n in range(1, 71)])
    shelf = Shelf(claim.table.get)

    claim.open().erase(shelf)

    assert len(claim.table) == 2
    assert shelf.changes == dict.fromkeys(claim.table)


def test_a_relate_record_reads_as_it_was_sent() -> None:
    fields = {
        **BARE,
        "op": "link",
        "kind": "refines",
        "source": {"object": "Île-de-France", "at": "2024-01-01"},
    }

    read = read_correction(fields, recorded_at=Instant(9))

    assert isinstance(read, Relate)
    assert (read.kind, read.target, read.reason) == ("refines", Target(id="x"), "because")
    assert read.correction_id == read_correction(fields, recorded_at=Instant(10)).correction_id
