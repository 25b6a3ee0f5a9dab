"""REST, command line and MCP give one answer to one question, of the service and of its folder alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.events import DriftAlert
from tests.api.served import Served, said
from tests.api.surfaces import CommandLine, Rest, Tools, surfaces

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("facts", {"subject": "Kim"}),
    (
        "facts",
        {"subject": "kim", "predicate": "lives in", "valid_at": "2024-01-15", "known_at": "2024-02-15"},
    ),
    ("facts", {"subject": "kim", "overlaps": "2024-01", "known_at": "2024-02-15"}),
    ("facts", {"state": "open"}),
    ("history", {"subject": "KIM"}),
    ("history", {"subject": "kim", "predicate": "lives-in", "known_at": "2024-02-15"}),
    ("assertions", {"subject": "kim", "predicate": "lives in"}),
    ("assertions", {"subject": "kim", "predicate": "lives in", "valid_at": "2024-01-15"}),
    ("links", {}),
]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A replay with recorded times of its own, served: on 31 March the log learnt of a move in January."""
    folder = tmp_path_factory.mktemp("replayed")
    lines = [
        {**said("Kim", "Oslo", "2024-01-05"), "observation_id": "k1", "recorded_at": "2024-01-06"},
        {**said("Kim", "Bergen", "2024-01-20"), "observation_id": "k2", "recorded_at": "2024-03-31"},
        {**said("Lee", "Rome", "2024-03-30"), "observation_id": "l1", "recorded_at": "2024-03-31"},
    ]
    for number in range(7):  # moves six times in a month
        flip = said("Flip", f"city {number}", f"2024-03-{10 + number}", observation_id=f"x{number}")
        lines.append({**flip, "recorded_at": "2024-03-31"})
    source = folder / "lines.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    CommandLine("--data", str(folder / "log"))._run("replay", str(source), "--json", codes=(0,))
    served = Served(folder / "log")
    yield served
    served.end()


@pytest.mark.parametrize(("question", "wanted"), QUESTIONS, ids=range(len(QUESTIONS)))
def test_every_surface_gives_the_same_answer(replayed: Served, question: str, wanted: dict[str, Any]) -> None:
    where = ("--data", str(replayed.folder))
    found = {
        "rest": Rest(replayed).ask(question, **wanted),
        "command line": CommandLine(*where).ask(question, **wanted),
        "mcp": Tools(*where).ask(question, **wanted),
    }

    assert found["command line"] == found["rest"]
    assert found["mcp"] == found["rest"]


def test_what_was_believed_in_february_about_january_is_one_call_and_differs_from_today(
    replayed: Served,
) -> None:
    then = {"subject": "kim", "overlaps": "2024-01", "known_at": "2024-02"}
    now = {"subject": "kim", "overlaps": "2024-01"}

    for name, surface in surfaces(replayed).items():
        if name == "command line by url":
            continue  # facts are asked of a folder
        assert [fact["object"] for fact in surface.ask("facts", **then)] == ["Oslo"], name
        assert [fact["object"] for fact in surface.ask("facts", **now)] == ["Oslo", "Bergen"], name


def test_now_in_a_replayed_log_is_where_the_replay_has_got_to_on_every_surface(replayed: Served) -> None:
    whole = replayed.get("/v1/why", subject="kim", predicate="lives in")

    assert whole["now"] == "2024-03-30T00:00:00Z"
    command = CommandLine("--data", str(replayed.folder))._run("why", "kim", "lives in", "--json", codes=(0,))
    assert json.loads(command[0]) == whole
    assert (
        Tools("--data", str(replayed.folder)).call("why", {"subject": "kim", "predicate": "lives in"})
        == whole
    )


