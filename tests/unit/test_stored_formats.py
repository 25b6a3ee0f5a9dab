"""Claims that earlier releases stored: each is read, folded on, and gives what all of its evidence gives.

`tests/stored` holds claims as a release of that format stored them, with their pieces, from the histories
below. A new format adds a file and a line here; none is ever taken away.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

from state import stored_claim as claims
from state.claim import LiveClaim
from state.policy import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.statements import Statement
from tests.builders import statement as built
from tests.kept import KeptClaim, facts_of

STORED = Path(__file__).parent.parent / "stored"
FORMATS = (1,)


def single() -> list[Statement]:
    """Ninety statements of three values: chunks, a long tail, closed facts."""
    chance = random.Random(7)
    found = []
    for i in range(90):
        value = "a" if (i // 40) % 2 == 0 else "b"
        if chance.random() < 0.1:
            value = "c"
        found.append(built(value, i + 1, id=f"s{i}", document=f"d{i % 17}"))
    return found


def multi() -> list[Statement]:
    """Forty statements of twelve values: more than lie in the claim's own value."""
    return [built("abcdefghijkl"[i % 12], i + 1, id=f"m{i}", document=f"d{i % 5}") for i in range(40)]


HISTORIES = {"single": (Predicate("p"), single()), "multi": (Predicate("p", "multi"), multi())}


def stored(version: int, name: str) -> KeptClaim:
    """The claim as a release of that format left it."""
    predicate, _ = HISTORIES[name]
    held: dict[str, Any] = json.loads((STORED / f"claims-format-{version}.json").read_text())[name]
    kept = KeptClaim(predicate)
    kept.stored = base64.b64decode(held["claim"])
    kept.pieces = {base64.b64decode(k): base64.b64decode(v) for k, v in held["pieces"].items()}
    kept.epoch = held["epoch"]
    live = LiveClaim(claims.decode(kept.stored), predicate=predicate, policy=Policy())
    live.shelf = Shelf(kept.pieces.get)
    kept.seen = {str(fact_id): published for fact_id, published in live.published().items()}
    return kept


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("name", HISTORIES)
def test_a_claim_of_an_earlier_format_holds_the_facts_of_its_evidence(version: int, name: str) -> None:
    predicate, history = HISTORIES[name]

    assert stored(version, name).facts() == facts_of(history, predicate)


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("at", [95, 60, 3], ids=["in order", "late in the tail", "late in a chunk"])
def test_a_claim_of_an_earlier_format_folds_on(version: int, name: str, at: int) -> None:
    predicate, history = HISTORIES[name]
    kept, more = stored(version, name), [built("b", at, id="late", document="another")]
    first = kept.crash(more, [], n_written=1)

    assert kept.apply(more) == first
    assert kept.facts() == facts_of([*history, *more], predicate)
    retracted = [history[5].observation_id, "late"]
    kept.apply([], retracted)

    left = [s for s in history if s.observation_id not in retracted]
    assert kept.facts() == facts_of(left, predicate)
    assert claims.decode(kept.stored).format == claims.STORED_FORMAT
