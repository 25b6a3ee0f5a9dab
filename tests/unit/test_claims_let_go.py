"""A claim in use is no cycle: a load of new claims must not wait for the collector to get its memory back.

With one, half of the time that new claims took was the collector's.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents import composition
from agents.consolidation import PIECES_TABLE, LiveClaims
from state import stored_claim as claims
from state.claim import LiveClaim
from state.identity import claim_id
from state.instants import format_instant
from state.policy import Policy
from state.predicates import packaged
from state.shelf import Shelf
from state.stored_claim import Claim
from streams.embedded import EmbeddedHost, EmbeddedStore
from streams.settings import Settings
from streams.topics import Topic
from streams.wire import to_json
from tests.builders import day, statement

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


class Asked(EmbeddedStore):
    """A store that remembers which keys it was asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.keys: list[tuple[str, bytes]] = []

    def get(self, table: str, key: bytes) -> bytes | None:
        self.keys.append((table, key))
        return super().get(table, key)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Asked]:
    store = Asked(tmp_path)
    yield store
    store.close()


def tell(store: EmbeddedStore, *, of: str, said: str, on_day: int) -> None:
    """Twenty people in one batch, each with a claim of their own."""
    host = EmbeddedHost(store, composition.agents(Settings(), keeps_index=True), clock=lambda: day(500))
    items = [
        {
            "subject": f"{of} {number}",
            "predicate": "likes",
            "object": f"{said} number {number}",
            "observed_at": format_instant(day(on_day)),
            "source": {"id": "test"},
        }
        for number in range(20)
    ]
    outputs = host.publish(Topic.OBSERVATIONS, [(None, to_json(item), None) for item in items])
    assert {output.topic for output in outputs} >= {Topic.FACT_CREATED, Topic.FACTS}, "it was understood"


def test_the_claims_of_a_batch_are_gone_without_the_collector(store: Asked) -> None:
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        tell(store, of="kim", said="running", on_day=1)
        assert not [found for found in gc.get_objects() if isinstance(found, LiveClaim)]
    finally:
        if was_on:
            gc.enable()


def test_no_piece_is_asked_for_of_a_claim_that_is_new(store: Asked) -> None:
    tell(store, of="kim", said="running", on_day=1)
    assert not [key for table, key in store.keys if table == PIECES_TABLE]

    tell(store, of="kim", said="swimming", on_day=2)
    assert [key for table, key in store.keys if table == PIECES_TABLE], "those of a claim that is there are"
