"""Laws of the clustering, over plain vectors and the objects that it treats specially."""

import math
import struct
from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st

from state.clusters import Form, Partition, extended, partition, shown_date
from state.guards import forbids
from state.objects import Kind, TypedObject, date_contains, type_object
from tests.reference.clusters import reference_clusters

TEXTS = (
    "adoption", "adoption agency", "adoption agencies", "not adoption", "foster care", "an agency",
    "likes it", "dislikes it", "Paris, France", "Paris, Texas", "Paris", "New York", "New York City",
    "married", "unmarried", "allergic to penicillin", "not allergic to penicillin", "two dogs",
    "three dogs", "dogs", "京都", "yes",
)  # fmt: skip
DATES = (
    "1990s", "2020s", "2023", "2024", "2023-Q2", "2023-05", "2023-06", "2023-W22", "2023-W19", "2023-05-08",
    "8 May 2023", "2023-05-09", "2023-05-30", "2023-06-01", "2023-05-08T13:00Z", "2023-05-08T13:56Z", "8 May",
    "30 May", "2023-06-30", "2024-05-08", "2023-05-08T23:30-05:00",
)  # fmt: skip
OTHERS = (
    "5 kg", "5000 g", "11.02 lb", "5.2 kg", "5.4 kg", "-5 °C", "1000", "1010", "1.0", "$5", "v1.2.3",
    "v1.2.4", "true", "false", "UA123", "-10", "-10.4", "0",
)  # fmt: skip


def direction(degrees: float, tilt: float = 0.0) -> bytes:
    """A vector of the plane, tilted out of it: there it can be near a centroid and far from all members."""
    around, up = math.radians(degrees), math.radians(tilt)
    return struct.pack("<3f", math.cos(around) * math.cos(up), math.sin(around) * math.cos(up), math.sin(up))


steps = st.integers(0, 12).map(lambda number: number * 14)
vectors = st.one_of(
    st.builds(direction, steps),
    st.builds(direction, steps, st.sampled_from([0, 27, 50])),
    st.builds(direction, st.floats(0, 90), st.floats(0, 60)),
    st.sampled_from([None, struct.pack("<3f", 0.0, 0.0, 0.0)]),
)
originals = st.one_of(*(st.sampled_from(table) for table in (TEXTS, TEXTS, DATES, OTHERS)))


@st.composite
def claims(draw: st.DrawFn, objects: st.SearchStrategy[str] = originals) -> dict[str, Form]:
    forms = {}
    for original in draw(st.lists(objects, max_size=14, unique=True)):
        typed = type_object(original)
        forms[typed.key] = Form(typed, draw(vectors) if typed.kind is Kind.TEXT else None)
    return forms


settings_of = st.fixed_dictionaries(
    {
        "threshold": st.sampled_from([0.88, 0.6, 0.95, 1.0]),
        "number_tolerance": st.sampled_from([0.0, 0.0005, 0.05]),
        "forms_max": st.sampled_from([256, 3, 1, 0]),
    }
)


def groups(found: Partition) -> frozenset[frozenset[str]]:
    clusters: dict[str, set[str]] = {}
    for key, cluster in found.cluster_of.items():
        clusters.setdefault(cluster, set()).add(key)
    return frozenset(map(frozenset, clusters.values()))


def form_of(original: str) -> Form:
    return Form(type_object(original), None)


@given(claims(), settings_of)
def test_the_clusters_are_those_of_the_plain_twin(forms, settings) -> None:
    found = partition(forms, **settings)

    assert (groups(found), found.aside) == reference_clusters(forms, **settings)
    assert all(cluster == min(k for k in forms if found.cluster_of[k] == cluster)
               for cluster in found.cluster_of.values())  # fmt: skip


@given(claims(st.sampled_from(DATES)))
@example({key: form_of(key) for key in ("2023-W22", "2023-05", "2023-05-30")})
@example({key: form_of(key) for key in ("2020s", "2023", "8 May", "2023-05-08T13:56Z")})
def test_dates_are_fitted_as_the_plain_twin_does(forms) -> None:
    settings = {"threshold": 0.88, "number_tolerance": 0.0, "forms_max": 256}

    found = partition(forms, **settings)

    assert (groups(found), found.aside) == reference_clusters(forms, **settings)


@given(st.data(), claims(), settings_of)
def test_the_order_of_the_forms_says_nothing(data, forms, settings) -> None:
    shuffled = dict(data.draw(st.permutations(list(forms.items()))))

    assert partition(shuffled, **settings) == partition(forms, **settings)


@given(st.data(), claims(), settings_of)
def test_a_claim_extended_form_by_form_ends_where_the_whole_partition_does(data, forms, settings) -> None:
    seen: dict[str, Form] = {}
    found = partition(seen, **settings)

    for key in data.draw(st.permutations(list(forms))):
        seen[key] = forms[key]
        found = extended(found, seen, key, **settings)

        assert found == partition(seen, **settings)


@given(st.data(), claims(), settings_of)
def test_a_vector_that_comes_later_ends_where_an_early_one_does(data, forms, settings) -> None:
    late = data.draw(st.lists(st.sampled_from(sorted(forms)), unique=True)) if forms else []
    known = {key: Form(form.typed, None) if key in late else form for key, form in forms.items()}
    found = partition(known, **settings)

    for key in late:
        known[key] = forms[key]
        found = extended(found, known, key, **settings)

    assert found == partition(forms, **settings)


@given(claims(), st.sampled_from([0.05, 0.6, 0.88]))
def test_no_vector_joins_what_a_guard_forbids(forms, threshold) -> None:
    found = partition(forms, threshold=threshold)

    for cluster in groups(found):
        typed = [forms[key].typed for key in cluster]
        if all(one.kind is Kind.TEXT for one in typed):
            assert all(forbids(a, b) is None for a, b in combinations(typed, 2))
        elif len(typed) > 1:
            assert _all_contain_the_finest({key: forms[key] for key in cluster})


def _all_contain_the_finest(cluster: dict[str, Form]) -> bool:
    shown = shown_date(cluster)
    assert shown is not None
    finest: TypedObject = cluster[shown].typed
    return all(key == shown or date_contains(form.typed, finest) for key, form in cluster.items())
