"""How commands speak: tables for people on a terminal, JSON lines with `--json` or when piped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from streams.wire import to_json

Json = Annotated[bool, typer.Option("--json", help="Write JSON lines, as when the output is piped.")]

PIPED_WIDTH = 140  # columns, where nobody says how wide the reader is

out = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH)
err = Console(stderr=True)


def for_programs(json: bool) -> bool:
    """Whether the output goes to a program: asked for, or not a terminal."""
    return json or not sys.stdout.isatty()


def write_json(value: Any) -> None:
    """One JSON line on standard output."""
    sys.stdout.buffer.write(to_json(value) + b"\n")
    sys.stdout.buffer.flush()


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A plain table; numbers to the right, nothing interpreted as markup."""
    from rich.text import Text

    made = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    rows = [list(row) for row in rows]
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[number], int | float) for row in rows)
        made.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return made


def listed(what: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A plain table under the number of its rows; `what` is the singular: "1 fact", "2 dead letters"."""
    first, _, rest = what.partition(" of ")
    many = f"{first}s{' of ' if rest else ''}{rest}"
    return table(f"{len(rows)} {what if len(rows) == 1 else many}", columns, rows)


def bytes_progress() -> Progress:
    """A progress bar over bytes on standard error; silent where that is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not sys.stderr.isatty(),
    )
