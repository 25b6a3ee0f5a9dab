"""Which forms are one cluster, example by example (CASES F07, F08, F10-F12, F14, F36, Clustering)."""

import math
import struct
from itertools import combinations

import pytest

from state.clusters import Form, Partition, extended, partition, shown_date, wanting
from state.objects import type_object
from state.similarity import unit

SAME = struct.pack("<2f", 1.0, 0.0)
ZERO = struct.pack("<2f", 0.0, 0.0)


def plane(degrees: float) -> bytes:
    return struct.pack("<2f", math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def forms(**vectors: bytes | None) -> dict[str, Form]:
    typed = {type_object(name): vector for name, vector in vectors.items()}
    return {one.key: Form(one, vector) for one, vector in typed.items()}


def claim(*originals: str | float, vector: bytes | None = SAME) -> dict[str, Form]:
    """Forms that all look the same to the model: only types and guards keep them apart."""
    typed = [type_object(original) for original in originals]
    return {one.key: Form(one, vector) for one in typed}


def clusters(found: Partition) -> list[list[str]]:
    grouped: dict[str, list[str]] = {}
    for key in sorted(found.cluster_of):
        grouped.setdefault(found.cluster_of[key], []).append(key.partition(":")[2])
    return list(grouped.values())


# --- text


def test_what_is_near_the_first_form_joins_it_and_the_far_one_stays_apart() -> None:
    found = partition(forms(alpha=plane(0), bravo=plane(25), charlie=plane(50)), threshold=0.88)

    assert clusters(found) == [["alpha", "bravo"], ["charlie"]]
    assert found.cluster_of["t:bravo"] == "t:alpha"


def test_renamed_forms_are_clustered_in_their_new_order() -> None:
    found = partition(forms(alpha=plane(50), bravo=plane(25), charlie=plane(0)), threshold=0.88)

    assert clusters(found) == [["alpha", "bravo"], ["charlie"]]


@pytest.mark.parametrize("threshold", [0.88, 0.6, 0.84, 0.5])
def test_a_cosine_exactly_at_the_threshold_joins(threshold: float) -> None:
    at = struct.pack("<2f", threshold, math.sqrt(1 - threshold**2))
    below = struct.pack("<2f", threshold - 2e-6, math.sqrt(1 - (threshold - 2e-6) ** 2))

    assert clusters(partition(forms(alpha=plane(0), bravo=at), threshold=threshold)) == [["alpha", "bravo"]]
    assert clusters(partition(forms(alpha=plane(0), bravo=below), threshold=threshold)) == [
        ["alpha"],
        ["bravo"],
    ]


def test_a_zero_vector_joins_nothing_not_even_another_one() -> None:
    found = partition(forms(alpha=ZERO, bravo=ZERO, charlie=plane(0)), threshold=0.01)

    assert clusters(found) == [["alpha"], ["bravo"], ["charlie"]]
    assert not found.degraded


def test_the_centroid_moves_with_its_members() -> None:
    # 40 degrees are too far from the first form, but not from the mean of the first two.
    found = partition(forms(alpha=plane(0), bravo=plane(25), charlie=plane(40)), threshold=0.88)

    assert clusters(found) == [["alpha", "bravo", "charlie"]]


def test_of_two_equally_near_clusters_the_older_one_is_joined() -> None:
    found = partition(forms(alpha=plane(-25), bravo=plane(25), charlie=plane(0)), threshold=0.88)

    assert clusters(found) == [["alpha", "charlie"], ["bravo"]]


def test_a_form_that_the_nearest_cluster_forbids_joins_the_next_one() -> None:
    vectors = {"alpha": plane(29), "dislikes it": plane(0), "likes it": plane(10)}

    found = partition(forms(**vectors), threshold=0.88)

    assert clusters(found) == [["alpha", "likes it"], ["dislikes it"]]


def test_without_a_vector_a_form_is_its_own_cluster_and_the_decision_is_degraded() -> None:
    found = partition(forms(alpha=plane(0), bravo=None), threshold=0.88)

    assert clusters(found) == [["alpha"], ["bravo"]]
    assert found.degraded == {"t:bravo"}


def test_a_claim_with_one_text_form_wants_no_vector() -> None:
    assert wanting(claim("adoption", "5 kg", "v1.2.3", vector=None)) == []
    assert wanting(claim("adoption", "foster care", vector=None)) == ["t:adoption", "t:foster care"]


def test_beyond_the_limit_the_forms_with_the_greatest_keys_are_not_compared() -> None:
    same = forms(delta=SAME, charlie=SAME, bravo=SAME, alpha=SAME)

    found = partition(same, threshold=0.88, forms_max=2)

    assert clusters(found) == [["alpha", "bravo"], ["charlie"], ["delta"]]


def test_a_form_that_pushes_another_over_the_limit_takes_its_place() -> None:
    same = forms(bravo=SAME, charlie=SAME)
    before = partition(same, threshold=0.88, forms_max=2)

    after = extended(before, {**same, **forms(alpha=SAME)}, "t:alpha", threshold=0.88, forms_max=2)

    assert clusters(before) == [["bravo", "charlie"]]
    assert clusters(after) == [["alpha", "bravo"], ["charlie"]]


def test_a_form_that_is_pushed_over_the_limit_leaves_its_cluster() -> None:
    same = forms(bravo=SAME, charlie=SAME)
    before = partition(same, threshold=0.88, forms_max=2)

    after = extended(before, {**same, **forms(alpha=plane(90))}, "t:alpha", threshold=0.88, forms_max=2)

    assert clusters(after) == [["alpha"], ["bravo"], ["charlie"]]


def test_a_new_form_is_found_by_a_centroid_that_is_nearer_than_any_member() -> None:
    side, height = math.radians(14), math.radians(27)
    left, right = (struct.pack("<3f", math.cos(side), sign * math.sin(side), 0) for sign in (-1, 1))
    above = struct.pack("<3f", math.cos(height), 0, math.sin(height))
    two = forms(alpha=left, bravo=right)
    before = partition(two, threshold=0.88)

    after = extended(before, {**two, **forms(charlie=above)}, "t:charlie", threshold=0.88)

    assert clusters(before) == [["alpha", "bravo"]]
    assert clusters(after) == [["alpha", "bravo", "charlie"]]


def test_vectors_of_two_models_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 3 dimensions come from two models"):
        partition(forms(alpha=SAME, bravo=struct.pack("<3f", 1, 0, 0)), threshold=0.88)


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, math.nan])
def test_a_threshold_that_means_nothing_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="a threshold is above 0 and at most 1"):
        partition({}, threshold=threshold)


