"""The plain twin of the clustering: every question is asked of every pair of forms, and nothing is kept.

It follows DESIGN 4.2 and 4.3 word by word and does not care about speed. It shares with the real one only
what types, guards and compares two objects. Centroids are means of all members, made anew for every cosine.
"""

import math
import struct
from collections.abc import Mapping

from state.clusters import Form
from state.guards import forbids
from state.objects import Kind, date_contains, numbers_within


def reference_clusters(
    forms: Mapping[str, Form], *, threshold: float, number_tolerance: float, forms_max: int
) -> tuple[frozenset[frozenset[str]], frozenset[str]]:
    """Return the clusters as sets of keys, and the keys of the dates that take no side."""
    clusters = _texts(forms, threshold, forms_max)
    aside = set()
    finest = {
        key: [other for other in _inside(forms, key) if not _inside(forms, other)] for key in sorted(forms)
    }
    has_dates = any(form.typed.kind is Kind.DATE for form in forms.values())

    for key in sorted(forms):
        if forms[key].typed.kind is Kind.TEXT:
            continue
        if len(finest[key]) == 1:
            continue  # joins below
        if len(finest[key]) > 1:
            aside.add(key)
        clusters.append([key, *(other for other in forms if finest[other] == [key])])

    if number_tolerance:
        numbers = [
            key
            for key, form in forms.items()
            if form.typed.kind is Kind.NUMBER and not (has_dates and _may_be_a_year(form))
        ]
        numbers.sort(key=lambda key: (forms[key].typed.value.base, forms[key].typed.value.amount, key))
        clusters = [cluster for cluster in clusters if cluster[0] not in numbers]
        near: list[list[str]] = []
        for key in numbers:
            last = near[-1] if near else []
            if last and all(
                numbers_within(forms[key].typed, forms[other].typed, tolerance=number_tolerance)
                for other in last
            ):
                last.append(key)
            else:
                near.append([key])
        clusters += near
    return frozenset(map(frozenset, clusters)), frozenset(aside)


def _inside(forms: Mapping[str, Form], key: str) -> list[str]:
    return [other for other in sorted(forms) if date_contains(forms[key].typed, forms[other].typed)]


def _may_be_a_year(form: Form) -> bool:
    value = form.typed.value
    return value.base == "" and value.amount in range(1000, 3000)


def _texts(forms: Mapping[str, Form], threshold: float, forms_max: int) -> list[list[str]]:
    keys = sorted(key for key, form in forms.items() if form.typed.kind is Kind.TEXT)
    clusters: list[list[str]] = []
    for key in keys[:forms_max]:
        best, best_cosine = None, -2.0
        for cluster in clusters:
            found = _cosine(forms, cluster, key)
            is_allowed = all(forbids(forms[key].typed, forms[member].typed) is None for member in cluster)
            if is_allowed and found is not None and found >= threshold and found > best_cosine:
                best, best_cosine = cluster, found
        if best is None:
            clusters.append([key])
        else:
            best.append(key)
    return clusters + [[key] for key in keys[forms_max:]]


def _cosine(forms: Mapping[str, Form], cluster: list[str], key: str) -> float | None:
    vectors = [_unit(forms[member].vector) for member in [*cluster, key]]
    if any(vector is None for vector in vectors):
        return None
    *members, vector = vectors
    mean = [math.fsum(column) / len(members) for column in zip(*members, strict=True)]
    if not any(mean):
        return 0.0
    product = math.fsum(a * b for a, b in zip(mean, vector, strict=True))
    return round(product / math.hypot(*mean), 6)


def _unit(stored: bytes | None) -> list[float] | None:
    if stored is None:
        return None
    components = [component for (component,) in struct.iter_unpack("<f", stored)]
    if not any(components):
        return None
    return [component / math.hypot(*components) for component in components]
