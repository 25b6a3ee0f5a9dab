"""Partitions the forms of a claim into clusters of one meaning each (DESIGN 4.2, 4.3).

Decides from the set of forms alone: neither the order in which they came, nor how often each was said, nor an
earlier partition has a say. Where the last statement of a form is retracted, the rest is partitioned as if it
had never been. Never types a spelling, never makes a vector, never overrules a guard by a cosine.

- Text: sorted by key, each form joins the cluster with the nearest centroid, if near enough and if no
  member is forbidden to it, else it opens a cluster. A forbidden cluster does not stop it from joining the
  next one. Only the `forms_max` forms with the smallest keys are compared; every other is its own cluster.
- Identifiers and booleans: one cluster each.
- Dates: a coarse date joins the finest date that it contains, if there is just one. With several it is
  *aside*: a cluster of its own whose statements take no side, until only one is left.
- Numbers: one cluster each, unless a tolerance is set.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from operator import add, mul
from typing import Final

from state.guards import forbids
from state.instants import DAY_MS, Instant, Moment, date_of, parse_moment
from state.objects import Kind, Quantity, TypedObject, YearlessDay, numbers_within
from state.similarity import COSINE_DECIMALS, cosine, length, unit

FORMS_MAX: Final = 256  # text forms compared; all of them unlike takes about half a second, once


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a claim: what was typed, and the vector of its text where there is one.

    `vector` is as `similarity.Vectors.embed` returns it, always of one model per claim. Several spellings
    may share a form, and guards read capitals: give the smallest spelling, so that the choice does not depend
    on the order of arrival.
    """

    typed: TypedObject
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class Partition:
    """The clusters of a claim.

    `cluster_of` maps every form's key to its cluster's, which is the smallest key of its forms. `aside` are
    the coarse dates that fit several others. `degraded` are the text forms that would have been compared
    and had no vector (see `wanting`).
    """

    cluster_of: Mapping[str, str]
    aside: frozenset[str]
    degraded: frozenset[str]


def partition(
    forms: Mapping[str, Form], *, threshold: float, number_tolerance: float = 0.0, forms_max: int = FORMS_MAX
) -> Partition:
    """Return the clusters of a claim's forms, by key (`TypedObject.key`), whatever their order.

    `threshold` belongs to the model of the vectors; a cosine equal to it, at six decimals, joins. A
    `number_tolerance` above 0 joins numbers of one dimension, in order of value, to the least of a cluster
    while they differ from it by at most that share of the greater. A bare number that can be a year is one in
    a claim with dates, and has no tolerance there. Raises ValueError for a threshold outside 0..1, a
    tolerance outside 0..1 and for vectors of two dimensions.
    """
    _check(threshold, number_tolerance)
    texts = _compared(forms, forms_max)
    fit = _fit_dates(forms)
    groups = [
        *_text_groups(forms, texts, threshold),
        *fit.groups,
        *_number_groups(forms, number_tolerance, fit.years),
    ]
    cluster_of = _named(dict.fromkeys(sorted(forms), ""), groups)
    return Partition(cluster_of, fit.aside, frozenset(wanting(forms, forms_max=forms_max)))


def extended(
    before: Partition,
    forms: Mapping[str, Form],
    key: str,
    *,
    threshold: float,
    number_tolerance: float = 0.0,
    forms_max: int = FORMS_MAX,
) -> Partition:
    """Return `partition(forms, …)`, in less time.

    `before` is the partition, with the same settings, of these forms without `key`, or with another vector
    for it. A text form costs its cosine with each other one, and a new pass over those that it can reach;
    the clusters of all others stay as they are.
    """
    if forms[key].typed.kind is not Kind.TEXT:
        fit = _fit_dates(forms)
        groups = [*fit.groups, *_number_groups(forms, number_tolerance, fit.years)]
        again = {other for other, form in forms.items() if form.typed.kind is not Kind.TEXT}
        return Partition(_renamed(before, again, groups), fit.aside, before.degraded)
    _check(threshold, number_tolerance)
    texts = _compared(forms, forms_max)
    left_out = set() if key in before.cluster_of else _compared_before(forms, key, forms_max) - set(texts)
    affected = _reachable(forms, [*texts, *left_out], {key} | left_out, threshold)
    again_texts = [text for text in texts if text in affected]
    cluster_of = _renamed(before, affected, _text_groups(forms, again_texts, threshold))
    return Partition(cluster_of, before.aside, frozenset(wanting(forms, forms_max=forms_max)))


