"""Assertions of a claim at two clocks, worked out from what the read model has recorded of it.

Reads statements, retracts and decisions; what follows is `state.lifecycle`'s. Stores nothing.
"""

from __future__ import annotations

from typing import Final

import msgspec
from sqlalchemy import Connection, select

from agents.claims import ClaimRead
from agents.read_model import Folding, schema
from agents.read_model.heard import Name, heard
from agents.read_model.past import facts_of, read_of, weighing
from state.assertion_log import Assertions
from state.assertions import TakenBack
from state.corrections import Decision
from state.endings import ClosedByFold
from state.identity import ClaimId
from state.instants import Instant
from state.lifecycle import AssertionState
from state.live_assertions import Arrival, LiveAssertions
from state.shelf import Shelf

_decode_decision: Final = msgspec.json.Decoder(Decision).decode


def assertions_of(
    connection: Connection,
    folding: Folding,
    name: Name,
    *,
    valid_at: Instant,
    known_at: Instant | None,
) -> list[AssertionState]:
    """Every assertion of a claim at `valid_at`, of what was recorded by `known_at` (None: all of it).

    Folds the claim once. Raises ReadModelError `too_much_evidence`.
    """
    found = heard(connection, name, known_at=known_at, by_cycle=folding.policy.by_cycle)
    read = read_of(weighing(connection, folding, name, known_at=known_at), name, found)
    live = LiveAssertions(
        Assertions(),
        Shelf(lambda _key: None),
        b"",
        claim=ClaimId(name.claim_id),
        predicate=read.predicate,
        policy_version=folding.policy.version,
        forms=read.claim.forms,
    )
    placed: list[tuple[int, int, Arrival]] = [
        (offset, 0, statement)
        for offset, statement in sorted(found.statements, key=lambda one: (one[0], one[1].place))
    ]
    decisions, retracts = _decided(connection, name, known_at)
    placed += [(offset, 1, decision) for offset, decision in decisions]
    placed += [(offset, 2, taken) for offset, taken in retracts]
    placed.sort(key=lambda one: one[:2])
    live.apply([arrival for _, _, arrival in placed], Shelf(lambda _key: None), forms=read.claim.forms)
    closed = [] if read.predicate.arbitration == "explicit" else _closed_by_fold(read)
    return live.read(valid_at=valid_at, closed_by_fold=closed)


def _decided(
    connection: Connection, name: Name, known_at: Instant | None
) -> tuple[list[tuple[int, Decision]], list[tuple[int, TakenBack]]]:
    """Decisions about the claim, links among them, and what was taken back of its subject."""
    columns = schema.corrections.c
    question = select(columns.offset, columns.op, columns.target, columns.recorded_at, columns.body).where(
        columns.namespace == name.namespace, columns.subject == name.subject
    )
    if known_at is not None:
        question = question.where(columns.recorded_at <= known_at)
    decisions: list[tuple[int, Decision]] = []
    retracts: list[tuple[int, TakenBack]] = []
    rows = connection.execute(question.order_by(columns.offset, columns.correction_id))
    for offset, op, target, recorded_at, body in rows:
        if op == "retract":
            retracts.append((offset, TakenBack(target, Instant(recorded_at))))
        elif (decision := _decode_decision(bytes(body))).claim == name.claim_id:
            decisions.append((offset, decision))
    return decisions, retracts


def _closed_by_fold(read: ClaimRead) -> list[ClosedByFold]:
    """The facts that the fold has closed, by what assertions are compared by."""
    return [
        ClosedByFold(cluster=read.claim.forms.cluster(fact.form), lo=fact.lo, hi=fact.hi, reason=fact.reason)
        for fact in facts_of(read)
        if fact.hi is not None and fact.reason is not None
    ]
