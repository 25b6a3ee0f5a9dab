"""The consolidation cases that concern the fold, put to its plain twin, and what holds for any evidence."""

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import count, pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.decisions import Decision
from tests.reference.fold import Fact, Statement, fold

_serial = count()


def said(
    cluster: str | None,
    at: int,
    *,
    denied: bool = False,
    since: int | None = None,
    until: int | None = None,
    document: str | None = None,
    name: str | None = None,
    votes: bool = True,
) -> Statement:
    return Statement(
        name or f"o{next(_serial)}",
        cluster,
        not denied,
        at,
        since,
        until,
        document and "source",
        document,
        votes,
    )


def each(cluster: str, *instants: int) -> list[Statement]:
    return [said(cluster, at) for at in instants]


def spans(facts: Iterable[Fact]) -> list[tuple[str | None, int | None, int | None]]:
    return [(fact.cluster, fact.lo, fact.hi) for fact in facts]


def ids(*statements: Statement) -> frozenset[str]:
    return frozenset(s.observation_id for s in statements)


def test_f01_one_dissenter_does_not_unseat_a_value_with_fifty_statements() -> None:
    evidence = [said("A", day, document=f"d{day % 10}") for day in range(50)]
    dissenter = said("B", 50, document="other")

    facts, aside = fold([*evidence, dissenter])

    assert spans(facts) == [("A", 0, None)]
    assert not facts[0].contested
    assert (facts[0].support, facts[0].observations, facts[0].dissent) == (10, 50, 1)
    assert facts[0].dissenting == ids(dissenter)
    assert not aside


def test_f02_every_order_of_arrival_gives_the_same_facts() -> None:
    evidence = [*each("A", 1, 3, 4, 7, 8), *each("B", 2, 5, 6)]
    expected = fold(evidence)

    chance = random.Random(2)
    for _ in range(200):
        chance.shuffle(evidence)
        assert fold(evidence) == expected


def test_f03_a_value_that_returns_gives_three_facts_whose_intervals_meet() -> None:
    facts, _ = fold([*each("A", 1, 2, 3), *each("B", 4, 5, 6, 7), *each("A", 8, 9, 10, 11)])

    assert spans(facts) == [("A", 1, 4), ("B", 4, 8), ("A", 8, None)]
    assert [fact.ordinal for fact in facts] == [0, 0, 1]
    assert [fact.reason for fact in facts] == ["outvoted", "outvoted", None]
    assert [fact.support for fact in facts] == [3, 4, 4]


def test_f04_values_of_a_multi_predicate_never_contradict() -> None:
    facts, _ = fold([*each("python", 1), *each("rust", 2), *each("go", 3)], cardinality="multi")

    assert spans(facts) == [("python", 1, None), ("rust", 2, None), ("go", 3, None)]
    assert not any(fact.contested or fact.dissent for fact in facts)


def test_f04_a_denial_closes_only_its_own_value_of_a_multi_predicate() -> None:
    facts, _ = fold([*each("python", 1), *each("rust", 2), said("rust", 5, denied=True)], cardinality="multi")

    assert spans(facts) == [("python", 1, None), ("rust", 2, 5)]


def test_f05_an_older_value_that_arrives_late_takes_its_place_before() -> None:
    facts, _ = fold([said("B", 30), said("A", 1)])

    assert spans(facts) == [("A", 1, 30), ("B", 30, None)]


def test_f06_a_document_that_repeats_itself_is_one_vote() -> None:
    evidence = [said("A", day, document="one") for day in range(20)]

    facts, _ = fold([*evidence, said("B", 20, document="two")])

    assert spans(facts) == [("A", 0, 20), ("B", 20, None)]
    assert (facts[0].support, facts[0].observations) == (1, 20)


def test_f13_a_denial_closes_and_opens_nothing() -> None:
    affirmation, denial = said("X", 1), said("X", 5, denied=True)

    facts, aside = fold([affirmation, denial])

    assert spans(facts) == [("X", 1, 5)]
    assert facts[0].reason == "denied"
    assert facts[0].closing == ids(denial)
    assert not aside


