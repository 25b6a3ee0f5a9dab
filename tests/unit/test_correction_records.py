"""Corrections as producers send them: what is read, what is refused, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.correction_records import CORRECTION_CODES, OPS, is_correction, read_correction
from state.corrections import Forget, Invalidate, Relate, Supersede, Target
from state.errors import BadInput
from state.identity import claim_id
from state.instants import Instant, parse_instant
from state.objects import type_object
from state.validation import CODES

NOW = parse_instant("2024-06-01T12:00:00Z")
SUPERSEDE: dict[str, Any] = {
    "op": "supersede",
    "subject": "Kim ",
    "predicate": "Lives In",
    "target": {"id": "f1", "object": "Paris", "at": "2024-01-01", "observation_ids": ["o1"]},
    "object": "London",
    "valid_at": "2024-05",
    "reason": "moved",
}
INVALIDATE: dict[str, Any] = {
    "op": "invalidate",
    "subject": "Kim",
    "predicate": "lives_in",
    "target": {"id": "f1"},
    "reason": "wrong",
}
LINK: dict[str, Any] = {
    **INVALIDATE,
    "op": "link",
    "kind": "refines",
    "source": {"observation_ids": ["o2"]},
}
FORGET: dict[str, Any] = {"op": "forget", "scope": "subject", "subject": "Kim", "reason": "asked for"}
SENT = {"supersede": SUPERSEDE, "invalidate": INVALIDATE, "link": LINK, "forget": FORGET}


def test_there_is_an_example_of_every_correction() -> None:
    assert tuple(SENT) == OPS
    assert all(is_correction(fields) for fields in SENT.values())
    assert not is_correction({"op": "retract"})


def test_a_supersede_is_normalised_typed_and_dated() -> None:
    read = read_correction(SUPERSEDE, recorded_at=NOW)

    assert isinstance(read, Supersede)
    assert (read.subject, read.predicate) == ("kim", "lives_in")
    assert read.claim == claim_id("default", "kim", "lives_in")
    assert (read.form, read.spelling) == (type_object("London").key, "London")
    assert (read.valid_at, read.granularity) == (parse_instant("2024-05-01"), "month")
    assert (read.reason, read.confidence, read.decided_at, read.recorded_at) == ("moved", 1.0, None, NOW)
    assert read.target == Target(
        id="f1", form=type_object("Paris").key, at=parse_instant("2024-01-01"), observation_ids=("o1",)
    )


def test_a_decision_holds_from_when_it_was_decided_and_that_is_when_it_was_recorded() -> None:
    bare = read_correction(INVALIDATE, recorded_at=NOW)
    dated = read_correction({**INVALIDATE, "decided_at": "2024-02-03"}, recorded_at=NOW)

    assert isinstance(bare, Invalidate)
    assert isinstance(dated, Invalidate)
    assert (bare.valid_at, dated.valid_at) == (NOW, parse_instant("2024-02-03"))


def test_a_link_names_both_its_ends() -> None:
    read = read_correction(LINK, recorded_at=NOW)

    assert isinstance(read, Relate)
    assert (read.kind, read.source, read.target) == (
        "refines", Target(observation_ids=("o2",)), Target(id="f1"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "scope", "named"),
    [
        ({"scope": "subject"}, "subject", ("kim", None, None)),
        ({"scope": "observation", "observation_id": "o1"}, "observation", ("kim", "o1", None)),
        ({"scope": "source", "source": "crm", "subject": None}, "source", (None, None, "crm")),
    ],
)
def test_a_forget_names_what_its_scope_needs(
    fields: dict[str, Any], scope: str, named: tuple[str | None, ...]
) -> None:
    read = read_correction({**FORGET, **fields}, recorded_at=NOW)

    assert isinstance(read, Forget)
    assert (read.scope, (read.subject, read.observation_id, read.source)) == (scope, named)


@pytest.mark.parametrize("op", OPS)
def test_the_same_command_at_another_time_is_the_same_correction(op: str) -> None:
    first = read_correction(SENT[op], recorded_at=NOW)
    again = read_correction(dict(reversed(SENT[op].items())), recorded_at=Instant(NOW + 9_999))

    assert (first.correction_id, first.content_hash) == (again.correction_id, again.content_hash)


@pytest.mark.parametrize(
    ("op", "changed"),
    [
        ("supersede", {"object": "Oslo"}), ("supersede", {"valid_at": "2024-04"}),
        ("supersede", {"target": {"id": "f2"}}), ("supersede", {"reason": "moved away"}),
        ("supersede", {"namespace": "other"}), ("supersede", {"confidence": 0.5}),
        ("link", {"kind": "confirms"}), ("link", {"source": {"id": "f3"}}), ("forget", {"subject": "Sam"}),
    ],
)  # fmt: skip
def test_another_content_is_another_correction(op: str, changed: dict[str, Any]) -> None:
    one, other = (read_correction(fields, recorded_at=NOW) for fields in (SENT[op], {**SENT[op], **changed}))

    assert one.correction_id != other.correction_id


@pytest.mark.parametrize(
    ("code", "op", "changed"),
    [
        ("missing_field", "supersede", {"target": None}), ("missing_field", "supersede", {"subject": None}),
        ("missing_field", "link", {"source": None}), ("missing_field", "link", {"kind": None}),
        ("missing_field", "forget", {"scope": None}), ("missing_field", "forget", {"subject": None}),
        ("missing_field", "forget", {"scope": "source"}),
        ("missing_field", "forget", {"scope": "observation"}),
        ("wrong_type", "supersede", {"target": "f1"}), ("wrong_type", "supersede", {"target": {"id": 3}}),
        ("wrong_type", "supersede", {"target": {"id": " "}}), ("wrong_type", "supersede", {"valid_at": []}),
        ("wrong_type", "supersede", {"target": {"observation_ids": "o1"}}),
        ("wrong_type", "supersede", {"target": {"observation_ids": ["o"] * 65}}),
        ("wrong_type", "supersede", {"object": []}), ("wrong_type", "forget", {"scope": "all"}),
        ("wrong_type", "supersede", {"reason": 4}), ("wrong_type", "supersede", {"confidence": "high"}),
        ("control_character", "supersede", {"reason": "a\x00"}),
        ("control_character", "supersede", {"target": {"id": "a\x00"}}),
        ("blank_subject", "supersede", {"subject": "…"}), ("blank_subject", "forget", {"subject": "…"}),
        ("blank_predicate", "supersede", {"predicate": "-"}),
        ("blank_object", "supersede", {"object": " "}),
        ("blank_target", "supersede", {"target": {"at": "2024-01-01"}}),
        ("bad_instant", "supersede", {"valid_at": "soon"}),
        ("bad_instant", "supersede", {"target": {"id": "f1", "at": "soon"}}),
        ("bad_confidence", "supersede", {"confidence": 1.2}), ("bad_confidence", "link", {"confidence": -1}),
        ("blank_reason", "invalidate", {"reason": "  "}), ("blank_reason", "forget", {"reason": "!"}),
        ("link_kind_supersedes", "link", {"kind": "supersedes"}),
        ("self_link", "link", {"source": {"id": "f1", "object": "Paris"}}),
        ("self_link", "link", {"source": {"object": "Paris"}, "target": {"object": "paris"}}),
    ],
)  # fmt: skip
def test_what_cannot_be_used_has_its_code(code: str, op: str, changed: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        read_correction({**SENT[op], **changed}, recorded_at=NOW)

    assert caught.value.code == code
    assert caught.value.message.endswith(".")


def test_no_code_of_corrections_means_something_else_for_observations() -> None:
    assert all(CODES.get(code, meaning) == meaning for code, meaning in CORRECTION_CODES.items())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(OPS), st.data())
def test_whatever_the_fields_hold_there_is_a_correction_or_one_code(op: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*SENT[op], "confidence", "decided_at", "correction_id", "namespace"]))
    fields = {**SENT[op], name: data.draw(JSON)}
    if isinstance(fields.get("target"), dict) and data.draw(st.booleans()):
        inner = data.draw(st.sampled_from(["id", "object", "at", "observation_ids"]))
        fields["target"] = {**fields["target"], inner: data.draw(JSON)}

    code = None
    try:
        read_correction(fields, recorded_at=NOW)
    except BadInput as bad:
        code = bad.code

    assert code is None or code in {**CODES, **CORRECTION_CODES}
