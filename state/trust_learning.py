"""How reliable sources are, from how often any two of them agree, without knowing who is right.

If source i is right in a share p(i) of what it says, independently of the others, and a wrong value is one of
`WRONG_VALUES` at random, then i and j agree in p(i)p(j) + (1 - p(i))(1 - p(j)) / WRONG_VALUES of the claims
of which both speak. This finds the shares that fit all pairs best, by least squares in a fixed number of
passes: the same counts give the same weights, bit for bit. Two sources that agree more than their shares
explain copy, one from the other or both from a third. Of such an excess no more counts than chance explains;
and where it lies beyond `STANDARD_ERRORS` once all are fitted, the pair is left out and the others are fitted
again: how often copies agree says nothing of their worth.

The floor: a weight leaves `NEUTRAL` only by as much as the counts show beyond `STANDARD_ERRORS`, and never
leaves `LEAST` to `MOST`. Where little was compared, or all are alike, the vote is the plain one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final

from state.trust import LEAST, MOST, NEUTRAL, STEP, SourceKey
from state.trust_counts import Counts

WRONG_VALUES: Final = 10
PASSES: Final = 60
AT_FIRST: Final = 0.8  # the share that all sources start from
SHARE_MIN: Final = 0.02
SHARE_MAX: Final = 0.98
STANDARD_ERRORS: Final = 3.0  # what lies within may be chance
COMPARED_MIN: Final = 50  # comparisons of a source below which nothing is said of it

Partners = Mapping[SourceKey, Sequence[tuple[SourceKey, int, int]]]
"""For each source those it was compared with: in how many claims they agree, and of how many both spoke."""


def learn(counts: Counts) -> dict[SourceKey, int]:
    """The weights that follow from counts, in hundredths; sources that weigh `NEUTRAL` are left out."""
    partners = partners_of(counts)
    n_compared = {source: sum(n for _, _, n in found) for source, found in partners.items()}
    if not n_compared:
        return {}
    shares = reliabilities(partners)
    mean = sum(shares[source] * n for source, n in n_compared.items()) / sum(n_compared.values())
    found = {}
    for source, share in shares.items():
        if n_compared[source] < COMPARED_MIN:
            continue
        doubt = STANDARD_ERRORS * _standard_error(share, partners[source], shares)
        beyond = max(abs(share - mean) - doubt, 0.0)
        weight = NEUTRAL * (mean + beyond if share > mean else mean - beyond) / mean
        stepped = STEP * round(_within(weight, LEAST, MOST) / STEP)
        if stepped != NEUTRAL:
            found[source] = stepped
    return found


def partners_of(counts: Counts) -> Partners:
    """The counts of each pair, under both of its sources, in the order of their keys."""
    found: dict[SourceKey, list[tuple[SourceKey, int, int]]] = {}
    for one, own in sorted(counts.items()):
        for other, (n_agreed, n_compared) in sorted(own.items()):
            if n_compared > 0:
                found.setdefault(one, []).append((other, n_agreed, n_compared))
                found.setdefault(other, []).append((one, n_agreed, n_compared))
    return dict(sorted(found.items()))


def reliabilities(partners: Partners) -> dict[SourceKey, float]:
    """The share of right statements of each source that fits its agreement with all others best.

    Twice `PASSES` passes: over all pairs, and over those that the first fit does not take for copies.
    """
    shares = _fit(dict.fromkeys(partners, AT_FIRST), partners)
    independent = {
        source: [pair for pair in found if not _copies(shares[source], pair, shares)]
        for source, found in partners.items()
    }
    return _fit(shares, independent)


def _fit(shares: dict[SourceKey, float], partners: Partners) -> dict[SourceKey, float]:
    """`PASSES` passes. All shares of one follow from those of the pass before and move half of the way, so
    that no source is ahead of another by its name.
    """
    for _ in range(PASSES):
        shares = {source: _fitted(shares[source], partners[source], shares) for source in shares}
    return shares


def _copies(share: float, pair: tuple[SourceKey, int, int], shares: Mapping[SourceKey, float]) -> bool:
    """Whether a source agrees with another far more often than the shares of both explain."""
    other, n_agreed, n_compared = pair
    _, _, expected = _agreement(share, shares[other])
    return n_agreed - n_compared * expected > STANDARD_ERRORS * _spread(n_compared, expected)


def _fitted(
    share: float, partners: Sequence[tuple[SourceKey, int, int]], shares: Mapping[SourceKey, float]
) -> float:
    """One source's share, half of the way to the one that fits those of its partners best."""
    moment = information = 0.0
    for other, n_agreed, n_compared in partners:
        slope, chance, expected = _agreement(share, shares[other])
        explained = n_compared * expected + _spread(n_compared, expected)
        moment += slope * (min(n_agreed, explained) - n_compared * chance)
        information += slope * slope * n_compared
    if information <= 0:
        return share
    return _within((share + moment / information) / 2, SHARE_MIN, SHARE_MAX)


def _standard_error(
    share: float, partners: Sequence[tuple[SourceKey, int, int]], shares: Mapping[SourceKey, float]
) -> float:
    """How far chance alone may put a fitted share off, taking those of its partners as they are."""
    information = variance = 0.0
    for other, _, n_compared in partners:
        slope, _, expected = _agreement(share, shares[other])
        information += slope * slope * n_compared
        variance += slope * slope * n_compared * expected * (1 - expected)
    return sqrt(variance) / information if information > 0 else 1.0


def _agreement(share: float, other: float) -> tuple[float, float, float]:
    """How two sources agree: how fast that rises with one's own share, where it starts, and where it is."""
    chance = (1 - other) / WRONG_VALUES
    slope = other - chance
    return slope, chance, slope * share + chance


def _spread(n_compared: int, expected: float) -> float:
    """How far chance moves the number of agreements, as a standard deviation."""
    return sqrt(n_compared * expected * (1 - expected))


def _within(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)
