"""The door under arbitrary input: nothing but a known code, and the same verdict as the public models."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from state.errors import BadInput
from state.instants import Instant, parse_instant
from state.observations import Observation, Retract, Usable
from state.validation import CODES, read, recorded_at_of
from streams import events
from streams.codec import decode_batch, encode_entry, join_entries

RECORDED_AT = parse_instant("2024-06-01T12:00:00Z")
DOOR_CODES = frozenset(CODES) - {"duplicate_id"}  # decided by the claim, not by one record alone


def verdict(raw: bytes) -> Usable | str:
    """What the door makes of a record: the usable record or the code of its dead letter."""
    try:
        return read(raw, recorded_at=RECORDED_AT)
    except BadInput as bad:
        refusal = bad
    assert refusal.code in DOOR_CODES
    assert refusal.message.endswith(".")
    refusal.message.encode()
    return refusal.code


def survives_the_log(usable: Usable) -> bool:
    """Whether the internal record gives back what was put into it."""
    entries = decode_batch(join_entries([encode_entry("observations", 0, 0, usable)])).entries
    return [entry.usable for entry in entries] == [usable]


# -- arbitrary input ------------------------------------------------------------------------

letters = st.characters(exclude_categories=())  # lone surrogates and controls among them
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.just(10**400),
    st.floats(), st.text(letters, max_size=8), st.sampled_from(["factdrift", "2023-05", "retract", " ", "."]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "schema_version", "op", "observation_id", "namespace", "subject", "predicate", "object", "observed_at",
    "polarity", "valid_from", "valid_to", "confidence", "source", "content", "origin", "reason",
    "recorded_at",
)  # fmt: skip
REQUIRED = ("subject", "predicate", "observed_at")
sources = values | st.dictionaries(st.sampled_from(["id", "document", "supersedes", "category"]), values)
GOOD: dict[str, Any] = {
    "schema_version": 1, "op": None, "observation_id": "o1", "namespace": "world", "subject": "Kim",
    "predicate": "lives in", "object": "Oslo", "observed_at": "2024-05-25T13:14:00Z", "polarity": "denied",
    "valid_from": "2023", "valid_to": "2024", "confidence": 0.5, "source": {"id": "s", "document": "d"},
    "content": "so", "origin": None, "reason": None, "recorded_at": None,
}  # fmt: skip


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    """Objects with known fields: most of them good, a few of them anything at all."""
    spoiled = draw(st.sampled_from([0, 1])) * draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3))
    left_out = draw(st.sets(st.sampled_from([name for name in FIELDS if name not in REQUIRED]), max_size=9))
    fields = {name: value for name, value in GOOD.items() if name not in left_out}
    for name in spoiled:
        fields[name] = draw(sources if name == "source" else values)
    return fields


def as_json(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode()


@given(st.binary(max_size=400))
@example(b"\xff\xfe{\x00}\x00")
@example(b"\xef\xbb\xbf{}")
@example(b'"\\')
def test_arbitrary_bytes_get_a_known_code(raw: bytes) -> None:
    assert isinstance(verdict(raw), str)
    assert recorded_at_of(raw) is None


@given(objects(), st.randoms(use_true_random=False))
def test_a_damaged_record_is_read_or_gets_a_known_code(fields: dict[str, Any], chance: random.Random) -> None:
    raw = bytearray(as_json(fields))
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(raw))
        raw[at : at + chance.randint(0, 2)] = chance.choice(
            [b"", b"\x00", b"\xff", b'"', b"\\", b"\\ud800", b"[" * 70, b"1e999", b"NaN", b"\xc3"]
        )

    found = verdict(bytes(raw))

    assert isinstance(found, str) or survives_the_log(found)


@given(objects())
def test_an_object_of_known_fields_is_read_or_gets_a_known_code(fields: dict[str, Any]) -> None:
    found = verdict(as_json(fields))

    assert isinstance(found, str) or survives_the_log(found)


@given(values)
def test_any_json_is_read_or_gets_a_known_code(value: Any) -> None:
    assert isinstance(verdict(json.dumps(value).encode()), str)


@given(objects(), st.randoms(use_true_random=False))
def test_the_order_of_the_fields_and_the_white_space_change_nothing(
    fields: dict[str, Any], chance: random.Random
) -> None:
    shuffled = list(fields.items())
    chance.shuffle(shuffled)

    assert verdict(as_json(fields)) == verdict(
        json.dumps(dict(shuffled), indent=chance.randint(0, 4)).encode()
    )


@given(objects(), st.integers(-(10**6), 10**6))
def test_the_recorded_time_never_changes_the_content_hash(fields: dict[str, Any], later_ms: int) -> None:
    raw = as_json(fields)
    found = verdict(raw)
    if not isinstance(found, Observation):
        return

    again = read(raw, recorded_at=Instant(max(RECORDED_AT + later_ms, found.statement.observed_at)))

    assert isinstance(again, Observation)
    assert again.statement.content_hash == found.statement.content_hash


# -- the door and the public models ---------------------------------------------------------
#
# The models describe shapes; by their nature they are laxer than the door in what only reading a value can
# tell: LAXER lists each such case. `sane` objects hold no such value, and on them both must agree.

names = st.text(st.sampled_from("abcXYZ 019 éß東-_'"), min_size=1, max_size=8).map(lambda t: f"k{t}")
starts = st.sampled_from(
    ["1990s", "2001", "2001-Q2", "2001-05", "2001-05-25", "2001-05-25T13:14Z", 0, 1e9, 1.5]
)
ends = st.sampled_from(["2023", "2023-Q2", "2023-W07", "2023-05-25T13:14:00.5+02:00", 1_700_000_000, 17e8])
observed = st.sampled_from(["2024-05-25", "2024-05-25T13:14:00Z", "2024-05-25 13:14", 1_700_000_000, 17e11])
finite = st.floats(allow_nan=False, allow_infinity=False)
SANE: dict[str, st.SearchStrategy[Any]] = {
    "schema_version": st.just(1),
    "observation_id": names,
    "namespace": names,
    "subject": names,
    "predicate": names,
    "object": st.one_of(names, st.booleans(), st.integers(-(2**63), 2**63 - 1), finite),
    "observed_at": observed,
    "polarity": st.sampled_from(["affirmed", "denied"]),
    "valid_from": starts,
    "valid_to": ends,
    "confidence": st.one_of(st.floats(0, 1), st.sampled_from([0, 1])),
    "source": st.fixed_dictionaries(
        {},
        optional={
            "id": names | st.none(),
            "document": names | st.none(),
            "supersedes": names | st.none(),
            "category": st.sampled_from(["direct", "extracted", None]),
            "x": st.integers(),
        },
    ),
    "content": names,
    "origin": st.one_of(names, st.just("factdrift"), st.dictionaries(names, st.none() | names, max_size=2)),
    "x": st.integers(),
}
# Values of a kind that the field cannot have, or that both refuse for what they are.
WRONG: dict[str, list[Any]] = {
    "schema_version": [2, 0, "1", [1]],
    "observation_id": [5, True, ["o1"], {}],
    "namespace": [5, 0.5, False, []],
    "subject": [5, True, [], {}],
    "predicate": [0.5, False, [], {}],
    "object": [[], ["Oslo"], {}, {"a": 1}],
    "observed_at": [True, [], {}],
    "polarity": ["maybe", "Denied", "", True, 1, []],
    "valid_from": [False, [], {}],
    "valid_to": [True, ["2023"], {}],
    "confidence": ["1", True, [], {}, 1.5, -0.1, 2, 10**20],
    "source": ["s", 5, True, [], [{}], {"id": 5}, {"document": True}, {"supersedes": []}, {"category": "x"}],
    "content": [5, True, [], {}],
    "origin": [5, True, []],
    "x": [None],
}


@st.composite
def sane(draw: st.DrawFn) -> dict[str, Any]:
    """Observations of sane values; every second one with a field or two null, left out or of a wrong kind."""
    some = draw(st.sets(st.sampled_from(list(SANE))))
    fields = {name: draw(SANE[name]) for name in SANE if name in REQUIRED or name in some}
    for name in draw(st.sampled_from([0, 1])) * draw(
        st.lists(st.sampled_from(list(SANE)), min_size=1, max_size=2)
    ):
        match draw(st.sampled_from(["null", "left out", "wrong"])):
            case "null":
                fields[name] = None
            case "left out":
                fields.pop(name, None)
            case _:
                fields[name] = draw(st.sampled_from(WRONG[name]))
    return fields


def model_accepts(model: type[events.Model], raw: bytes) -> bool:
    try:
        model.model_validate_json(raw)
    except ValidationError:
        return False
    return True


def test_the_strategies_know_every_field_of_the_models() -> None:
    assert set(events.Observation.model_fields) == set(SANE) - {"x"}
    assert set(SANE) == set(WRONG)
    assert set(events.Observation.model_fields) | set(events.Retract.model_fields) | {"recorded_at"} == set(
        FIELDS
    )


@given(sane())
def test_the_door_accepts_a_sane_observation_exactly_where_its_model_does(fields: dict[str, Any]) -> None:
    raw = as_json(fields)

    assert isinstance(verdict(raw), Observation) == model_accepts(events.Observation, raw)


@given(objects())
def test_whatever_the_door_accepts_its_model_accepts(fields: dict[str, Any]) -> None:
    raw = as_json(fields)
    found = verdict(raw)

    if isinstance(found, Observation):
        assert model_accepts(events.Observation, raw)
    if isinstance(found, Retract):
        assert model_accepts(events.Retract, raw)


@given(sane())
def test_what_the_model_writes_the_door_reads_as_the_same_statement(fields: dict[str, Any]) -> None:
    raw = as_json(fields)
    if not model_accepts(events.Observation, raw):
        return
    parsed = events.Observation.model_validate_json(raw)

    for again in (parsed.model_dump_json(), parsed.model_dump_json(exclude_unset=True)):
        assert verdict(again.encode()) == verdict(raw)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "op": st.just("retract"),
            "schema_version": st.sampled_from([1, 1, None, 2]),
            "observation_id": st.one_of(names, names, names, st.sampled_from([None, 5, [], True])),
            "namespace": st.one_of(names, names, st.sampled_from([None, 5, {}])),
            "subject": st.one_of(names, names, st.sampled_from([None, 5, []])),
            "reason": st.one_of(names, names, st.sampled_from([None, False])),
            "x": st.integers(),
        },
    )
)
def test_the_door_accepts_a_sane_retract_exactly_where_its_model_does(fields: dict[str, Any]) -> None:
    raw = as_json(fields)

    assert isinstance(verdict(raw), Retract) == model_accepts(events.Retract, raw)


LAXER: list[tuple[str, dict[str, Any]]] = [
    ("too_large", {"content": "x" * 300_000}),
    ("too_deep", {"origin": {"a": json.loads("[" * 70 + "]" * 70)}}),
    ("unsupported_version", {"schema_version": 1.0}),
    ("unsupported_version", {"schema_version": True}),
    ("wrong_type", {"object": 2**63}),
    ("wrong_type", {"namespace": ""}),
    ("wrong_type", {"observation_id": " "}),
    ("wrong_type", {"source": {"document": ""}}),
    ("control_character", {"content": "\x00"}),
    ("blank_subject", {"subject": "..."}),
    ("blank_predicate", {"predicate": "_"}),
    ("blank_object", {"object": ""}),
    ("bad_instant", {"observed_at": "yesterday"}),
    ("bad_instant", {"valid_to": 1e300}),
    ("inverted_interval", {"valid_from": "2024", "valid_to": "2023"}),
    ("future_observed_at", {"observed_at": "2030-01-01"}),
]


@pytest.mark.parametrize(("code", "changes"), LAXER, ids=[f"{code} {n}" for n, (code, _) in enumerate(LAXER)])
def test_what_only_reading_a_value_can_tell_is_told_by_the_door_alone(
    code: str, changes: dict[str, Any]
) -> None:
    raw = as_json({**GOOD, **changes})

    assert model_accepts(events.Observation, raw)
    assert verdict(raw) == code