def test_f18_a_scheduled_value_waits_without_contesting() -> None:
    facts, _ = fold([said("bergen", 1), said("oslo", 2, since=2200), said("bergen", 3)])

    assert spans(facts) == [("bergen", 1, 2200), ("oslo", 2200, None)]
    assert facts[0].reason == "ended"
    assert not facts[0].contested
    assert facts[0].dissent == 0
    assert facts[1].support == 1


def test_f18_a_scheduled_value_that_has_fallen_due_is_a_vote_like_any_other() -> None:
    facts, _ = fold([said("bergen", 1), said("bergen", 3), said("oslo", 2, since=2200), said("bergen", 2201)])

    assert spans(facts) == [("bergen", 1, None)]


def test_f20_a_whole_year_is_out_when_it_is_over() -> None:
    facts, _ = fold([said("A", 3000, since=2023, until=2024), said("A", 2023)])

    assert spans(facts) == [("A", 2023, 2024)]
    assert facts[0].reason == "ended"
    assert facts[0].support == 2


@pytest.mark.parametrize("first", [said("28000", 50, until=100), said("28000", 50, since=10, until=100)])
@pytest.mark.parametrize("noise", [[], [said("nonsense", 70)]])
def test_f21_succession_at_a_date_is_no_contradiction(first: Statement, noise: list[Statement]) -> None:
    more = [replace(first, observation_id="again", observed_at=51, valid_from=first.valid_from)]

    facts, _ = fold([first, *more, *noise, said("32000", 60, since=100)])

    assert spans(facts) == [("28000", first.valid_from or 50, 100), ("32000", 100, None)]
    assert facts[0].reason == "ended"
    assert not any(fact.contested for fact in facts)


def test_f21_the_same_succession_told_afterwards() -> None:
    facts, _ = fold([said("28000", 150, until=100), said("32000", 150, since=100), said("32000", 200)])

    assert spans(facts) == [("28000", None, 100), ("32000", 100, None)]
    assert facts[0].reason == "ended"
    assert facts[1].support == 2


def test_f25_equals_at_one_instant_retire_nothing() -> None:
    evidence = [said("A", 5), said("B", 5)]

    for order in permutations(evidence):
        facts, _ = fold(order)
        assert spans(facts) == [("A", 5, None)]
        assert facts[0].contested
        assert facts[0].rivals == ("B",)


def test_f32_an_end_that_is_told_late_leaves_the_present_alone() -> None:
    report = said("austin", 202601, until=202506)

    facts, _ = fold([said("nyc", 202508, since=202507), report])

    assert spans(facts) == [("austin", None, 202506), ("nyc", 202507, None)]
    assert facts[0].reason == "ended"
    assert facts[0].supporting == ids(report)
    assert not facts[1].dissent


def test_f32_an_end_that_is_told_late_ends_the_fact_it_speaks_of() -> None:
    facts, _ = fold([*each("austin", 5, 6), said("austin", 30, until=10), said("austin", 15)])

    assert spans(facts) == [("austin", 5, 10), ("austin", 15, None)]
    assert facts[0].support == 3


def test_f32_late_reports_of_one_value_make_one_episode() -> None:
    facts, _ = fold([said("austin", 30, until=5), said("austin", 31, until=8)])

    assert spans(facts) == [("austin", None, 8)]
    assert facts[0].support == 2


def test_f32_a_late_report_against_the_value_that_held_takes_no_side() -> None:
    facts, aside = fold([said("nyc", 1), said("austin", 30, until=10)])

    assert spans(facts) == [("nyc", 1, None)]
    assert (facts[0].dissent, facts[0].contested, len(aside)) == (0, False, 1)


def test_f33_on_any_day_exactly_one_value_holds() -> None:
    facts, _ = fold(
        [*each("rust", 0, 1), *each("vscode", 31, 32), *each("piano", 60, 61), *each("vim", 91, 92)]
    )

    assert spans(facts) == [("rust", 0, 31), ("vscode", 31, 60), ("piano", 60, 91), ("vim", 91, None)]


