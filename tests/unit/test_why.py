"""Explanations read as a person would give them: every way in which a fact begins, ends or never comes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from agents.telling_values import ValueTelling
from state.clusters import Form
from state.explanation import Apart, Explanation, How
from state.fold_state import ASIDE
from state.instants import DAY_MS, Instant
from state.objects import type_object
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement
from state.trace import votes_needed
from state.votes import ALL_VOTES
from state.why import explain
from state.why_not import facts_within, why_not
from state.windows import window
from streams.vectors import packaged
from tests.builders import day, statement

SINGLE = Predicate("prefers")
MULTI = Predicate("prefers", "multi")
NEVER = Predicate("prefers", change="never")


def say(
    value: str | None,
    at: float,
    id: str,  # noqa: A002
    *,
    valid_from: float | None = None,
    valid_to: float | None = None,
    document: str | None = None,
    affirmed: bool = True,
    votes: bool = True,
) -> Statement:
    """`kim prefers value`, said on day `at`; without `document` a voice of its own."""
    built = statement(
        "" if value is None else type_object(value).key,
        day(at),
        id=id,
        affirmed=affirmed,
        valid_from=None if valid_from is None else day(valid_from),
        valid_to=None if valid_to is None else day(valid_to),
        document=document,
        votes=votes,
    )
    return msgspec.structs.replace(built, spelling=value)


def deny(value: str, at: float, id: str, **fields: str) -> Statement:  # noqa: A002
    return say(value, at, id, affirmed=False, **fields)  # type: ignore[arg-type]


def explained(
    history: Sequence[Statement],
    predicate: Predicate = SINGLE,
    cluster_of: dict[str, str] | None = None,
    policy: Policy | None = None,
) -> Explanation:
    return explain(history, predicate, policy or Policy(), cluster_of or {})


def told(
    history: Sequence[Statement],
    *,
    about: str | None = None,
    predicate: Predicate = SINGLE,
    now: float = 99,
    cluster_of: dict[str, str] | None = None,
    retracted: Sequence[str] = (),
    policy: Policy | None = None,
) -> str:
    """The explanation of a history as one text; with `about` that of a value."""
    explanation = explained(history, predicate, cluster_of, policy)
    telling = ValueTelling(explanation, "kim / prefers", now=day(now), retracted=retracted)
    lines = telling.claim() if about is None else telling.verdict(why_not(explanation, about))
    return "\n".join(lines)


# -- facts ----------------------------------------------------------------------------------


def test_a_fact_that_nobody_doubts() -> None:
    text = told([say("tea", 0, "o1"), say("tea", 3, "o2", document="diary")])

    assert text == (
        "kim / prefers has been tea since 2024-01-01 (2 votes for it, none against).\n"
        "It opened with o1; nothing else held then.\n"
        "Nothing speaks against it.\n"
        "For it: diary (o2, 2024-01-04) and o1 (2024-01-01)."
    )


def test_a_contested_fact_says_why_it_stays() -> None:
    history = [say("tea", at, f"t{at}") for at in (0, 1, 2, 4, 6)] + [
        say("milk", at, f"m{at}") for at in (3, 5, 7)
    ]

    text = told(history)

    assert "It is contested: of the newest five votes, 3 say milk and 2 say tea.\n" in text
    assert text.count("\n- ") == 5
    assert "- 2024-01-08  milk  m7\n- 2024-01-07  tea   t6\n" in text
    assert (
        "It stays because milk is only one ahead, and not all of its votes are later than the last for tea; "
        "two more votes for milk would decide.\n"
    ) in text
    assert "Against it, milk: m7 (2024-01-08), m5 (2024-01-06) and m3 (2024-01-04)." in text


@pytest.mark.parametrize("n_more", [1, 2])
def test_the_votes_that_are_said_to_decide_do_decide(n_more: int) -> None:
    history = [say("tea", at, f"t{at}") for at in (0, 1, 2, 4, 6)] + [
        say("milk", at, f"m{at}") for at in (3, 5, 7)
    ]
    history += [say("milk", 10 + n, f"n{n}") for n in range(n_more)]

    last = explained(history).facts[-1]

    assert (last.episode.cluster == "t:milk") is (n_more == 2)


def test_a_clean_switch_names_the_fresh_voice_and_dates_the_change() -> None:
    text = told([say("Oslo", 0, "o1"), say("Bergen", 9, "o2", valid_from=5, document="letter")])

    assert "kim / prefers is Bergen (since 2024-01-06).\n" in text
    assert (
        "kim / prefers was Oslo from 2024-01-01 until 2024-01-06 (1 vote for it, none against).\n"
        "It opened with o1; nothing else held then.\n"
        "It was outvoted by Bergen, 1 to 1 of all votes. That is a clean switch: its vote is later than the "
        "last for Oslo (2024-01-01), and letter began to say so while Oslo held.\n"
        "- 2024-01-06  Bergen  letter (o2, said 2024-01-10)\n"
        "- 2024-01-01  Oslo    o1\n"
        "The change is dated 2024-01-06, by the first to say Bergen after the last who said Oslo: letter.\n"
    ) in text
    assert "It took the place of Oslo, see there.\n" in text


def test_a_fact_that_is_outvoted_by_two_says_that_two_are_enough() -> None:
    history = [say("a", at, f"a{at}") for at in (0, 1, 2, 4)] + [
        say("b", at, f"b{at}") for at in (3, 5, 6, 7)
    ]

    assert "It was outvoted by b, 4 to 1 of the newest five votes; two ahead is enough.\n" in told(history)


def test_a_change_that_was_decided_later_than_it_is_dated_says_both() -> None:
    history = [say("a", at, f"a{at}") for at in range(5)] + [say("b", at, f"b{at}") for at in (5, 6, 7)]

    text = told(history)

    assert "The change is dated 2024-01-06, by the first to say b after the last who said a: b5.\n" in text
    assert "It was decided by what was said for 2024-01-08.\n" in text


def test_a_fact_that_was_denied() -> None:
    text = told([say("a", 0, "o1"), deny("a", 5, "o2")])

    assert "kim / prefers was a from 2024-01-01 until 2024-01-06" in text
    assert "It was denied, 1 to 1 of all votes. That is a clean switch" in text
    assert "- 2024-01-06  not a  o2\n" in text
    assert "The change is dated 2024-01-06, by the first to deny it after the last who said a: o2.\n" in text
    assert text.startswith("kim / prefers was a")


def test_what_was_said_since_a_denial_opens_with_the_decision() -> None:
    history = [
        say("a", 0, "o1", document="A"),
        say("a", 1, "o2", document="B"),
        say("a", 2, "o3", document="C"),
    ]
    history += [deny("a", 5, "o4"), say("b", 6, "o5"), deny("a", 7, "o6"), deny("a", 8, "o7")]

    facts = explained(history).facts

    assert [(f.episode.cluster, f.opening.how) for f in facts] == [
        ("t:a", How.SAID),
        ("t:b", How.AFTER_DENIAL),
    ]
    assert [s.observation_id for s in facts[0].closing] == ["o4", "o6", "o7"]
    assert "The fact before it was denied, and o5 had said this since.\n" in told(history)


def test_a_fact_that_ended_as_stated_and_one_that_had_been_said_meanwhile() -> None:
    history = [say("a", 0, "o1", valid_from=0, valid_to=10), say("a", 1, "o2", valid_from=1, valid_to=10)]
    history += [say("b", 4, "o3"), say("a", 5, "o4", valid_from=5, valid_to=10), say("b", 20, "o5")]

    text = told(history)

    assert "It ended on 2024-01-11 as stated by o1, o2 and o4; nobody says that it goes on.\n" in text
    assert "It had been said by o3 while the fact before it still held, and opened at its end.\n" in text


def test_a_fact_whose_end_is_known_and_lies_ahead() -> None:
    text = told([say("a", 0, "o1", valid_from=0, valid_to=10)], now=5)

    assert text.startswith("kim / prefers has been a from 2024-01-01 until 2024-01-11 (1 vote for it")
    assert "It ends on 2024-01-11 as stated by o1" in text


def test_a_fact_that_is_announced() -> None:
    text = told([say("a", 0, "o1"), say("b", 1, "o2", valid_from=30)], now=2)

    assert "It ends on 2024-01-31, from when on another value is announced by o2.\n" in text
    assert "kim / prefers will be b since 2024-01-31 (1 vote for it, none against).\n" in text
    assert "It was announced by o2. An announcement needs no vote and has none.\n" in text


def test_dissent_that_does_not_stand_is_told_apart_from_a_rival() -> None:
    history = [say("a", 0, "o1"), deny("b", 1, "o2"), deny("b", 2, "o3"), say("b", 3, "o4")]

    assert "No rival stands against it now.\n" in told(history)
    assert "Against it, b: o4 (2024-01-04)." in told(history)


def test_an_announced_denial() -> None:
    text = told([say("a", 0, "o1"), say("a", 1, "o2", valid_from=30, affirmed=False)], now=2)

    assert "It ends on 2024-01-31, from when on it is denied in advance by o2.\n" in text


def test_a_gap_a_fact_that_is_reopened_and_its_second_episode() -> None:
    text = told([say("a", 0, "o1", valid_from=0, valid_to=5), say("a", 9, "o2")])

    assert "kim / prefers was a from 2024-01-01 until 2024-01-06" in text
    assert "kim / prefers has been a since 2024-01-10" in text
    assert "It opened with o2; nothing else held then.\n" in text


def test_a_late_report_of_an_end_tells_of_a_time_of_which_nothing_was_heard() -> None:
    text = told([say("Austin", 20, "o1", valid_to=10), say("Oslo", 30, "o2")])

    assert "kim / prefers was Austin until 2024-01-11, since when is not known (1 vote for it" in text
    assert "that it ended then was said afterwards, by o1.\n" in text


def test_several_values_side_by_side() -> None:
    text = told([say("tea", 0, "o1"), say("milk", 1, "o2"), deny("milk", 2, "o3")], predicate=MULTI)

    assert "It opened with o2.\n" in text
    assert text.startswith("kim / prefers is tea (since 2024-01-01).\n")
    assert "kim / prefers was milk from 2024-01-02 until 2024-01-03" in text
    assert told([say("tea", 0, "o1"), say("milk", 1, "o2")], predicate=MULTI).startswith(
        "kim / prefers is tea (since 2024-01-01) and milk (since 2024-01-02).\n"
    )


def test_a_predicate_that_never_changes_is_explained_by_its_majority() -> None:
    history = [
        say("Ulm", 0, "o1"),
        say("Bonn", 1, "o2"),
        say("Ulm", 2, "o3"),
        say("Ulm", 3, "o4", document="d"),
    ]

    text = told(history, predicate=NEVER)

    assert "This never changes, so there is one fact, by plain majority over all documents.\n" in text
    assert "It has 3 votes; Bonn has 1.\n" in text
    assert "It has 1 and Ulm 3 of all votes, and the majority decides; three more votes for Bonn" in told(
        history, about="Bonn", predicate=NEVER
    )


def test_statements_without_object_are_explained_too() -> None:
    assert told([say(None, 0, "o1")]).startswith("kim / prefers has been so since 2024-01-01 (1 vote for it")


def test_changes_within_one_day_are_told_with_their_times() -> None:
    text = told([say("a", 0.25, "o1"), say("b", 0.75, "o2")])

    assert "was a from 2024-01-01 06:00 until 2024-01-01 18:00" in text


def test_of_many_facts_the_newest_are_told() -> None:
    history = [say(f"v{n}x", n, f"o{n}") for n in range(20)]

    text = told(history)

    assert text.startswith(
        "kim / prefers is v19x (since 2024-01-20).\n\nThe newest eight of 20 facts, in order"
    )
    assert text.count("kim / prefers was") + text.count("kim / prefers has been") == 8
    assert "It outvoted v11x, 1 to 1 of all votes." in text


def test_with_a_window_of_all_votes_the_words_say_all() -> None:
    history = [say("tea", at, f"t{at}") for at in range(4)] + [
        say("milk", 4 + at, f"m{at}") for at in range(3)
    ]

    text = told(history, policy=Policy(window=ALL_VOTES, lead=2))

    assert "of all votes" in text
    assert "of the newest" not in text


# -- what counts nowhere --------------------------------------------------------------------


def test_every_statement_that_counts_nowhere_is_named_with_its_reason() -> None:
    history = [
        say("2023", 0, "coarse"),
        say("tea", 1, "o1", document="d"),
        say("tea", 1, "o2", document="d"),
        say("tea", 2, "echo", votes=False),
        deny("milk", 3, "nothing"),
        say("cola", 9, "late", valid_to=4),
    ]
    explanation = explained(history, cluster_of={type_object("2023").key: ASIDE})

    assert {p.statement.observation_id: p.why for p in explanation.aside()} == {
        "coarse": Apart.FITS_SEVERAL,
        "echo": Apart.FED_BACK,
        "nothing": Apart.NOTHING_TO_DENY,
        "late": Apart.LATE_REPORT,
    }
    text = told(history, cluster_of={type_object("2023").key: ASIDE}, retracted=["gone"])
    assert text.endswith(
        "Counted nowhere:\n"
        "- One statement came out of factdrift itself and never votes: echo\n"
        "- One statement is a coarse date that fits several others, and takes no side: coarse\n"
        "- One statement says afterwards that something ended which did not hold then: late\n"
        "- One statement denies what did not hold then: nothing\n"
        "- One statement of a document under a second id: o2 repeats o1\n"
        "- Retracted from this subject, as if never said: gone"
    )


# -- why not --------------------------------------------------------------------------------


def test_a_value_that_was_never_said() -> None:
    text = told([say("tea", 0, "o1"), say("tea", 1, "o2")], about="cocoa")

    assert text == (
        "Nobody ever said that kim / prefers is cocoa.\n"
        "What was said, and how often: tea (2).\n"
        "What holds is tea, since 2024-01-01; two more votes for cocoa would change that."
    )


def test_a_value_that_one_document_repeats_has_one_vote() -> None:
    history = [say("tea", 0, "o1"), say("tea", 1, "o2")]
    history += [say("milk", 2 + n, f"m{n}", document="quiz") for n in range(3)]

    text = told(history, about="MILK")

    assert text.startswith(
        "kim / prefers was never milk.\nThree statements of one document said so: quiz (m2, "
    )
    assert "A document has one vote, however often it repeats itself.\n" in text
    assert "it had 1 and tea 2 of all votes; one more vote for milk would have decided.\n" in text


def test_a_value_whose_denials_outweigh_it_where_nothing_held() -> None:
    history = [deny("a", 0, "o1"), deny("a", 1, "o2"), say("a", 2, "o3")]

    text = told(history, about="a")

    assert text == (
        "kim / prefers was never a.\n"
        "One statement of it took effect when no fact held: o3 (2024-01-03).\n"
        "On 2024-01-03 nothing held, but a did not stand: 1 vote for it and two denials, which are more, or "
        "as many and no earlier.\n"
        "a is denied by o2 (2024-01-02) and o1 (2024-01-01).\n"
        "Nothing holds now."
    )


def test_a_value_that_was_said_at_the_same_instant_as_another() -> None:
    history = [say("a", 0, "o1"), say("b", 0, "o2"), say("a", 0, "o3")]

    assert "On 2024-01-01 nothing held, and a was chosen, 2 to 1: the most votes open a fact" in told(
        history, about="b"
    )
    assert "b was said at the same instant and was no stronger.\n" in told(history)


def test_a_value_that_held_once_names_what_holds_now() -> None:
    text = told([say("a", 0, "o1"), say("b", 5, "o2")], about="a")

    assert text.startswith(
        "kim / prefers is not a now. What holds is b, since 2024-01-06; one more vote for a would"
    )
    assert "kim / prefers was a from 2024-01-01 until 2024-01-06" in text


def test_a_value_with_many_episodes_tells_the_newest() -> None:
    history = [
        say("ab"[n % 2] * 3, n + (n % 2) / 4, f"o{n}", valid_from=n, valid_to=n + 1) for n in range(20)
    ]

    text = told(history, about="aaa")

    assert "It was aaa in 10 episodes; these are the newest eight.\n" in text
    assert text.count("kim / prefers was aaa from") == 8


def test_a_value_that_only_factdrift_itself_said() -> None:
    text = told([say("tea", 0, "o1"), say("milk", 1, "o2", votes=False)], about="milk")

    assert "One statement of it came out of factdrift itself and never votes: o2 (2024-01-02).\n" in text


def test_a_value_with_a_late_report_only() -> None:
    history = [say("Oslo", 0, "o1"), say("Austin", 20, "o2", valid_to=10)]

    assert "One statement of it says afterwards that something ended" in told(history, about="Austin")


def test_a_value_that_is_announced_and_loses() -> None:
    history = [say("a", 0, "o1"), say("b", 1, "o2", valid_from=30), say("c", 1, "o3", valid_from=30)]
    history += [say("b", 1, "o4", valid_from=30)]

    assert "o3 announces it for 2024-01-31.\n" in told(history, about="c")


def test_a_value_whose_repeats_under_other_ids_count_nowhere() -> None:
    history = [say("tea", 0, "t0"), say("tea", 1, "t1")]
    history += [say("milk", 2, "m1", document="d"), say("milk", 2, "m2", document="d")]

    assert "One statement of a document under a second id, counted nowhere: m2 repeats m1.\n" in told(
        history, about="milk"
    )


def test_a_value_that_takes_no_side() -> None:
    coarse = type_object("2023").key
    history = [say("2023-05-08", 0, "o1"), say("2023-06-08", 1, "o2"), say("2023", 2, "o3")]

    text = told(history, about="2023", cluster_of={coarse: ASIDE})

    assert "One statement of it is a coarse date that fits several others, and takes no side: o3" in text


def test_a_value_that_counts_as_one_with_another_and_one_that_a_guard_keeps_apart() -> None:
    vectors = packaged()
    words = ["adoption agency", "adoption agencies", "30 years", "31 years", "tea"]
    forms = {typed.key: Form(typed, vectors.embed([typed.text])[0]) for typed in map(type_object, words)}
    history = [say(value, at, f"o{at}") for at, value in enumerate(words)]
    cluster_of = {type_object("adoption agency").key: type_object("adoption agencies").key}
    explanation = explained(history, cluster_of=cluster_of)

    agency = why_not(explanation, "Adoption agency", forms=forms, threshold=vectors.model.threshold)
    years = why_not(explanation, "31 years", forms=forms, threshold=0.5)

    (same,) = agency.same
    assert (same.spelling, same.guard) == ("adoption agencies", None)
    assert same.cosine is not None
    assert same.cosine >= vectors.model.threshold
    assert [(kin.spelling, kin.guard) for kin in years.apart] == [("30 years", "number")]
    text = "\n".join(ValueTelling(explanation, "kim", now=day(9)).verdict(years))
    assert "However alike they are, the guard “number” keeps it apart from 30 years (cosine " in text


def test_without_vectors_spellings_that_look_alike_name_their_guard() -> None:
    verdict = why_not(explained([say("v1.2.3", 0, "o1"), say("v1.2.4", 1, "o2")]), "v1.2.4")

    assert [(kin.spelling, kin.cosine) for kin in verdict.apart] == [("v1.2.3", None)]
    assert why_not(explained([say("tea", 0, "o1")]), "coffee").apart == ()


def test_any_spelling_of_a_value_is_the_same_question() -> None:
    history = [say("5 kg", 0, "o1"), say("6 kg", 1, "o2")]

    assert why_not(explained(history), "5000 g").facts == why_not(explained(history), "5 kg").facts == (0,)


# -- the pieces -----------------------------------------------------------------------------


def test_the_facts_within_a_window() -> None:
    explanation = explained([say("a", 0, "o1"), say("b", 10, "o2"), say("c", 20, "o3")])

    assert facts_within(explanation, window("2024-01-05", now=day(30))) == [0]
    assert facts_within(explanation, window("2024-01-11", now=day(30))) == [1]
    assert facts_within(explanation, window("2024-01-10/2024-01-12", now=day(30))) == [0, 1]
    assert facts_within(explanation, window("2024", now=day(30))) == [0, 1, 2]
    assert facts_within(explanation, window("2023", now=day(30))) == []


def test_the_statements_that_date_the_bounds_are_named() -> None:
    history = [say("a", 3, "o1", valid_from=0), say("a", 4, "o2"), say("b", 9, "o3", valid_from=7)]
    history += [say("b", 10, "o4", valid_from=7), say("b", 11, "o5", valid_from=8)]

    first, second = explained(history).facts

    assert [s.observation_id for s in first.lo_set_by] == ["o1"]
    assert [s.observation_id for s in first.hi_set_by] == ["o3", "o4"]
    assert second.lo_set_by == first.hi_set_by


def test_a_rival_that_another_outranks_must_first_catch_up_with_it() -> None:
    history = [say("a", at / 10, f"a{at}") for at in range(5)]
    history += [say("b", 1, "b1"), say("b", 1.1, "b2"), say("c", 1.2, "c1")]
    standing = explained(history).facts[0].standing
    assert standing is not None
    needed = {d.rival.spelling: votes_needed(standing, d, Policy()) for d in standing.duels}

    assert needed == {"b": 1, "c": 2}
    assert standing.at == Instant(day(0) + round(1.2 * DAY_MS))
