"""What sections of docs/benchmarks.md share: kept lines by name, tables, and where a figure comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Line = Mapping[str, Any]
Newest = Mapping[str, Line]
"""The newest kept line of every figure, by its name."""


def where(line: Line) -> str:
    """Commit, whether the code was that of the commit, and the machine."""
    commit = f"commit {line['commit'][:10]}" if line.get("commit") else "no commit"
    modified = " with changes on top" if line.get("modified") else ""
    machine = line["machine"]
    return f"{commit}{modified}, {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column is text, the others are figures."""
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