def test_f35_steady_alternation_after_a_long_reign_is_contested_and_does_not_flap() -> None:
    alternating = [said("AB"[i % 2], 100 + i) for i in range(100)]

    facts, _ = fold([*each("A", *range(100)), *alternating])

    assert spans(facts) == [("A", 0, None)]
    assert facts[0].contested
    assert facts[0].rivals == ("B",)
    assert (facts[0].support, facts[0].dissent) == (150, 50)


@pytest.mark.parametrize("documents", [[None], ["one"], ["one", "two", "three"], [None, None, None]])
def test_f37_a_city_renamed_and_named_back_gives_four_facts(documents: list[str | None]) -> None:
    clock = count(1)
    values = ["almaty", "astana", "nur-sultan", "astana"]

    facts, _ = fold([said(value, next(clock), document=name) for value in values for name in documents])

    step = len(documents)
    starts = [1, 1 + step, 1 + 2 * step, 1 + 3 * step]
    assert spans(facts) == list(zip(values, starts, [*starts[1:], None], strict=True))
    assert [fact.ordinal for fact in facts] == [0, 0, 0, 1]


def test_f38_two_documents_in_steady_disagreement_do_not_flap() -> None:
    facts, _ = fold([said("AB"[i % 2], i, document=f"d{i % 2}") for i in range(40)])

    assert spans(facts) == [("A", 0, 1), ("B", 1, None)]
    assert not facts[0].contested
    assert facts[1].contested
    assert facts[1].rivals == ("A",)


@pytest.mark.parametrize("documents", [["one"] * 7, [f"other{i}" for i in range(7)], [None] * 7])
def test_f39_seven_different_values_once_each_unseat_nobody(documents: list[str | None]) -> None:
    reign = [said("A", i, document=f"d{i}") for i in range(50)]
    others = [said(f"B{i}", 50 + i, document=name) for i, name in enumerate(documents)]

    facts, _ = fold([*reign, *others])

    assert spans(facts) == [("A", 0, None)]
    assert (facts[0].support, facts[0].dissent) == (50, 7)
    assert facts[0].contested
    assert facts[0].rivals == tuple(f"B{i}" for i in reversed(range(7)))


def test_f40_a_denial_that_wins_opens_what_has_been_said_since() -> None:
    denials = [said("acme", 10, denied=True), said("acme", 12, denied=True)]
    globex = said("globex", 11)

    facts, aside = fold([*each("acme", 1, 2), *denials, globex])

    assert spans(facts) == [("acme", 1, 10), ("globex", 11, None)]
    assert facts[0].reason == "denied"
    assert facts[0].closing == ids(*denials)
    assert facts[1].supporting == ids(globex)
    assert not aside


@pytest.mark.parametrize("evidence", [[said("A", at, since=0, until=10) for at in (0, 1, 2)]])
def test_f41_what_was_said_during_a_bounded_fact_opens_at_its_end(evidence: list[Statement]) -> None:
    other = said("B", 8)

    facts, aside = fold([*evidence, other])

    assert spans(facts) == [("A", 0, 10), ("B", 10, None)]
    assert facts[0].reason == "ended"
    assert facts[1].supporting == ids(other)
    assert facts[0].dissent == 0
    assert not aside


@pytest.mark.parametrize(
    ("evidence", "end"),
    [
        ([said("A", 1, since=0), said("A", 15, since=0, until=10)], 10),
        ([said("A", 0, since=0, until=10), said("A", 3)], 10),
        ([said("A", 0, since=5, until=10), said("A", 0, since=0, until=20)], 20),
        ([said("A", 5, since=0, until=10), said("A", 12, since=0)], None),
        ([said("A", 5, since=0, until=10), said("A", 10)], None),
    ],
)
def test_f42_the_end_that_was_told_wins_over_a_mention_before_it(
    evidence: list[Statement], end: int | None
) -> None:
    facts, _ = fold(evidence)

    assert spans(facts) == [("A", 0, end)]
    assert facts[0].support == 2


