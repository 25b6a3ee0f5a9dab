"""What learnt weights did in the vote behind a fact, in words and as JSON.

Says by which snapshot a majority was weighed and what each source weighed in it. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agents.wording import few, joined
from state.policy import Policy
from state.statements import Statement
from state.trace import Weighing
from state.trust import NEUTRAL, NO_SNAPSHOT, Trust

SOURCES_SHOWN = 8


def majority_by(policy: Policy) -> str:
    """How the fact of a claim that never changes was chosen."""
    if policy.trust is None:
        return "plain majority over all documents"
    if policy.trust.number == NO_SNAPSHOT:
        return "majority over all documents; nothing was known of their sources, so all weighed the same"
    return (
        "majority over all documents, each weighed by what its source had proved worth by the end of "
        f"cycle {policy.trust.number}"
    )


def weighed(trust: Trust, standing: Weighing, names: Sequence[str]) -> Iterator[str]:
    """What each side of a count weighs, `names` in the order of the fact and its rivals, and each source."""
    sides = (standing.held, *(duel.rival for duel in standing.duels))
    told = [f"{name} {_shown(trust.weigh(side.votes))}" for name, side in zip(names, sides, strict=True)]
    yield f"By weight: {joined(told)}."
    sources = _weights(trust, (s for side in sides for s in side.votes))
    if sources:
        told = [f"{source} weighs {_shown(weight)}" for source, weight in sources.items()]
        yield f"A document of {few(told, n=SOURCES_SHOWN)}."


def trust_fields(trust: Trust, statements: Iterable[Statement]) -> dict[str, Any]:
    """The snapshot that decided a claim, and what it says of the sources heard there."""
    weights = {source: weight / NEUTRAL for source, weight in _weights(trust, statements).items()}
    return {"snapshot": trust.number, "weights": weights}


def _weights(trust: Trust, statements: Iterable[Statement]) -> dict[str, int]:
    named = sorted({s.source for s in statements if s.source is not None})
    return {source: trust.of(source) for source in named}


def _shown(weight: int) -> str:
    return f"{weight / NEUTRAL:g}"