def test_a_stored_vector_that_is_cut_off_is_refused_and_one_that_is_not_finite_says_nothing() -> None:
    assert unit(struct.pack("<2f", math.nan, 1.0)) is None
    with pytest.raises(ValueError, match="7 bytes"):
        unit(SAME[:7])


def test_identifiers_are_never_joined_by_a_vector() -> None:
    found = partition(claim("gate a12 north", "north gate a12"), threshold=0.88)

    assert len(clusters(found)) == 2


# --- guards: every pair below has cosine 1


@pytest.mark.parametrize(
    "values",
    [
        ("30 years", "31 years"),
        ("port 8080", "port 8081"),
        ("v1.2.3", "v1.2.4"),
        ("UA123", "UA124"),
        ("room 12A", "room 12B"),
        ("iPhone 14", "iPhone 15"),
        ("October 15th", "October 16th"),
        ("allergic to penicillin", "not allergic to penicillin"),
        ("likes", "dislikes"),
        ("enabled", "disabled"),
        ("married", "unmarried"),
        ("increase", "decrease"),
        ("Java", "JavaScript"),
        ("Guinea", "Guinea-Bissau"),
        ("Paris, France", "Paris, Texas"),
        ("New York", "New York City"),
        ("東京都", "京都"),
        ("北京", "上海"),
        ("C", "C#", "C++"),
    ],
)
def test_no_cosine_joins_what_is_distinct(values: tuple[str, ...]) -> None:
    found = partition(claim(*values), threshold=0.88)

    assert all(found.cluster_of[a] != found.cluster_of[b] for a, b in combinations(found.cluster_of, 2))


