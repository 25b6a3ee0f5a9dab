"""What docs/webhooks.md says is so: its check of a signature works, its tables and example are complete."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from state.delivering import WAITING_MAX, delay_ms
from state.webhooks import Verdict, headers, verdict, written_secret
from streams.webhook_config import WebhookEntry, parse

PAGE = (Path(__file__).parents[2] / "docs" / "webhooks.md").read_text("utf-8")
KEY, NOW = b"k" * 32, 1_700_000_000
BODY = '{"subject":"Zoë"}'.encode()


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture
def is_genuine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    names: dict[str, Any] = {}
    exec(block("python"), names)
    monkeypatch.setattr(names["time"], "time", lambda: NOW)
    found: Callable[..., bool] = names["is_genuine"]
    return found


def test_the_check_of_the_page_believes_what_we_send_and_nothing_else(
    is_genuine: Callable[..., bool],
) -> None:
    sent = headers([b"o" * 32, KEY], "drift-alerts", "e1", NOW, BODY)
    secret = written_secret(KEY)

    assert is_genuine(secret, sent, BODY)
    assert not is_genuine(secret, sent, BODY + b" ")
    assert not is_genuine(secret, {**sent, "webhook-id": "e2"}, BODY)
    assert not is_genuine(secret, {**sent, "webhook-timestamp": str(NOW - 301)}, BODY)
    assert not is_genuine(secret, {**sent, "webhook-signature": "v1,é"}, BODY)
    assert not is_genuine(written_secret(b"x" * 32), sent, BODY)


def test_the_example_of_the_file_can_be_used(tmp_path: Path) -> None:
    secret = written_secret(KEY)
    (tmp_path / "oncall.secret").write_text(secret)

    found = parse(block("toml"), path=tmp_path / "webhooks.toml", environment={"CRM_SECRET": secret})

    assert [one.name for one in found] == ["oncall", "crm"]


def test_every_key_of_the_file_is_in_the_table_with_its_default() -> None:
    rows = dict(re.findall(r"^\| (`[^|]+`) \| ([^|]+) \|", PAGE, re.MULTILINE))
    keys = {key: default for keys, default in rows.items() for key in re.findall(r"`(\w+)`", keys)}

    assert keys.keys() >= WebhookEntry.model_fields.keys()
    for name in ("timeout_s", "tries_max", "at_once"):
        assert float(keys[name]) == WebhookEntry.model_fields[name].default


def test_the_table_of_answers_says_what_every_answer_means() -> None:
    rows = re.findall(r"^\| ([^|]*(?:xx|410)[^|]*) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    meaning = {
        "delivered": Verdict.DELIVERED, "the receiver is *away*": Verdict.AWAY, "this event": Verdict.AGAIN,
        "nothing more": Verdict.GONE, "the event is a dead letter": Verdict.REFUSED,
    }  # fmt: skip

    for answers, text in rows:
        (expected,) = (found for words, found in meaning.items() if text.startswith(words))
        for status in map(int, re.findall(r"\b\d{3}\b", answers)):
            assert verdict(status) is expected, status
    assert len(rows) == len(meaning)
    assert f"At most {WAITING_MAX} events" in PAGE


def test_the_tries_take_as_long_as_the_page_says() -> None:
    tries = WebhookEntry.model_fields["tries_max"].default
    longest_h = sum(delay_ms(n, share=1) for n in range(1, tries)) / 3_600_000

    assert 5 < longest_h < 5.3
