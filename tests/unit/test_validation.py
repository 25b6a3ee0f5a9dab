"""The door: which records are usable, what they then say, and the one code that each bad record gets."""

from __future__ import annotations

import enum
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agents import composition
from agents.replay import fact_lines, records
from state.errors import BadInput
from state.identity import claim_id, fact_id
from state.instants import Instant, format_instant, parse_instant
from state.observations import Observation, Retract
from state.validation import CODES, FUTURE_SKEW_MS, NESTING_MAX, RECORD_BYTES_MAX, read, recorded_at_of
from streams.embedded import EmbeddedHost, EmbeddedStore
from streams.settings import Settings
from streams.topics import Topic

RECORDED_AT = parse_instant("2024-06-01T12:00:00Z")
AT = "2024-05-25T13:14:00Z"


class Missing(enum.Enum):
    ABSENT = "absent"

    def __repr__(self) -> str:
        return self.value


ABSENT = Missing.ABSENT
SUBJECT = {"subject": "Kim", "predicate": "lives in", "observed_at": AT}


def record(**changes: Any) -> bytes:
    """A good observation as JSON, with some fields changed, added or ABSENT."""
    fields = {**SUBJECT, "object": "Oslo", **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ABSENT}).encode()


def retraction(**changes: Any) -> bytes:
    fields = {"op": "retract", "observation_id": "o1", **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ABSENT}).encode()


def observation_in(raw: bytes) -> Observation:
    found = read(raw, recorded_at=RECORDED_AT)
    assert isinstance(found, Observation)
    return found


def observation(**changes: Any) -> Observation:
    return observation_in(record(**changes))


def code_of(raw: bytes) -> str:
    with pytest.raises(BadInput) as caught:
        read(raw, recorded_at=RECORDED_AT)
    return caught.value.code


def nested(levels: int, *, opening: str = "[", closing: str = "]") -> bytes:
    """An observation whose unknown field makes the record nest `levels` deep in all."""
    return record(x="HERE").replace(b'"HERE"', (opening * (levels - 1) + closing * (levels - 1)).encode())


def field(written: str, name: str = "confidence") -> bytes:
    """An observation in which one field is written as given, JSON or not."""
    return record(**{name: "HERE"}).replace(b'"HERE"', written.encode())


# -- one row for each way to be bad ---------------------------------------------------------

