"""What a claim had heard by an instant: statements, retracts and decisions, each with its place in the log.

Reads rows and nothing else; what counts among them, and what follows, is `past`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from sqlalchemy import Connection, func, select

from agents.read_model import schema
from agents.read_model.batch import statement_of
from agents.read_model.errors import ReadModelError
from state.corrections import Decision, Invalidate, Relate, Supersede
from state.instants import Instant
from state.statements import Statement

STATEMENTS_MAX: Final = 250_000
"""Statements that one answer folds at most: some seconds of work. Beyond it, the question is refused."""

_decode_decision: Final = msgspec.json.Decoder(Decision).decode


@dataclass(frozen=True, slots=True)
class Name:
    """A claim by its id and its normal forms."""

    claim_id: str
    namespace: str
    subject: str
    predicate: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What was recorded of a claim by an instant. Each with the offset of its internal record.

    Only the order between records matters: a decision is taken about what stood before its own record.
    """

    statements: list[tuple[int, Statement]]
    retracts: list[tuple[int, str]]
    decisions: list[tuple[int, Supersede | Invalidate]]


def heard(connection: Connection, name: Name, *, known_at: Instant | None, by_cycle: bool) -> Heard:
    """Everything of a claim that was recorded by an instant; None as `known_at` is everything so far.

    With `by_cycle` statements say in which cycle they arrived. Raises ReadModelError `too_much_evidence`.
    """
    refuse_too_much(connection, name, known_at=known_at)
    decisions = []
    retracts = []
    for offset, found in _corrections(connection, name, known_at=known_at):
        if isinstance(found, str):
            retracts.append((offset, found))
        elif found.claim == name.claim_id and not isinstance(found, Relate):
            decisions.append((offset, found))
    return Heard(list(_statements(connection, name, known_at, by_cycle)), retracts, decisions)


def refuse_too_much(connection: Connection, name: Name, *, known_at: Instant | None) -> None:
    """Raise ReadModelError `too_much_evidence` for a claim that is too large to be folded in one answer."""
    n_statements = count_by(connection, name.claim_id, known_at=known_at)
    if n_statements > STATEMENTS_MAX:
        raise ReadModelError(
            "too_much_evidence",
            f"{name.subject} / {name.predicate} had more than the {STATEMENTS_MAX:,} statements by then that "
            "one answer folds. What was published of it by then is in its history.",
        )


def count_by(connection: Connection, claim_id: str, *, known_at: Instant | None) -> int:
    """How many statements of a claim were recorded by an instant, up to one more than can be folded."""
    columns = schema.evidence.c
    recorded = select(columns.recorded_at).where(columns.claim_id == claim_id)
    if known_at is not None:
        recorded = recorded.where(columns.recorded_at <= known_at)
    bounded = recorded.limit(STATEMENTS_MAX + 1).subquery()
    return connection.execute(select(func.count()).select_from(bounded)).scalar_one()


def _statements(
    connection: Connection, name: Name, known_at: Instant | None, by_cycle: bool
) -> Iterator[tuple[int, Statement]]:
    columns = schema.evidence.c
    question = select(columns.offset, columns.cycle, columns.body).where(columns.claim_id == name.claim_id)
    if known_at is not None:
        question = question.where(columns.recorded_at <= known_at)
    for offset, cycle, body in connection.execute(question):
        statement = statement_of(bytes(body))[0]
        yield offset, msgspec.structs.replace(statement, cycle=cycle) if by_cycle else statement


def _corrections(
    connection: Connection, name: Name, *, known_at: Instant | None
) -> Iterator[tuple[int, Decision | str]]:
    """Retracts, as the observation id, and decisions about the claim's subject, in the order of the log."""
    columns = schema.corrections.c
    question = select(columns.offset, columns.op, columns.target, columns.body).where(
        columns.namespace == name.namespace, columns.subject == name.subject
    )
    if known_at is not None:
        question = question.where(columns.recorded_at <= known_at)
    for offset, op, target, body in connection.execute(
        question.order_by(columns.offset, columns.correction_id)
    ):
        yield offset, target if op == "retract" else _decode_decision(body)


def retracted_by(connection: Connection, name: Name, *, known_at: Instant | None) -> set[str]:
    """The observation ids that were retracted from the claim's subject by an instant."""
    columns = schema.corrections.c
    question = select(columns.target).where(
        columns.namespace == name.namespace, columns.subject == name.subject, columns.op == "retract"
    )
    if known_at is not None:
        question = question.where(columns.recorded_at <= known_at)
    return set(connection.execute(question).scalars())
