"""By which learnt weights a claim was decided, as the read model knows it.

Facts say in their policy version which snapshot of trust decided them, and the snapshots are in the log
beside them; so a claim of the past is folded again by what was known of its sources then. Learns nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
from sqlalchemy import Connection, select

from agents.read_model import schema
from agents.read_model.heard import Name
from state.instants import Instant
from state.policy import Policy
from state.predicates import Predicate
from state.trust import Trust, TrustSnapshot, number_in, trust_of


class _Decided(msgspec.Struct):
    """What is read of the event of a fact."""

    policy_version: str


_decode_event: Final = msgspec.json.Decoder(_Decided).decode
_decode_snapshot: Final = msgspec.msgpack.Decoder(TrustSnapshot).decode


def policy_then(
    connection: Connection, policy: Policy, predicate: Predicate, name: Name, *, known_at: Instant | None
) -> Policy:
    """The policy that decided a claim by `known_at`: with weights where its newest event then names some."""
    if not predicate.never_changes or predicate.is_explicit:
        return policy
    versions = schema.fact_versions.c
    question = select(versions.body).where(versions.claim_id == name.claim_id)
    if known_at is not None:
        question = question.where(versions.recorded_at <= known_at)
    newest = question.order_by(versions.offset.desc(), versions.seq.desc()).limit(1)
    body = connection.execute(newest).scalar()
    number = None if body is None else number_in(_decode_event(body).policy_version)
    if number is None:
        return policy
    known = schema.trust_snapshots.c
    stored = connection.execute(
        select(known.body).where(known.namespace == name.namespace, known.number == number)
    ).scalar()
    trust = Trust(name.namespace, number) if stored is None else trust_of(_decode_snapshot(bytes(stored)))
    return replace(policy, trust=None).trusting(trust)