ROWS: dict[str, dict[str, bytes | tuple[bytes, ...]]] = {
    "too_large": {
        "an object of 300 KiB": record(object="x" * 300 * 1024),
        "one byte over 256 KiB": record().ljust(RECORD_BYTES_MAX + 1),
        "a retract with a reason of 300 KiB": retraction(reason="x" * 300 * 1024),
        "not even JSON": b"\xff" * (RECORD_BYTES_MAX + 1),
    },
    "not_utf8": {
        "a stray byte": b"\xff",
        "Latin-1 inside a text": record(object="caf").replace(b"caf", b"caf\xe9"),
        "an unknown field in Latin-1": record(caf=1).replace(b"caf", b"caf\xe9"),
        "UTF-16": record().decode().encode("utf-16"),
        "NUL in two bytes": record(object="x?y").replace(b"?", b"\xc0\x80"),
        "half of a surrogate pair as bytes": record(object="x?y").replace(b"?", b"\xed\xa0\x80"),
        "beyond U+10FFFF": record(object="x?y").replace(b"?", b"\xf4\x90\x80\x80"),
        "a truncated character at the end": b'"\xf0\x9f',
        "a first half, escaped": field(r'"\ud800"', "object"),
        "a second half, escaped": field(r'"\udc00"', "object"),
        "a first half in the middle of a text": field(r'"a long text \ud83d and more"', "object"),
        "a first half, then another letter escaped": field(r'"a\ud800\u0041"', "object"),
        "two first halves": field(r'"\ud800\ud800"', "object"),
        "the halves in the wrong order": field(r'"\udc00\ud800"', "object"),
        "a half in the subject": field(r'"Kim\ud800"', "subject"),
        "a half in the observation id": field(r'"o\udfff"', "observation_id"),
        "a half in an unknown field": field(r'"\ud800"', "x"),
        "a half in the name of a field": record(xx=1).replace(b"xx", rb"\ud800"),
        "a half in a retract": retraction(observation_id="HERE").replace(b"HERE", rb"\ud800"),
    },
    "too_deep": {
        "10,000 lists": nested(10_000),
        "10,000 objects": nested(10_000, opening='{"a":', closing="}").replace(b'"a":}', b'"a":1}'),
        "one level too many": nested(NESTING_MAX + 1),
        "lists that are never closed": b"[" * 100_000,
        "behind a text that is never closed": b"[" * 100 + b'"' + b'\\"' * 120_000,
    },
    "not_json": {
        "nothing": b"",
        "white space": b" \t ",
        "a word": b"hello",
        "half an object": b'{"subject": ',
        "NUL as a byte": b"\x00",
        "NUL as a byte inside a text": record(object="x?y").replace(b"?", b"\x00"),
        "a raw line break inside a text": record(object="x?y").replace(b"?", b"\n"),
        "single quotes": b"{'subject': 'Kim'}",
        "a comma at the end": record()[:-1] + b",}",
        "two records in one": record() + record(),
        "a comment": record() + b" // so it is",
        "NaN": field("NaN"),
        "Infinity": field("Infinity"),
        "-Infinity": field("-Infinity"),
        "NaN in an unknown field": field("NaN", "x"),
        "NaN beside a number that no float holds": field("[1e999, NaN]", "x"),
        "an octal number": field("01"),
        "a number with nothing after its point": field("1."),
        "a plus sign": field("+1"),
        "an unknown escape": field(r'"\x41"', "object"),
        "an escape cut short": b'{"subject": "\\ud8',
    },
    "not_an_object": {
        "a list": b"[]",
        "a list of an observation": b"[" + record() + b"]",
        "a text": b'"Kim lives in Oslo"',
        "a number": b"17",
        "a number that no float holds": b"1e999",
        "an integer of 400 digits": b"1" * 400,
        "true": b"true",
        "null": b"null",
    },
    "unsupported_version": {
        "the next one": record(schema_version=2),
        "none yet": record(schema_version=0),
        "as text": record(schema_version="1"),
        "as a fraction": record(schema_version=1.0),
        "as a boolean": record(schema_version=True),
        "an integer of 400 digits": field("1" * 400, "schema_version"),
        "a number that no float holds": field("1e999", "schema_version"),
        "of a retract": retraction(schema_version=2),
    },
    "missing_field": {
        "an empty object": b"{}",
        "no subject": record(subject=ABSENT),
        "no predicate": record(predicate=ABSENT),
        "no observed_at": record(observed_at=ABSENT),
        "a subject of null": record(subject=None),
        "a predicate of null": record(predicate=None),
        "an observed_at of null": record(observed_at=None),
        "names in another case": record(subject=ABSENT, Subject="Kim"),
        "no id in a retract": retraction(observation_id=ABSENT),
        "an id of null in a retract": retraction(observation_id=None),
    },
    "wrong_type": {
        "an object that is a list": record(object=["Oslo"]),
        "an object that is an object": record(object={"city": "Oslo"}),
        "an object of 400 digits": field("1" * 400, "object"),
        "an object of 5,000 digits": field("1" * 5_000, "object"),
        "an object beyond 64 bits": record(object=2**63),
        "an object below 64 bits": record(object=-(2**63) - 1),
        "an object that no float holds": field("1e999", "object"),
        "a confidence as text": record(confidence="1"),
        "a confidence of true": record(confidence=True),
        "an observed_at of true": record(observed_at=True),
        "an observed_at in a list": record(observed_at=[AT]),
        "a valid_from of false": record(valid_from=False),
        "a valid_to as an object": record(valid_to={"at": AT}),
        "an unknown polarity": record(polarity="maybe"),
        "a polarity of true": record(polarity=True),
        "a source as text": record(source="caroline"),
        "a source id as a number": record(source={"id": 7}),
        "an unknown category": record(source={"category": "guessed"}),
        "a blank namespace": record(namespace="  "),
        "a blank observation id": record(observation_id=""),
        "a blank document": record(source={"document": " "}),
        "an origin that is a list": record(origin=["factdrift"]),
        "an unknown op": record(op="forget-everything"),
        "an op that is a number": retraction(op=1),
        "a blank op": retraction(op=""),
        "a blank id in a retract": retraction(observation_id=" "),
        "a subject that is a number in a retract": retraction(subject=1),
        "a reason that is a list in a retract": retraction(reason=[]),
    },
    "control_character": {
        "NUL in the object": record(object="Os\x00lo"),
        "NUL alone": record(object="\x00"),
        "escape in the subject": record(subject="Kim\x1b[31m"),
        "backspace in the predicate": record(predicate="lives\x08in"),
        "delete in the namespace": record(namespace="x\x7f"),
        "a C1 control in the content": record(content="it\x92s"),
        "NUL in the observation id": record(observation_id="o\x001"),
        "NUL in the source id": record(source={"id": "\x00"}),
        "NUL in the document": record(source={"document": "d\x00"}),
        "NUL in what the document replaces": record(source={"supersedes": "d\x00"}),
        "NUL in the origin": record(origin="factdrift\x00"),
        "NUL in a time": record(observed_at=AT + "\x00"),
        "NUL in the id of a retract": retraction(observation_id="o\x001"),
        "NUL in the subject of a retract": retraction(subject="Kim\x00"),
        "NUL in the reason of a retract": retraction(reason="\x00"),
    },
    "blank_subject": {
        "empty": record(subject=""),
        "spaces": record(subject="   "),
        "punctuation": record(subject="?!"),
        "only zero-width spaces": record(subject="\u200b\u200b"),
        "of a retract": retraction(subject=" . "),
    },
    "blank_predicate": {
        "empty": record(predicate=""),
        "spaces": record(predicate="   "),
        "joints": record(predicate="_ - _"),
    },
    "blank_object": {
        "empty": record(object=""),
        "spaces": record(object="   "),
        "a no-break space": record(object="\u00a0"),
        "punctuation": record(object="…"),
        "quotes round nothing": record(object='""'),
        "line breaks": record(object="\r\n\t"),
    },
    "bad_instant": {
        "words": record(observed_at="yesterday"),
        "an empty observed_at": record(observed_at=""),
        "a month that does not exist": record(observed_at="2024-13-01T00:00:00Z"),
        "a day that does not exist": record(valid_from="2023-02-29"),
        "an observed_at coarser than a day": record(observed_at="2023-05"),
        "year 0": record(observed_at="0000-01-01T00:00:00Z"),
        "year 10000": record(valid_from="10000-01-01"),
        "a number far beyond year 9999": record(observed_at=10**18),
        "a number of 400 digits": field("1" * 400, "observed_at"),
        "a number that no float holds": field("1e999", "valid_to"),
        "a fifth quarter": record(valid_to="2023-Q5"),
        "spaces round it": record(valid_from=" 2023 "),
    },
    "inverted_interval": {
        "ends before it starts": record(valid_from="2024-02-01", valid_to="2024-01-01"),
        "ends when it starts": record(valid_from="2024-01-01T00:00:00Z", valid_to="2024-01-01T00:00:00Z"),
        "ends when it starts, written in another zone": record(
            valid_from="2024-01-01T00:00:00Z", valid_to="2024-01-01T02:00:00+02:00"
        ),
        "ends with a year before": record(valid_from="2023", valid_to="2022"),
        "ends with the start of the month that it starts in": record(
            valid_from="2023-05-01", valid_to="2023-05"
        ),
    },
    "future_observed_at": {
        "a millisecond over five minutes": record(observed_at=RECORDED_AT + FUTURE_SKEW_MS + 1),
        "next year": record(observed_at="2025-01-01"),
        "the end of time": record(observed_at="9999-12-31T23:59:59.999Z"),
    },
    "bad_confidence": {
        "over 1": record(confidence=1.0000001),
        "below 0": record(confidence=-0.1),
        "a percentage": record(confidence=95),
        "an integer of 300 digits": field("1" * 300),
        "an integer of 400 digits": field("1" * 400),
        "a number that no float holds": field("1e999"),
        "a number that no float holds, below 0": field("-1e999"),
    },
    "duplicate_id": {
        "other object": (record(observation_id="o1"), record(observation_id="o1", object="Rome")),
        "other time": (record(observation_id="o2"), record(observation_id="o2", observed_at="2024-05-26")),
    },
}
CASES = [
    pytest.param(code, raw, id=f"{code}: {name}")
    for code, rows in ROWS.items()
    for name, raw in rows.items()
    if isinstance(raw, bytes)
]


