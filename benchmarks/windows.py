"""Which vote window is right where: factdrift with several of them on the streams of `answers`, disordered.

The windows are values of FACTDRIFT_VOTE_WINDOW; everything else is as it comes. Only sets with fixed seeds
are looked at, since a choice is made by these figures. Parts: small, medium.
"""

from __future__ import annotations

from benchmarks import Options
from benchmarks.answers.scores import Score, judge
from benchmarks.answers.sources import REGIMES
from benchmarks.answers.stream import generate
from benchmarks.answers.suite import COLUMNS, DEVELOPMENT, StreamSet, cells
from benchmarks.answers.systems import Factdrift
from benchmarks.record import Figure, show
from streams.settings import Settings

WINDOWS = (1, 2, 3, 5, 7)
PARTS = ("small", "medium")


def run(options: Options) -> list[Figure]:
    """Measure every window on every regime of the sets asked for, and print a table of each regime."""
    sets = {name: DEVELOPMENT[name] for name in PARTS if not options.only or name in options.only}
    if options.quick:
        sets = {"small": StreamSet("tiny", (1,))}
    figures: list[Figure] = []
    for name, chosen in sets.items():
        for regime in REGIMES:
            scores = {window: _score(chosen, regime, window) for window in WINDOWS}
            rows = [(str(window), *cells(score.figures())) for window, score in scores.items()]
            show(f"Windows: {name}, {regime}", ("window", *(column for column, _, _ in COLUMNS)), rows)
            figures += [
                Figure(f"windows/{name}/{regime}/{window}", score.n_observations, more=score.figures())
                for window, score in scores.items()
            ]
    return figures


def _score(chosen: StreamSet, regime: str, window: int) -> Score:
    """What one window gets on all streams of a regime."""
    settings, score = Settings(links="off", vote_window=window), Score()
    for seed in chosen.seeds:
        stream = generate(chosen.size, regime, str(seed))
        score.add(judge(lambda: Factdrift(settings), stream, stream.disordered))
    return score
