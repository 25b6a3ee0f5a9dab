"""Runs benchmarks one after the other, whatever becomes of each, and says in the end what became of them.

A benchmark that lacks a part (a broker, a browser, data that is not ours to ship) is left out, with the
reason; one that fails says how, and the next one runs. Only a failure makes the run a failed one. Measures
nothing but how long each took.
"""

from __future__ import annotations

import importlib
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from rich.text import Text

from benchmarks import Options
from benchmarks.record import Figure, keep, left_out, out, show
from state.errors import FactdriftError

BENCHMARKS = (
    "answers", "windows", "calibration", "invariance", "birthplaces", "noise", "engine", "meaning", "kafka",
    "drift", "read_model", "triples", "dashboard", "page",
)  # fmt: skip
STANDARD: Mapping[str, tuple[str, ...]] = {
    "answers": ("small", "medium", "sealed"),
    "windows": (),
    "calibration": (),
    "invariance": (),
    "birthplaces": (),
    "noise": (),
    "engine": (),
    "meaning": (),
    "drift": (),
    "read_model": ("read-model-100k",),
    "triples": (),
    "kafka": ("hot", "cold", "locomo", "latency"),
    "dashboard": (),
}
"""What `make bench` runs, and of which only some parts; the larger parts run by name."""

SHORT = 200  # characters of a failure in the summary


@dataclass(frozen=True, slots=True)
class Task:
    """A benchmark that is to run; `parts` are those of it that were asked for, all where empty."""

    name: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a benchmark: figures, minutes, what it left out and why, and how it failed."""

    task: Task
    n_figures: int
    seconds: float
    left_out: list[str] = field(default_factory=list)
    failed: str | None = None


def load(name: str) -> ModuleType:
    """The module of a benchmark. Raises ImportError where it needs a package that is not installed."""
    return importlib.import_module(f"benchmarks.{name}")


def run_all(tasks: Sequence[Task], options: Options, *, record: bool) -> list[Outcome]:
    """Run each, keep its figures as soon as it is through, and go on whatever it does."""
    found = []
    for task in tasks:
        if len(tasks) > 1:
            out.rule(" ".join((task.name, *task.parts)))
        found.append(run_one(task, options, load=load, record=record))
    return found


def run_one(task: Task, options: Options, *, load: Callable[[str], ModuleType], record: bool) -> Outcome:
    """Run one. What it raises is told and becomes part of the outcome; an interruption is not caught."""
    started = time.perf_counter()
    figures: list[Figure] = []
    missing: str | None = None
    failed: str | None = None
    try:
        figures = load(task.name).run(Options(options.quick, task.parts, options.profile))
        if record and figures:
            out.print(keep(figures))
    except ImportError as error:
        missing = f"A package is missing ({error}): `make setup-dev` installs all."
    except (FactdriftError, SystemExit) as error:
        failed = str(error)
    except Exception as error:
        if _is_missing_part(error):
            missing = str(error)
        else:
            failed = "".join(traceback.format_exception_only(error)).strip()
            out.print(Text(traceback.format_exc()), style="red")
    reasons = left_out() + ([] if missing is None else [missing])
    for told in (missing, failed):
        if told is not None:
            out.print(Text(f"{task.name}: {told}"), style="yellow" if failed is None else "red")
    return Outcome(task, len(figures), time.perf_counter() - started, reasons, failed)


def _is_missing_part(error: Exception) -> bool:
    """Whether a part (`tests.parts`) is not there; that package may be missing itself."""
    try:
        from tests.parts import PartMissing
    except ImportError:
        return False
    return isinstance(error, PartMissing)


def _short(told: str) -> str:
    """The first line of what was told whole before."""
    first = told.partition("\n")[0]
    return first if len(first) <= SHORT else f"{first[:SHORT]} …"


def summarise(outcomes: Sequence[Outcome]) -> bool:
    """Print what became of each; whether none failed."""
    rows = [
        (
            " ".join((one.task.name, *one.task.parts)),
            "failed" if one.failed is not None else "done" if one.n_figures else "left out",
            f"{one.n_figures}",
            f"{one.seconds / 60:.1f}",
        )
        for one in outcomes
    ]
    notes = [
        f"{one.task.name}: {why.strip()}"
        for one in outcomes
        for why in (*one.left_out, *([] if one.failed is None else [f"failed: {_short(one.failed)}"]))
    ]
    show("What was run", ("", "", "figures", "minutes"), rows, notes)
    return all(one.failed is None for one in outcomes)