def test_every_code_has_a_row_and_every_row_a_code_in_the_same_order() -> None:
    assert list(ROWS) == list(CODES)
    assert all(ROWS.values())


@pytest.mark.parametrize(("code", "raw"), CASES)
def test_a_bad_record_gets_its_code_and_one_sentence(code: str, raw: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        read(raw, recorded_at=RECORDED_AT)

    assert caught.value.code == code
    message = caught.value.message
    assert message.endswith(".")
    assert len(message) < 600
    assert message.isprintable()
    message.encode()


@pytest.mark.parametrize("code", CODES)
def test_every_code_reaches_the_dead_letters_and_the_neighbours_are_applied(
    code: str, tmp_path: Path
) -> None:
    rows = [row if isinstance(row, tuple) else (row,) for row in ROWS[code].values()]
    lines = [record(object="Bergen"), *itertools.chain(*rows), record(subject="Sam", object="Lima")]
    store = EmbeddedStore(tmp_path)
    host = EmbeddedHost(store, composition.agents(Settings(), keeps_index=True), clock=lambda: RECORDED_AT)

    host.publish(Topic.OBSERVATIONS, [(None, line, None) for line in lines])

    letters = [json.loads(letter.value) for letter in records(store, Topic.DEAD_LETTERS)]
    assert [letter["code"] for letter in letters] == [code] * len(rows)
    held = {(line["subject"], line["object"]) for line in fact_lines(store, now=RECORDED_AT)}
    assert {("Kim", "Bergen"), ("Sam", "Lima")} <= held
    store.close()


# -- precedence -----------------------------------------------------------------------------

DEFECTS: dict[str, list[dict[str, Any]]] = {
    "unsupported_version": [{"schema_version": 2}],
    "missing_field": [{"subject": ABSENT}, {"predicate": ABSENT}, {"observed_at": ABSENT}],
    "wrong_type": [
        {"subject": 1}, {"predicate": []}, {"object": {}}, {"observed_at": True}, {"valid_from": []},
        {"valid_to": True}, {"content": 5}, {"origin": 1}, {"confidence": "1"}, {"source": 7},
        {"source": {"category": "x"}}, {"namespace": ""}, {"polarity": "x"}, {"observation_id": " "},
    ],
    "control_character": [
        {"subject": "\x00"}, {"predicate": "\x01"}, {"object": "\x02"}, {"content": "\x7f"},
        {"source": {"id": "\x03"}}, {"origin": "\x04"}, {"namespace": "\x05"}, {"valid_to": "\x06"},
        {"observation_id": "\x07"},
    ],
    "blank_subject": [{"subject": "..."}],
    "blank_predicate": [{"predicate": "-"}],
    "blank_object": [{"object": " "}],
    "bad_instant": [{"observed_at": "soon"}, {"valid_from": "then"}, {"valid_to": "2023-13"}],
    "inverted_interval": [{"valid_from": "2024", "valid_to": "2023"}],
    "future_observed_at": [{"observed_at": "2030-01-01"}],
    "bad_confidence": [{"confidence": 1.5}, {"confidence": -1}],
}  # fmt: skip
PAIRS = [
    pytest.param(first, {**other, **one}, id=f"{first} {one} before {second} {other}")
    for first, second in itertools.combinations(DEFECTS, 2)
    for one, other in itertools.product(DEFECTS[first], DEFECTS[second])
    if not one.keys() & other.keys()
]


@pytest.mark.parametrize(
    "written", [b"Os\\u0000lo", b"Os\\blo", b"Os\x7flo", b"Os\xc2\x85lo", b"Os\\u0085lo"]
)
@pytest.mark.parametrize("field", ["subject", "predicate", "object", "observation_id", "document"])
def test_a_control_character_is_found_however_the_record_writes_it(field: str, written: bytes) -> None:
    named = record(source={"document": "@"}) if field == "document" else record(**{field: "@"})
    raw = named.replace(b'"@"', b'"' + written + b'"')
    assert raw != named

    with pytest.raises(BadInput) as caught:
        read(raw, recorded_at=RECORDED_AT)

    assert caught.value.code == "control_character"


def test_the_defects_are_listed_in_the_documented_order() -> None:
    assert list(DEFECTS) == [code for code in CODES if code in DEFECTS]


@pytest.mark.parametrize(("code", "changes"), PAIRS)
def test_of_two_defects_the_one_that_is_documented_first_is_named(code: str, changes: dict[str, Any]) -> None:
    assert code_of(record(**changes)) == code


def test_a_record_with_every_defect_at_once_is_told_one_after_the_other() -> None:
    changes: dict[str, Any] = {
        "schema_version": 2, "observed_at": ABSENT, "content": 5, "observation_id": "\x00", "subject": ".",
        "predicate": "-", "object": " ", "confidence": 7,
    }  # fmt: skip
    mends: dict[str, dict[str, Any]] = {
        "unsupported_version": {"schema_version": 1},
        "missing_field": {"observed_at": "soon"},
        "wrong_type": {"content": "so"},
        "control_character": {"observation_id": "o1"},
        "blank_subject": {"subject": "Kim"},
        "blank_predicate": {"predicate": "lives_in"},
        "blank_object": {"object": "Oslo"},
        "bad_instant": {"observed_at": "2030-01-01", "valid_from": "2024", "valid_to": "2023"},
        "inverted_interval": {"valid_to": "2025"},
        "future_observed_at": {"observed_at": AT},
        "bad_confidence": {"confidence": 0.5},
    }

    told = []
    for mend in mends.values():
        told.append(code_of(record(**changes)))
        changes |= mend

    assert told == list(mends)
    assert observation(**changes).subject == "kim"


@pytest.mark.parametrize(
    ("code", "raw"),
    [
        ("too_large", b"[" * (RECORD_BYTES_MAX + 1)),
        ("too_large", b"\xff" * (RECORD_BYTES_MAX + 1)),
        ("not_utf8", b"\xff" + b"[" * 1_000),
        ("not_utf8", b"[" * 1_000 + b"\xff"),
        ("not_utf8", b"{\xff"),
        ("not_utf8", b'["\xff"]'),
        ("not_utf8", rb'["\ud800"]'),
        ("not_utf8", record(schema_version=2, x="HERE").replace(b"HERE", rb"\ud800")),
        ("not_utf8", record(subject=ABSENT, x="HERE").replace(b"HERE", rb"\ud800")),
        ("not_utf8", field("1e999").replace(b"Oslo", rb"\ud800")),
        ("too_deep", b"[" * 1_000 + b"oops"),
        ("too_deep", b"[" * 1_000 + b"]" * 1_000),
        ("not_json", b"[,]"),
        ("not_an_object", b"[2]"),
        ("unsupported_version", b'{"schema_version": 2}'),
        ("unsupported_version", b'{"schema_version": 2, "op": 1}'),
    ],
)
def test_what_ails_the_bytes_comes_before_what_ails_the_fields(code: str, raw: bytes) -> None:
    assert code_of(raw) == code


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("wrong_type", {"op": "undo", "observation_id": ABSENT}),
        ("missing_field", {"observation_id": ABSENT, "subject": 1, "reason": "\x00"}),
        ("wrong_type", {"observation_id": "\x00", "reason": 1}),
        ("wrong_type", {"subject": " ", "namespace": 1}),
        ("control_character", {"subject": " ", "reason": "\x00"}),
        ("blank_subject", {"subject": " "}),
    ],
)
def test_of_two_defects_of_a_retract_the_one_that_is_documented_first_is_named(
    code: str, changes: dict[str, Any]
) -> None:
    assert code_of(retraction(**changes)) == code


