"""Tables, the same everywhere: named columns, numbers to the right, a width that may be scrolled. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agents.dashboard.markup import Html, tag


def table(columns: Sequence[str], rows: Sequence[Html], *, label: str) -> Html:
    """A table of rows that `row` made. The name of a column of numbers begins with "#"."""
    head = [tag("th", name.lstrip("#"), scope="col", class_=_kind(name)) for name in columns]
    drawn = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))
    return tag("div", drawn, class_="table", tabindex=0, role="region", aria_label=label)


def row(columns: Sequence[str], cells: Sequence[Html | str | int | None], **attributes: str | None) -> Html:
    """A row, one cell for each column; its first cell is what the row is about."""
    drawn = [
        tag("td" if place else "th", _cell(cell), scope=None if place else "row", class_=_kind(name))
        for place, (name, cell) in enumerate(zip(columns, cells, strict=True))
    ]
    return tag("tr", *drawn, **attributes)


def _kind(name: str) -> str | None:
    return "number" if name.startswith("#") else None


def _cell(cell: Html | str | int | None) -> Html | str | None:
    return f"{cell:,}" if isinstance(cell, int) else cell
