"""What is written to the log: exactly the fields of the public models, and lines that no arrival changes."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from state.changes import Change, Kind, Revision
from state.facts import Fact, State, state_at
from state.identity import FactId, claim_id, fact_id
from state.instants import INSTANT_MAX, INSTANT_MIN, Granularity, Instant, parse_instant
from state.observations import Observation
from state.predicates import Predicate
from state.statements import ObservationId, Statement
from state.validation import CODES, read
from streams import events
from streams.host import Record
from streams.keys import Offset, Partition
from streams.topics import CHANGE_FEED, TOPICS, Topic
from streams.wire import (
    dead_letter,
    fact_event,
    fact_fields,
    fact_line,
    line_order,
    observation_fields,
    to_json,
    valid_fields,
)
from tests.builders import day, statement
from tests.kept import KeptClaim

CLAIM = claim_id("default", "kim", "prefers")
BASE = Fact(
    fact_id=fact_id(CLAIM, "t:tea", 0), claim=CLAIM, namespace="default", subject="Kim", predicate="prefers",
    declared=True, form="t:tea", ordinal=0, object="tea", lo=day(1), hi=None, lo_granularity="day",
    hi_granularity=None, reason=None, contested=False, rivals=(), support=1, dissent=0, observations=1,
    votes=None, decided_at=None, decided_observed_at=None, previous_fact_id=None, invalidated_by=None,
    supported_by=(ObservationId("o1"),), dissented_by=(),
)  # fmt: skip


def fact(**changes: Any) -> Fact:
    return msgspec.structs.replace(BASE, **changes)


def body(given_fact: Fact, version: int = 1) -> dict[str, Any]:
    return fact_fields(
        given_fact, version, recorded_at=day(9), cycle=1, policy_version="p1", model=None, degraded=False
    )


def line(given_fact: Fact, now: Instant) -> dict[str, Any]:
    return fact_line(json.loads(to_json(body(given_fact))), now=now)


# -- exactly the fields of the model --------------------------------------------------------


def strays(model: type[BaseModel], value: dict[str, Any], path: str = "") -> list[str]:
    """Fields that the value has and the model lacks, or the other way round, at every depth."""
    found = [f"{path}{name}" for name in sorted(set(value) ^ set(model.model_fields))]
    for name, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel) and isinstance(value.get(name), dict):
            found += strays(inner, value[name], f"{path}{name}.")
    return found


def check(model: type[events.Model], raw: bytes) -> Any:
    """The model's reading of what was written, after it was found to say exactly that much."""
    assert strays(model, json.loads(raw)) == []
    return model.model_validate_json(raw)


MODEL_OF = {
    Kind.CREATED: events.FactCreated,
    Kind.REINFORCED: events.FactReinforced,
    Kind.INVALIDATED: events.FactInvalidated,
    Kind.REVISED: events.FactRevised,
}