# -- kinds of values ------------------------------------------------------------------------

VALUES: Mapping[str, Any] = {
    "text": "x", "integer": 1, "fraction": 0.5, "boolean": True, "list": ["x"], "object": {"x": "x"}
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "subject": {"text": "Kim"},
    "predicate": {"text": "lives in"},
    "object": {"text": "Oslo", "integer": 5, "fraction": 0.5, "boolean": False},
    "observed_at": {"text": AT, "integer": 1_700_000_000, "fraction": 1_700_000_000.5},
    "namespace": {"text": "world"},
    "observation_id": {"text": "o1"},
    "polarity": {"text": "denied"},
    "valid_from": {"text": "2023-05", "integer": 1_700_000_000, "fraction": 1_700_000_000.5},
    "valid_to": {"text": "2030-Q2", "integer": 1_900_000_000, "fraction": 1_900_000_000.5},
    "confidence": {"integer": 1, "fraction": 0.25},
    "source": {"object": {"id": "s", "document": "d"}},
    "source.id": {"text": "caroline"},
    "source.document": {"text": "session 2"},
    "source.supersedes": {"text": "session 1"},
    "source.category": {"text": "extracted"},
    "content": {"text": "I live in Oslo."},
    "origin": {"text": "import", "object": {"system": "crm"}},
}