@pytest.mark.parametrize("names", list(permutations(range(7)))[::97])
def test_f44_the_choice_at_one_instant_does_not_depend_on_ids(names: tuple[int, ...]) -> None:
    evidence = [said("AB"[i > 0], 5, name=f"id{name}") for i, name in enumerate(names)]

    facts, _ = fold(evidence)

    assert spans(facts) == [("B", 5, None)]
    assert (facts[0].support, facts[0].dissent, facts[0].contested) == (6, 1, False)


def test_our_own_output_never_votes_and_moves_nothing() -> None:
    evidence = [said("bergen", 1), said("oslo", 2, since=2200)]
    echoes = [said("oslo", 2300, votes=False), said("bergen", 1, denied=True, votes=False)]

    assert fold([*evidence, *echoes]) == (fold(evidence)[0], ids(*echoes))


def test_an_object_less_denial_denies_only_object_less_statements() -> None:
    facts, _ = fold([said("fast", 1), said(None, 1), said(None, 5, denied=True)])

    assert spans(facts) == [(None, 1, 5), ("fast", 1, None)]


def test_a_value_denied_in_a_gap_needs_more_than_its_denials() -> None:
    denials = [said("X", at, denied=True) for at in (1, 2)]
    early, late = said("X", 3), said("X", 4)

    facts, aside = fold([*denials, early, late])

    assert spans(facts) == [("X", 4, None)]
    assert aside == ids(*denials, early)


def test_a_scheduled_denial_ends_the_fact_on_its_day() -> None:
    denial = said("acme", 2, denied=True, since=100)

    facts, _ = fold([said("acme", 1), denial, said("acme", 3)])

    assert spans(facts) == [("acme", 1, 100)]
    assert (facts[0].reason, facts[0].closing) == ("denied", ids(denial))


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_what_never_changes_is_decided_by_plain_majority(order: tuple[int, ...]) -> None:
    evidence = [*each("oslo", 1), *each("bergen", 2, 4), *each("oslo", 9)]

    facts, _ = fold([evidence[i] for i in order], change="never")

    assert spans(facts) == [("oslo", 1, None)]
    assert (facts[0].support, facts[0].dissent, facts[0].rivals) == (2, 2, ("bergen",))


def test_what_never_changes_has_no_window() -> None:
    facts, _ = fold([*each("oslo", *range(7)), *each("bergen", *range(10, 16))], change="never")

    assert spans(facts) == [("oslo", 0, None)]
    assert facts[0].contested


def test_a_rival_that_wins_without_the_last_word_is_dated_at_the_deciding_instant() -> None:
    reign = [said("A", 1, document="d"), said("A", 9, since=3, document="d")]
    rivals = [said("B", at, since=3) for at in (4, 5, 6)]

    facts, _ = fold([*reign, *rivals])

    assert spans(facts) == [("A", 1, 3), ("B", 3, None)]


def test_two_votes_more_win_without_a_clean_switch() -> None:
    reign = [said("A", 1, document="d"), said("A", 9, since=3, document="d")]

    facts, _ = fold([*reign, *[said("B", at, since=3) for at in (4, 5, 10)]])

    assert spans(facts) == [("A", 1, 3), ("B", 3, None)]
    assert (facts[1].support, facts[1].dissent) == (3, 1)


def test_exactly_two_of_five_is_not_contested() -> None:
    facts, _ = fold([*each("A", 1, 2, 4), *each("B", 3, 5)])

    assert spans(facts) == [("A", 1, None)]
    assert not facts[0].contested


def test_a_value_that_returns_is_held_by_its_earlier_votes_too() -> None:
    facts, _ = fold([*each("A", 1), *each("B", 2), *each("A", 3), *each("B", 4)])

    assert spans(facts) == [("A", 1, 2), ("B", 2, 3), ("A", 3, None)]
    assert facts[2].dissent == 1
    assert not facts[2].contested


