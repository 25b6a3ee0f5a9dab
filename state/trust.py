"""How much the word of a source weighs, where weights were learnt, and how a majority uses that.

Holds what `state.trust_learning` found as a numbered snapshot, and answers what one statement's vote weighs
by it. Learns nothing. Weights are whole hundredths between `LEAST` and `MOST`; a source of which too little
is known weighs `NEUTRAL`, as does a statement without a source, so that equal weights give the plain vote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import msgspec

from state.statements import Statement, voter

NEUTRAL: Final = 100
"""What a vote weighs of which nothing is known, in hundredths."""
LEAST: Final = 25
MOST: Final = 200
STEP: Final = 5  # weights are multiples of it, so that a snapshot changes only where something was learnt
NO_SNAPSHOT: Final = 0

SourceKey = str
"""Sixteen hexadecimal digits that stand for a source within its namespace; no name can be read from it."""


class TrustSnapshot(msgspec.Struct, frozen=True, kw_only=True, tag="trust-snapshot", omit_defaults=True):
    """What was learnt of the sources of one namespace by the end of cycle `number`, as it stands in the log.

    `weights` are hundredths by source; whoever is missing weighs `NEUTRAL`. A replay finds the same snapshot
    at the same place, whatever this release would learn from the same counts.
    """

    number: int
    namespace: str
    weights: dict[SourceKey, int] = {}


class Trust(msgspec.Struct, frozen=True, gc=False):
    """The weights by which the votes of one namespace count. Before the first snapshot all are equal."""

    namespace: str
    number: int = NO_SNAPSHOT
    weights: Mapping[SourceKey, int] = {}

    @property
    def stamp(self) -> str:
        """What a policy's version says of it: the cycle whose end the snapshot was made at."""
        return f"trust={self.number}"

    def of(self, source: str | None) -> int:
        """What a vote of a source weighs, in hundredths."""
        if source is None or not self.weights:
            return NEUTRAL
        return self.weights.get(source_key(self.namespace, source), NEUTRAL)

    def weigh(self, statements: Iterable[Statement]) -> int:
        """What the votes of one side weigh together: one for each voter, whatever it repeats."""
        return sum(self.of(source) for source in {voter(s): s.source for s in statements}.values())


def trust_of(snapshot: TrustSnapshot) -> Trust:
    """The weights of a snapshot, ready to count by."""
    return Trust(snapshot.namespace, snapshot.number, snapshot.weights)


def number_in(policy_version: str) -> int | None:
    """The number of the snapshot that this policy version names; None where votes are plain."""
    _, found, number = policy_version.rpartition("+trust=")
    return int(number) if found and number.isdigit() else None


@lru_cache(maxsize=65_536)  # the same few sources speak again and again
def source_key(namespace: str, source: str) -> SourceKey:
    """What a source is called in counts and snapshots: these stay in the log when its name is forgotten."""
    name = msgspec.json.encode((namespace, source))
    return blake2b(name, digest_size=8, person=b"factdrift-trust").hexdigest()