def with_field(name: str, value: Any) -> bytes:
    outer, dot, inner = name.partition(".")
    return record(**{outer: {inner: value} if dot else value})


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, VALUES[kind]) for name, right in KINDS.items() for kind in VALUES if kind not in right],
)
def test_a_field_of_the_wrong_kind_is_refused_and_named(name: str, value: Any) -> None:
    with pytest.raises(BadInput) as caught:
        read(with_field(name, value), recorded_at=RECORDED_AT)

    assert caught.value.code == "wrong_type"
    assert caught.value.message.startswith(f"{name} is ")


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, right in KINDS.items() for value in right.values()]
)
def test_a_field_of_a_right_kind_is_read(name: str, value: Any) -> None:
    assert observation_in(with_field(name, value)).subject == "kim"


@pytest.mark.parametrize("name", [n for n in KINDS if n not in SUBJECT])
def test_null_means_that_an_optional_field_is_absent(name: str) -> None:
    outer, _, inner = name.partition(".")

    assert observation_in(with_field(name, None)) == observation(**{outer: {} if inner else ABSENT})


@pytest.mark.parametrize("name", ["op", "schema_version", "recorded_at", "x"])
def test_null_and_unknown_fields_change_nothing(name: str) -> None:
    assert observation(**{name: None}) == observation()


