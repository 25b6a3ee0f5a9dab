"""`python -m benchmarks [NAME …]` runs benchmarks one after the other; without a name it lists them."""

from __future__ import annotations

import argparse
from types import ModuleType

from agents.composition import collect_rarely
from benchmarks import (
    Options,
    answers,
    birthplaces,
    dashboard,
    drift,
    engine,
    invariance,
    kafka,
    meaning,
    noise,
    page,
    read_model,
    record,
    triples,
)

BENCHMARKS: dict[str, ModuleType] = {
    "engine": engine,
    "answers": answers,
    "invariance": invariance,
    "birthplaces": birthplaces,
    "noise": noise,
    "meaning": meaning,
    "kafka": kafka,
    "drift": drift,
    "read_model": read_model,
    "triples": triples,
    "dashboard": dashboard,
    "page": page,
}
PARTS = (*engine.PARTS, *answers.PARTS, *kafka.PARTS, *read_model.PARTS)


def main() -> None:
    """Run what was asked for, and keep the figures if that was asked for too."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument(
        "--quick", action="store_true", help="shrink everything: shows that it runs, not how fast"
    )
    parser.add_argument(
        "--record", action="store_true", help="append the figures to benchmarks/results.jsonl"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        choices=PARTS,
        help="a part of engine, kafka, read_model or answers",
    )
    parser.add_argument("--profile", choices=engine.PROFILED, help="instead: where engine spends its time")
    given = parser.parse_args()
    collect_rarely()  # as every process of factdrift does
    given.only += [name for name in given.names if name in PARTS]  # `kafka hot` is short for --only hot
    given.names = [name for name in given.names if name not in PARTS]
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    if given.quick and given.record:
        parser.error("figures of --quick are not worth keeping: leave out --quick or --record")
    if not given.names:
        for name, module in BENCHMARKS.items():
            record.out.print(f"[bold]{name:12}[/bold]{(module.__doc__ or '').splitlines()[0]}")
        record.out.print("\nRun them with python -m benchmarks NAME …; --help says what else there is.")
        return
    options = Options(quick=given.quick, only=tuple(given.only), profile=given.profile)
    for name in given.names:
        figures = BENCHMARKS[name].run(options)
        if given.record and figures:
            record.out.print(record.keep(figures))


if __name__ == "__main__":
    main()
