"""POST /v1/corrections: what each does, that the same twice is one, and every refusal with its code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.served import Served, problem, said


def only_fact(served: Served, subject: str, **query: Any) -> Any:
    (fact,) = served.get("/v1/facts", subject=subject, **query)["items"]
    return fact


def test_f22_retracting_what_had_retired_a_fact_opens_it_again(served: Served) -> None:
    served.learn(
        said("f22", "Oslo", "2024-01-10", observation_id="f22-a"),
        said("f22", "Rome", "2024-02-10", observation_id="f22-b"),
    )

    answer = served.correct(op="retract", observation_id="f22-b", reason="said of somebody else").json()

    assert answer["outcome"] == "applied"
    assert {(e["object"], e["revision"] or e["event"]) for e in answer["events"]} == {
        ("Oslo", "reinstated"), ("Rome", "fact-invalidated"),
    }  # fmt: skip
    assert only_fact(served, "f22", state="open")["object"] == "Oslo"
    assert served.get(f"/v1/corrections/{answer['correction_id']}")["events"] == answer["events"]


def test_f23_retracting_one_of_three_supporters_leaves_the_fact(served: Served) -> None:
    served.learn(*[said("f23", "Oslo", f"2024-01-1{n}", observation_id=f"f23-{n}") for n in range(3)])
    before = only_fact(served, "f23")

    served.correct(op="retract", observation_id="f23-1", reason="wrong person")

    after = only_fact(served, "f23")
    assert (before["support"], after["support"]) == (3, 2)
    assert after["confidence"] < before["confidence"]


def test_f24_a_superseded_value_comes_back_only_by_new_and_enough_evidence(served: Served) -> None:
    served.learn(said("f24", "A", "2024-01-10"))
    fact = only_fact(served, "f24")
    command = {
        "op": "supersede", "target": {"id": fact["fact_id"]}, "object": "B", "valid_at": "2024-06-01",
        "decided_at": "2024-06-01", "reason": "moved", "correction_id": "f24",
    }  # fmt: skip

    first, again = served.correct(**command), served.correct(**command)

    assert {one["event"] for one in first.json()["events"]} == {"fact-invalidated", "fact-created"}
    assert (again.status_code, again.json()["outcome"], again.json()["events"]) == (200, "unchanged", [])
    served.learn(
        *[said("f24", "A", f"2024-02-{n:02}", source={"id": "s", "document": f"o{n}"}) for n in range(1, 21)]
    )
    assert only_fact(served, "f24", state="open")["object"] == "B"
    served.learn(
        *[said("f24", "A", f"2024-07-0{n}", source={"id": "s", "document": f"n{n}"}) for n in range(1, 6)]
    )
    back = only_fact(served, "f24", state="open")
    assert (back["object"], back["against"]) == ("A", "f24")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"reason": "   "}, (422, "blank_reason")),
        ({"reason": None}, (422, "missing_field")),
        ({"confidence": 1.2}, (422, "bad_confidence")),
        ({"target": {"id": "none"}, "subject": "l11", "predicate": "lives in"}, (404, "unknown_target")),
        ({"target": {"id": "none"}}, (404, "unknown_target")),
        ({"target": {}, "subject": "l11", "predicate": "lives in"}, (422, "blank_target")),
        ({"target": "x"}, (422, "missing_field")),
        ({"valid_at": "never"}, (422, "bad_instant")),
        ({"vaild_at": "2024"}, (422, "unknown_field")),
        ({"op": "abolish"}, (422, "wrong_type")),
        ({"op": None}, (422, "wrong_type")),
    ],
)
def test_l11_what_cannot_be_done_is_refused_with_its_code_and_nothing_is_written(
    served: Served, changes: dict[str, Any], expected: tuple[int, str]
) -> None:
    served.learn(said("l11", "Paris", "2024-01-10"))
    fact = only_fact(served, "l11")
    command = {"op": "invalidate", "target": {"id": fact["fact_id"]}, "reason": "wrong", **changes}

    assert problem(served.correct(**command)) == expected
    assert only_fact(served, "l11") == fact


def test_l11_what_was_closed_before_and_an_id_that_is_taken_are_conflicts(served: Served) -> None:
    served.learn(said("l11b", "Paris", "2024-01-10"))
    target = {"id": only_fact(served, "l11b")["fact_id"]}
    assert served.correct(op="invalidate", target=target, reason="wrong", correction_id="l11b").is_success

    closed = served.correct(
        op="supersede", target=target, object="Rome", reason="moved", correction_id="l11c"
    )
    taken = served.correct(op="invalidate", target=target, reason="another", correction_id="l11b")

    assert problem(closed) == (409, "already_closed")
    assert problem(taken) == (409, "correction_id_taken")
    assert problem(served.client.get("/v1/corrections/l11c")) == (409, "already_closed")


def test_a_retract_of_an_id_that_several_subjects_have_must_say_whose(served: Served) -> None:
    served.learn(*[said(f"both {n}", "Oslo", "2024-01-10", observation_id="shared") for n in range(2)])

    unsaid = served.correct(op="retract", observation_id="shared", reason="wrong")
    said_whose = served.correct(op="retract", observation_id="shared", subject="BOTH 1", reason="wrong")

    assert problem(unsaid) == (422, "missing_field")
    assert said_whose.json()["outcome"] == "applied"
    assert only_fact(served, "both 0")["support"] == 1
    assert served.get("/v1/facts", subject="both 1")["items"] == []


def test_an_unknown_observation_is_not_retracted_unless_its_subject_is_named(served: Served) -> None:
    assert problem(served.correct(op="retract", observation_id="none", reason="x y")) == (
        404,
        "unknown_target",
    )
    assert served.correct(op="retract", observation_id="later", subject="f25", reason="x y").json()[
        "outcome"
    ] == ("unchanged")
    served.learn(said("f25", "Oslo", "2024-01-10", observation_id="later"))
    assert served.get("/v1/facts", subject="f25")["items"] == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"17", b'{"op": "retract", "op": 3}', b"\xff"])
def test_a_body_that_is_no_correction_is_refused(served: Served, body: bytes) -> None:
    response = served.client.post(
        "/v1/corrections", content=body, headers={"Content-Type": "application/json"}
    )

    assert problem(response)[0] in (400, 422)
