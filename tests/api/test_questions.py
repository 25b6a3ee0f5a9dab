"""GET: filters, pages, tags, two clocks, and names of every shape."""

from __future__ import annotations

from typing import Any

import pytest

from agents.api.problems import PROBLEMS
from tests.api.served import Served, problem, said

ODD_NAMES = (
    "'; DROP TABLE facts; --", '" OR 1=1 --', "%", "_", "\\", "a/b", "../../etc/passwd", "%00", "\u202eabc",
    "ﷺ" * 40, "null", "{}", "[]", "a" * 1000, "kim\tlives", "😀", "ß", "'", "--", "/*",
)  # fmt: skip


@pytest.fixture(scope="module")
def filled(served: Served) -> Served:
    """Two moves, and thirty people."""
    served.learn(
        said("kim", "Oslo", "2024-01-10", observation_id="k1"),
        said("kim", "Rome", "2024-03-10", observation_id="k2"),
        *[said(f"person {n:02}", "Oslo", "2024-01-10") for n in range(30)],
    )
    return served


@pytest.mark.parametrize("limit", [1, 7, 31, 1000])
def test_pages_together_are_the_whole_whatever_their_size(filled: Served, limit: int) -> None:
    whole = filled.get("/v1/facts", predicate="lives in", limit=1000)["items"]

    found, cursor = [], None
    while True:
        query = {"predicate": "lives in", "limit": limit} | ({"cursor": cursor} if cursor else {})
        page = filled.get("/v1/facts", **query)
        assert len(page["items"]) <= limit
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            break

    assert found == whole
    assert len(whole) == 32


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_a_history_goes_through_all_claims_of_a_subject_without_gap_or_repeat(
    filled: Served, limit: int
) -> None:
    filled.learn(*[{**said("lee", "x", "2024-01-10"), "predicate": f"p{n}"} for n in range(5)])
    whole = filled.get("/v1/history", subject="Lee", limit=1000)["items"]

    found, cursor = [], None
    while True:
        page = filled.get("/v1/history", subject="Lee", limit=limit, **({"cursor": cursor} if cursor else {}))
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            break

    assert [one["event_id"] for one in found] == [one["event_id"] for one in whole]
    assert len(whole) == 5