def test_a_denial_that_won_clears_the_votes_it_denied() -> None:
    denials = [said("A", 3, denied=True), said("A", 4, denied=True)]

    facts, _ = fold([*each("A", 1, 2), *denials, *each("A", 5, 6), *each("B", 7, 8)])

    assert spans(facts) == [("A", 1, 3), ("A", 6, 7), ("B", 7, None)]


def test_a_rival_at_the_start_of_a_fact_does_not_date_its_end() -> None:
    facts, _ = fold([said("A", 5), said("A", 5), said("B", 6, since=5), said("B", 6)])

    assert spans(facts) == [("A", 5, 6), ("B", 6, None)]


def test_affirmed_and_denied_at_one_place_opens_nothing() -> None:
    assert fold([said("A", 5, name="yes"), said("A", 5, denied=True, name="no")]) == (
        [],
        frozenset({"yes", "no"}),
    )


def test_a_report_fills_the_gap_since_the_fact_before() -> None:
    facts, _ = fold([said("A", 1, until=5), said("B", 30, until=9), said("C", 12)])

    assert spans(facts) == [("A", 1, 5), ("B", 5, 9), ("C", 12, None)]


def test_an_end_told_in_advance_leaves_the_present_contest_as_it_is() -> None:
    evidence = [*[said("A", at, since=1, until=100) for at in (1, 2)], *each("B", 2), *each("C", 4)]

    today, _ = fold(evidence)
    afterwards, _ = fold([*evidence, said("C", 101)])

    assert spans(today) == spans(afterwards) == [("A", 1, 100), ("C", 100, None)]
    assert today[0].rivals == ("C", "B")
    assert not afterwards[0].contested


def test_a_rival_that_will_leave_still_contests_today() -> None:
    facts, _ = fold([said("A", 5), said("B", 5, until=50)])

    assert spans(facts) == [("A", 5, None)]
    assert facts[0].rivals == ("B",)


def test_votes_that_leave_decide_nothing_until_the_rival_speaks_again() -> None:
    reign = [*[said("A", 1, until=10) for _ in range(2)], said("A", 10, since=1)]

    waiting, _ = fold([*reign, said("B", 5)])
    switched, _ = fold([*reign, *each("B", 5, 11)])

    assert spans(waiting) == [("A", 1, None)]
    assert waiting[0].contested
    assert spans(switched) == [("A", 1, 5), ("B", 5, None)]


def decided(name: str, closes: str, at: int, decided_at: int, opens: str | None = None) -> list[Decision]:
    verdict = "invalidated" if opens is None else "superseded"
    taken = [Decision(name, verdict, closes, at, decided_at)]
    return taken if opens is None else [*taken, Decision(f"{name}+", "opened", opens, at, decided_at)]


def test_f24_a_decision_voids_what_was_said_before_it_and_yields_to_a_lead_of_two_after_it() -> None:
    taken = decided("x", "A", 10, 11, opens="B")
    old = [said("A", 5, since=since) for since in range(10, 30)]
    start = [said("A", 1), *old]

    facts, aside = fold([*start, said("A", 30)], taken)
    assert spans(facts) == [("A", 1, 10), ("B", 10, None)]
    assert (facts[0].reason, facts[0].closed_by, facts[0].follower) == ("superseded", "x", ("B", 0))
    assert (facts[1].opened_by, facts[1].support, facts[1].dissent) == ("x+", 0, 1)
    assert aside == ids(*old) | {"x", "x+"}

    later, _ = fold([*start, said("A", 30), *each("A", 40, 41, 42, 43)], taken)
    assert spans(later) == [("A", 1, 10), ("B", 10, 30), ("A", 30, None)]
    assert (later[1].reason, later[2].against) == ("outvoted", "x")


def test_a_closed_value_opens_in_a_gap_with_two_votes_only_and_another_value_with_one() -> None:
    taken = decided("x", "A", 10, 11)

    assert spans(fold([said("A", 1), said("A", 12)], taken)[0]) == [("A", 1, 10)]
    assert spans(fold([said("A", 1), said("B", 12)], taken)[0]) == [("A", 1, 10), ("B", 12, None)]
    again, _ = fold([said("A", 1), *each("A", 12, 14)], taken)
    assert spans(again) == [("A", 1, 10), ("A", 14, None)]
    assert again[1].against == "x"


