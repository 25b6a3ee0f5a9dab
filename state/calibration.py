"""Measures a model of vectors on labelled pairs, and finds the threshold for a rate of false merges.

Decides nothing by itself: whether a pair joins is asked of `state.clusters.partition`, as a claim would ask
it, so a table shows what users get. Never makes a vector, never reads a file.

A false merge is a pair of two values that joins; a miss is a pair of one value that does not. Merging two
values is the worse fault: it hides a contradiction for good, while a miss shows as a second fact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, inf, sqrt
from typing import Final

from state.clusters import Form, partition
from state.guards import forbids
from state.objects import Kind, TypedObject, type_object
from state.pairs import Pair
from state.similarity import COSINE_DECIMALS, cosine, unit

THRESHOLD_DECIMALS: Final = 2  # finer than this is noise in a set of some hundred pairs
JOINS_ALWAYS: Final = inf
JOINS_NEVER: Final = -inf
_Z: Final = 1.959964  # of the normal distribution: bounds hold in 95 of 100 sets


@dataclass(frozen=True, slots=True)
class Score:
    """One pair as a model sees it.

    `cosine` is None where the model has no idea of one side. The pair joins at every threshold up to
    `joins_until`, guards and types on, and up to `joins_bare_until` by the cosine alone; `JOINS_ALWAYS` and
    `JOINS_NEVER` where no threshold matters. `why` names the guard or the type that keeps it apart, "" where
    none does.
    """

    pair: Pair
    cosine: float | None
    joins_until: float
    joins_bare_until: float
    why: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How the pairs of one kind came out at one threshold."""

    kind: str
    n_same: int
    n_different: int
    n_joined: int
    n_false: int

    @property
    def recall(self) -> float | None:
        """The share of pairs of one value that joined; None where there are none."""
        return self.n_joined / self.n_same if self.n_same else None

    @property
    def precision(self) -> float | None:
        """The share of joined pairs that are one value; None where nothing joined."""
        n_all = self.n_joined + self.n_false
        return self.n_joined / n_all if n_all else None

    @property
    def false_rate(self) -> float | None:
        """The share of pairs of two values that joined; None where there are none."""
        return self.n_false / self.n_different if self.n_different else None

    @property
    def false_rate_at_most(self) -> float | None:
        """What the rate of false merges may well be, from so few pairs: Wilson's upper bound, 95 %."""
        return upper_bound(self.n_false, self.n_different)


def texts(pairs: Iterable[Pair]) -> list[str]:
    """The texts of which vectors are needed, each once, sorted; in the form in which models get them."""
    typed = (type_object(side) for pair in pairs for side in (pair.a, pair.b))
    return sorted({one.text for one in typed})


def score(pair: Pair, a: bytes | None, b: bytes | None) -> Score:
    """What the vectors of the two texts of a pair say, and what guards and types make of it.

    Raises ValueError for vectors of two dimensions.
    """
    left, right = type_object(pair.a), type_object(pair.b)
    found = _cosine(a, b)
    alone = found if found is not None else JOINS_NEVER
    return Score(
        pair=pair,
        cosine=found,
        joins_until=_joins_until(left, right, alone),
        joins_bare_until=JOINS_ALWAYS if left.text == right.text else alone,
        why=_why(left, right),
    )


def _cosine(a: bytes | None, b: bytes | None) -> float | None:
    left, right = (None if one is None else unit(one) for one in (a, b))
    return None if left is None or right is None else cosine(left, 1.0, right)


_NEAR: Final = bytes.fromhex("0000803f")  # a vector of one component, 1.0


def _joins_until(left: TypedObject, right: TypedObject, found: float) -> float:
    """Ask the partition twice: without vectors, and with two that are equal."""
    if _joins(left, right, None):
        return JOINS_ALWAYS
    return found if _joins(left, right, _NEAR) else JOINS_NEVER


def _joins(left: TypedObject, right: TypedObject, vector: bytes | None) -> bool:
    if left.key == right.key:
        return True
    forms = {one.key: Form(one, vector if one.kind is Kind.TEXT else None) for one in (left, right)}
    return len(set(partition(forms, threshold=1.0).cluster_of.values())) == 1


def _why(left: TypedObject, right: TypedObject) -> str:
    if left.key == right.key or _joins(left, right, _NEAR):
        return ""
    return forbids(left, right) or "kind"


# --- at one threshold


