"""Measures a source of vectors on labelled pairs, and says it as a report.

Asks for the vectors and puts numbers side by side; what a number means is `state.calibration`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from state import calibration
from state.calibration import Score, Tally
from state.objects import type_object
from state.pairs import Pair
from state.similarity import ModelId, Vectors

SHOWN_WRONG_MAX: Final = 20
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a model makes of some pairs. `proposed` is None where no threshold reaches the target."""

    model: ModelId
    scores: Sequence[Score]
    false_max: float
    proposed: float | None
    proposed_bare: float | None
    threshold: float | None
    """The threshold that is set today, None where there is none."""

    def rows(self, threshold: float) -> list[tuple[Tally, Tally]]:
        """Each kind with guards and without, and then all kinds together."""
        with_guards = calibration.by_kind(self.scores, threshold)
        without = calibration.by_kind(self.scores, threshold, guarded=False)
        whole = (
            calibration.tally(ALL, self.scores, threshold),
            calibration.tally(ALL, self.scores, threshold, guarded=False),
        )
        return [*zip(with_guards, without, strict=True), whole]


def measure(
    vectors: Vectors, pairs: Sequence[Pair], *, false_max: float, threshold: float | None
) -> Measured:
    """Embed every text of the pairs once, and measure. Raises VectorsUnavailable.

    `threshold` is the one that is set today, if any. Raises ValueError where no pair is of two values.
    """
    texts = calibration.texts(pairs)
    vector_of = dict(zip(texts, vectors.embed(texts), strict=True))
    scores = [
        calibration.score(pair, vector_of[type_object(pair.a).text], vector_of[type_object(pair.b).text])
        for pair in pairs
    ]
    return Measured(
        model=vectors.model,
        scores=scores,
        false_max=false_max,
        proposed=calibration.choose(scores, false_max=false_max),
        proposed_bare=calibration.choose(scores, false_max=false_max, guarded=False),
        threshold=threshold,
    )


def as_json(measured: Measured) -> dict[str, Any]:
    """The report for programs: rates as shares of 1, null where there is nothing to divide by."""
    shown = [t for t in (measured.threshold, measured.proposed) if t is not None]
    return {
        "model": measured.model.space,
        "pairs": len(measured.scores),
        "target_false_merge": measured.false_max,
        "proposed_threshold": measured.proposed,
        "proposed_threshold_without_guards": measured.proposed_bare,
        "threshold": measured.threshold,
        "at": [
            {
                "threshold": threshold,
                "kinds": [_row(ours, bare) for ours, bare in measured.rows(threshold)],
                "less_precise_with_guards": calibration.guarded_worse(measured.scores, threshold),
                "wrong": [_wrong(one) for one in calibration.wrong(measured.scores, threshold)],
            }
            for threshold in dict.fromkeys(shown)
        ],
        "held_out": [
            {
                "kind": one.kind,
                "threshold": one.threshold,
                "recall": None if one.tally is None else _rounded(one.tally.recall),
                "false_merges": None if one.tally is None else one.tally.n_false,
                "different": None if one.tally is None else one.tally.n_different,
            }
            for one in calibration.held_out(measured.scores, false_max=measured.false_max)
        ],
    }


def _row(ours: Tally, bare: Tally) -> dict[str, Any]:
    return {
        "kind": ours.kind,
        "same": ours.n_same,
        "different": ours.n_different,
        **_rates(ours),
        "without_guards": _rates(bare),
    }


def _rates(one: Tally) -> dict[str, Any]:
    return {
        "joined": one.n_joined,
        "false_merges": one.n_false,
        "recall": _rounded(one.recall),
        "precision": _rounded(one.precision),
        "false_merge_rate": _rounded(one.false_rate),
        "false_merge_rate_at_most": _rounded(one.false_rate_at_most),
    }


def _wrong(one: Score) -> dict[str, Any]:
    return {
        "kind": one.pair.kind,
        "a": one.pair.a,
        "b": one.pair.b,
        "same": one.pair.same,
        "cosine": one.cosine,
        "kept_apart_by": one.why or None,
    }


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)
