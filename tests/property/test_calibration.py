"""Laws of calibration, over scores of any kind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from state.calibration import (
    JOINS_ALWAYS,
    JOINS_NEVER,
    Score,
    by_kind,
    choose,
    held_out,
    joins,
    score,
    tally,
    upper_bound,
)
from state.clusters import Form, partition
from state.objects import Kind, type_object
from state.pairs import Pair
from tests.property.test_clusters import originals, vectors

cosines = st.one_of(
    st.integers(-100, 100).map(lambda n: n / 100),
    st.floats(-1, 1).map(lambda x: round(x, 6)),
    st.sampled_from([JOINS_ALWAYS, JOINS_NEVER, 1.0, 0.0]),
)
scores = st.builds(
    lambda kind, same, until, bare: Score(Pair(kind, "a", "b", same), None, until, bare, ""),
    st.sampled_from("xyz"),
    st.booleans(),
    cosines,
    cosines,
)
some_scores = st.lists(scores, max_size=30)
rates = st.one_of(st.sampled_from([0.0, 0.01, 0.5, 1.0]), st.floats(0, 1))
thresholds = st.integers(1, 100).map(lambda n: n / 100)


@given(some_scores, thresholds, thresholds)
def test_a_higher_threshold_never_joins_more(found: list[Score], a: float, b: float) -> None:
    low, high = tally("", found, min(a, b)), tally("", found, max(a, b))

    assert high.n_joined <= low.n_joined
    assert high.n_false <= low.n_false


@given(some_scores.filter(lambda found: any(not one.pair.same for one in found)), rates, st.booleans())
def test_the_chosen_threshold_keeps_the_target_and_every_lower_one_breaks_it(
    found: list[Score], false_max: float, guarded: bool
) -> None:
    chosen = choose(found, false_max=false_max, guarded=guarded)

    def keeps(threshold: float) -> bool:
        rate = tally("", found, threshold, guarded=guarded).false_rate
        assert rate is not None
        return rate <= false_max + 1e-9

    every = [n / 100 for n in range(1, 101)]
    assert chosen == next((threshold for threshold in every if keeps(threshold)), None)


@given(some_scores, thresholds)
def test_kinds_add_up_to_the_whole(found: list[Score], threshold: float) -> None:
    parts, whole = by_kind(found, threshold), tally("", found, threshold)

    for name in ("n_same", "n_different", "n_joined", "n_false"):
        assert sum(getattr(part, name) for part in parts) == getattr(whole, name)


@given(some_scores, rates)
def test_a_held_out_kind_changes_only_its_own_judgement(found: list[Score], false_max: float) -> None:
    for one in held_out(found, false_max=false_max):
        rest = [other for other in found if other.pair.kind != one.kind]
        assert one.threshold == choose(rest, false_max=false_max)


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_bound_lies_above_the_rate_and_within_1(n_hits: int, n_more: int) -> None:
    n = n_hits + n_more

    bound = upper_bound(n_hits, n)

    assert bound is not None
    assert n_hits / n < bound <= 1


@given(originals, originals, vectors, vectors, thresholds, st.booleans())
def test_a_pair_joins_exactly_where_a_claim_would_join_it(
    a: str, b: str, of_a: bytes | None, of_b: bytes | None, threshold: float, same: bool
) -> None:
    left, right = type_object(a), type_object(b)
    if left.key == right.key:
        of_b = of_a
    forms = {
        one.key: Form(one, vector if one.kind is Kind.TEXT else None)
        for one, vector in ((left, of_a), (right, of_b))
    }

    found = score(Pair("k", a, b, same), of_a, of_b)

    cluster_of = partition(forms, threshold=threshold).cluster_of
    assert joins(found, threshold) == (cluster_of[left.key] == cluster_of[right.key])