def test_what_an_unknown_field_holds_does_not_matter() -> None:
    for written in ('"\\u0000"', "[[[]]]", "1e999", "-1e999", "1" * 5_000, '{"subject": "Sam"}'):
        assert observation_in(field(written, "x")) == observation()


# -- bounds ---------------------------------------------------------------------------------


def test_a_record_of_exactly_256_kib_is_read() -> None:
    assert observation_in(record().ljust(RECORD_BYTES_MAX)).subject == "kim"


def test_the_bound_on_bytes_can_be_set() -> None:
    raw = record()

    assert read(raw, recorded_at=RECORDED_AT, bytes_max=len(raw))
    with pytest.raises(BadInput, match=f"has {len(raw)} bytes; at most {len(raw) - 1} are read"):
        read(raw, recorded_at=RECORDED_AT, bytes_max=len(raw) - 1)


def test_a_record_that_nests_exactly_64_levels_is_read() -> None:
    assert observation_in(nested(NESTING_MAX)).subject == "kim"


@pytest.mark.parametrize("text", ["[" * 1_000, '\\"[' * 1_000, '{"a":' * 1_000, "\\" * 1_000 + "[" * 1_000])
def test_brackets_inside_a_text_do_not_nest(text: str) -> None:
    assert observation(content=text).content == text


def test_many_brackets_beside_each_other_do_not_nest() -> None:
    assert observation(x=[[] for _ in range(1_000)]).subject == "kim"


@pytest.mark.parametrize(("ahead_ms", "is_read"), [(-1, True), (0, True), (1, False)])
def test_an_observation_may_be_made_up_to_five_minutes_after_its_record(ahead_ms: int, is_read: bool) -> None:
    at = format_instant(Instant(RECORDED_AT + 5 * 60_000 + ahead_ms))

    if is_read:
        assert observation(observed_at=at).statement.observed_at == RECORDED_AT + 5 * 60_000 + ahead_ms
    else:
        assert code_of(record(observed_at=at)) == "future_observed_at"


def test_what_is_to_hold_in_the_future_is_no_observation_from_the_future() -> None:
    found = observation(valid_from="2200", valid_to="2300").statement

    assert (found.valid_from, found.observed_at) == (parse_instant("2200-01-01"), parse_instant(AT))


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.5, 1e-300, -0.0])
def test_a_confidence_from_0_to_1_is_read(value: float) -> None:
    assert observation(confidence=value).statement.confidence == value


@pytest.mark.parametrize(
    "value", [2**63 - 1, -(2**63), 0, -1, 1.5, 1e300, True, False, "Oslo", "C#", "🎉", "7"]
)
def test_an_object_keeps_its_value_and_its_type(value: Any) -> None:
    found = observation(object=value).statement.spelling

    assert (type(found), found) == (type(value), value)


# -- what a good record says ----------------------------------------------------------------


def test_every_field_of_a_full_record_arrives() -> None:
    found = observation_in(
        json.dumps(
            {
                "schema_version": 1, "observation_id": "s2-17", "namespace": "People",
                "subject": " “Caroline” ", "predicate": "Is pursuing", "object": "Adoption.",
                "observed_at": "2023-05-25T15:14:00+02:00",
                "polarity": "denied", "valid_from": "2023-05", "valid_to": "2023-Q4", "confidence": 0.75,
                "source": {
                    "id": "caroline", "document": "session-2", "supersedes": "session-1",
                    "category": "extracted",
                },
                "content": "I am looking at\nadoption.\t…", "origin": {"system": "crm", "row": 5},
            }
        ).encode()
    )  # fmt: skip
    said = found.statement

    assert (found.namespace, found.subject, found.predicate) == ("People", "caroline", "is_pursuing")
    assert found.claim == claim_id("People", "caroline", "is_pursuing")
    assert found.content == "I am looking at\nadoption.\t…"
    assert (said.subject, said.predicate, said.spelling) == (" “Caroline” ", "Is pursuing", "Adoption.")
    assert (said.form, said.affirmed, said.confidence, said.votes) == ("t:adoption", False, 0.75, True)
    assert said.observation_id == "s2-17"
    assert said.observed_at == parse_instant("2023-05-25T13:14:00Z")
    assert said.effective_at == said.valid_from == parse_instant("2023-05-01")
    assert said.valid_to == parse_instant("2023-10-01")
    assert (said.lo_granularity, said.hi_granularity) == ("month", "quarter")
    assert (said.source, said.document, said.supersedes) == ("caroline", "session-2", "session-1")
    assert said.extracted
    assert said.recorded_at == RECORDED_AT


