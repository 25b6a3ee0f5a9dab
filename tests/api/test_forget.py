"""Forgetting by REST, MCP and command line: it is done when it is answered, and can be proved by asking."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents import composition
from streams.settings import Settings
from streams.topics import Topic
from tests.api.served import Served, problem, said
from tests.api.surfaces import Rest, Tools, surfaces
from tests.parts.processes import wait_until

Serve = Callable[..., Served]


def forget(subject: str, **fields: Any) -> dict[str, Any]:
    return {"op": "forget", "scope": "subject", "subject": subject, "reason": "asked for", **fields}


def test_a_subject_forgotten_on_any_surface_is_gone_from_every_file_when_it_is_answered(
    served: Served,
) -> None:
    served.learn(said("bystander", "Oslo", "2024-01-10"))
    for number, (name, surface) in enumerate(surfaces(served).items()):
        subject, secret = f"Secretname{number}", f"Secretville{number}"
        served.learn(
            said(subject, "Oslo", "2024-01-10"),
            said(subject, secret, "2024-02-10", content=f"verbatim {secret}"),
        )
        served.publish({"subject": subject, "predicate": "lives in", "object": secret})
        assert not served.get("/v1/forgotten", subject=subject, text=secret)["clean"]

        answer = surface.correct(**forget(subject))

        assert isinstance(answer, dict), (name, answer)
        assert (answer["op"], answer["outcome"]) == ("forget", "applied"), name
        assert {event["reason"] for event in answer["events"]} == {"withdrawn"}, name
        assert answer["erased"]["observations-by-claim"] > 0, name
        proof = served.get("/v1/forgotten", subject=subject, text=[secret, f"verbatim {secret}"])
        assert (proof["clean"], proof["left"], proof["append_only"]) == (True, [], []), name
        assert {
            "topic observations",
            "table claims",
            "file factdrift.sqlite",
            "file read-model.sqlite",
        } <= set(proof["looked_in"])
        assert served.get("/v1/facts", subject=subject)["items"] == [], name
        again = served.get(f"/v1/corrections/{answer['correction_id']}")
        assert (again["outcome"], again["events"]) == ("applied", answer["events"]), name
    assert [fact["object"] for fact in Rest(served).ask("facts", subject="bystander")] == ["Oslo"]


@pytest.mark.parametrize(
    "fields",
    [
        {"scope": "observation", "subject": "Hana", "observation_id": "h2"},
        {"scope": "source", "source": "gossip", "subject": "Hana"},
        {"scope": "source", "source": "gossip"},
    ],
    ids=["observation", "source-of-a-subject", "source"],
)
def test_an_observation_or_a_source_is_forgotten_and_what_it_had_retired_holds_again(
    serve: Serve, fields: dict[str, Any]
) -> None:
    served = serve()
    served.learn(
        said("Hana", "Oslo", "2024-01-10", observation_id="h1"),
        said("Hana", "Nowhereville", "2024-02-10", observation_id="h2", source={"id": "gossip"}),
    )
    learnt_at = served.get("/v1/facts", subject="hana")["items"][0]["recorded_at"]

    answer = served.correct(op="forget", reason="asked for", **fields).json()

    assert answer["outcome"] == "applied"
    assert [fact["object"] for fact in served.get("/v1/facts", subject="hana", state="open")["items"]] == [
        "Oslo"
    ]
    assert served.get("/v1/forgotten", text="Nowhereville")["clean"]
    assert served.get("/v1/facts", subject="hana", known_at=learnt_at)["incomplete"]


def test_the_same_wish_again_forgets_what_was_said_since(served: Served) -> None:
    served.learn(said("Twice", "Oslo", "2024-01-10"))
    first = served.correct(**forget("twice")).json()
    unchanged = served.correct(**forget("twice")).json()
    served.learn(said("Twice", "Laterville", "2024-02-10"))

    second = served.correct(**forget("twice")).json()

    assert [one["outcome"] for one in (first, unchanged, second)] == ["applied", "unchanged", "applied"]
    assert first["correction_id"] == second["correction_id"]
    assert served.get("/v1/forgotten", text="Laterville")["clean"]
    assert served.get("/v1/facts", subject="twice")["items"] == []


def test_a_wish_that_nobody_has_carried_out_is_carried_out_by_the_service(serve: Serve) -> None:
    served = serve()
    served.learn(said("Interrupted", "Halfwayville", "2024-01-10"), said("bystander", "Oslo", "2024-01-10"))
    served.kill()
    host = composition.embedded(Settings(), served.folder)  # as a service that dies before it erases
    host.publish(Topic.CORRECTIONS, [(None, json.dumps(forget("interrupted")).encode(), None)])
    host.store.close()

    served.start()

    assert served.get("/v1/forgotten", subject="interrupted", text="Halfwayville")["clean"]
    assert served.get("/v1/facts", subject="interrupted")["items"] == []
    assert len(served.get("/v1/facts", subject="bystander")["items"]) == 1


def test_words_of_others_are_found_and_named_and_assistants_are_told_the_same(serve: Serve) -> None:
    served = serve(FACTDRIFT_TICK_S="3600")  # a cycle that closes in between would say it once more
    served.learn(said("Ida", "Oslo", "2024-01-10"), said("Jon", "with Ida", "2024-01-10"))
    served.correct(**forget("ida"))

    proof = served.get("/v1/forgotten", subject="Ida")

    assert not proof["clean"]
    assert {"table claims", "topic observations"} <= in_the_log(proof).keys()
    assert any(find["where"].startswith("file factdrift.sqlite") for find in proof["left"])
    for tools in (Tools("--url", served.url), Tools("--data", str(served.folder))):
        found = tools.call("forgotten", {"subject": "Ida"})
        assert isinstance(found, dict)
        assert in_the_log(found) == in_the_log(proof)


def in_the_log(proof: dict[str, Any]) -> dict[str, int]:
    """What was found in topics and tables. In which file it lies depends on when SQLite copies its log."""
    return {f["where"]: f["found"] for f in proof["left"] if not f["where"].startswith("file")}


@pytest.mark.parametrize("query", [{}, {"subject": "  "}, {"text": ["Oslo", ""]}], ids=range(3))
def test_a_search_for_no_words_is_refused(served: Served, query: dict[str, Any]) -> None:
    assert problem(served.client.get("/v1/forgotten", params=query)) == (422, "blank_text")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"reason": " "}, (422, "blank_reason")),
        ({"scope": "world"}, (422, "wrong_type")),
        ({"subject": None}, (422, "missing_field")),
        ({"subject": "…"}, (422, "blank_subject")),
        ({"target": {"id": "x"}}, (422, "unknown_field")),
    ],
    ids=range(5),
)
def test_a_wish_that_cannot_be_read_is_refused_with_its_code_and_nothing_is_forgotten(
    served: Served, changes: dict[str, Any], expected: tuple[int, str]
) -> None:
    served.learn(said("kept", "Oslo", "2024-01-10"))

    assert problem(served.correct(**{**forget("kept"), **changes})) == expected
    assert len(served.get("/v1/facts", subject="kept")["items"]) == 1


def test_a_folder_without_a_service_is_searched_and_erased_by_assistants_too(tmp_path: Path) -> None:
    host = composition.embedded(Settings(), tmp_path / "log")
    host.publish(
        Topic.OBSERVATIONS, [(None, json.dumps(said("Solo", "Aloneville", "2024-01-10")).encode(), None)]
    )
    host.store.close()
    tools = Tools("--data", str(tmp_path / "log"))

    done = tools.correct(**forget("Solo"))

    assert isinstance(done, dict), done
    assert done["outcome"] == "applied"
    proof = tools.call("forgotten", {"text": ["Solo", "Aloneville"]})
    assert isinstance(proof, dict)
    assert proof["clean"]


def test_where_another_process_keeps_the_bytes_that_is_said_and_the_service_tries_again(serve: Serve) -> None:
    served = serve(FACTDRIFT_TICK_S="1")
    served.learn(said("Kept", "Heldville", "2024-01-10"))
    reader = sqlite3.connect(served.folder / "read-model.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM facts").fetchone()  # and looks no further for a while

    refused = served.correct(**forget("kept"))

    assert problem(refused) == (503, "file_in_use")
    reader.close()

    def is_clean() -> bool:
        answer = served.client.get("/v1/forgotten", params={"subject": "kept", "text": "Heldville"})
        return answer.is_success and bool(answer.json()["clean"])  # or busy with the second try

    wait_until(is_clean, timeout_s=120, what="the files to be clean")
    assert served.get("/v1/facts", subject="kept")["items"] == []