texts = st.text(st.characters(codec="utf-8"), max_size=5)
objects = st.one_of(
    st.none(), texts, st.booleans(), st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
at = st.integers(INSTANT_MIN, INSTANT_MAX).map(Instant)
ids = st.lists(texts.map(ObservationId), max_size=3).map(tuple)
granularities = st.sampled_from([g.value for g in Granularity])


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    """Facts of every shape that the types allow."""
    lo, hi = draw(st.none() | at), draw(st.none() | at)
    return fact(
        fact_id=FactId(draw(texts)),
        namespace=draw(texts),
        subject=draw(texts),
        predicate=draw(texts),
        declared=draw(st.booleans()),
        form=draw(texts),
        ordinal=draw(st.integers(0, 9)),
        object=draw(objects),
        lo=lo,
        hi=hi,
        lo_granularity=None if lo is None else draw(granularities),
        hi_granularity=None if hi is None else draw(granularities),
        reason=draw(
            st.sampled_from([None, "outvoted", "denied", "ended", "superseded", "invalidated", "withdrawn"])
        ),
        contested=draw(st.booleans()),
        rivals=tuple(draw(st.lists(texts, max_size=2))),
        support=draw(st.integers(0, 12)),
        dissent=draw(st.integers(0, 12)),
        observations=draw(st.integers(0, 99)),
        votes=draw(st.none() | texts),
        decided_at=draw(st.none() | at),
        decided_observed_at=draw(st.none() | at),
        previous_fact_id=draw(st.none() | texts),
        invalidated_by=draw(st.none() | texts),
        supported_by=draw(ids),
        dissented_by=draw(ids),
    )


@given(facts(), st.integers(1, 10**9), at)
def test_the_latest_state_of_a_fact_has_the_fields_of_its_model(
    given_fact: Fact, version: int, recorded_at: Instant
) -> None:
    raw = to_json(
        fact_fields(
            given_fact,
            version,
            recorded_at=recorded_at,
            cycle=1,
            policy_version="p1",
            model=None,
            degraded=False,
        )
    )
    read_back = check(events.Fact, raw)

    assert (read_back.fact_id, read_back.version) == (given_fact.fact_id, version)
    assert (type(read_back.object), read_back.object) == (type(given_fact.object), given_fact.object)
    assert tuple(read_back.rivals) == given_fact.rivals
    assert (read_back.valid.lo is None, read_back.valid.hi is None) == (
        given_fact.lo is None,
        given_fact.hi is None,
    )


@given(facts(), st.sampled_from(list(Kind)), st.sampled_from(list(Revision)), st.integers(1, 10**9))
def test_an_event_has_the_fields_of_the_model_of_its_topic(
    given_fact: Fact, kind: Kind, revision: Revision, version: int
) -> None:
    change = Change(kind, revision.value if kind is Kind.REVISED else "", given_fact, version)

    read_back = check(
        MODEL_OF[kind], fact_event(change, to_json(body(given_fact, version)), position="topic/0/7")
    )

    assert (read_back.event, read_back.version, read_back.position) == (kind.value, version, "topic/0/7")
    assert read_back.revision == (revision.value if kind is Kind.REVISED else None)
    assert read_back.topic.value == kind.value


@given(st.binary(max_size=40), st.none() | st.binary(max_size=8), st.sampled_from(list(CODES)), at)
def test_a_dead_letter_has_the_fields_of_its_model_and_gives_the_bytes_back(
    raw: bytes, key: bytes | None, code: str, recorded_at: Instant
) -> None:
    bad = Record(Topic.OBSERVATIONS, Partition(3), Offset(17), key, raw, recorded_at)

    read_back = check(events.DeadLetter, dead_letter(bad, code, CODES[code]))

    decoded = read_back.raw.encode() if read_back.raw_encoding == "utf-8" else base64.b64decode(read_back.raw)
    assert decoded == raw
    assert (read_back.code, read_back.message) == (code, CODES[code])
    assert (read_back.origin_topic, read_back.origin_partition, read_back.origin_offset) == (
        "observations", 3, 17,
    )  # fmt: skip
    assert (read_back.origin_key is None) == (key is None)


def test_the_check_of_fields_sees_a_field_too_many_and_a_field_too_few_at_every_depth() -> None:
    good = json.loads(to_json(body(fact())))
    assert strays(events.Fact, good) == []

    assert strays(events.Fact, {**good, "x": 1}) == ["x"]
    assert strays(events.Fact, {name: v for name, v in good.items() if name != "votes"}) == ["votes"]
    assert strays(events.Fact, {**good, "valid": {**good["valid"], "x": 1}}) == ["valid.x"]
    assert strays(events.Fact, {**good, "valid": {}}) == [
        f"valid.{n}" for n in sorted(events.Valid.model_fields)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"event": "fact-created"}, {"reason": "because"}, {"version": 0}, {"support": -1},
        {"recorded_at": "today"},
        {"confidence": 1.5}, {"revision": "changed"}, {"rivals": None}, {"object": []},
    ],
)  # fmt: skip
def test_the_models_refuse_what_is_no_event(changes: dict[str, Any]) -> None:
    change = Change(Kind.REVISED, Revision.ENDED.value, fact(), 2)
    good = json.loads(fact_event(change, to_json(body(fact())), position="topic/0/7"))
    events.FactRevised.model_validate(good)

    with pytest.raises(ValidationError):
        events.FactRevised.model_validate_json(json.dumps({**good, **changes}))


# -- what an event says ---------------------------------------------------------------------


def test_kinds_revisions_and_codes_are_those_of_the_models() -> None:
    def choices(model: type[BaseModel], name: str) -> set[str]:
        schema = model.model_json_schema()["properties"][name]
        return {value for part in schema.get("anyOf", [schema]) for value in part.get("enum", [])}

    assert choices(events.FactEvent, "event") == {kind.value for kind in Kind}
    assert {kind.value for kind in Kind} == {topic.value for topic in CHANGE_FEED}
    assert choices(events.FactEvent, "revision") == {revision.value for revision in Revision}
    assert choices(events.Valid, "lo_granularity") == {granularity.value for granularity in Granularity}


