"""The snapshots of trust that a partition has read, and the policy that each of its claims is folded by.

A snapshot stands in the partition's own log, behind what it was learnt from, so a replay folds every claim
by the same weights at the same place. Each one is kept: facts name the one that they were decided by.
Learns nothing (`agents.trust_totals`), counts nothing (`agents.trust_counting`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from agents.following import Folded
from state.policy import Policy
from state.predicates import Predicate
from state.stored_claim import Claim
from state.trust import NO_SNAPSHOT, Trust, TrustSnapshot, number_in, trust_of
from streams.host import Tables

SNAPSHOTS_TABLE: Final = "trust-snapshots"

Get = Callable[[str, bytes], bytes | None]
"""How a table is asked for a key."""

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(TrustSnapshot).decode
_encode_key: Final = msgspec.json.Encoder().encode


def take_snapshots(tables: Tables, folded: Folded) -> None:
    """Keep the snapshots that the record tells of; one that was sent again changes nothing."""
    for entry in folded.batch.entries:
        found = entry.usable
        if not isinstance(found, TrustSnapshot):
            continue
        newest = _newest_key(found.namespace)
        before = newest_of(tables.get, found.namespace)
        if before.number >= found.number or tables.applied(SNAPSHOTS_TABLE, newest, folded.record):
            continue
        value = _encode(found)
        tables.put(SNAPSHOTS_TABLE, _key(found.namespace, found.number), value)
        tables.put(SNAPSHOTS_TABLE, newest, value)


def newest_of(get: Get, namespace: str) -> Trust:
    """The weights that count now; equal ones before the first snapshot."""
    return _trust(get(SNAPSHOTS_TABLE, _newest_key(namespace)), namespace)


def decided_by(get: Get, claim: Claim, policy: Policy) -> Policy:
    """The policy by which a stored claim was folded, whatever was learnt since."""
    number = number_in(claim.policy_version)
    if number is None:
        return policy
    stored = get(SNAPSHOTS_TABLE, _key(claim.namespace, number))
    return policy.trusting(_trust(stored, claim.namespace, number))


def is_outweighed(get: Get, claim: Claim) -> bool:
    """Whether a claim whose sources disagree was decided by another snapshot than the newest."""
    number = number_in(claim.policy_version)
    if number is None or number == newest_of(get, claim.namespace).number:
        return False
    return any(held.fact.dissent for strand in claim.strands.values() for held in strand.live.values())


class Trusting:
    """Gives each claim its policy. Keeps what it derived from a stored snapshot while that stays."""

    def __init__(self, policy: Policy) -> None:
        self._plain = policy
        self._held: dict[str, tuple[bytes | None, Policy]] = {}

    def policy_of(self, get: Get, claim: Claim, predicate: Predicate) -> Policy:
        """By which a claim is folded now: weighed votes where its value never changes, else plain ones."""
        if not predicate.never_changes or predicate.is_explicit:
            return self._plain
        stored = get(SNAPSHOTS_TABLE, _newest_key(claim.namespace))
        held = self._held.get(claim.namespace)
        if held is None or held[0] != stored:
            trusting = self._plain.trusting(_trust(stored, claim.namespace))
            held = self._held[claim.namespace] = (stored, trusting)
        return held[1]


def _trust(stored: bytes | None, namespace: str, number: int = NO_SNAPSHOT) -> Trust:
    """The weights of a stored snapshot; equal ones under that number where there is none."""
    return Trust(namespace, number) if stored is None else trust_of(_decode(stored))


def _key(namespace: str, number: int) -> bytes:
    return _encode_key((namespace, number))


def _newest_key(namespace: str) -> bytes:
    return _encode_key((namespace,))