def test_a_guard_asks_every_member_of_a_cluster_and_not_only_the_first() -> None:
    found = partition(claim("Paris", "Paris, France", "Paris, Texas"), threshold=0.88)

    assert found.cluster_of["t:paris, france"] != found.cluster_of["t:paris, texas"]


# --- dates


def test_a_month_joins_the_one_day_of_the_claim_that_lies_in_it() -> None:
    dates = claim("8 May 2023", "2023-05-08", "2023-05")

    found = partition(dates, threshold=0.88)

    assert clusters(found) == [["2023-05", "2023-05-08"]]
    assert shown_date(dates) == "d:2023-05-08"
    assert not found.aside


def test_a_month_takes_no_side_between_two_days_until_one_of_them_is_gone() -> None:
    found = partition(claim("8 May 2023", "9 May 2023", "2023-05"), threshold=0.88)

    assert clusters(found) == [["2023-05"], ["2023-05-08"], ["2023-05-09"]]
    assert found.aside == {"d:2023-05"}
    assert not partition(claim("9 May 2023", "2023-05"), threshold=0.88).aside


def test_a_coarse_date_that_contains_none_is_a_date_like_any_other() -> None:
    found = partition(claim("2023-05", "9 June 2023"), threshold=0.88)

    assert clusters(found) == [["2023-05"], ["2023-06-09"]]
    assert not found.aside


def test_a_chain_of_dates_ends_at_the_finest() -> None:
    dates = claim("2020s", "2023", "2023-05", "2023-05-08", "2023-05-08T13:00")

    found = partition(dates, threshold=0.88)

    assert len(clusters(found)) == 1
    assert shown_date(dates) == "d:2023-05-08T13:00"


def test_a_year_over_a_month_and_its_day_and_another_month_is_aside_alone() -> None:
    found = partition(claim("2023", "2023-05", "2023-05-08", "2023-06"), threshold=0.88)

    assert found.aside == {"n:2023"}
    assert clusters(found) == [["2023-05", "2023-05-08"], ["2023-06"], ["2023"]]


def test_a_day_of_every_year_joins_the_one_year_that_is_said() -> None:
    once = claim("October 15th", "2023-10-15")
    twice = claim("October 15th", "2023-10-15", "2024-10-15")

    assert len(clusters(partition(once, threshold=0.88))) == 1
    assert shown_date(once) == "d:2023-10-15"
    assert partition(twice, threshold=0.88).aside == {"d:--10-15"}


def test_only_dates_have_a_finest_spelling() -> None:
    assert shown_date(claim("2023-05")) == "d:2023-05"
    assert shown_date(claim("October 15th")) == "d:--10-15"
    assert shown_date(claim("adoption", "2023")) is None


def test_a_coarse_date_that_ends_with_the_finer_one_contains_it() -> None:
    assert len(clusters(partition(claim("2023-Q2", "2023-06", "2023-06-30"), threshold=0.88))) == 1


# --- numbers


def test_numbers_join_within_a_tolerance_and_only_if_one_is_set() -> None:
    weights = claim("5 kg", "5000 g", "11.02 lb", "6 kg", "5")

    exact = partition(weights, threshold=0.88)
    tolerant = partition(weights, threshold=0.88, number_tolerance=0.001)

    assert len(clusters(exact)) == 4
    assert clusters(tolerant) == [["4.998587917 kilogram", "5 kilogram"], ["5"], ["6 kilogram"]]


def test_tolerance_does_not_creep_along_a_row_of_numbers() -> None:
    found = partition(claim("100", "104", "108"), threshold=0.88, number_tolerance=0.05)

    assert clusters(found) == [["100", "104"], ["108"]]


def test_years_among_dates_have_no_tolerance() -> None:
    found = partition(claim("2023", "2024", "2024-05-08"), threshold=0.88, number_tolerance=0.05)

    assert found.cluster_of["n:2023"] == "n:2023"
    assert found.cluster_of["n:2024"] == found.cluster_of["d:2024-05-08"]


@pytest.mark.parametrize("tolerance", [-0.1, 1, math.nan])
def test_a_tolerance_that_means_nothing_is_refused(tolerance: float) -> None:
    with pytest.raises(ValueError, match="a tolerance is at least 0 and below 1"):
        partition({}, threshold=0.88, number_tolerance=tolerance)
