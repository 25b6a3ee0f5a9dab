"""Fits the probability of a held value (`state/probability.py`) and tries it on streams drawn when it runs.

Fitted on streams of the sizes small and medium with fixed seeds, all four regimes, with disorder, default
settings; printed are the weights found and those in the source, which are to be the same. Then both
calibration errors on a sealed set, whose seed is drawn now. The regime of a stream is used in neither.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from benchmarks import Options
from benchmarks.answers.calibrating import fit
from benchmarks.answers.scores import Score, judge
from benchmarks.answers.sources import REGIMES
from benchmarks.answers.stream import generate
from benchmarks.answers.suite import SEALED_BELOW, calibration_figures, show_calibration
from benchmarks.answers.systems import Factdrift
from benchmarks.record import Figure, show
from state.probability import WEIGHTS

FITTED_ON = {"small": tuple(range(1, 13)), "medium": (11,)}
SEALED_STREAMS = 4


def run(options: Options) -> list[Figure]:
    """Fit, compare with the source, and judge on a sealed set."""
    known: Mapping[str, Sequence[int]] = {"tiny": (1, 2)} if options.quick else FITTED_ON
    score = _score(known, tuple(REGIMES))
    found = fit(score.seen)
    rows = [
        (
            kind,
            *(f"{value:g}" for value in (w.base, w.support, w.dissent, w.contested)),
            "" if w == WEIGHTS[kind] else "differs",
        )
        for kind, w in found.items()
    ]
    columns = ("", "base", "support", "dissent", "contested", "from the source")
    show(f"Weights, fitted on {len(score.seen):,} held values", columns, rows)
    first = secrets.randbelow(SEALED_BELOW) + 1_000
    sealed = {"tiny" if options.quick else "small": tuple(range(first, first + SEALED_STREAMS))}
    by_regime = {regime: _score(sealed, (regime,)) for regime in REGIMES}
    whole = Score()
    for one in by_regime.values():
        whole.add(one)
    figures = calibration_figures("calibration/fitted", score)
    figures += calibration_figures("calibration/sealed", whole)
    for regime, one in by_regime.items():
        figures += calibration_figures(f"calibration/sealed/{regime}", one)[:1]
    show_calibration(figures)
    return figures


def _score(sets: Mapping[str, Sequence[int]], regimes: Sequence[str]) -> Score:
    """What factdrift holds at the end of all these streams."""
    score = Score()
    for size, seeds in sets.items():
        for seed in seeds:
            for regime in regimes:
                stream = generate(size, regime, str(seed))
                score.add(judge(Factdrift, stream, stream.disordered))
    return score
