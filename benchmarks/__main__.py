"""`python -m benchmarks [NAME …]` runs benchmarks one after the other; without a name it lists them.

The name `standard` stands for what `make bench` runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from agents.composition import collect_rarely
from benchmarks import Options, record
from benchmarks.running import BENCHMARKS, STANDARD, Task, load, run_all, summarise

PROFILED = ("hot", "cold", "flapping", "late", "growth")  # loads of engine


def main() -> None:
    """Run what was asked for, and keep the figures if that was asked for too."""
    given = _parser().parse_args()
    collect_rarely()  # as every process of factdrift does
    if given.quick and given.record:
        _parser().error("figures of --quick are not worth keeping: leave out --quick or --record")
    if not given.names:
        _list()
        return
    try:
        tasks = tasks_of([*given.names, *given.only], _parts())
    except ValueError as error:
        _parser().error(str(error))
    outcomes = run_all(tasks, Options(quick=given.quick, profile=given.profile), record=given.record)
    if len(outcomes) > 1 and not summarise(outcomes):
        sys.exit("A benchmark failed.")
    if outcomes[0].failed is not None:
        sys.exit(1)


def tasks_of(names: Sequence[str], parts: Mapping[str, Sequence[str]]) -> list[Task]:
    """What is to run, in the order of the names; `parts` are those that each benchmark has.

    `kafka hot` is the part hot of kafka. A part belongs to every benchmark that was named and has it.
    Raises ValueError for a name that is neither a benchmark nor a part of one that was named.
    """
    wanted: dict[str, tuple[str, ...]] = {name: () for name in names if name in BENCHMARKS}
    if "standard" in names:
        wanted = dict(STANDARD) | wanted
    asked = [name for name in names if name not in BENCHMARKS and name != "standard"]
    for name in asked:
        if not any(name in parts.get(benchmark, ()) for benchmark in wanted):
            known = ", ".join(BENCHMARKS)
            raise ValueError(f"there is no benchmark {name!r}, nor such a part of these; known: {known}")
    return [
        Task(name, tuple(part for part in parts.get(name, ()) if part in asked) or standard)
        for name, standard in wanted.items()
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"standard, {', '.join(BENCHMARKS)}")
    parser.add_argument(
        "--quick", action="store_true", help="shrink everything: shows that it runs, not how fast"
    )
    parser.add_argument(
        "--record", action="store_true", help="append the figures to the files in benchmarks/results"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help="a part of answers, engine, kafka or read_model; `kafka hot` is short for kafka --only hot",
    )
    parser.add_argument("--profile", choices=PROFILED, help="instead: where engine spends its time")
    return parser


def _parts() -> dict[str, Sequence[str]]:
    """The parts of each benchmark that has some and whose packages are there."""
    found = {}
    for name in BENCHMARKS:
        try:
            found[name] = getattr(load(name), "PARTS", ())
        except ImportError:
            continue  # said when it is run
    return found


def _list() -> None:
    for name in BENCHMARKS:
        try:
            told = (load(name).__doc__ or "").splitlines()[0]
        except ImportError as error:
            told = f"not here: {error}"
        record.out.print(f"[bold]{name:12}[/bold]{told}")
    record.out.print("\nRun them with python -m benchmarks NAME …; --help says what else there is.")


if __name__ == "__main__":
    main()
