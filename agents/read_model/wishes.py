"""Wishes to forget as the read model knows them: which it has still to fulfil, and what became of one.

The projection notes each wish; whoever feeds the read model erases (`agents.forget`) once it has applied what
the wish did to the facts, and says so here. What has to go is decided by `erasing`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, case, select, update

from agents.read_model import schema
from agents.read_model.records import Place, Scope
from state.instants import Instant


@dataclass(frozen=True, slots=True)
class Wish:
    """A wish in one partition. That about a source without a subject stands in each."""

    place: Place
    correction_id: str
    scope: Scope
    recorded_at: Instant
    is_done: bool


def pending(connection: Connection) -> list[Wish]:
    """The wishes that these tables have not fulfilled, in the order of their places."""
    return _read(connection, schema.wishes.c.is_done.is_(False))


def newest(connection: Connection, correction_id: str) -> list[Wish]:
    """The newest wish with this id, one for each partition that it stands in; none where there is none.

    One that is expressed again is another one: what was said since then is meant too.
    """
    found = _read(connection, schema.wishes.c.correction_id == correction_id)
    latest = max((wish.recorded_at for wish in found), default=None)
    return [wish for wish in found if wish.recorded_at == latest]


def note_done(connection: Connection, wish: Wish) -> None:
    """Remember that a wish is fulfilled. A subject that it named is named no more."""
    columns = schema.wishes.c
    connection.execute(
        update(schema.wishes)
        .where(columns.partition == wish.place.partition, columns.offset == wish.place.offset)
        .values(is_done=True, subject=case((columns.scope == "subject", None), else_=columns.subject))
    )


def _read(connection: Connection, condition: ColumnElement[bool]) -> list[Wish]:
    columns = schema.wishes.c
    question = select(schema.wishes).where(condition)
    return [
        Wish(
            Place(row.partition, row.offset),
            row.correction_id,
            Scope(row.namespace, row.subject, row.observation_id, row.source),
            Instant(row.recorded_at),
            bool(row.is_done),
        )
        for row in connection.execute(question.order_by(columns.partition, columns.offset))
    ]
