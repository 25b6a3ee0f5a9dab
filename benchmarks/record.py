"""Figures: what was measured, how it is shown, and the line that is kept of it.

A figure that is kept names the code and the machine it belongs to; the clock has no part in it, the date is
that of the commit. What a benchmark leaves out is said here too, so that the end of a run can repeat it.
Measures nothing itself.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

RESULTS = Path(__file__).with_name("results")
"""A file for each benchmark, with a line for each figure; figures of a later run stand below."""
CODE = ("state", "streams", "agents", "benchmarks", ":!benchmarks/results")

out = Console(highlight=False)
_left_out: list[str] = []


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    `name` is stable between commits ("engine/hot"). `n` is how much was measured: observations, or subjects
    or seeds where nothing was timed. `seconds` for all `n`, None where nothing was timed. `more` are further
    values by name, each with its unit in the name; `note` is for people and is not kept.
    """

    name: str
    n: int
    seconds: float | None = None
    more: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def observations_per_s(self) -> float | None:
        """Observations in a second."""
        return self.n / self.seconds if self.seconds else None

    @property
    def us_per_observation(self) -> float | None:
        """Microseconds for one observation."""
        return self.seconds * 1e6 / self.n if self.seconds else None


def show(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> None:
    """Print a table, all columns but the first to the right, and what is to be said about it below."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)
    for note in notes:
        out.print(Text("  " + note, style="dim"))
    out.print()


def show_speed(title: str, figures: Sequence[Figure]) -> None:
    """Print timed figures: how many, how many a second, and how long one takes."""
    columns = ("", "observations", "per second", "µs each")
    names = [figure.name.partition("/")[2] for figure in figures]
    rows = [
        (
            name,
            f"{figure.n:,}",
            f"{figure.observations_per_s or 0:,.0f}",
            f"{figure.us_per_observation or 0:,.1f}",
        )
        for name, figure in zip(names, figures, strict=True)
    ]
    notes = [f"{name}: {figure.note}" for name, figure in zip(names, figures, strict=True) if figure.note]
    show(title, columns, rows, notes)


def leave_out(why: str) -> None:
    """Say that something is not measured, and why: now, and once more at the end of the run."""
    out.print(Text(why))
    out.print()
    _left_out.append(why)


def left_out() -> list[str]:
    """What was left out since this was asked last, each reason once."""
    found = list(dict.fromkeys(_left_out))
    _left_out.clear()
    return found


def keep(figures: Sequence[Figure], folder: Path = RESULTS) -> str:
    """Append one line per figure to the file of its benchmark; returns a sentence that says so.

    `modified` is true where the code differed from the commit: such a line is for one's own eyes.
    """
    where = {**_commit(), "machine": machine(), "versions": versions()}
    folder.mkdir(exist_ok=True)
    for benchmark in dict.fromkeys(_benchmark(figure) for figure in figures):
        with (folder / f"{benchmark}.jsonl").open("a", encoding="utf-8") as file:
            for figure in figures:
                if _benchmark(figure) == benchmark:
                    file.write(json.dumps(_line(figure, where), ensure_ascii=False) + "\n")
    told = f"{len(figures)} lines were added to benchmarks/{folder.name}"
    if where["commit"] is None:
        return f"{told}, without a commit: this is no checkout of git."
    if where["modified"]:
        return f"{told}, marked as modified: the code is not that of the commit."
    return f"{told}."


def kept(folder: Path = RESULTS) -> list[dict[str, object]]:
    """Every kept line; of one name the newest comes last."""
    lines = [
        line
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [json.loads(line) for line in lines]


def _benchmark(figure: Figure) -> str:
    return figure.name.partition("/")[0]


def _line(figure: Figure, where: Mapping[str, object]) -> dict[str, object]:
    line: dict[str, object] = {**where, "name": figure.name, "n": figure.n}
    if figure.seconds is not None:
        line["observations_per_s"] = _rounded(figure.observations_per_s or 0)
        line["us_per_observation"] = _rounded(figure.us_per_observation or 0)
    return line | {name: _rounded(value) for name, value in figure.more.items()}


def machine() -> dict[str, object]:
    """Model of the processor, number of cores, version of Python."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Of factdrift and of the packages that decide what it answers."""
    return {name: metadata.version(name) for name in ("factdrift", "msgspec", "numpy", "wordllama")}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _commit() -> dict[str, object]:
    head = _git("show", "-s", "--format=%H %cI", "HEAD")
    if head is None:
        return {"commit": None, "committed_at": None, "modified": None}
    commit, committed_at = head.split()
    return {
        "commit": commit,
        "committed_at": committed_at,
        "modified": bool(_git("status", "--short", "--", *CODE)),
    }


def _git(*arguments: str) -> str | None:
    """What git says, read only; None where there is no git or no checkout."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _rounded(value: float) -> float:
    """Four digits are more than a second run confirms."""
    return float(f"{value:.4g}")
