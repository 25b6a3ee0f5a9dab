"""A document that was replaced, and whose old export is imported again under other ids (CASES F34, L8)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.world import agreed, observe


def said(value: str, at: float, document: str, *, id: str, replaces: str | None = None, **fields: Any) -> Any:  # noqa: A002
    """`kim prefers value`, in a document that may name its predecessor."""
    source = {"id": "s", "document": document, "supersedes": replaces}
    return observe(value, at, id=id, source=source, **fields)


@pytest.mark.parametrize("end", [{}, {"valid_to": 9}, {"valid_from": 1, "valid_to": "2024-02"}])
def test_an_import_of_what_was_replaced_changes_nothing_and_stops_nobody(end: dict[str, Any]) -> None:
    lines = [
        said("A", 1, "old", id="o1", **end),
        said("B", 5, "new", id="o2", replaces="old"),
    ]
    again = said("A", 1, "old", id="i1", **end)

    facts, imported = agreed(lines), agreed([*lines, again])

    assert [(fact["object"], fact["valid"], fact["support"]) for fact in imported] == [
        (fact["object"], fact["valid"], fact["support"]) for fact in facts
    ]
    assert [(fact["object"], fact["state"]) for fact in facts] == [("A", "retired"), ("B", "open")]
