"""POST /v1/observations: each record judged at once, answered once durable, read right afterwards."""

from __future__ import annotations

import json

import pytest

from state.validation import CODES
from tests.api.served import Served, ndjson, problem, said

JSON = {"Content-Type": "application/json"}


def test_an_accepted_observation_is_a_fact_in_the_next_answer(served: Served) -> None:
    response = served.client.post(
        "/v1/observations", json=said("ann", "Oslo", "2024-05-01", observation_id="o1")
    )

    assert response.status_code == 200
    assert response.json()["accepted"] == 1
    assert response.json()["results"][0]["observation_id"] == "o1"
    (fact,) = served.get("/v1/facts", subject="ANN", state="open")["items"]
    assert (fact["object"], fact["supported_by"]) == ("Oslo", ["o1"])


def test_an_observation_without_id_is_told_the_one_that_it_got(served: Served) -> None:
    sent = said("id-less", "Oslo", "2024-05-01")

    first = served.client.post("/v1/observations", json=sent).json()["results"][0]
    again = served.client.post("/v1/observations", json=sent).json()["results"][0]

    assert first["observation_id"].startswith("sha-") or first["observation_id"]
    assert again == first
    (fact,) = served.get("/v1/facts", subject="id-less")["items"]
    assert fact["support"] == 1


def test_every_line_has_a_result_of_its_own(served: Served) -> None:
    body = ndjson([said("ben", "Oslo", "2024-05-01")]) + b"\n{broken\n" + ndjson(
        [said("ben", "Rome", "2999-01-01"), {"predicate": "p"}, said("ben", "Lima", "2024-06-01")]
    )  # fmt: skip

    response = served.client.post(
        "/v1/observations", content=body, headers={"Content-Type": "application/x-ndjson; charset=utf-8"}
    )

    assert response.status_code == 207
    found = response.json()
    assert (found["accepted"], found["rejected"]) == (2, 3)
    assert [(one["line"], one["accepted"], one.get("code")) for one in found["results"]] == [
        (1, True, None), (2, False, "not_json"), (3, False, "future_observed_at"),
        (4, False, "missing_field"),        (5, True, None),
    ]  # fmt: skip
    assert {one["object"] for one in served.get("/v1/facts", subject="ben")["items"]} == {"Oslo", "Lima"}


def test_an_array_is_taken_element_by_element(served: Served) -> None:
    response = served.client.post("/v1/observations", json=[said("cleo", "Oslo", "2024-05-01"), 17])

    assert response.status_code == 207
    assert [one["accepted"] for one in response.json()["results"]] == [True, False]
    assert response.json()["results"][1]["code"] == "not_an_object"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "not_json"),
        (b"[", "not_json"),
        (b"nul", "not_json"),
        (b'{"subject": "\xff"}', "not_utf8"),
        (b"[" * 200 + b"]" * 200, "too_deep"),
        (json.dumps(said("x", "y", "2024", content="z" * 300_000)).encode(), "too_large"),
        (json.dumps({"op": "retract", "observation_id": "x"}).encode(), "wrong_type"),
        (json.dumps(said("\u0000", "y", "2024")).encode(), "control_character"),
        (json.dumps(said("...", "y", "2024")).encode(), "blank_subject"),
    ],
)
def test_a_request_of_which_nothing_can_be_used_is_refused_with_the_code_of_its_first_record(
    served: Served, body: bytes, code: str
) -> None:
    response = served.client.post("/v1/observations", content=body, headers=JSON)

    assert problem(response) == (422, "nothing_accepted")
    assert response.json()["results"][0]["code"] == code
    assert code in CODES


def test_an_empty_array_is_nothing_and_no_fault(served: Served) -> None:
    response = served.client.post("/v1/observations", json=[])

    assert response.status_code == 200
    assert response.json() == {"accepted": 0, "rejected": 0, "results": []}


def test_the_loser_of_an_id_is_told_so(served: Served) -> None:
    one, other = (said("dup", value, "2024-05-01", observation_id="same") for value in ("Oslo", "Rome"))

    answers = [served.client.post("/v1/observations", json=line).json() for line in (one, other)]
    results = [answer["results"][0] for answer in answers]

    # The smaller content hash keeps the id, whatever came first; whoever sent the other learns it only
    # where it came second.
    evidence = served.get("/v1/facts", subject="dup")["items"]
    kept = evidence[0]["object"]
    assert results[0]["accepted"] is True
    assert results[1]["accepted"] is (kept == "Rome")
    if kept == "Oslo":
        assert results[1]["code"] == "duplicate_id"


def test_a_form_and_plain_text_are_refused_since_any_page_could_send_them(served: Served) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        response = served.client.post(
            "/v1/observations", content=json.dumps(said("x", "y", "2024")), headers={"Content-Type": kind}
        )
        assert problem(response) == (415, "unsupported_media_type"), kind


def test_too_many_records_at_once_are_refused_and_none_is_kept(serve) -> None:  # type: ignore[no-untyped-def]
    served = serve(FACTDRIFT_API_LINES_MAX="3")

    response = served.publish(*[said("many", f"v{n}", "2024-05-01") for n in range(4)])

    assert problem(response) == (413, "too_many_lines")
    assert served.get("/v1/facts", subject="many")["items"] == []
