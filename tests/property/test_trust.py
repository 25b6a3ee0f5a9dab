"""Trust: counts are the same in every order and after every crash, and equal weights are the plain vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.trust_counting import COUNTED_KEY, COUNTED_TABLE, STANDS_TABLE, Counted
from agents.trust_totals import TOTALS_TABLE, Row
from state.policy import Policy
from state.predicates import Predicate
from state.timeline import fold
from state.trust import Trust, source_key
from state.trust_counts import Counts, add, compared, stands_of
from streams.settings import Settings
from streams.topics import Topic
from tests.builders import day, statement
from tests.staged import SmallCluster

SOURCES, VALUES, SUBJECTS = "abcd", ["Oslo", "Rome", "York"], ["kim", "lee", "pat", "sam"]
LEARNED = Settings(trust="learned", vectors="none", links="off")
crashes = st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 2)), max_size=40)
sayings = st.lists(
    st.tuples(
        st.sampled_from(SUBJECTS), st.sampled_from(SOURCES), st.sampled_from(VALUES), st.integers(0, 3)
    ),
    min_size=1,
    max_size=16,
)


def observe(number: int, subject: str, source: str, value: str, at: int) -> dict[str, Any]:
    return {
        "observation_id": f"o{number}",
        "subject": subject,
        "predicate": "born_in",
        "object": value,
        "observed_at": f"2024-01-0{at + 1}T00:00:00Z",
        "source": {"id": source, "document": f"{source}/{number}"},
    }


def totals(cluster: SmallCluster) -> Counts:
    """What the audit has added up."""
    tables = cluster.readers[Topic.CYCLE_PARTS, 0].tables
    rows = {
        msgspec.json.decode(key)[1]: msgspec.msgpack.decode(value, type=Row).partners
        for key, value in tables.scan(TOTALS_TABLE, b'["default",')
    }
    return {one: partners for one, partners in rows.items() if partners}


def expected(lines: list[dict[str, Any]]) -> Counts:
    """The counts from all observations at once."""
    said: dict[str, list[Any]] = {}
    for number, line in enumerate(lines):
        said.setdefault(line["subject"], []).append(
            statement(
                line["object"].lower(),
                day(int(line["observed_at"][9]) - 1),
                id=str(number),
                source=line["source"]["id"],
                document=line["source"]["document"],
            )
        )
    found: Counts = {}
    for statements in said.values():
        add(found, compared(stands_of(statements, lambda form: form, "default")))
    return found


def run(
    lines: list[dict[str, Any]],
    cuts: list[int],
    *,
    crashes: Sequence[tuple[int, int]] = (),
    backwards: bool = False,
) -> SmallCluster:
    """All lines, in batches with a tick behind each."""
    cluster = SmallCluster(crashes=crashes, backwards=backwards, settings=LEARNED)
    start = now = 0
    for size in [*cuts, len(lines)]:
        batch = lines[start : start + size]
        start, now = start + size, now + 1
        if batch:
            cluster.publish(*batch)
        cluster.drain()
        cluster.tick(day(now))
        cluster.drain()
    return cluster


cuts = st.lists(st.integers(1, 4), max_size=4)


@given(sayings, cuts, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_counts_are_those_of_all_observations_in_every_order(said: Any, cuts: Any, chance: Any) -> None:
    lines = [observe(number, *one) for number, one in enumerate(said)]
    shuffled = list(lines)
    chance.shuffle(shuffled)

    assert totals(run(shuffled, cuts)) == expected(lines)


@given(sayings, cuts, crashes, st.booleans())
@settings(max_examples=120)
def test_the_counts_are_exact_whatever_dies_between_any_two_writes(
    said: Any, cuts: Any, crashes: Any, backwards: bool
) -> None:
    lines = [observe(number, *one) for number, one in enumerate(said)]

    cluster = run(lines, cuts, crashes=crashes, backwards=backwards)

    assert totals(cluster) == expected(lines)


@given(sayings, st.sets(st.integers(0, 15)), cuts)
@settings(max_examples=60)
def test_what_is_retracted_is_taken_off_again(said: Any, gone: set[int], cuts: Any) -> None:
    lines = [observe(number, *one) for number, one in enumerate(said)]
    cluster = run(lines, cuts)

    for number in sorted(gone & set(range(len(lines)))):
        line = lines[number]
        cluster.publish(
            {
                "op": "retract",
                "observation_id": f"o{number}",
                "subject": line["subject"],
                "namespace": "default",
            },
            topic=Topic.CORRECTIONS,
        )
    cluster.drain()
    cluster.tick(day(50))
    cluster.drain()

    assert totals(cluster) == expected([line for number, line in enumerate(lines) if number not in gone])


@given(sayings, cuts)
@settings(max_examples=30)
def test_a_forgotten_subject_leaves_no_trace_in_the_counts(said: Any, cuts: Any) -> None:
    lines = [observe(number, *one) for number, one in enumerate(said)]
    cluster = run(lines, cuts)

    for subject in SUBJECTS:
        wish = {"op": "forget", "scope": "subject", "subject": subject, "reason": "asked for"}
        cluster.publish(wish, topic=Topic.CORRECTIONS)
    cluster.drain()
    cluster.tick(day(50))
    cluster.drain()

    assert totals(cluster) == {}
    for partition in range(cluster.n_partitions):
        tables = cluster.readers[Topic.BY_CLAIM, partition].tables
        assert list(tables.scan(STANDS_TABLE, b"")) == []
        counted = tables.get(COUNTED_TABLE, COUNTED_KEY)
        assert counted is None or msgspec.msgpack.decode(counted, type=Counted).left == {}


statements = st.lists(
    st.tuples(
        st.sampled_from("xyz"),
        st.integers(1, 6),
        st.sampled_from([None, *SOURCES]),
        st.integers(0, 2),
        st.booleans(),
    ),
    max_size=14,
)


@given(statements, st.sampled_from([25, 90, 100, 135, 200]))
@settings(max_examples=200)
def test_equal_weights_are_the_plain_vote(said: Any, weight: int) -> None:
    evidence = [
        statement(value, at, id=f"o{number}", source=source, document=f"d{document}" if document else None,
                  affirmed=affirmed)
        for number, (value, at, source, document, affirmed) in enumerate(said)
        if source is not None or weight == 100
    ]  # fmt: skip
    equal = Policy().trusting(Trust("n", 3, {source_key("n", source): weight for source in SOURCES}))
    predicate = Predicate("p", change="never")

    assert fold(evidence, predicate, equal, {}) == fold(evidence, predicate, Policy(), {})


@given(
    statements,
    st.dictionaries(st.sampled_from(SOURCES), st.integers(5, 40).map(lambda n: 5 * n)),
    st.randoms(),
)
@settings(max_examples=200)
def test_weights_change_nothing_where_values_can_change_and_no_order_of_evidence(
    said: Any, weights: dict[str, int], chance: Any
) -> None:
    evidence = [
        statement(value, at, id=f"o{number}", source=source, document=f"d{document}" if document else None,
                  affirmed=affirmed)
        for number, (value, at, source, document, affirmed) in enumerate(said)
    ]  # fmt: skip
    policy = Policy().trusting(Trust("n", 3, {source_key("n", source): w for source, w in weights.items()}))
    shuffled = list(evidence)
    chance.shuffle(shuffled)

    for predicate in (Predicate("p"), Predicate("p", "multi")):
        assert fold(evidence, predicate, policy, {}) == fold(evidence, predicate, Policy(), {})
    never = Predicate("p", change="never")
    assert fold(shuffled, never, policy, {}) == fold(evidence, never, policy, {})
