"""A claim's evidence, its facts as last published, and what a batch of arrivals changes about them.

One claim is the slot (namespace, subject, predicate). Facts are derived from all of its evidence by the
fold; a batch changes the evidence and publishes the difference. Nothing here depends on the order of
arrival, except versions and which of two contradicting records under one id came second.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from state.changes import Change, Published, diff
from state.episodes import Folded
from state.facts import About, Fact, facts_of, most_frequent
from state.identity import ClaimId, FactId
from state.instants import Instant
from state.periods import Policy
from state.predicates import Predicate
from state.statements import Statement, order
from state.timeline import fold

STORED_FORMAT: Final = 1


class Claim(msgspec.Struct, kw_only=True):
    """The stored form of a claim.

    `evidence` is in the order of `state.statements.order`, each observation id once; `retracted` are
    ids that count as never said, whether they have arrived or not; `published` is by fact id.
    """

    format: int = STORED_FORMAT
    claim: ClaimId
    namespace: str
    subject: str
    predicate: str
    evidence: list[Statement] = []
    retracted: list[str] = []
    published: dict[FactId, Published] = {}


class Duplicate(msgspec.Struct, frozen=True):
    """A statement that lost its id to another with a smaller content hash: a dead letter."""

    lost: Statement
    kept_hash: str


class Outcome(msgspec.Struct, frozen=True):
    """What a batch did to one claim: the events, the dead letters, and whether anything is to be stored."""

    changes: list[Change]
    duplicates: list[Duplicate]
    changed: bool


def apply(
    claim: Claim,
    arrivals: Iterable[Statement],
    retracted: Iterable[str],
    *,
    predicate: Predicate,
    policy: Policy,
) -> Outcome:
    """Take a batch into the claim (which is modified) and say what changed.

    A second delivery of the same batch changes nothing and yields nothing.
    """
    evidence_changed = False
    for observation_id in retracted:
        if observation_id not in claim.retracted:
            insort(claim.retracted, observation_id)
            evidence_changed = True
    gone = set(claim.retracted)
    by_id = {statement.observation_id: statement for statement in claim.evidence}
    duplicates: list[Duplicate] = []
    for statement in arrivals:
        held = by_id.get(statement.observation_id)
        if held is not None and held.content_hash != statement.content_hash:
            kept, lost = sorted((held, statement), key=lambda s: s.content_hash)
            duplicates.append(Duplicate(lost, kept.content_hash))
        else:
            kept = held or statement
        if kept is not held:
            by_id[kept.observation_id] = kept
            evidence_changed = True
    if not evidence_changed:
        return Outcome([], duplicates, changed=False)
    claim.evidence = sorted((s for s in by_id.values() if s.observation_id not in gone), key=order)
    return Outcome(_publish(claim, predicate, policy), duplicates, changed=True)


def _publish(claim: Claim, predicate: Predicate, policy: Policy) -> list[Change]:
    facts = facts_now(claim, predicate, policy)
    horizon = Instant(max((s.observed_at for s in claim.evidence if s.votes), default=0))
    claim.published, changes = diff(claim.published, facts, horizon=horizon)
    return changes


def facts_now(claim: Claim, predicate: Predicate, policy: Policy) -> list[Fact]:
    """The facts that the claim's evidence gives, in order of time."""
    if not claim.evidence:
        return []
    folded, cluster_of = folded_now(claim, predicate, policy)
    return facts_of(about(claim, predicate), claim.evidence, folded, cluster_of)


def folded_now(claim: Claim, predicate: Predicate, policy: Policy) -> tuple[Folded, Mapping[str, str]]:
    """The fold of the claim's evidence, and the clusters that it was folded by."""
    cluster_of: dict[str, str] = {}
    return fold(claim.evidence, predicate, policy, cluster_of), cluster_of


def about(claim: Claim, predicate: Predicate) -> About:
    """How the claim is named in its facts: as most of its evidence spells it."""
    return About(
        claim=claim.claim,
        namespace=claim.namespace,
        subject=most_frequent((s.subject, s.place) for s in claim.evidence),
        predicate=most_frequent((s.predicate, s.place) for s in claim.evidence),
        declared=predicate.declared,
    )


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Claim)


def encode(claim: Claim) -> bytes:
    """The stored form of a claim."""
    return _encoder.encode(claim)


def decode(stored: bytes) -> Claim:
    """A claim from its stored form."""
    return _decoder.decode(stored)
