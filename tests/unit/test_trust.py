"""What a source's word weighs: stands, counts, learning, and the majority by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from state.majority import fold_never_changing
from state.policy import Policy
from state.statements import Statement
from state.trust import LEAST, MOST, NEUTRAL, Trust, number_in, source_key
from state.trust_counts import COMPARED_MAX, Counts, add, compared, first_of, stands_of
from state.trust_learning import COMPARED_MIN, learn, partners_of, reliabilities
from tests.builders import statement


def said(value: str, source: str | None, *, at: int = 1, document: str = "d", **more: bool) -> Statement:
    name = f"{source}/{document}/{value}/{at}"
    return statement(value, at, id=name, source=source, document=document, **more)


def held(statements: Sequence[Statement], policy: Policy) -> str:
    """The value of the one fact."""
    episodes = fold_never_changing(statements, lambda s: s.form, policy)
    return episodes[0].cluster


def trusting(weights: Mapping[str, int]) -> Policy:
    keys = {source_key("n", source): weight for source, weight in weights.items()}
    return Policy().trusting(Trust("n", 7, keys))


def counts_of(claims: Sequence[Mapping[str, int]]) -> Counts:
    """Counts from claims that say for each source which value it stands for."""
    found: Counts = {}
    for stands in claims:
        add(found, compared(stands))
    return found


def pairs_of(counts: Counts) -> set[tuple[str, str]]:
    return {(one, other) for one, own in counts.items() for other in own}


def drawn(accuracies: Mapping[str, float], n_claims: int, *, seed: int) -> list[dict[str, int]]:
    """Claims with true value 0 and five wrong ones, of which every source speaks."""
    chance = Random(seed)
    return [
        {s: 0 if chance.random() < right else chance.randint(1, 5) for s, right in accuracies.items()}
        for _ in range(n_claims)
    ]


# -- what a source stands for ---------------------------------------------------------------


def test_a_source_stands_for_what_most_of_its_documents_say() -> None:
    statements = [
        said("oslo", "a", document="1"),
        said("oslo", "a", document="2"),
        said("rome", "a", document="3", at=9),
        said("rome", "b"),
    ]

    stands = stands_of(statements, lambda form: form, "n")

    assert stands == {source_key("n", "a"): 0, source_key("n", "b"): 1}


def test_of_two_values_a_source_stands_for_the_one_it_stated_last() -> None:
    statements = [said("rome", "a", document="1", at=9), said("oslo", "a", document="2"), said("rome", "b")]

    stands = stands_of(statements, lambda form: form, "n")

    assert len(set(stands.values())) == 1


def test_denials_voices_without_source_and_what_never_votes_say_nothing_about_sources() -> None:
    statements = [
        said("oslo", "a"),
        said("oslo", "b", affirmed=False),
        said("oslo", None),
        said("oslo", "c", votes=False),
    ]

    assert stands_of(statements, lambda form: form, "n") == {}


def test_paraphrases_agree() -> None:
    statements = [said("oslo", "a"), said("oslo (norway)", "b")]

    stands = stands_of(statements, lambda _form: "oslo", "n")

    assert compared(stands) == {min(stands): {max(stands): (1, 1)}}


def test_of_many_sources_of_one_claim_those_that_spoke_first_are_compared() -> None:
    statements = [said("oslo", f"s{number}", at=number + 1) for number in range(COMPARED_MAX + 5)]

    stands = stands_of(statements, lambda form: form, "n")

    assert set(stands) == {source_key("n", f"s{number}") for number in range(COMPARED_MAX)}


def test_sources_of_two_namespaces_are_two_sources_and_their_names_cannot_be_read() -> None:
    keys = {source_key("n", "wikipedia"), source_key("m", "wikipedia"), source_key("nw", "ikipedia")}

    assert len(keys) == 3
    assert all(len(key) == 16 and "wiki" not in key for key in keys)


# -- counts ---------------------------------------------------------------------------------


def test_counts_that_are_taken_off_again_leave_nothing() -> None:
    one, other = compared({"a": 0, "b": 0, "c": 1}), compared({"a": 0, "b": 1})
    counts: Counts = {}
    add(counts, one)
    add(counts, other)

    add(counts, one, sign=-1)
    assert counts == other
    add(counts, other, sign=-1)
    assert counts == {}


def test_at_most_so_many_pairs_are_told_at_once_and_the_rest_is_what_is_left() -> None:
    counts = counts_of([{"a": 0, "b": 0, "c": 1, "d": 1}])

    first = first_of(counts, 4)
    add(counts, first, sign=-1)

    assert sum(map(len, first.values())) == 4
    assert sum(map(len, counts.values())) == 2
    assert not pairs_of(first) & pairs_of(counts)


# -- learning -------------------------------------------------------------------------------


def test_the_shares_are_those_by_which_sources_were_right() -> None:
    accuracies = {"a": 0.95, "b": 0.8, "c": 0.7, "d": 0.5}

    shares = reliabilities(partners_of(counts_of(drawn(accuracies, 4_000, seed=1))))

    assert all(abs(shares[source] - right) < 0.04 for source, right in accuracies.items())


def test_weights_are_in_the_order_of_reliability_within_their_bounds_and_in_steps() -> None:
    weights = learn(counts_of(drawn({"a": 0.95, "b": 0.8, "c": 0.35, "d": 0.1}, 2_000, seed=2)))

    assert weights["a"] > weights.get("b", NEUTRAL) > weights["c"] > weights["d"]
    assert all(LEAST <= weight <= MOST and weight % 5 == 0 for weight in weights.values())


def test_sources_that_are_alike_all_weigh_the_same() -> None:
    for seed in range(20):
        assert learn(counts_of(drawn(dict.fromkeys("abcde", 0.8), 300, seed=seed))) == {}


def test_of_two_sources_alone_none_weighs_more() -> None:
    assert learn(counts_of(drawn({"a": 0.99, "b": 0.3}, 1_000, seed=4))) == {}


def test_few_comparisons_change_no_weight() -> None:
    accuracies = {"a": 0.99, "b": 0.9, "c": 0.2}

    assert learn(counts_of(drawn(accuracies, COMPARED_MIN // 2 - 1, seed=5))) == {}


def test_nothing_is_learnt_from_nothing() -> None:
    assert learn({}) == {}


def test_a_copy_makes_its_original_weigh_hardly_more() -> None:
    alone = drawn({"a": 0.7, "b": 0.7, "c": 0.7, "d": 0.7, "e": 0.7}, 2_000, seed=6)
    copied = [{**stands, "copy of a": stands["a"]} for stands in alone]

    weights = learn(counts_of(copied))

    assert weights.get("a", NEUTRAL) <= NEUTRAL * 1.1
    assert weights.get("copy of a", NEUTRAL) <= NEUTRAL * 1.1


# -- the vote -------------------------------------------------------------------------------


def test_a_source_that_proved_worth_more_wins_against_one_that_spoke_first() -> None:
    statements = [said("rome", "poor"), said("oslo", "good", at=2)]

    assert held(statements, Policy()) == "rome"
    assert held(statements, trusting({"good": 125, "poor": 90})) == "oslo"


def test_two_poor_sources_may_weigh_less_than_a_good_one() -> None:
    statements = [said("rome", "x"), said("rome", "y", document="e"), said("oslo", "good", at=2)]

    assert held(statements, Policy()) == "rome"
    assert held(statements, trusting({"good": 125, "x": 30, "y": 90})) == "oslo"


def test_a_fact_that_won_by_weight_still_counts_its_votes() -> None:
    statements = [said("rome", "x"), said("rome", "y", document="e"), said("oslo", "good", at=2)]

    fact = fold_never_changing(statements, lambda s: s.form, trusting({"good": 125, "x": 30, "y": 90}))[0]

    assert (fact.support, fact.dissent, fact.contested) == (1, 2, True)


def test_a_denial_weighs_what_its_source_does() -> None:
    statements = [said("oslo", "poor"), said("oslo", "good", affirmed=False, at=2)]

    assert [e.cluster for e in fold_never_changing(statements, lambda s: s.form, Policy())] == ["oslo"]
    assert fold_never_changing(statements, lambda s: s.form, trusting({"good": 125, "poor": 90})) == []


def test_a_document_has_one_vote_however_often_it_says_the_same() -> None:
    statements = [*(said("rome", "x", at=at) for at in range(1, 6)), said("oslo", "y", at=9)]

    assert held(statements, trusting({"y": 105})) == "oslo"


def test_a_policy_with_weights_names_their_snapshot() -> None:
    policy = trusting({"a": 125})

    assert policy.version == "1+trust=7"
    assert number_in(policy.version) == 7
    assert number_in("1") is None
    assert number_in("1+window=3,contested=40+trust=0") == 0
