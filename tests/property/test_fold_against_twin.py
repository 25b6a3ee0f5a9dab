"""The fold against its plain twin: two readings of one design must agree on every history."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import composition
from state.episodes import Role
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement, order
from state.timeline import fold
from state.votes import ALL_VOTES
from streams.settings import Settings
from tests.builders import decision, statement
from tests.reference import fold as twin
from tests.reference.decisions import Decision

VALUES = ["a", "b", "c"]
DEFAULT = Policy()
BY_CYCLE = Policy(window=ALL_VOTES, by_cycle=True)
PREDICATES = [Predicate("p"), Predicate("p", "multi"), Predicate("p", change="never")]


@st.composite
def histories(draw: st.DrawFn, *, max_size: int = 14) -> list[Statement]:
    """Short histories in which instants, documents and values collide often, and long duels of two values."""
    if draw(st.integers(0, 3)) == 0:
        return draw(duels(max_size=max_size))
    n = draw(st.integers(1, max_size))
    bounded = draw(st.booleans())
    found = []
    for number in range(n):
        observed = draw(st.integers(0, 12))
        valid_from = draw(st.none() | st.integers(0, 14)) if bounded or draw(st.booleans()) else None
        valid_to = None
        if bounded and draw(st.booleans()):
            valid_to = draw(st.integers((valid_from if valid_from is not None else 0) + 1, 18))
        document = draw(st.sampled_from([None, None, "d1", "d2", "d3", "d4"]))
        found.append(
            statement(
                draw(st.sampled_from(VALUES)) if draw(st.integers(0, 9)) else "",
                observed,
                id=f"s{number:02}",
                affirmed=draw(st.integers(0, 3)) > 0,
                valid_from=valid_from,
                valid_to=valid_to,
                source="s" if document else None,
                document=document,
                votes=draw(st.integers(0, 15)) > 0,
            )
        )
    return found


@st.composite
def duels(draw: st.DrawFn, *, max_size: int) -> list[Statement]:
    """Two values and their denials, one statement after the other: where a single vote decides."""
    sides = draw(st.lists(st.sampled_from(["a", "a", "b", "b", "!a"]), min_size=1, max_size=max_size))
    documents = draw(st.sampled_from([[None], ["d1", "d2", "d3"], [None, "d1", "d2"]]))
    found = []
    for number, side in enumerate(sides):
        document = draw(st.sampled_from(documents))
        found.append(
            statement(
                side[-1],
                number + draw(st.integers(0, 1)),
                id=f"s{number:02}",
                affirmed=side[0] != "!",
                source="s" if document else None,
                document=document,
            )
        )
    return found


def as_twin(s: Statement) -> twin.Statement:
    return twin.Statement(
        s.observation_id,
        s.form or None,
        s.affirmed,
        s.observed_at,
        s.valid_from,
        s.valid_to,
        s.source,
        s.document,
        s.votes,
        s.cycle,
        s.supersedes,
    )


def as_decision(s: Statement) -> Decision:
    return Decision(s.observation_id, str(s.verdict), s.form or None, s.effective_at, s.observed_at)


def ours(
    statements: list[Statement], predicate: Predicate, policy: Policy = DEFAULT
) -> tuple[list[tuple[object, ...]], frozenset[str]]:
    folded = fold(statements, predicate, policy, {})
    sides: dict[tuple[int, Role], set[str]] = {}
    aside = set()
    for observation_id, (role, number) in folded.roles.items():
        if number is not None:
            sides.setdefault((number, role), set()).add(observation_id)
        elif role is not Role.DUPLICATE:
            aside.add(observation_id)
    facts = []
    for number, e in enumerate(folded.episodes):
        facts.append(
            (
                e.cluster or None,
                e.ordinal,
                e.lo.at if e.lo else None,
                e.hi.at if e.hi else None,
                e.reason.value if e.reason else None,
                e.contested,
                tuple(("" if affirmed else "!") + c for (c, affirmed), _ in e.rivals),
                e.support,
                e.dissent,
                e.observations,
                frozenset(sides.get((number, Role.SUPPORT), ())),
                frozenset(sides.get((number, Role.DISSENT), ())),
                frozenset(sides.get((number, Role.CLOSING), ())),
                decided(e.opened_by),
                decided(e.closed_by[0] if e.closed_by else None),
                decided(e.against),
                e.follower if e.closed_by else None,
                e.replaced_by[0] if e.replaced_by else None,
            )
        )
    return sorted(facts, key=repr), frozenset(aside)


def decided(observation_id: str | None) -> str | None:
    """The correction behind the id of a decision: both halves of a supersede have one."""
    return observation_id and observation_id.rstrip("+")


def theirs(
    statements: list[Statement],
    predicate: Predicate,
    vote_window: int = DEFAULT.window,
    *,
    by_cycle: bool = False,
) -> tuple[list[tuple[object, ...]], frozenset[str]]:
    facts, aside = twin.fold(
        [as_twin(s) for s in statements if not s.verdict],
        [as_decision(s) for s in statements if s.verdict],
        cardinality=predicate.cardinality,
        change=predicate.change,
        vote_window=vote_window,
        by_cycle=by_cycle,
    )
    return sorted(
        (
            (
                f.cluster, f.ordinal, f.lo, f.hi, f.reason, f.contested, f.rivals, f.support, f.dissent,
                f.observations, f.supporting, f.dissenting, f.closing,
                decided(f.opened_by), decided(f.closed_by), decided(f.against), f.follower, f.replaced_by,
            )
            for f in facts
        ),
        key=repr,
    ), aside  # fmt: skip


def without_restatements(statements: list[Statement]) -> list[Statement]:
    """The twin knows no restatement under another id; that rule is tested by F34."""
    seen: set[object] = set()
    kept = []
    for s in sorted(statements, key=order):
        key = (s.form, s.affirmed, s.document, s.observed_at, s.valid_from, s.valid_to)
        if s.document is None or not s.votes or key not in seen:
            kept.append(s)
        if s.votes:
            seen.add(key)
    return kept


@given(histories(), st.sampled_from(PREDICATES))
def test_the_fold_agrees_with_its_plain_twin(history: list[Statement], predicate: Predicate) -> None:
    history = without_restatements(history)

    assert ours(history, predicate) == theirs(history, predicate)


@pytest.mark.parametrize("vote_window", [1, 3, 5, 7, "all"])
@given(data=st.data())
def test_the_fold_agrees_with_its_plain_twin_under_every_window(
    vote_window: int | str, data: st.DataObject
) -> None:
    history = without_restatements(data.draw(histories(max_size=20)))
    predicate = data.draw(st.sampled_from(PREDICATES))
    window = composition.policy(Settings(vote_window=vote_window)).window
    of_twin = 1_000 if vote_window == "all" else window  # more than any history here has votes

    assert ours(history, predicate, Policy(window=window)) == theirs(history, predicate, of_twin)


@st.composite
def decisions(draw: st.DrawFn, *, max_size: int = 3) -> list[Statement]:
    """What people decide of the values of a history, now and then of one that nobody stated."""
    taken: list[Statement] = []
    for number in range(draw(st.integers(1, max_size))):
        taken += decision(
            f"x{number}",
            closes=draw(st.sampled_from(VALUES)),
            opens=draw(st.sampled_from([None, *VALUES])),
            at=draw(st.integers(0, 16)),
            decided_at=draw(st.integers(0, 16)),
        )
    return taken


@st.composite
def lineages(draw: st.DrawFn, *, max_size: int = 14) -> list[Statement]:
    """Histories in which documents replace each other, now and then in a circle."""
    found = []
    for s in draw(histories(max_size=max_size)):
        older = draw(st.sampled_from([None, None, "d1", "d2", "d3"])) if s.document else None
        found.append(msgspec.structs.replace(s, supersedes=older))
    return found


def voiced(form: str, *instants: int, **more: Any) -> list[Statement]:
    """One statement at each instant, without document."""
    prefix = "" if more.get("affirmed", True) else "not-"
    return [statement(form, at, id=f"{prefix}{form}{at}", **more) for at in instants]


SINGLE, _, NEVER = PREDICATES
CLOSED = decision("x0", closes="a", at=0, decided_at=0)
OPENED = decision("x0", closes="c", opens="a", at=5, decided_at=5)
FALLING_DUE = decision("x0", closes="c", opens="b", at=5, decided_at=0)

WHERE_READINGS_PARTED: dict[str, tuple[Predicate, list[Statement]]] = {
    "a_fact_against_a_decision_says_so_where_nothing_changes": (NEVER, [*CLOSED, *voiced("a", 1)]),
    "denials_of_what_a_decision_opened_are_counted": (NEVER, [*OPENED, *voiced("a", 1, affirmed=False)]),
    "a_decided_value_that_nobody_voiced_is_contested_too": (NEVER, [*OPENED, *voiced("b", 1)]),
    "a_voice_for_a_decided_value_makes_it_start_no_later": (NEVER, [*OPENED, *voiced("a", 7)]),
    "an_end_that_was_told_before_a_closing_ends_nothing_after_it": (
        SINGLE,
        [
            *voiced("a", 0, valid_to=6),
            *decision("x0", closes="a", at=3, decided_at=0),
            *voiced("a", 4, 5),
            *voiced("c", 9),
        ],
    ),
    "what_may_not_open_does_not_keep_another_from_opening": (
        SINGLE,
        [*CLOSED, *voiced("a", 1), *voiced("b", 1)],
    ),
    "a_late_report_after_a_closing_is_against_the_decision": (
        SINGLE,
        [*voiced("a", 0), *decision("x0", closes="a", at=3, decided_at=3), *voiced("a", 9, valid_to=6)],
    ),
    "a_late_report_of_the_time_before_a_closing_is_not_void": (
        SINGLE,
        [*decision("x0", closes="a", at=2, decided_at=2), *voiced("a", 2, valid_to=1)],
    ),
    "a_decision_on_another_value_does_not_keep_an_end_from_opening_what_was_said_before": (
        SINGLE,
        [*voiced("b", 0, valid_to=5), *voiced("c", 0), *decision("x0", closes="a", at=5, decided_at=6)],
    ),
    "what_is_scheduled_for_the_instant_of_an_opening_gives_way": (
        SINGLE,
        [*FALLING_DUE, *voiced("a", 0, valid_from=5)],
    ),
    "a_denial_scheduled_for_the_instant_of_an_opening_gives_way": (
        SINGLE,
        [*FALLING_DUE, *voiced("b", 0, affirmed=False, valid_from=5)],
    ),
    "two_votes_cast_during_a_fact_that_ends_open_what_was_closed": (
        SINGLE,
        [
            *(statement("b", 0, id=f"b{n}", valid_from=0, valid_to=5) for n in range(5)),
            *CLOSED,
            *voiced("a", 1, 2),
        ],
    ),
    "votes_that_a_closing_let_go_date_nothing": (
        SINGLE,
        [
            statement("a", 0, id="a0", source="s", document="d1", valid_to=1),
            *voiced("b", 0),
            statement("a", 0, id="a2", source="s", document="d1", valid_from=2),
            *decision("x0", closes="a", at=3, decided_at=0),
            *voiced("a", 3),
        ],
    ),
}


@pytest.mark.parametrize("name", WHERE_READINGS_PARTED)
def test_the_fold_agrees_with_its_plain_twin_where_readings_of_decisions_once_parted(name: str) -> None:
    predicate, history = WHERE_READINGS_PARTED[name]

    assert ours(history, predicate) == theirs(history, predicate)


@given(histories(), decisions(), st.sampled_from(PREDICATES))
def test_the_fold_agrees_with_its_plain_twin_on_decisions(
    history: list[Statement], taken: list[Statement], predicate: Predicate
) -> None:
    history = [*without_restatements(history), *taken]

    assert ours(history, predicate) == theirs(history, predicate)


@given(lineages(), decisions() | st.just([]), st.sampled_from(PREDICATES))
def test_the_fold_agrees_with_its_plain_twin_on_documents_that_replace_others(
    history: list[Statement], taken: list[Statement], predicate: Predicate
) -> None:
    history = [*without_restatements(history), *taken]

    assert ours(history, predicate) == theirs(history, predicate)


@given(histories(), st.lists(st.integers(1, 4), min_size=14, max_size=14), st.sampled_from(PREDICATES[:2]))
def test_the_fold_agrees_with_its_plain_twin_on_votes_by_cycle(
    history: list[Statement], cycles: list[int], predicate: Predicate
) -> None:
    history = without_restatements(history)
    history = [msgspec.structs.replace(s, cycle=n) for s, n in zip(history, cycles, strict=False)]

    assert ours(history, predicate, BY_CYCLE) == theirs(history, predicate, by_cycle=True)


@pytest.mark.parametrize("side", ["a", "!b"])
def test_a_statement_of_an_older_cycle_is_no_vote_with_which_a_rival_wins(side: str) -> None:
    value, affirmed = side[-1], side[0] != "!"
    history = [
        statement(value, 1, id="rival", affirmed=affirmed),
        statement("b", 2, id="held", valid_from=1),
        statement(value, 0, id="older", affirmed=affirmed, valid_from=2),
    ]
    history = [msgspec.structs.replace(s, cycle=n) for s, n in zip(history, [2, 2, 1], strict=True)]

    assert ours(history, SINGLE, BY_CYCLE) == theirs(history, SINGLE, by_cycle=True)


def test_all_votes_hold_a_fact_that_a_window_of_five_gives_up() -> None:
    history = [statement("a", at, id=f"a{at}") for at in range(8)]
    history += [statement("b", 8 + at, id=f"b{at}") for at in range(6)]

    def values(vote_window: int | str) -> list[object]:
        policy = composition.policy(Settings(vote_window=vote_window))
        return [fact[0] for fact in ours(history, Predicate("p"), policy)[0]]

    assert values(5) == ["a", "b"]
    assert values("all") == ["a"]


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_and_the_ids_change_nothing(
    history: list[Statement], chance: random.Random
) -> None:
    renamed = [s.observation_id for s in history]
    chance.shuffle(renamed)
    other = [twin_rename(s, new) for s, new in zip(history, renamed, strict=True)]
    chance.shuffle(other)

    def shape(statements: list[Statement]) -> list[object]:
        folded = fold(statements, Predicate("p"), Policy(), {})
        return [(e.cluster, e.lo, e.hi, e.reason, e.contested, e.rivals) for e in folded.episodes]

    assert shape(history) == shape(other)


def twin_rename(s: Statement, new_id: str) -> Statement:
    return msgspec.structs.replace(s, observation_id=new_id)