def test_a_record_with_the_required_fields_alone_gets_the_defaults() -> None:
    found = observation(object=ABSENT)
    said = found.statement

    assert (found.namespace, found.content) == ("default", None)
    assert (said.spelling, said.form) == (None, "")
    assert (said.affirmed, said.confidence, said.votes, said.extracted) == (True, 1.0, True, False)
    assert (said.source, said.document, said.supersedes) == (None, None, None)
    assert (said.valid_from, said.valid_to, said.lo_granularity, said.hi_granularity) == (
        None,
        None,
        "day",
        None,
    )
    assert said.effective_at == said.observed_at == parse_instant(AT)


def test_spellings_of_one_claim_are_one_claim_and_separators_cannot_be_forged() -> None:
    spelled = {observation(predicate=p).claim for p in ("Lives In", "lives-in", "lives_in", "lives  in.")}

    assert len(spelled) == 1
    assert observation(subject="a|b", predicate="c").claim != observation(subject="a", predicate="b|c").claim
    assert observation(namespace="a").claim != observation(namespace="b").claim


# -- the id that an observation gets when it brings none --------------------------------------


def test_the_default_id_is_a_hash_that_no_release_may_change() -> None:
    assert observation(object="Oslo").statement.observation_id == "sha-4aefdf5a0a6df5b56861bac37c24f471"


@pytest.mark.parametrize(
    "same",
    [
        record(x=1),
        json.dumps({"object": "Oslo", **SUBJECT}, indent=4).encode(),
        record(observed_at="2024-05-25T15:14:00.000+02:00"),
        record(observed_at="2024-05-25T13:14:00"),
        record(namespace="default", polarity="affirmed", confidence=1, schema_version=1),
        record(source={}),
        record(source={"category": "direct"}),
        record(origin="crm"),
        record(valid_to=None),
    ],
)
def test_another_way_to_write_the_same_gives_the_same_id(same: bytes) -> None:
    assert observation_in(same).statement.observation_id == observation().statement.observation_id


def test_the_default_id_does_not_depend_on_when_the_record_arrived() -> None:
    later = read(record(), recorded_at=Instant(RECORDED_AT + 1))

    assert isinstance(later, Observation)
    assert later.statement.observation_id == observation().statement.observation_id


OTHERS: list[dict[str, Any]] = [
    {}, {"subject": "kim"}, {"predicate": "lives_in"}, {"object": "oslo"}, {"object": ABSENT}, {"object": 1},
    {"object": 1.0}, {"object": True}, {"object": "true"}, {"object": "1"}, {"namespace": "x"},
    {"observed_at": "2024-05-25T13:14:00.001Z"}, {"polarity": "denied"}, {"confidence": 0.5},
    {"content": "x"}, {"origin": "factdrift"}, {"source": {"id": "x"}}, {"source": {"document": "x"}},
    {"source": {"supersedes": "x"}}, {"source": {"category": "extracted"}}, {"valid_from": AT},
    {"valid_from": "2023"}, {"valid_from": "2023-01"}, {"valid_to": "2023"}, {"valid_to": "2023-01"},
]  # fmt: skip


def test_every_field_is_part_of_the_default_id() -> None:
    ids = {observation(**changes).statement.observation_id for changes in OTHERS}

    assert len(ids) == len(OTHERS)


def test_an_id_of_its_own_is_kept_and_leaves_the_content_hash_alone() -> None:
    own, none = observation(observation_id="o1").statement, observation().statement

    assert own.observation_id == "o1"
    assert own.content_hash == none.content_hash
    assert none.observation_id == f"sha-{none.content_hash}"


# -- partial dates ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "start", "granularity"),
    [
        ("1990s", "1990-01-01", "decade"),
        ("2023", "2023-01-01", "year"),
        ("2023-Q2", "2023-04-01", "quarter"),
        ("2023-05", "2023-05-01", "month"),
        ("2023-W07", "2023-02-13", "week"),
        ("2023-05-25", "2023-05-25", "day"),
        ("2023-05-25T13", "2023-05-25T13:00:00Z", "hour"),
        ("2023-05-25T13:14Z", "2023-05-25T13:14:00Z", "minute"),
        ("2023-05-25T13:14:15Z", "2023-05-25T13:14:15Z", "second"),
        ("2023-05-25T13:14:15.5Z", "2023-05-25T13:14:15.500Z", "millisecond"),
        (1_685_020_455, "2023-05-25T13:14:15Z", "second"),
        (1_685_020_455_500, "2023-05-25T13:14:15.500Z", "millisecond"),
    ],
)
def test_a_partial_date_starts_its_period_and_sets_the_granularity(
    written: Any, start: str, granularity: str
) -> None:
    begins = observation(valid_from=written).statement
    ends = observation(valid_to=written).statement

    assert (begins.valid_from, begins.lo_granularity) == (parse_instant(start), granularity)
    assert begins.effective_at == begins.valid_from
    assert (ends.valid_to, ends.hi_granularity) == (parse_instant(start), granularity)