def test_what_held_is_asked_by_words_and_by_instants(filled: Served) -> None:
    at = filled.get("/v1/facts", subject="kim", valid_at="2024-02")["items"]
    within = filled.get("/v1/facts", subject="kim", overlaps="2024-02/2024-04")["items"]
    before = filled.get("/v1/facts", subject="kim", known_at="2020-01-01")["items"]

    assert [one["object"] for one in at] == ["Oslo"]
    assert [one["object"] for one in within] == ["Oslo", "Rome"]
    assert before == []


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/v1/facts", {"subjct": "kim"}, (422, "invalid_parameter")),
        ("/v1/facts", {"subject": ["kim", "lee"]}, (422, "invalid_parameter")),
        ("/v1/facts", {"limit": "0"}, (422, "invalid_parameter")),
        ("/v1/facts", {"limit": "1001"}, (422, "invalid_parameter")),
        ("/v1/facts", {"cursor": "nonsense"}, (400, "bad_cursor")),
        ("/v1/facts", {"valid_at": "the day of never"}, (422, "bad_instant")),
        ("/v1/facts", {"overlaps": "2024/2023"}, (422, "bad_interval")),
        ("/v1/facts/none", {}, (404, "no_such_fact")),
        ("/v1/claims/none", {}, (404, "no_such_claim")),
        ("/v1/claims/none/evidence", {}, (404, "no_such_claim")),
        ("/v1/facts/none/evidence", {}, (404, "no_such_fact")),
        ("/v1/facts/none/history", {}, (404, "no_such_fact")),
        ("/v1/why", {"subject": "kim", "predicate": "flies to"}, (404, "no_such_claim")),
        ("/v1/why", {"subject": "kim"}, (422, "invalid_parameter")),
        ("/v1/cycles/7", {}, (404, "no_such_cycle")),
        ("/v1/corrections/none", {}, (404, "no_such_correction")),
        ("/v1/changes", {"after": "nonsense"}, (400, "bad_cursor")),
        ("/v1/changes", {"after": "0-1"}, (410, "cursor_expired")),
        ("/v1/facts/", {}, (404, "not_found")),
        ("/v2", {}, (404, "not_found")),
    ],
)
def test_every_fault_has_its_status_and_code(
    filled: Served, path: str, query: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert filled.refused(path, **query) == expected
    assert expected[1] in PROBLEMS


def test_another_method_is_refused_and_told_which_is_not(filled: Served) -> None:
    response = filled.client.delete("/v1/facts")

    assert problem(response) == (405, "method_not_allowed")
    assert response.headers["Allow"] == "GET"


def test_a_fact_that_the_reader_has_is_not_sent_again_until_it_changes(filled: Served) -> None:
    filled.learn(said("tag", "Oslo", "2024-01-10"))
    fact_id = filled.get("/v1/facts", subject="tag")["items"][0]["fact_id"]
    first = filled.client.get(f"/v1/facts/{fact_id}")
    tag = first.headers["ETag"]

    same = filled.client.get(f"/v1/facts/{fact_id}", headers={"If-None-Match": f'"x", W/{tag}'})
    filled.learn(said("tag", "Oslo", "2024-01-11"))
    changed = filled.client.get(f"/v1/facts/{fact_id}", headers={"If-None-Match": tag})

    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", tag)
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag


@pytest.mark.parametrize("name", ODD_NAMES, ids=range(len(ODD_NAMES)))
def test_a_name_of_any_shape_is_a_name_and_nothing_else(filled: Served, name: str) -> None:
    before = filled.get("/v1/facts", limit=1000)["items"]

    for path, query in (
        ("/v1/facts", {"subject": name, "predicate": name, "object": name, "namespace": name}),
        ("/v1/claims", {"subject": name}),
        ("/v1/subjects", {"text": name}),
        ("/v1/unstable", {"names": [name, name]}),
        ("/v1/history", {"subject": name}),
        ("/v1/drift-alerts", {"subject": name}),
        ("/v1/links", {"claim_id": name, "assertion_id": name}),
        ("/v1/rules", {"namespace": name}),
        ("/v1/rule-events", {"rule_id": name}),
    ):
        assert filled.client.get(path, params=query).status_code == 200, (path, name)
    for path in ("/v1/facts/{}", "/v1/claims/{}", "/v1/corrections/{}"):
        quoted = "".join(f"%{byte:02x}" for byte in name.encode()[:150])
        assert filled.client.get(path.format(quoted)).status_code in (404, 422), (path, name)
    assert filled.get("/v1/facts", limit=1000)["items"] == before


def test_a_name_of_any_shape_can_be_learnt_and_asked_for(filled: Served) -> None:
    for name in ("'; DROP TABLE facts; --", "a/b", "😀", "ﷺ", "null", "a" * 1000):
        filled.learn(said(name, "Oslo", "2024-01-10"))
        (fact,) = filled.get("/v1/facts", subject=name, limit=1000)["items"]
        assert fact["subject"] == name


def test_why_and_why_not_tell_of_the_votes(filled: Served) -> None:
    why = filled.get("/v1/why", subject="KIM", predicate="lives-in")
    not_lima = filled.get("/v1/why-not", subject="kim", predicate="lives in", object="Lima")

    assert [fact["object"] for fact in why["facts"]] == ["Oslo", "Rome"]
    assert why["value"] is None
    assert not_lima["value"]["heard"] is False


def test_evidence_tells_every_statement_with_what_was_said(filled: Served) -> None:
    (claim,) = filled.get("/v1/claims", subject="kim", predicate="lives in")["items"]

    page = filled.get(f"/v1/claims/{claim['claim_id']}/evidence")

    assert [one["observation"]["observation_id"] for one in page["items"]] == ["k1", "k2"]
    assert filled.get(f"/v1/claims/{claim['claim_id']}") == claim
    fact = filled.get("/v1/facts", claim_id=claim["claim_id"], state="open")["items"][0]
    behind = filled.get(f"/v1/facts/{fact['fact_id']}/evidence")
    assert [one["observation"]["observation_id"] for one in behind["support"]] == ["k2"]


def test_the_list_of_problems_has_every_code_with_its_status(filled: Served) -> None:
    listed = {one["code"]: one["status"] for one in filled.get("/v1/problems")}

    assert listed == {code: status for code, (status, _) in PROBLEMS.items()}
