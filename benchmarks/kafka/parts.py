"""The parts of the benchmark, one after the other on one broker, and their tables."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import Options, missing
from benchmarks.kafka import PARTS
from benchmarks.kafka.engines import FACTDRIFT, Engine, faust_engines, quix_engine, raw_engine
from benchmarks.kafka.in_one_step import expected_facts
from benchmarks.kafka.latency import latency
from benchmarks.kafka.loads import LOCOMO, Line, Load, loads
from benchmarks.kafka.rate import Measured, measure
from benchmarks.kafka.restart import restart
from benchmarks.record import Figure, leave_out, out, show
from tests.parts.kafka import KafkaBroker, start_kafka


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    hot: int = 300_000
    cold: int = 150_000
    locomo: int = 50_000
    slow_divisor: int = 10  # of what slow engines are given
    latency_s: int = 30
    restarts: tuple[int, ...] = (10_000, 100_000, 1_000_000)


QUICK = Sizes(hot=4_000, cold=4_000, locomo=3_000, slow_divisor=4, latency_s=3, restarts=(2_000,))


def run(options: Options) -> list[Figure]:
    """Measure the parts asked for. Exits with a sentence where facts are wrong. Raises PartMissing."""
    sizes = QUICK if options.quick else Sizes()
    asked = [name for name in PARTS if not options.only or name in options.only]
    figures: list[Figure] = []
    logging.getLogger("aiokafka").setLevel(logging.ERROR)  # it warns until a new topic has its leader
    with tempfile.TemporaryDirectory(prefix="factdrift-bench-") as name:
        folder = Path(name)
        broker = start_kafka(folder)
        try:
            out.print(f"{broker.describe()}; everything shares this machine.\n")
            known = loads()
            parts: dict[str, Callable[[], list[Figure]]] = {
                **{load.name: partial(_compare, broker, load, sizes, folder) for load in known.values()},
                "latency": partial(_latency, broker, known, sizes, folder),
                "restart": partial(_restart, broker, known["cold"], sizes, folder),
                "scale": partial(_scale, broker, known, sizes, folder),
            }
            for part in asked:
                if part in parts:
                    figures += parts[part]()
                else:
                    leave_out(missing(LOCOMO))
        finally:
            broker.stop()
    return figures


# -- engines beside each other ----------------------------------------------------------------


def _compare(broker: KafkaBroker, load: Load, sizes: Sizes, folder: Path) -> list[Figure]:
    """Every engine on one load, and what each is to factdrift."""
    n = getattr(sizes, load.name)
    lines = load.lines(n)
    kept = folder / f"{load.name}.written"
    measured = [asyncio.run(measure(broker, FACTDRIFT, lines, folder, keep=kept))]
    _tell(measured[0])
    quix = quix_engine()
    if isinstance(quix, str):
        leave_out(quix)
    engines = [
        raw_engine("raw-echo", "echo"),
        raw_engine("raw-same-output", str(kept)),
        raw_engine("raw-send", str(kept), "send"),
        *([] if isinstance(quix, str) else [quix]),
        *faust_engines(),
    ]
    for engine in engines:
        some = lines[: n // sizes.slow_divisor] if engine.slow else lines
        measured.append(asyncio.run(measure(broker, engine, some, folder)))
        _tell(measured[-1])
    kept.unlink()
    _check(load, lines, measured, [FACTDRIFT, *engines])
    return _shown(load.name, measured)


def _check(
    load: Load, lines: Sequence[Line], measured: Sequence[Measured], engines: Sequence[Engine]
) -> None:
    """Every engine must have come to the same facts; otherwise it did other work."""
    expected = {n: expected_facts(lines[:n]) for n in {one.n for one in measured}}
    wrong = [
        one.engine
        for one, engine in zip(measured, engines, strict=True)
        if engine.makes_facts and one.facts != expected[one.n]
    ]
    if wrong:
        raise SystemExit(f"On {load.name} these have other facts than are right: {', '.join(wrong)}.")


def _shown(name: str, measured: Sequence[Measured]) -> list[Figure]:
    ours = measured[0].figure(name)
    figures = [one.figure(name) for one in measured]
    rows = []
    for one, figure in zip(measured, figures, strict=True):
        rate = figure.observations_per_s or 0
        rows.append((
            one.engine, f"{one.n:,}", f"{rate:,.0f}", f"{(ours.observations_per_s or 0) / rate:.2f} ×",
            f"{figure.more['durable_observations_per_s']:,.0f}",
            f"{figure.more['cpu_us_per_observation']:,.0f}",
            f"{figure.more.get('broker_cpu_us_per_observation', 0):,.0f}",
            f"{figure.more['memory_peak_mib']:,.0f}",
            f"{figure.more['records_written_per_observation']:.2f}",
        ))  # fmt: skip
    columns = (
        "", "n", "per s", "factdrift is", "durable/s", "CPU µs", "broker µs", "MiB", "writes",
    )  # fmt: skip
    notes = (
        "durable/s: until the last output, without the last commit. CPU, broker, writes: of one observation.",
    )
    show(f"{name}: one process each", columns, rows, notes)
    return figures


def _tell(one: Measured) -> None:
    out.print(f"  {one.engine}: {one.n / one.seconds:,.0f} observations/s", style="dim")


# -- factdrift alone ----------------------------------------------------------------------------


def _latency(broker: KafkaBroker, known: dict[str, Load], sizes: Sizes, folder: Path) -> list[Figure]:
    figures = [
        asyncio.run(latency(broker, known[name], seconds=sizes.latency_s, folder=folder))
        for name in ("hot", "cold")
    ]
    rows = [
        (
            figure.name.rpartition("/")[2],
            f"{figure.n:,}",
            *(f"{figure.more[key]:,.0f} ms" for key in ("p50_ms", "p99_ms", "most_ms")),
            f"{figure.more['cpu_percent']:.0f} %",
            f"{figure.more['named_percent']:.1f} %",
        )
        for figure in figures
    ]
    columns = ("", "n", "p50", "p99", "most", "CPU", "named")
    show("Latency, published → first event, at 1,000 a second", columns, rows)
    return figures


def _restart(broker: KafkaBroker, load: Load, sizes: Sizes, folder: Path) -> list[Figure]:
    figures = [asyncio.run(restart(broker, load, n, folder)) for n in sizes.restarts]
    keys = (
        "with_disk_s", "without_disk_s", "changelog_records", "restored_records_per_s", "memory_mib",
        "restored_memory_mib",
    )  # fmt: skip
    rows = [
        (f"{figure.n:,}", *(f"{figure.more[key]:,.1f}" if key in figure.more else "" for key in keys))
        for figure in figures
    ]
    columns = ("claims", "with disk, s", "without, s", "records", "records/s", "MiB before", "MiB after")
    show("Restart of a worker, from its start to ready", columns, rows)
    return figures


def _scale(broker: KafkaBroker, known: dict[str, Load], sizes: Sizes, folder: Path) -> list[Figure]:
    figures: list[Figure] = []
    for name in ("hot", "cold"):
        lines = known[name].lines(getattr(sizes, name))
        for n_processes in (1, 2):
            one = asyncio.run(measure(broker, FACTDRIFT, lines, folder, n_processes=n_processes))
            figures.append(one.figure(f"scale/{name}/{n_processes}"))
    rows = [
        (
            "/".join(figure.name.split("/")[2:4]), f"{figure.observations_per_s:,.0f}",
            f"{figure.more['cpu_us_per_observation']:,.0f}", f"{figure.more['memory_peak_mib']:,.0f}",
        )
        for figure in figures
    ]  # fmt: skip
    show("Workers", ("", "per second", "CPU µs each", "MiB together"), rows)
    return figures