def test_an_event_is_recognised_by_its_id_alone() -> None:
    def event_id(change: Change, position: str = "t/0/1") -> str:
        return str(json.loads(fact_event(change, to_json(body(change.fact)), position=position))["event_id"])

    created = Change(Kind.CREATED, "", fact(), 1)
    others = [
        event_id(Change(Kind.REVISED, "contested", fact(), 1)),
        event_id(Change(Kind.REVISED, "settled", fact(), 1)),
        event_id(Change(Kind.REINFORCED, "", fact(), 1)),
        event_id(created, "t/0/2"),
        event_id(created, "t/1/1"),
        event_id(Change(Kind.CREATED, "", fact(fact_id=fact_id(CLAIM, "t:tea", 1)), 1)),
    ]

    assert event_id(created) == event_id(Change(Kind.CREATED, "", fact(support=9), 5))
    assert len({event_id(created), *others}) == 1 + len(others)


def test_drift_counts_by_when_the_deciding_statement_was_made() -> None:
    ended = fact(
        reason="outvoted", hi=day(3), hi_granularity="day", decided_at=day(3), decided_observed_at=day(5)
    )

    event = json.loads(
        fact_event(Change(Kind.INVALIDATED, "", ended, 2), to_json(body(ended)), position="t/0/1")
    )

    assert event["decided_observed_at"] == "2024-01-06T00:00:00Z"


def test_an_unknown_bound_is_null_with_all_it_has() -> None:
    assert valid_fields(fact(lo=None, lo_granularity=None)) == dict.fromkeys(
        ["lo", "hi", "lo_granularity", "hi_granularity", "lo_certainty", "hi_certainty"]
    )


@pytest.mark.parametrize(("support", "certainty"), [(9, "approximate"), (10, "definite")])
def test_a_bound_is_definite_from_ten_votes_on(support: int, certainty: str) -> None:
    found = valid_fields(fact(support=support, hi=day(3), hi_granularity="month"))

    assert found == {
        "lo": "2024-01-02T00:00:00Z", "hi": "2024-01-04T00:00:00Z", "lo_granularity": "day",
        "hi_granularity": "month", "lo_certainty": certainty, "hi_certainty": certainty,
    }  # fmt: skip


# -- lines of facts -------------------------------------------------------------------------


def test_a_line_holds_nothing_that_depends_on_how_the_evidence_arrived() -> None:
    assert set(line(fact(), day(50))) == {
        "fact_id", "namespace", "subject", "predicate", "object", "valid", "support", "dissent",
        "observations", "confidence", "declared", "previous_fact_id", "state", "reason", "rivals",
    }  # fmt: skip
    other = fact(supported_by=("x",), dissented_by=("y",), decided_at=day(4), decided_observed_at=day(4))
    again = fact_fields(
        other, 17, recorded_at=day(77), cycle=1, policy_version="p2", model=None, degraded=False
    )

    assert fact_line(again, now=day(50)) == fact_line(body(fact()), now=day(50))


@pytest.mark.parametrize(
    ("changes", "now", "state", "reason", "rivals"),
    [
        ({}, day(50), "open", None, []),
        ({"lo": day(60)}, day(50), "open", None, []),
        ({"contested": True, "rivals": ("milk",)}, day(50), "contested", None, ["milk"]),
        ({"hi": day(9), "reason": "outvoted"}, Instant(day(9) - 1), "open", None, []),
        ({"hi": day(9), "reason": "outvoted"}, day(9), "retired", "outvoted", []),
        (
            {"hi": day(9), "reason": "ended", "contested": True, "rivals": ("milk",)},
            day(9), "retired", "ended", [],
        ),
        (
            {"hi": day(9), "reason": "ended", "contested": True, "rivals": ("milk",)},
            Instant(day(9) - 1), "contested", None, ["milk"],
        ),
        ({"reason": "withdrawn"}, day(50), "retired", "withdrawn", []),
        ({"hi": INSTANT_MAX, "reason": "ended"}, INSTANT_MAX, "retired", "ended", []),
    ],
)  # fmt: skip
def test_a_line_says_what_the_fact_is_now(
    changes: dict[str, Any], now: Instant, state: str, reason: str | None, rivals: list[str]
) -> None:
    found = line(fact(hi_granularity="day" if "hi" in changes else None, **changes), now)

    assert (found["state"], found["reason"], found["rivals"]) == (state, reason, rivals)


