"""From the votes of held values to how often such values are true: fits `state.probability`, tries it.

Three logistic functions, one for each kind of predicate, by Newton's method. A weight that would make more
support less likely, or more dissent more so, is chance and is left out. Draws nothing and reads no stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from state.probability import WEIGHTS, Weights

ROUNDS = 50
RIDGE = 1e-3  # keeps the weights finite where all values of a kind are right
SIGNS = (0, 1, -1, -1)  # of base, support, dissent, contested: which are possible, 0 for both


@dataclass(frozen=True, slots=True)
class Seen:
    """A held value: the kind of its predicate, its votes, and whether it was true."""

    kind: str
    support: int
    dissent: int
    contested: bool
    right: bool


def fit(seen: Sequence[Seen]) -> dict[str, Weights]:
    """The weights under which these values are most likely, for each kind that occurs."""
    kinds = [kind for kind in WEIGHTS if any(one.kind == kind for one in seen)]
    return {kind: _fit_kind([one for one in seen if one.kind == kind]) for kind in kinds}


def likely(seen: Iterable[Seen], weights: Mapping[str, Weights] = WEIGHTS) -> list[tuple[float, bool]]:
    """Pairs (probability, right)."""
    return [(weights[one.kind](one.support, one.dissent, one.contested), one.right) for one in seen]


def _fit_kind(seen: Sequence[Seen]) -> Weights:
    signs = np.array([[1.0, np.log1p(s.support), np.log1p(s.dissent), s.contested] for s in seen])
    right = np.array([s.right for s in seen], dtype=float)
    used = list(range(len(SIGNS)))
    while True:
        found = _newton(signs[:, used], right)
        impossible = [at for at, weight in zip(used, found, strict=True) if weight * SIGNS[at] < 0]
        if not impossible:
            weights = dict(zip(used, found, strict=True))
            return Weights(*(round(float(weights.get(at, 0.0)), 3) for at in range(len(SIGNS))))
        used = [at for at in used if at not in impossible]


def _newton(signs: np.ndarray, right: np.ndarray) -> np.ndarray:
    weights = np.zeros(signs.shape[1])
    for _ in range(ROUNDS):
        expected = 1 / (1 + np.exp(-np.clip(signs @ weights, -30, 30)))
        slope = signs.T @ (right - expected) - RIDGE * weights
        spread = signs * (expected * (1 - expected))[:, None]
        weights += np.linalg.solve(spread.T @ signs + RIDGE * np.eye(len(weights)), slope)
    return weights