@pytest.mark.parametrize(
    ("written", "start", "end"),
    [
        ("1990s", "1990-01-01", "2000-01-01"),
        ("2023", "2023-01-01", "2024-01-01"),
        ("2023-Q4", "2023-10-01", "2024-01-01"),
        ("2023-02", "2023-02-01", "2023-03-01"),
        ("2023-W52", "2023-12-25", "2024-01-01"),
        ("2023-12-31", "2023-12-31", "2024-01-01"),
    ],
)
def test_the_same_period_on_both_sides_is_the_whole_period(written: str, start: str, end: str) -> None:
    said = observation(valid_from=written, valid_to=written).statement

    assert (said.valid_from, said.valid_to) == (parse_instant(start), parse_instant(end))


@pytest.mark.parametrize("written", ["2024-01-01T00:00:00Z", "2024-01-01T00:00", 1_704_067_200])
def test_the_same_instant_on_both_sides_is_refused(written: Any) -> None:
    assert code_of(record(valid_from=written, valid_to=written)) == "inverted_interval"


def test_what_holds_until_the_end_of_time_has_no_end() -> None:
    said = observation(valid_from="9999", valid_to="9999").statement

    assert (said.valid_from, said.valid_to) == (parse_instant("9999-01-01"), None)
    assert said.hi_granularity is None


def test_an_end_without_a_start_may_lie_before_the_observation() -> None:
    said = observation(valid_to="2020").statement

    assert said.is_late_end
    assert said.effective_at == said.observed_at


# -- our own output fed back ------------------------------------------------------------------

FACT = fact_id(claim_id("default", "kim", "lives_in"), "t:oslo", 0)


@pytest.mark.parametrize(
    ("origin", "votes"),
    [
        (None, True),
        ("", True),
        ("crm", True),
        ("a note about factdrift", True),
        ("00000000-0000-4000-8000-000000000000", True),
        ({}, True),
        ({"system": "crm"}, True),
        ({"system": 7}, True),
        ({"system": None}, True),
        ("factdrift", False),
        ("Factdrift 0.1", False),
        ("factdrift:fact-created", False),
        (FACT, False),
        ({"fact_id": FACT}, False),
        ({"fact_id": None}, False),
        ({"system": "factdrift"}, False),
        ({"name": "FactDrift"}, False),
    ],
)
def test_an_observation_that_came_out_of_factdrift_never_votes(origin: Any, votes: bool) -> None:
    assert observation(origin=origin).statement.votes is votes


# -- corrections ------------------------------------------------------------------------------


def test_a_retract_names_the_observation_and_where_it_lives() -> None:
    raw = retraction(observation_id="s2-17", namespace="People", subject="“Caroline”", reason="typo")

    assert read(raw, recorded_at=RECORDED_AT) == Retract(
        observation_id="s2-17", namespace="People", subject="caroline", reason="typo", recorded_at=RECORDED_AT
    )


def test_a_retract_may_name_the_observation_alone() -> None:
    assert read(retraction(), recorded_at=RECORDED_AT) == Retract(
        observation_id="o1", recorded_at=RECORDED_AT
    )


def test_a_retract_needs_no_fields_of_an_observation_and_reads_none() -> None:
    raw = retraction(predicate=5, observed_at="never", confidence="high", schema_version=1)

    assert read(raw, recorded_at=RECORDED_AT) == Retract(observation_id="o1", recorded_at=RECORDED_AT)


# -- the recorded time of a line ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "at"),
    [
        (record(recorded_at=AT), parse_instant(AT)),
        (record(recorded_at=0), 0),
        (record(recorded_at=AT, x="HERE").replace(b'"HERE"', b"1e999"), parse_instant(AT)),
        (b'{"recorded_at": "2024-05-25T13:14:00Z"}', parse_instant(AT)),
        (record(), None),
        (record(recorded_at=None), None),
        (record(recorded_at="2023"), None),
        (record(recorded_at=True), None),
        (b'["recorded_at"]', None),
        (b'"recorded_at"', None),
        (b'{"recorded_at": ', None),
        (b'{"recorded_at": "\xff"}', None),
        (rb'{"recorded_at": "\ud800"}', None),
        (b'{"recorded_at": ' + b"[" * 100_000, None),
        (b"", None),
    ],
)
def test_a_line_brings_its_recorded_time_along_or_it_has_none(raw: bytes, at: int | None) -> None:
    assert recorded_at_of(raw) == at