@given(facts(), at)
def test_a_line_and_the_fact_itself_agree_on_what_it_is(given_fact: Fact, now: Instant) -> None:
    found = line(given_fact, now)

    assert found["state"] == state_at(given_fact, now)
    assert (found["reason"] is not None) == (
        found["state"] == State.RETIRED and given_fact.reason is not None
    )
    assert bool(found["rivals"]) == (found["state"] == State.CONTESTED and bool(given_fact.rivals))


def lines_of(statements: list[Statement], sizes: list[int]) -> list[dict[str, Any]]:
    """The lines of one claim whose evidence arrived in batches of these sizes."""
    claim = KeptClaim(Predicate("prefers"))
    start = 0
    for size in [*sizes, len(statements)]:
        claim.apply(statements[start : start + size])
        start += size
    found = [
        fact_line(body(published.fact, published.version), now=day(99))
        for published in claim.seen.values()
        if published.fact.reason != "withdrawn"
    ]
    return sorted(found, key=line_order)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 3), st.booleans()),
        min_size=1, max_size=9,
    ),
    st.lists(st.integers(1, 3), max_size=4),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_lines_do_not_depend_on_order_and_batching(
    said: list[tuple[str, int, int, bool]], sizes: list[int], chance: random.Random
) -> None:
    statements = [
        statement(
            form,
            day(number),
            id=f"s{i}",
            source="s",
            document=f"d{document}",
            affirmed=affirmed or i % 2 == 0,
        )
        for i, (form, number, document, affirmed) in enumerate(said)
    ]
    shuffled = list(statements)
    chance.shuffle(shuffled)

    assert lines_of(shuffled, sizes) == lines_of(statements, [])


# -- the order of lines ---------------------------------------------------------------------

ORDERED = [
    fact(namespace="a", subject="z"),
    fact(subject="Kim", predicate="likes"),
    fact(lo=None, lo_granularity=None, object="zebra"),
    fact(lo=INSTANT_MIN),
    fact(lo=parse_instant("0999-01-01")),
    fact(lo=parse_instant("1969-12-31T23:59:59.999Z")),
    fact(lo=day(1), object=None),
    fact(lo=day(1), object=10),
    fact(lo=day(1), object=9),
    fact(lo=day(1), object="coffee", fact_id="a"),
    fact(lo=day(1), object="coffee", fact_id="b"),
    fact(lo=day(1), object="tea"),
    fact(lo=Instant(day(1) + 1), object="coffee"),
    fact(lo=Instant(day(1) + 999), object="coffee"),
    fact(lo=Instant(day(1) + 1_000), object="coffee"),
    fact(lo=INSTANT_MAX, object="coffee"),
    fact(subject="Sam", predicate="a"),
    fact(namespace="e", subject="a"),
]


def test_lines_are_ordered_by_name_then_time_then_object() -> None:
    shuffled = [line(given_fact, day(50)) for given_fact in ORDERED]
    expected = list(shuffled)
    random.Random(4711).shuffle(shuffled)

    assert sorted(shuffled, key=line_order) == expected


@given(at, at)
def test_lines_of_one_claim_are_in_order_of_time(one: Instant, other: Instant) -> None:
    left, right = (line_order(line(fact(lo=lo), day(50))) for lo in (one, other))

    assert (left < right) == (one < other)


# -- dead letters ---------------------------------------------------------------------------


def test_a_dead_letter_has_one_id_on_every_delivery_and_another_for_each_part() -> None:
    def letter_id(offset: int = 1, part: str = "", message: str = "So.") -> str:
        bad = Record(Topic.OBSERVATIONS, Partition(0), Offset(offset), None, b"x", day(1))
        return str(json.loads(dead_letter(bad, "not_json", message, part=part))["dead_letter_id"])

    assert letter_id() == letter_id(message="Other words.")
    assert len({letter_id(), letter_id(offset=2), letter_id(part="a"), letter_id(part="b")}) == 4


def test_a_dead_letter_can_carry_other_bytes_than_its_record() -> None:
    bad = Record(Topic.OBSERVATIONS, Partition(0), Offset(1), b"\xff", b"\xff", day(1))

    found = json.loads(dead_letter(bad, "duplicate_id", "So.", raw=b'{"subject": "Kim"}'))

    assert (found["raw"], found["raw_encoding"]) == ('{"subject": "Kim"}', "utf-8")


# -- a statement as an observation again ----------------------------------------------------

