"""`vote_window = cycle`: the literal rule of batch-wise systems, with what it costs."""

from __future__ import annotations

import msgspec

from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement
from state.votes import ALL_VOTES
from tests.builders import statement as built
from tests.kept import KeptClaim

POLICY = Policy(window=ALL_VOTES, by_cycle=True, version="by-cycle")


def said(value: str, at: int, *, cycle: int) -> Statement:
    return msgspec.structs.replace(built(value, at, id=f"{value}@{at}", document=f"d{at}"), cycle=cycle)


def told(*statements: Statement) -> list[tuple[object, object, object]]:
    live = KeptClaim(Predicate("p"), policy=POLICY)
    for s in statements:
        live.apply([s])
    facts = [p.fact for p in live.seen.values() if p.fact.reason != "withdrawn"]
    return sorted((f.lo, f.object, f.hi) for f in facts)


def test_one_dissenter_of_a_new_cycle_retires_what_a_hundred_said_before() -> None:
    hundred = [said("a", at, cycle=1) for at in range(100)]

    assert told(*hundred, said("b", 100, cycle=2)) == [(0, "a", 100), (100, "b", None)]


def test_within_one_cycle_a_share_of_two_in_five_is_not_enough_and_more_is() -> None:
    three = [said("a", at, cycle=1) for at in range(3)]

    assert told(*three, said("b", 3, cycle=1), said("b", 4, cycle=1)) == [(0, "a", None)]
    assert told(*three, *(said("b", at, cycle=1) for at in (3, 4, 5))) == [(0, "a", 3), (3, "b", None)]


def test_nine_statements_end_differently_in_one_cycle_than_in_two() -> None:
    def nine(cycle_of_the_last: int) -> list[Statement]:
        return [
            *(said("a", at, cycle=1) for at in range(6)),
            *(said("b", at, cycle=cycle_of_the_last) for at in range(6, 9)),
        ]

    assert told(*nine(1)) == [(0, "a", None)]
    assert told(*nine(2)) == [(0, "a", 6), (6, "b", None)]
