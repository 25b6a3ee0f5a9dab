"""Runs every system over every set of streams, and prints and returns what each got.

A set is streams of one size, in four regimes of sources, each in order and with disorder. The seeds of small,
medium and large are fixed: systems may be looked at and settings chosen on them. That of the sealed set is
drawn when it runs, and kept with its figures: anybody can repeat it afterwards and nobody beforehand.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean

from benchmarks import Options
from benchmarks.answers.calibrating import likely
from benchmarks.answers.scores import Score, calibration_error, judge, reliability
from benchmarks.answers.sources import REGIMES
from benchmarks.answers.stream import generate
from benchmarks.answers.systems import Competitor, Factdrift, System
from benchmarks.competitors import METHODS
from benchmarks.record import Figure, show
from streams.settings import Settings

OURS, NARROW, LEARNED = "factdrift", "factdrift, window 3", "factdrift, trust learned"
ORDERS = ("in-order", "disordered")
SEALED_BELOW = 9_000  # four digits: what a result keeps

Scores = dict[tuple[str, str, str], Score]
"""By regime, order and system."""


@dataclass(frozen=True, slots=True)
class StreamSet:
    """Streams of one size: as many for each regime as there are seeds."""

    size: str
    seeds: tuple[int, ...]


DEVELOPMENT = {
    "small": StreamSet("small", (1, 2, 3, 4)),
    "medium": StreamSet("medium", (11,)),
    "large": StreamSet("large", (21,)),
}
SEALED_STREAMS = 4
PARTS = (*DEVELOPMENT, "sealed")


def systems() -> dict[str, Callable[[], System]]:
    """How each system is made, ours first: as it comes, and with other settings."""
    narrow = partial(Factdrift, Settings(links="off", vote_window=3))
    return {
        OURS: Factdrift,
        NARROW: narrow,
        LEARNED: partial(Factdrift, Settings(links="off", trust="learned")),
        **{name: partial(Competitor, method) for name, method in METHODS.items()},
    }


def run(options: Options) -> list[Figure]:
    """Run the sets that were asked for, else all of them; `--quick` is one tiny stream for each regime."""
    wanted = [part for part in options.only if part in PARTS] or list(PARTS)
    sets = {name: chosen for name, chosen in DEVELOPMENT.items() if name in wanted}
    sealed_seed = secrets.randbelow(SEALED_BELOW) + 1_000
    if "sealed" in wanted:
        sets["sealed"] = StreamSet("small", tuple(range(sealed_seed, sealed_seed + SEALED_STREAMS)))
    if options.quick:
        sets = {"small": StreamSet("tiny", (1,))}
    figures: list[Figure] = []
    found: dict[str, Scores] = {}
    for name, chosen in sets.items():
        found[name] = measure(chosen)
        extra = {"first_seed": float(chosen.seeds[0]), "streams": float(len(chosen.seeds))}
        figures += list(_figures(name, found[name], extra))
        _show(name, chosen, found[name])
    figures += _calibration(found)
    return figures


def measure(chosen: StreamSet) -> Scores:
    """Every system on every stream of a set, the streams of one regime and order put together."""
    found: Scores = {}
    for regime in REGIMES:
        for seed in chosen.seeds:
            stream = generate(chosen.size, regime, str(seed))
            for order, arrivals in zip(ORDERS, (stream.in_order, stream.disordered), strict=True):
                for name, make in systems().items():
                    found.setdefault((regime, order, name), Score()).add(judge(make, stream, arrivals))
    return found


def _figures(set_name: str, scores: Scores, extra: dict[str, float]) -> Iterator[Figure]:
    for (regime, order, system), score in scores.items():
        more = {**score.figures(), **extra}
        yield Figure(f"answers/{set_name}/{regime}/{order}/{system}", score.n_observations, more=more)
    for order in ORDERS:
        for system in systems():
            whole = together(scores, order, system)
            more = {**whole.figures(), **extra}
            yield Figure(f"answers/{set_name}/all/{order}/{system}", whole.n_observations, more=more)


def together(scores: Scores, order: str, system: str) -> Score:
    """The score of a system over all regimes, each claim counting the same."""
    whole = Score()
    for (_, of_order, name), score in scores.items():
        if (of_order, name) == (order, system):
            whole.add(score)
    return whole


# -- how sure -------------------------------------------------------------------------------


def _calibration(found: Mapping[str, Scores]) -> list[Figure]:
    """What our confidence is worth, and what the probability is that readers are shown beside it."""
    figures: list[Figure] = []
    for name, scores in found.items():
        figures += calibration_figures(f"answers/{name}", together(scores, ORDERS[1], OURS))
        for regime in REGIMES:
            figures += calibration_figures(f"answers/{name}/{regime}", scores[regime, ORDERS[1], OURS])[:1]
    show_calibration(figures)
    return figures


def calibration_figures(name: str, score: Score) -> list[Figure]:
    """Both calibration errors over the same values, and the two reliability curves."""
    if not score.seen:
        return []
    given = [((one.support + 1) / (one.support + one.dissent + 2), one.right) for one in score.seen]
    pairs = {"confidence": given, "probability": likely(score.seen)}
    more = {
        "calibration_error": calibration_error(pairs["confidence"]),
        "calibration_error_mapped": calibration_error(pairs["probability"]),
        "right_percent": 100 * mean(float(one.right) for one in score.seen),
    }
    figures = [Figure(f"{name}/calibration", len(score.seen), more=more)]
    for what, curve in pairs.items():
        for number, (n, stated, right) in enumerate(reliability(curve)):
            point = {f"{what}_percent": 100 * stated, "right_percent": 100 * right}
            figures.append(Figure(f"{name}/reliability-of-{what}/{number}", n, more=point))
    return figures


def show_calibration(figures: Sequence[Figure]) -> None:
    """Print the errors; the curves are on the page."""
    rows = [
        (
            figure.name.removesuffix("/calibration"),
            f"{figure.n:,}",
            f"{figure.more['calibration_error']:.3f}",
            f"{figure.more['calibration_error_mapped']:.3f}",
        )
        for figure in figures
        if figure.name.endswith("/calibration")
    ]
    show("Calibration, ten bins", ("", "values", "ECE of confidence", "of probability"), rows)


# -- on the screen --------------------------------------------------------------------------

COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("current %", "current_right_percent", 1),
    ("valid_at %", "valid_at_right_percent", 1),
    ("outdated %", "outdated_percent", 1),
    ("false %", "false_percent", 1),
    ("wrong overwrites", "wrong_overwrites_per_1000_observations", 2),
    ("days off", "bound_error_median_days", 1),
    ("missed %", "episodes_missed_percent", 1),
    ("events", "events_per_true_change", 2),
    ("ECE", "calibration_error", 3),
)
"""Heading, figure, digits."""


def _show(name: str, chosen: StreamSet, scores: Scores) -> None:
    columns = ("", *(heading for heading, _, _ in COLUMNS))
    seeds = f"seeds {chosen.seeds[0]} to {chosen.seeds[-1]}"
    for order in ORDERS:
        for regime in REGIMES:
            rows = [(system, *cells(scores[regime, order, system].figures())) for system in systems()]
            show(f"Answers: {name}, {regime}, {order}, {seeds}", columns, rows)
        whole = {system: together(scores, order, system) for system in systems()}
        rows = [(system, *cells(score.figures())) for system, score in whole.items()]
        notes = [_faults(system, score) for system, score in whole.items()]
        show(f"Answers: {name}, all regimes, {order}, {seeds}", columns, rows, notes)


def cells(figures: Mapping[str, float]) -> Sequence[str]:
    """The figures of one system in the order of `COLUMNS`."""
    return [f"{figures[key]:.{digits}f}" if key in figures else "" for _, key, digits in COLUMNS]


def _faults(system: str, score: Score) -> str:
    told = ", ".join(f"{count} {fault}" for fault, count in score.faults.most_common())
    return f"{system}, single values that are wrong at the end: {told or 'none'}"
