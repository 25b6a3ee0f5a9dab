"""A claim in use is no cycle: a load of new claims must not wait for the collector to get its memory back.

With one, half of the time that new claims took was the collector's.
"""

from __future__ import annotations

import gc
import weakref

from state import stored_claim as claims
from state.claim import LiveClaim
from state.identity import claim_id
from state.policy import Policy
from state.predicates import packaged
from state.shelf import Shelf
from state.stored_claim import Claim
from tests.builders import statement


def test_a_claim_that_is_let_go_is_gone_without_the_collector() -> None:
    predicate = packaged().get("lives_in")
    claim = Claim(
        claim=claim_id("default", "kim", "lives_in"),
        namespace="default",
        subject="kim",
        predicate="lives_in",
        layout=claims.layout_of(predicate),
    )
    live = LiveClaim(claim, predicate=predicate, policy=Policy())
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
