"""`python -m tests.crash_matrix`: run cases on a broker of its own, and print a table.

    --seed 1 2 3       the seeds (default 1)
    --case NAME …      the cases (default all)

Ends with 1 when a run broke a promise; how to repeat that run stands below the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.crash_matrix.cases import BY_NAME
from tests.crash_matrix.run import Result, Run
from tests.parts.kafka import start_kafka

HEAD = ("case", "seed", "workers", "kills", "stopped with", "facts", "lost", "doubled", "same id", "s", "")


def main() -> int:
    """Run what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash_matrix")
    parser.add_argument("--seed", type=int, nargs="*", default=[1])
    parser.add_argument("--case", nargs="*", choices=sorted(BY_NAME), default=list(BY_NAME))
    asked = parser.parse_args()
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        broker = start_kafka(Path(folder) / "broker")
        try:
            for name in asked.case or list(BY_NAME):
                for seed in asked.seed or [1]:
                    run = Run(broker, BY_NAME[name], seed, Path(folder) / f"{name}-{seed}")
                    results.append(run.run())
                    sys.stderr.write(f"{line(results[-1])}\n")
        finally:
            broker.stop()
    sys.stdout.write(table(results))
    return 1 if any(result.broken for result in results) else 0


def line(result: Result) -> str:
    """One row, as it is told while the matrix runs."""
    return " | ".join(cells(result))


def cells(result: Result) -> list[str]:
    """The columns of one row."""
    stops = ", ".join(f"{code} {n}" for code, n in sorted(result.n_stops.items()))
    numbers = (result.n_facts, result.n_lost, result.n_doubled, result.n_duplicates, round(result.took_s))
    held = "BROKEN" if result.broken else result.outcome
    counts = (result.case, result.seed, result.n_workers, result.n_kills, stops, *numbers, held)
    return [str(cell) for cell in counts]


def table(results: list[Result]) -> str:
    """All rows as a Markdown table, and below it every promise that was broken."""
    rows = [HEAD, tuple("---" for _ in HEAD), *(cells(result) for result in results)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    for result in results:
        for sentence in result.broken:
            again = f"make crash-matrix SEED={result.seed} CASE={result.case}"
            lines.append(f"\n{result.case}, seed {result.seed}: {sentence}\n  {again}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
