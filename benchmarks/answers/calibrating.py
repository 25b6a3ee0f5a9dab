"""From a published confidence to how often a value with it is right: fitted on one set, tried on another.

The mapping is `sigmoid(slope * logit(confidence) + shift)`, two numbers. It is no part of factdrift: it says
what a reader may make of `confidence`, and how far that holds on streams that it was not fitted on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

ROUNDS = 50
RIDGE = 1e-6  # keeps Newton's step finite where all values are right


@dataclass(frozen=True, slots=True)
class Mapping:
    """What a confidence is worth."""

    slope: float
    shift: float

    def __call__(self, confidence: float) -> float:
        """The share of right values to be expected, 0 to 1. `confidence` lies strictly between 0 and 1."""
        return _sigmoid(self.slope * _logit(confidence) + self.shift)


def fit(sure: Sequence[tuple[float, bool]]) -> Mapping:
    """The mapping under which these pairs (confidence, right) are most likely, by Newton's method."""
    slope, shift = 1.0, 0.0
    points = [(_logit(confidence), float(right)) for confidence, right in sure]
    for _ in range(ROUNDS):
        by_slope = by_shift = 0.0
        a = d = RIDGE
        b = 0.0
        for x, right in points:
            expected = _sigmoid(slope * x + shift)
            weight = expected * (1 - expected)
            by_slope += (right - expected) * x
            by_shift += right - expected
            a, b, d = a + weight * x * x, b + weight * x, d + weight
        determinant = a * d - b * b
        slope += (d * by_slope - b * by_shift) / determinant
        shift += (a * by_shift - b * by_slope) / determinant
    return Mapping(slope, shift)


def _logit(share: float) -> float:
    return log(share / (1 - share))


def _sigmoid(x: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, x))))
