"""A claim in use is no cycle: a load of new claims must not wait for the collector to get its memory back.

With one, half of the time that new claims took was the collector's.
"""

from __future__ import annotations

import gc
import weakref

from agents.consolidation import LiveClaims
from state import stored_claim as claims
from state.claim import LiveClaim
from state.identity import claim_id
from state.policy import Policy
from state.predicates import packaged
from state.shelf import Shelf
from state.stored_claim import Claim
from tests.builders import statement

LIVES_IN = packaged().get("lives_in")


def new_claim() -> Claim:
    return Claim(
        claim=claim_id("default", "kim", "lives_in"),
        namespace="default",
        subject="kim",
        predicate="lives_in",
        layout=claims.layout_of(LIVES_IN),
    )


def test_a_claim_is_kept_in_use_once_it_is_spoken_of_again() -> None:
    held = LiveClaims()
    new = LiveClaim(new_claim(), predicate=LIVES_IN, policy=Policy())
    new.apply([statement("t:oslo", 1, id="a")], (), Shelf(lambda _key: None), epoch=0)
    stored = claims.encode(new.claim)
    again = LiveClaim(claims.decode(stored), predicate=LIVES_IN, policy=Policy())

    held.keep(b"new", stored, new)
    held.keep(b"again", stored, again)

    assert held.get(b"new", stored) is None
    assert held.get(b"again", stored) is again


def test_a_claim_that_is_let_go_is_gone_without_the_collector() -> None:
    live = LiveClaim(new_claim(), predicate=LIVES_IN, policy=Policy())
    arrivals = [statement("t:oslo", 1, id="a", document="d"), statement("t:rome", 2, id="b")]
    outcome = live.apply(arrivals, (), Shelf(lambda _key: None), epoch=0)
    assert outcome.changed
    gone = weakref.ref(live)
    was_on = gc.isenabled()
    gc.disable()
    try:
        del live, outcome
        assert gone() is None
    finally:
        if was_on:
            gc.enable()