bounds = st.sampled_from(
    [
        None, "1990s", "2001", "2001-Q2", "2001-05", "2001-W07", "2001-05-25", "2001-05-25T13",
        "2001-05-25T13:14Z", "2001-05-25T13:14:15Z", "2001-05-25T13:14:15.5Z", 1_000_000_000, 1e12,
    ]
)  # fmt: skip


@given(
    st.fixed_dictionaries(
        {
            "subject": st.sampled_from(["Kim", " “Kim” "]),
            "predicate": st.sampled_from(["prefers", "Works At"]),
            "observed_at": st.sampled_from(["2024-05-25", "2024-05-25T13:14:00.5Z", 1_700_000_000]),
            "valid_from": bounds,
            "valid_to": bounds,
        },
        optional={
            "namespace": st.just("world"),
            "observation_id": st.just("o1"),
            "object": objects.filter(lambda value: not isinstance(value, str))
            | st.sampled_from(["C#", "Tea."]),
            "polarity": st.just("denied"),
            "confidence": st.floats(0, 1),
            "origin": st.sampled_from(["crm", "factdrift"]),
            "source": st.fixed_dictionaries(
                {"category": st.sampled_from(["direct", "extracted"])},
                optional={name: st.just("x") for name in ("id", "document", "supersedes")},
            ),
        },
    )
)
def test_a_statement_written_as_an_observation_again_says_the_same(fields: dict[str, Any]) -> None:
    if fields["valid_to"] is not None and fields["valid_from"] is not None:
        fields["valid_to"] = "2023"
    first = read(json.dumps(fields).encode(), recorded_at=day(300))
    assert isinstance(first, Observation)

    raw = to_json(observation_fields(first.namespace, first.statement))

    assert read(raw, recorded_at=day(300)) == first
    events.Observation.model_validate_json(raw)


@pytest.mark.parametrize(
    ("valid_from", "valid_to"),
    [("2023", "2023"), ("2023-Q4", "2023-Q4"), ("2023-05-25", "2023-05-25"), ("2023-W52", "2023-W52")],
)
def test_a_whole_period_written_again_is_the_same_period(valid_from: str, valid_to: str) -> None:
    fields = {
        "subject": "Kim", "predicate": "prefers", "observed_at": 0,
        "valid_from": valid_from, "valid_to": valid_to,
    }  # fmt: skip
    first = read(json.dumps(fields).encode(), recorded_at=day(300))
    assert isinstance(first, Observation)

    raw = to_json(observation_fields(first.namespace, first.statement))

    assert read(raw, recorded_at=day(300)) == first


# -- schemas --------------------------------------------------------------------------------


def test_every_public_topic_has_a_model_and_a_schema() -> None:
    internal = {Topic.BY_CLAIM, Topic.CLOCK, Topic.CYCLE_PARTS}
    public = {spec.topic.value for spec in TOPICS if spec.topic not in internal}
    schemas = events.json_schemas()

    assert set(schemas) == public
    for model in events.PUBLIC_MODELS:
        on_topic = schemas[model.topic.value]
        assert on_topic["description"]
        schema = on_topic if "type" in on_topic else on_topic["$defs"][model.__name__]
        assert schema["type"] == "object"
        assert schema["description"]
        assert set(schema["properties"]) == set(model.model_fields)
        json.dumps(on_topic)


def test_a_topic_with_several_kinds_has_the_schema_of_each() -> None:
    schema = events.json_schemas()["corrections"]

    kinds = [kind["$ref"].rpartition("/")[2] for kind in schema["oneOf"]]
    assert kinds == ["Retract", "Supersede", "Invalidate", "Relate", "Forget"]


@pytest.mark.parametrize("model", [m for m in events.PUBLIC_MODELS if not issubclass(m, events.Input)])
def test_whatever_factdrift_writes_has_every_field_by_schema(model: type[events.Model]) -> None:
    schema = model.model_json_schema()

    assert set(schema["properties"]) - set(schema["required"]) == {"schema_version"}


def test_every_public_model_carries_the_version_of_its_schema() -> None:
    assert {model.model_fields["schema_version"].default for model in events.PUBLIC_MODELS} == {1}
    assert body(fact())["schema_version"] == events.SCHEMA_VERSION


def test_a_reader_of_today_reads_the_events_of_a_later_release() -> None:
    later = {**json.loads(to_json(body(fact()))), "salience": 0.5}

    assert events.Fact.model_validate_json(json.dumps(later)).object == "tea"