def wanting(forms: Mapping[str, Form], *, forms_max: int = FORMS_MAX) -> list[str]:
    """Return the keys of the text forms that need a vector and have none, sorted; none for a single text."""
    texts = _compared(forms, forms_max)
    return [key for key in texts if forms[key].vector is None] if len(texts) > 1 else []


def shown_date(cluster: Mapping[str, Form]) -> str | None:
    """Return the key of the finest date of a cluster of dates, None for any other cluster (CASES F10)."""
    if not any(form.typed.kind is Kind.DATE for form in cluster.values()):
        return None
    spans = {key: span for key, form in cluster.items() if (span := _span(form.typed)) is not None}
    return min(spans or cluster, key=lambda key: (spans[key][1] - spans[key][0] if spans else 0, key))


def _check(threshold: float, number_tolerance: float) -> None:
    if not 0 < threshold <= 1:
        raise ValueError(f"a threshold is above 0 and at most 1, not {threshold}")
    if not 0 <= number_tolerance < 1:
        raise ValueError(f"a tolerance is at least 0 and below 1, not {number_tolerance}")


def _named(cluster_of: dict[str, str], groups: Iterable[Collection[str]]) -> dict[str, str]:
    """Name each group by its smallest key, and what is in no group by its own."""
    for group in groups:
        first = min(group)
        for key in group:
            cluster_of[key] = first
    return {key: cluster or key for key, cluster in cluster_of.items()}


def _renamed(before: Partition, again: Collection[str], groups: Iterable[Collection[str]]) -> dict[str, str]:
    return _named({**before.cluster_of, **dict.fromkeys(again, "")}, groups)


# --- text


def _compared(forms: Mapping[str, Form], forms_max: int) -> list[str]:
    """The text forms that are compared, in order; which ones must not depend on which came first."""
    return sorted(key for key, form in forms.items() if form.typed.kind is Kind.TEXT)[:forms_max]


def _compared_before(forms: Mapping[str, Form], added: str, forms_max: int) -> set[str]:
    return {key for key in _compared(forms, forms_max + 1) if key != added}


class _Cluster:
    """A cluster that is being built: the sum of its unit vectors and what its members are."""

    __slots__ = ("keys", "length", "members", "total")

    def __init__(self, key: str, typed: TypedObject, vector: tuple[float, ...]) -> None:
        self.keys = [key]
        self.members = [typed]
        self.total: tuple[float, ...] = vector
        self.length = 1.0

    def add(self, key: str, typed: TypedObject, vector: tuple[float, ...]) -> None:
        self.keys.append(key)
        self.members.append(typed)
        self.total = tuple(map(add, self.total, vector))
        self.length = length(self.total)


def _text_groups(forms: Mapping[str, Form], keys: Iterable[str], threshold: float) -> Iterator[list[str]]:
    """The single pass over sorted text forms. Of equally near clusters the older one is asked first."""
    clusters: list[_Cluster] = []
    least = round(threshold, COSINE_DECIMALS)
    for key in keys:
        typed, vector = forms[key].typed, _vector(forms[key])
        if vector is None:
            continue
        near = sorted(
            (-found, age)
            for age, cluster in enumerate(clusters)
            if _product(cluster.total, vector) >= (least - _REACH_MARGIN) * cluster.length
            and (found := cosine(cluster.total, cluster.length, vector)) >= least
        )
        for _, age in near:
            if all(forbids(typed, member) is None for member in clusters[age].members):
                clusters[age].add(key, typed, vector)
                break
        else:
            clusters.append(_Cluster(key, typed, vector))
    return (cluster.keys for cluster in clusters)


def _vector(form: Form) -> tuple[float, ...] | None:
    return unit(form.vector) if form.vector is not None else None


_REACH_MARGIN: Final = 1e-5  # far above what rounding to six decimals, or a sum in floats, can hide


def _product(total: Sequence[float], vector: Sequence[float]) -> float:
    """The product of two vectors in plain floats, at half the price of an exact one: says what is far away.

    Raises ValueError if the dimensions differ.
    """
    if len(total) != len(vector):
        return cosine(total, 1.0, vector)
    product: float = sum(map(mul, total, vector))
    return product