def tally(kind: str, scores: Iterable[Score], threshold: float, *, guarded: bool = True) -> Tally:
    """Count the pairs among `scores` that join at a threshold, under the name `kind`."""
    counts = {(same, joined): 0 for same in (True, False) for joined in (True, False)}
    for one in scores:
        counts[one.pair.same, joins(one, threshold, guarded=guarded)] += 1
    return Tally(
        kind,
        n_same=counts[True, True] + counts[True, False],
        n_different=counts[False, True] + counts[False, False],
        n_joined=counts[True, True],
        n_false=counts[False, True],
    )


def joins(one: Score, threshold: float, *, guarded: bool = True) -> bool:
    """Whether a pair joins; a cosine equal to the threshold, at six decimals, joins."""
    until = one.joins_until if guarded else one.joins_bare_until
    return until >= round(threshold, COSINE_DECIMALS)


def by_kind(scores: Sequence[Score], threshold: float, *, guarded: bool = True) -> list[Tally]:
    """A tally for each kind, in the order in which kinds first appear."""
    return [
        tally(kind, (one for one in scores if one.pair.kind == kind), threshold, guarded=guarded)
        for kind in kinds(scores)
    ]


def kinds(scores: Iterable[Score]) -> list[str]:
    """The kinds of some pairs, in the order in which they first appear."""
    return list(dict.fromkeys(one.pair.kind for one in scores))


def upper_bound(n_hits: int, n: int) -> float | None:
    """The greatest rate that `n_hits` of `n` may well come from (Wilson, 95 %); None for no trial."""
    if n == 0:
        return None
    rate = n_hits / n
    middle = rate + _Z * _Z / (2 * n)
    spread = _Z * sqrt(rate * (1 - rate) / n + _Z * _Z / (4 * n * n))
    return min((middle + spread) / (1 + _Z * _Z / n), 1.0)


# --- which threshold


def choose(scores: Sequence[Score], *, false_max: float, guarded: bool = True) -> float | None:
    """The least threshold, at two decimals, at which at most `false_max` of the pairs of two values join.

    The least one, because every higher one misses as much or more. None where even 1.0 joins too many.
    Raises ValueError for a share outside 0..1, and where no pair is of two values: nothing then says what
    is too low.
    """
    if not 0 <= false_max <= 1:
        raise ValueError(f"a rate of false merges lies within 0 and 1, not at {false_max}")
    until = sorted(
        (one.joins_until if guarded else one.joins_bare_until for one in scores if not one.pair.same),
        reverse=True,
    )
    if not until:
        raise ValueError("no pair is labelled as two values, so no threshold can be found")
    refused = until[int(false_max * len(until) + 1e-9) :]  # those that must stay apart, the nearest first
    if not refused or refused[0] <= 0:
        return _LEAST
    if refused[0] > 1:
        return None
    step = 10**THRESHOLD_DECIMALS
    threshold = (floor(refused[0] * step + 1e-9) + 1) / step  # the next one above it
    return threshold if threshold <= 1 else None


_LEAST: Final = 10**-THRESHOLD_DECIMALS  # a threshold is above 0


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What a threshold that was chosen on all other kinds makes of one kind; None where there is none."""

    kind: str
    threshold: float | None
    tally: Tally | None


def held_out(scores: Sequence[Score], *, false_max: float) -> list[HeldOut]:
    """For each kind the threshold that the others give, and how that kind fares with it.

    What a table says of the pairs on which its threshold was chosen is too good; this is what to expect of
    kinds of pairs that nobody thought of. Kinds whose rest has no pair of two values are left out.
    """
    found = []
    for kind in kinds(scores):
        rest = [one for one in scores if one.pair.kind != kind]
        if all(one.pair.same for one in rest):
            continue
        threshold = choose(rest, false_max=false_max)
        mine = [one for one in scores if one.pair.kind == kind]
        found.append(HeldOut(kind, threshold, None if threshold is None else tally(kind, mine, threshold)))
    return found


def wrong(scores: Iterable[Score], threshold: float) -> list[Score]:
    """The pairs that come out wrong, guards on: false merges first, the nearest first."""
    found = [one for one in scores if joins(one, threshold) is not one.pair.same]
    return sorted(found, key=lambda one: (one.pair.same, -_cosine_or_least(one)))


def _cosine_or_least(one: Score) -> float:
    return -inf if one.cosine is None else one.cosine


def guarded_worse(scores: Sequence[Score], threshold: float) -> list[str]:
    """The kinds of which the precision at a threshold is lower with guards than without."""
    found = []
    for with_guards, without in zip(
        by_kind(scores, threshold), by_kind(scores, threshold, guarded=False), strict=True
    ):
        ours, bare = with_guards.precision, without.precision
        if ours is not None and bare is not None and ours < bare:
            found.append(with_guards.kind)
    return found
