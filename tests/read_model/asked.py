"""What tests of the read model share: its rows, its answers as lines of `--facts`, and lines with a date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from agents.read_model import FactFilter, FactRead, Folding, ReadModel, facts, folding_of, schema
from state.instants import Instant
from streams.settings import Settings
from streams.wire import fact_line, line_order
from tests.builders import day
from tests.cases.world import iso

FOLDING: Folding = folding_of(Settings())


def rows(model: ReadModel, *, without: Mapping[str, Iterable[str]] = {}) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, in one order; columns that `without` names for a table are left out.

    What tells one model from another (its generation) is never part of it.
    """
    found = {}
    with model.reading() as connection:
        for table in schema.metadata.sorted_tables:
            left_out = set(without.get(table.name, ()))
            columns = [column for column in table.columns if column.name not in left_out]
            if not columns:
                continue
            question = select(*columns)
            if table is schema.meta:
                question = question.where(schema.meta.c.name != "generation")
            found[table.name] = sorted(
                tuple(bytes(v) if isinstance(v, memoryview) else v for v in row)
                for row in connection.execute(question)
            )
    return found


def all_facts(
    connection: Connection, wanted: FactFilter | None = None, *, limit: int = 1_000, **clocks: Any
) -> list[FactRead]:
    """The facts that are wanted, from as many pages as it takes."""
    found: list[FactRead] = []
    cursor: str | None = None
    while True:
        page = facts(connection, FOLDING, wanted or FactFilter(), limit=limit, cursor=cursor, **clocks)
        found += page.items
        cursor = page.next
        if cursor is None:
            return found


def lines(found: Iterable[FactRead], *, now: Instant) -> list[dict[str, Any]]:
    """The same facts as lines of `--facts`, which name nothing that depends on the way evidence arrived."""
    bodies = (msgspec.to_builtins(fact) for fact in found if fact.reason != "withdrawn")
    return sorted((fact_line(body, now=now) for body in bodies), key=line_order)


def recorded(line: Mapping[str, Any], number: float) -> dict[str, Any]:
    """A line that the log learnt on day `number`."""
    return {**line, "recorded_at": iso(number)}


def known_on(number: float) -> dict[str, Instant]:
    """The clocks of a question about what was known at the end of day `number`."""
    return {"known_at": day(number), "now": day(1_000)}