def _reachable(forms: Mapping[str, Form], keys: Iterable[str], seeds: set[str], threshold: float) -> set[str]:
    """The seeds and all forms whose cluster can depend on them.

    A form joins a cluster only if its cosine with a member is at least the threshold squared. For the sum s
    of k members, each of which joined at the threshold t, is at least t k long, as |s + v|² >= |s|² + 1 +
    2 t |s|. If v has a product below t² with every member, its product with s is below t² k, and so its
    cosine below t.
    """
    vectors = {key: vector for key in keys if (vector := _vector(forms[key])) is not None}
    least = threshold * threshold - _REACH_MARGIN
    reached, waiting = set(seeds), [vectors.pop(key) for key in sorted(seeds) if key in vectors]
    while waiting:
        centre = waiting.pop()
        for key in [key for key, vector in vectors.items() if _product(centre, vector) >= least]:
            reached.add(key)
            waiting.append(vectors.pop(key))
    return reached


# --- dates


@dataclass(frozen=True, slots=True)
class _Fit:
    """How the dates of a claim lie in each other; `years` are bare numbers that may be years among dates."""

    groups: list[list[str]]
    aside: frozenset[str]
    years: frozenset[str]


def _fit_dates(forms: Mapping[str, Form]) -> _Fit:
    """Join each coarse date to the finest one that it contains, in n log n (as `objects.date_contains`).

    Finest are the dates that contain no other. None of them contains another, so their ends rise with their
    starts, and those that lie in a given span are neighbours.
    """
    if not any(form.typed.kind is Kind.DATE for form in forms.values()):
        return _Fit([], frozenset(), frozenset())
    spans = {key: span for key, form in forms.items() if (span := _span(form.typed)) is not None}
    finest = _finest(spans)
    starts, ends = [spans[key][0] for key in finest], [spans[key][1] for key in finest]
    by_day = defaultdict(list)
    for key in finest:
        if (day := _day_within(spans[key])) is not None:
            by_day[day].append(key)

    inside: dict[str, list[str]] = {}
    for key in spans.keys() - set(finest):
        start, end = spans[key]
        inside[key] = finest[bisect_left(starts, start) : bisect_right(ends, end)]
    for key, form in forms.items():
        if isinstance(form.typed.value, YearlessDay):
            inside[key] = by_day[form.typed.value.month, form.typed.value.day]

    joined: dict[str, list[str]] = {key: [key] for key in finest}
    for key, within in inside.items():
        if len(within) == 1:
            joined[within[0]].append(key)
    aside = frozenset(key for key, within in inside.items() if len(within) > 1)
    years = frozenset(key for key in spans if forms[key].typed.kind is Kind.NUMBER)
    return _Fit(list(joined.values()), aside, years)


def _finest(spans: Mapping[str, tuple[Instant, Instant]]) -> list[str]:
    """The dates that contain no other, by start."""
    by_span = defaultdict(list)
    for key in sorted(spans):
        by_span[spans[key]].append(key)
    finest: list[str] = []
    earliest_end: float = inf  # of all that start as late or later
    for span in sorted(by_span, key=lambda span: (-span[0], span[1])):
        if span[1] < earliest_end:
            finest += reversed(by_span[span])
            earliest_end = span[1]
    return finest[::-1]


def _span(typed: TypedObject) -> tuple[Instant, Instant] | None:
    """The stretch of a date, or of a bare number that may be a year."""
    value = typed.value
    if isinstance(value, Quantity) and value.base == "" and value.amount.denominator == 1:
        value = parse_moment(str(value.amount)) if 1000 <= value.amount <= 2999 else None
    return (value.start, value.end) if isinstance(value, Moment) else None


def _day_within(span: tuple[Instant, Instant]) -> tuple[int, int] | None:
    """Month and day of a span that lies within one day."""
    start, end = span
    if end > start - start % DAY_MS + DAY_MS:
        return None
    day = date_of(start)
    return day.month, day.day


# --- numbers


def _number_groups(forms: Mapping[str, Form], tolerance: float, years: frozenset[str]) -> Iterator[list[str]]:
    """Numbers by dimension and value. What is near the least of a cluster is near all between."""
    if not tolerance:
        return
    values = {
        key: (form.typed.value.base, form.typed.value.amount)
        for key, form in forms.items()
        if isinstance(form.typed.value, Quantity) and key not in years
    }
    group: list[str] = []
    for key in sorted(values, key=lambda key: (*values[key], key)):
        if group and numbers_within(forms[group[0]].typed, forms[key].typed, tolerance=tolerance):
            group.append(key)
            continue
        if group:
            yield group
        group = [key]
    if group:
        yield group
