"""Explanations of any history: they agree with the fold, leave no statement out, and can always be told."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agents.telling_values import ValueTelling
from state.episodes import Reason
from state.explanation import How
from state.fold_state import ASIDE
from state.instants import Instant
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement
from state.timeline import fold
from state.why import explain
from state.why_not import why_not
from tests.property.test_fold_against_twin import decisions, histories, lineages

PREDICATES = st.sampled_from(
    [
        Predicate("p"),
        Predicate("p", "multi"),
        Predicate("p", change="never"),
        Predicate("p", arbitration="explicit"),
    ]
)
HISTORIES = histories() | st.tuples(lineages(), decisions() | st.just([])).map(lambda both: both[0] + both[1])
CLUSTERS = st.sampled_from([{}, {}, {"b": "a"}, {"c": ASIDE}])


@given(HISTORIES, PREDICATES, CLUSTERS)
def test_an_explanation_has_the_facts_and_the_roles_of_the_fold(
    history: list[Statement], predicate: Predicate, cluster_of: dict[str, str]
) -> None:
    folded = fold(history, predicate, Policy(), cluster_of)

    explanation = explain(history, predicate, Policy(), cluster_of)

    assert sorted((f.episode for f in explanation.facts), key=repr) == sorted(folded.episodes, key=repr)
    roles = {
        p.statement.observation_id: (p.role, None if p.fact is None else explanation.facts[p.fact].episode)
        for p in explanation.placed
    }
    assert len(roles) == len(explanation.placed)
    assert roles == {
        observation_id: (role, None if number is None else folded.episodes[number])
        for observation_id, (role, number) in folded.roles.items()
    }


@given(HISTORIES, PREDICATES, CLUSTERS)
def test_every_statement_is_mentioned_exactly_once_in_its_place(
    history: list[Statement], predicate: Predicate, cluster_of: dict[str, str]
) -> None:
    explanation = explain(history, predicate, Policy(), cluster_of)

    mentioned = [s for fact in explanation.facts for s in (*fact.support, *fact.dissent, *fact.closing)]
    mentioned += [p.statement for p in (*explanation.aside(), *explanation.duplicates())]
    assert sorted(s.observation_id for s in mentioned) == sorted(s.observation_id for s in history)
    assert all(p.why is not None for p in explanation.aside())
    assert all(p.repeats is not None for p in explanation.duplicates())


@given(lineages(max_size=20) | histories(max_size=20), PREDICATES)
def test_every_fact_says_what_opened_it_what_dates_it_and_what_ended_it(
    history: list[Statement], predicate: Predicate
) -> None:
    for fact in explain(history, predicate, Policy(), {}).facts:
        episode, ballot = fact.episode, fact.episode.ballot
        assert fact.opening.votes
        assert bool(fact.lo_set_by) or episode.lo is None or fact.opening.how is How.REPORTED
        assert bool(fact.hi_set_by) is (episode.hi is not None)
        assert (fact.follower is not None) is (episode.reason is Reason.OUTVOTED)
        if episode.contested:
            assert fact.standing is not None
        if ballot is not None and fact.decision is not None:
            duel = fact.decision.duels[0]
            assert (duel.n_for, duel.n_held) == (ballot.n_for, ballot.n_held)
            assert (duel.fresh is not None) is ballot.clean_switch
            assert duel.decides
            assert len(duel.counted) == ballot.n_for + ballot.n_held
            assert fact.decision.at == ballot.decided_at
        elif ballot is not None:
            assert ballot.decided_at > fact.horizon, "only what is announced is denied without a count"


@given(histories() | lineages(), PREDICATES, st.booleans(), st.integers(-2, 20))
def test_everything_can_be_told(
    history: list[Statement], predicate: Predicate, merged: bool, now: int
) -> None:
    typed = [msgspec.structs.replace(s, form=f"t:{s.form}" if s.form else "") for s in history]
    explanation = explain(typed, predicate, Policy(), {"t:b": "t:a"} if merged else {})
    telling = ValueTelling(explanation, "kim / prefers", now=Instant(now))
    verdicts = {value: why_not(explanation, value) for value in ("a", "b", "c", "never heard")}

    told = [telling.claim(), *(telling.verdict(verdict) for verdict in verdicts.values())]

    assert all(lines and lines[-1] for lines in told)
    assert not any("None" in line for lines in told for line in lines)
    heard = {str(s.spelling) for s in history if s.spelling}
    assert {value for value, verdict in verdicts.items() if verdict.is_heard} == heard