def test_of_two_decisions_at_one_instant_the_later_holds_and_what_was_between_never_was() -> None:
    taken = [*decided("late", "B", 10, 12, opens="C"), *decided("early", "A", 10, 11, opens="B")]

    facts, _ = fold(each("A", 1, 2), taken)

    assert spans(facts) == [("A", 1, 10), ("C", 10, None)]
    assert (facts[0].closed_by, facts[0].follower) == ("early", ("C", 0))


def test_a_closing_lets_go_of_an_end_that_was_told_before_it() -> None:
    facts, _ = fold([said("A", 0, until=6), *each("A", 4, 5)], decided("x", "A", 3, 3))

    assert spans(facts) == [("A", 0, 3), ("A", 5, None)]


def test_what_never_changes_is_as_the_newest_opening_says_until_a_later_decision_closes_it() -> None:
    evidence = each("A", 1, 2, 3)
    opened = decided("x", "A", 5, 6, opens="B")

    facts, aside = fold([*evidence, said("C", 1)], opened, change="never")
    assert [(f.cluster, f.opened_by, f.rivals) for f in facts] == [("B", "x+", ("C",))]
    assert aside == ids(*evidence) | {"x", "x+"}
    closed, _ = fold([*evidence, said("C", 1)], [*opened, *decided("y", "B", 5, 7)], change="never")
    assert [(f.cluster, f.opened_by) for f in closed] == [("C", None)]


def test_votes_by_cycle_are_forgotten_with_a_newer_cycle() -> None:
    hundred = [replace(said("A", at), cycle=1) for at in range(100)]

    facts, _ = fold([*hundred, replace(said("B", 100), cycle=2)], by_cycle=True)

    assert spans(facts) == [("A", 0, 100), ("B", 100, None)]


def test_votes_by_cycle_end_a_fact_with_a_share_above_two_in_five() -> None:
    three = each("A", 0, 1, 2)

    assert spans(fold([*three, *each("B", 3, 4)], by_cycle=True)[0]) == [("A", 0, None)]
    assert spans(fold([*three, *each("B", 3, 4, 5)], by_cycle=True)[0]) == [("A", 0, 3), ("B", 3, None)]


def test_a_statement_of_an_older_cycle_casts_no_vote() -> None:
    evidence = [replace(said("A", 1), cycle=2), *[replace(s, cycle=1) for s in each("B", 2, 3, 4)]]

    facts, _ = fold(evidence, by_cycle=True)

    assert spans(facts) == [("A", 1, None)]
    assert (facts[0].dissent, facts[0].contested) == (3, False)


_instants = st.integers(0, 12)
_statements = st.builds(
    Statement,
    observation_id=st.just(""),
    cluster=st.sampled_from(["a", "a", "b", "b", "c", None]),
    affirmed=st.sampled_from([True, True, True, False]),
    observed_at=_instants,
    valid_from=st.none() | st.none() | st.integers(0, 20),
    valid_to=st.none() | st.none() | st.integers(0, 20),
    source=st.just("source"),
    document=st.sampled_from([None, "d1", "d2", "d3"]),
    votes=st.sampled_from([True] * 9 + [False]),
).filter(lambda s: s.valid_from is None or s.valid_to is None or s.valid_from < s.valid_to)


_decisions = st.lists(
    st.builds(
        Decision,
        decision_id=st.just(""),
        verdict=st.sampled_from(["superseded", "invalidated", "opened"]),
        cluster=st.sampled_from(["a", "b", "c", None]),
        valid_at=st.integers(0, 20),
        decided_at=_instants,
    ),
    max_size=4,
).map(lambda taken: [replace(d, decision_id=f"x{i}") for i, d in enumerate(taken)])