def test_who_is_unstable_is_told_alike_by_any_spelling(replayed: Served) -> None:
    names = ["FLIP", "kim", "nobody"]
    whole = replayed.get("/v1/unstable", names=names)

    assert [(one["name"], one["unstable"]) for one in whole["items"]] == [
        ("FLIP", True), ("kim", False), ("nobody", False),
    ]  # fmt: skip
    (alert,) = whole["items"][0]["alerts"]
    assert DriftAlert.model_validate_json(json.dumps(alert)).signal == "unstable"
    assert Tools("--data", str(replayed.folder)).call("unstable", {"names": names}) == whole
    assert Tools("--url", replayed.url).call("unstable", {}) == replayed.get("/v1/unstable")
    assert replayed.get("/v1/drift-alerts", subject="flip")["items"] == [alert]


def test_a_value_that_is_none_is_explained_alike(replayed: Served) -> None:
    query = {"subject": "kim", "predicate": "lives in", "object": "Lima"}
    whole = replayed.get("/v1/why-not", **query)

    command = CommandLine("--data", str(replayed.folder))._run(
        "why", "kim", "lives in", "Lima", "--json", codes=(0,)
    )
    assert json.loads(command[0])["value"] == whole["value"]
    assert Tools("--url", replayed.url).call("why", query) == whole


def test_an_assistant_finds_the_tools_with_what_they_take(served: Served) -> None:
    async def listed(client: Any) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in Tools("--url", served.url).with_client(listed)}

    assert sorted(tools) == ["correct", "facts", "forgotten", "history", "links", "unstable", "why"]
    assert all(tool.description for tool in tools.values())
    for name, tool in tools.items():
        for parameter, schema in tool.input_schema["properties"].items():
            assert schema.get("description") or "enum" in str(schema), (name, parameter)


def test_a_correction_given_in_anywhere_is_known_everywhere(served: Served) -> None:
    for number, (name, surface) in enumerate(surfaces(served).items()):
        subject = f"corrected {number}"
        served.learn(said(subject, "Oslo", "2024-01-10"))
        (fact,) = served.get("/v1/facts", subject=subject)["items"]
        command = {
            "op": "supersede", "target": {"id": fact["fact_id"]}, "object": "Rome", "reason": "moved",
            "valid_at": "2024-06-01", "decided_at": "2024-06-01", "correction_id": f"c{number}",
        }  # fmt: skip

        first, again = surface.correct(**command), surface.correct(**command)

        assert isinstance(first, dict), (name, first)
        assert first["outcome"] == "applied", name
        assert isinstance(again, dict), (name, again)
        assert again["outcome"] == "unchanged", name
        assert [f["object"] for f in Rest(served).ask("facts", subject=subject, state="open")] == ["Rome"], (
            name
        )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"op": "invalidate", "target": {"id": "none"}, "reason": "wrong"}, "unknown_target"),
        ({"op": "invalidate", "target": {"id": "FACT"}, "reason": "   "}, "blank_reason"),
        ({"op": "invalidate", "target": {"id": "FACT"}, "reason": "x", "valid_at": "never"}, "bad_instant"),
        ({"op": "retract", "observation_id": "none", "reason": "wrong"}, "unknown_target"),
    ],
    ids=range(4),
)
def test_a_refusal_has_the_same_code_everywhere(served: Served, fields: dict[str, Any], code: str) -> None:
    served.learn(said("refused", "Oslo", "2024-01-10"))
    (fact,) = served.get("/v1/facts", subject="refused")["items"]
    if fields.get("target") == {"id": "FACT"}:
        fields = {**fields, "target": {"id": fact["fact_id"]}}

    for name, surface in surfaces(served).items():
        assert surface.correct(**json.loads(json.dumps(fields))) == code, name


def test_mcp_without_a_log_or_an_api_says_what_to_do(tmp_path: Path) -> None:
    done = CommandLine("--url", "http://127.0.0.1:9")._start("links")
    assert done.returncode == 3
    assert "factdrift serve" in " ".join(done.stderr.decode().split())
    done = CommandLine("--data", str(tmp_path / "none"))._start("links")
    assert done.returncode == 3
    assert "holds no factdrift log" in " ".join(done.stderr.decode().split())
