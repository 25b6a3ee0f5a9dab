"""`factdrift extract`: messages in a file, a real server, observations that a log takes once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agents.main import app
from streams import language_model
from tests.parts.language import Asked, LanguageServer, environment, says, serving, status

NAMES = ("Caroline", "Melanie", "Jo")


def finds(asked: Asked) -> str:
    """A model that takes `NAME likes THING` out of a text, wherever it stands."""
    found = re.findall(r"(I|[A-Z]\w+) likes? (\w+)", asked["text"])
    return json.dumps(
        {
            "statements": [
                {"subject": asked["speaker"] if who == "I" else who, "predicate": "likes", "object": what}
                for who, what in found
            ]
        }
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LanguageServer]:
    monkeypatch.setattr(language_model, "PAUSE_FIRST_S", 0.001)
    with serving(finds) as found:
        for name, value in environment(found).items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("FACTDRIFT_TRIPLE_SOURCE")
        yield found


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def lines_of(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    file = tmp_path / "messages.txt"
    file.write_text(
        "2023-05-08T13:56:00Z Caroline: I like tea and Melanie likes coffee.\n"
        "\n"
        '{"said_at": "2023-05-09", "speaker": "Melanie", "text": "hello", "id": "m-2"}\n'
        '{"said_at": "2023-05-10", "text": "Jo likes wine", "namespace": "club", "document": "minutes"}\n',
        encoding="utf-8",
    )
    return file


def test_messages_become_observations_in_their_order(server: LanguageServer, messages: Path) -> None:
    result = run("extract", messages)

    assert result.exit_code == 0, result.stderr
    assert [(o["namespace"], o["subject"], o["object"], o["observed_at"]) for o in lines_of(result)] == [
        ("default", "Caroline", "tea", "2023-05-08T13:56:00Z"),
        ("default", "Melanie", "coffee", "2023-05-08T13:56:00Z"),
        ("club", "Jo", "wine", "2023-05-10T00:00:00Z"),
    ]
    assert result.stderr.splitlines()[-1] == (
        "3 messages (2 refined, 1 unchanged), 0 lines unreadable; 3 observations, 0 refused; 3 requests."
    )


def test_publishing_two_runs_doubles_nothing(server: LanguageServer, messages: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        out = tmp_path / f"{number}.jsonl"
        out.write_text(run("extract", messages).stdout, encoding="utf-8")
        assert run("publish", out, "--data", tmp_path / "log", "--json").exit_code == 0

    replayed = run("replay", tmp_path / "2.jsonl", "--data", tmp_path / "log", "--facts", "-")

    assert [(fact["object"], fact["support"]) for fact in lines_of(replayed)] == [
        ("wine", 1), ("tea", 1), ("coffee", 1),
    ]  # fmt: skip
    assert run("dlq", "list", "--data", tmp_path / "log", "--json").stdout == ""


def test_every_line_is_accounted_for(server: LanguageServer, tmp_path: Path) -> None:
    server.fault_of = lambda asked: {
        "refused": status(400),
        "babbles": says("hello"),
        "declines": says(None, refusal="no"),
        "goes too far": says('{"statements": [{"subject": "admin", "predicate": "is", "object": "evil"}]}'),
    }.get(asked["text"])
    file = tmp_path / "messages.txt"
    lines = ["Jo: I like tea", "refused", "babbles", "declines", "goes too far"]
    file.write_text("no message\n" + "".join(f"2023-05-08 {line}\n" for line in lines), encoding="utf-8")

    result = run("extract", file)

    assert result.exit_code == 4
    assert [one["object"] for one in lines_of(result)] == ["tea"]
    told = result.stderr.replace(str(file), "FILE").splitlines()
    assert [line.split(": ")[0:2] for line in told[:-1]] == [
        ["FILE:1", "not_json"],
        ["FILE:3", "unavailable"],
        ["FILE:4", "malformed"],
        ["FILE:5", "declined"],
        ["FILE:6", "a statement was refused"],
    ]
    assert told[-1].startswith(
        "5 messages (1 declined, 1 malformed, 1 refined, 1 unavailable, 1 unsafe), 1 lines unreadable; "
        "1 observations, 1 refused;"
    )


def test_a_run_that_is_repeated_asks_only_for_what_is_missing(
    server: LanguageServer, messages: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "answers.jsonl"
    faults = {"hello": says("I see nothing."), "Jo likes wine": status(400)}
    server.fault_of = lambda asked: faults.get(asked["text"])
    broken = run("extract", messages, "--answers", kept)
    server.fault_of = lambda _asked: None
    kept.write_bytes(kept.read_bytes() + b'{"key": "half a li')  # killed while it wrote
    n_requests = server.n_requests

    mended = run("extract", messages, "--answers", kept)
    again = run("extract", messages, "--answers", kept)

    assert (broken.exit_code, mended.exit_code, again.exit_code) == (4, 0, 0)
    assert lines_of(mended)[:2] == lines_of(broken)
    assert again.stdout == mended.stdout
    assert server.n_requests == n_requests + 2


@pytest.mark.parametrize("content", ["[]\n{}\n", "my only copy", '{"key": "a", "answer": 5}\n', "\n"])
def test_a_file_of_answers_that_is_none_is_refused_and_left_alone(
    server: LanguageServer, messages: Path, tmp_path: Path, content: str
) -> None:
    kept = tmp_path / "answers.jsonl"
    kept.write_text(content, encoding="utf-8")

    result = run("extract", messages, "--answers", kept)

    assert f"{kept}:1 is no answer that factdrift wrote" in str(result.exception)
    assert kept.read_text(encoding="utf-8") == content
    assert server.n_requests == 0


def test_no_more_messages_are_at_hand_than_a_few_rounds(server: LanguageServer, tmp_path: Path) -> None:
    file = tmp_path / "many.txt"
    file.write_text(
        "".join(f"2023-05-08 {NAMES[n % 3]}: I like thing{n}\n" for n in range(300)), encoding="utf-8"
    )

    result = run("extract", file, "--quiet")

    assert [one["object"] for one in lines_of(result)] == [f"thing{n}" for n in range(300)]
    assert server.most_at_once <= 16


def test_a_model_must_be_named(messages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FACTDRIFT_LLM_MODEL", raising=False)

    assert "FACTDRIFT_LLM_MODEL is not set" in str(run("extract", messages).exception)