@settings(max_examples=200, deadline=None)
@given(
    drawn=st.lists(_statements, max_size=10),
    taken=_decisions,
    cardinality=st.sampled_from(["single", "multi"]),
    change=st.sampled_from(["any", "any", "never"]),
    by_cycle=st.booleans(),
    chance=st.randoms(use_true_random=False),
)
def test_decisions_take_no_side_keep_facts_apart_and_do_not_depend_on_order(
    drawn: list[Statement],
    taken: list[Decision],
    cardinality: str,
    change: str,
    by_cycle: bool,
    chance: random.Random,
) -> None:
    evidence = [replace(s, observation_id=f"o{i}", cycle=chance.randint(0, 2)) for i, s in enumerate(drawn)]

    facts, aside = fold(evidence, taken, cardinality=cardinality, change=change, by_cycle=by_cycle)

    sides = [side for fact in facts for side in (fact.supporting, fact.dissenting, fact.closing)] + [aside]
    given_ids = [s.observation_id for s in evidence] + [d.decision_id for d in taken]
    assert sorted(i for side in sides for i in side) == sorted(given_ids)
    assert aside >= {d.decision_id for d in taken}
    for fact in facts:
        assert fact.supporting or fact.opened_by
        assert fact.lo is None or fact.hi is None or fact.lo < fact.hi
        assert (fact.closed_by is not None) == (fact.reason in ("superseded", "invalidated"))
    for alone in {fact.cluster if cardinality == "multi" else fact.cluster is None for fact in facts}:
        group = [f for f in facts if (f.cluster if cardinality == "multi" else f.cluster is None) == alone]
        for before, after in pairwise(group):
            assert before.hi is not None
            assert after.lo is not None
            assert before.hi <= after.lo

    shuffled, retaken = list(evidence), list(taken)
    chance.shuffle(shuffled)
    chance.shuffle(retaken)
    again = fold(shuffled, retaken, cardinality=cardinality, change=change, by_cycle=by_cycle)
    assert again == (facts, aside)


@settings(max_examples=400, deadline=None)
@given(
    drawn=st.lists(_statements, max_size=14),
    cardinality=st.sampled_from(["single", "multi"]),
    change=st.sampled_from(["any", "any", "never"]),
    chance=st.randoms(use_true_random=False),
)
def test_any_evidence_is_split_into_sides_and_neither_order_nor_ids_matter(
    drawn: list[Statement], cardinality: str, change: str, chance: random.Random
) -> None:
    evidence = [replace(s, observation_id=f"o{i}") for i, s in enumerate(drawn)]

    facts, aside = fold(evidence, cardinality=cardinality, change=change)

    sides = [side for fact in facts for side in (fact.supporting, fact.dissenting, fact.closing)] + [aside]
    assert sorted(i for side in sides for i in side) == sorted(s.observation_id for s in evidence)
    for fact in facts:
        assert fact.supporting
        assert fact.lo is None or fact.hi is None or fact.lo < fact.hi
        assert (fact.reason is None) == (fact.hi is None)
        assert fact.contested == bool(fact.rivals)
    for alone in {fact.cluster if cardinality == "multi" else fact.cluster is None for fact in facts}:
        group = [f for f in facts if (f.cluster if cardinality == "multi" else f.cluster is None) == alone]
        for before, after in pairwise(group):
            assert before.hi is not None
            assert after.lo is not None
            assert before.hi <= after.lo

    shuffled = list(evidence)
    chance.shuffle(shuffled)
    assert fold(shuffled, cardinality=cardinality, change=change) == (facts, aside)

    fresh = [s.observation_id for s in evidence]
    chance.shuffle(fresh)
    renamed = dict(zip([s.observation_id for s in evidence], fresh, strict=True))
    renamed_facts, renamed_aside = fold(
        [replace(s, observation_id=renamed[s.observation_id]) for s in evidence],
        cardinality=cardinality,
        change=change,
    )

    def rename(side: frozenset[str]) -> frozenset[str]:
        return frozenset(renamed[i] for i in side)

    assert renamed_aside == rename(aside)
    assert renamed_facts == [
        replace(
            f, supporting=rename(f.supporting), dissenting=rename(f.dissenting), closing=rename(f.closing)
        )
        for f in facts
    ]
