"""Lines of the log: hostile text stays inside its line, and no secret is in any."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from streams.log_lines import HIDDEN, TEXT_MAX, as_json, as_text, hidden, printable, scrubbed, secrets_of
from streams.settings import ApiSettings, KafkaSettings, LanguageModelSettings, Settings, VectorSettings

HOSTILE = "kim\n2026-01-01 ERROR forged\r\x1b[31m\u202eevil\u2028\x85\x00\u200b\ud800\U000e0041"


def line(**fields: Any) -> dict[str, Any]:
    return {
        "timestamp": "2026-11-30T12:00:00Z",
        "level": "info",
        "logger": "agents.a",
        "event": "e",
        **fields,
    }


def is_seen(one: str) -> bool:
    return unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


# -- one line is one line -------------------------------------------------------------------


@given(st.text() | st.just(HOSTILE))
def test_whatever_is_told_is_one_line_of_json_that_says_it_again(text: str) -> None:
    written = as_json(line(event=text, name=text))

    assert len(written.splitlines()) == 1
    assert all(is_seen(one) for one in written)
    assert json.loads(written) == line(event=text, name=text)


@given(st.text() | st.just(HOSTILE))
def test_whatever_is_told_is_one_line_of_text(text: str) -> None:
    written = as_text(line(event=text, name=text))

    assert len(written.splitlines()) == 1
    assert all(is_seen(one) for one in written)


def test_a_traceback_stands_below_its_line_and_forges_none() -> None:
    told = as_text(line(exception=f"Traceback\n  ValueError: {HOSTILE}"))

    first, *below = told.split("\n")
    assert first == "2026-11-30T12:00:00Z INFO agents.a: e"
    assert below
    assert all(one.startswith("    ") for one in below)


@pytest.mark.parametrize("text", ["plain", "Größe 北京 🙂", "a\u00a0b", ""])
def test_what_can_be_seen_stays(text: str) -> None:
    assert printable(text) == text


def test_what_every_line_has_stands_in_front() -> None:
    written = as_json({"reason": "r", "event": "e", "logger": "l", "level": "info", "timestamp": "t"})

    assert list(json.loads(written)) == ["timestamp", "level", "logger", "event", "reason"]


def test_values_of_text_with_spaces_are_quoted() -> None:
    assert as_text(line(reason="it is away", n=3)).endswith('e reason="it is away" n=3')


# -- secrets --------------------------------------------------------------------------------


SETTINGS = Settings(
    redis_url=SecretStr("redis://user:r3d%40is@localhost/0"),
    read_model_url=SecretStr("postgresql://u:p0stgres@localhost/db"),
    kafka=KafkaSettings(password=SecretStr("kafka-pass")),
    api=ApiSettings(tokens=SecretStr("token-one, token-two")),
    llm=LanguageModelSettings(api_key=SecretStr("sk-llm")),
    vector=VectorSettings(api_key=SecretStr("sk-vectors")),
)
SECRETS = ("r3d%40is", "r3d@is", "p0stgres", "kafka-pass", "token-one", "token-two", "sk-llm", "sk-vectors")


def test_every_secret_of_the_settings_is_known() -> None:
    assert set(secrets_of(SETTINGS)) == set(SECRETS)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_of_the_settings_is_in_no_line(secret: str) -> None:
    told = line(event=f"refused {secret}!", reason=f"b'\\x00user\\x00{secret}'", cause=ValueError(secret))

    written = as_json(scrubbed(told, secrets_of(SETTINGS)))

    assert secret not in written
    assert written.count(HIDDEN) == 3


@pytest.mark.parametrize(
    "text",
    [
        "no connection to redis://me:hush@host:6379/0",
        "Authorization: Bearer hush",
        "it sent bearer hush.a-b_c/d=",
        "the key is whsec_hush",
    ],
)
def test_what_is_a_secret_by_its_form_is_hidden(text: str) -> None:
    assert "hush" not in hidden(text, [])
    assert HIDDEN in hidden(text, [])


@pytest.mark.parametrize("name", ["password", "api_key", "apikey", "Authorization", "access_token", "secret"])
def test_a_value_of_a_name_that_means_a_secret_is_hidden(name: str) -> None:
    assert scrubbed({name: "hush", "event": "e"}, []) == {name: HIDDEN, "event": "e"}


def test_a_short_secret_is_not_looked_for_since_every_line_would_have_it() -> None:
    assert secrets_of(Settings(kafka=KafkaSettings(password=SecretStr("abc")))) == []


def test_numbers_stay_numbers_and_long_texts_are_cut() -> None:
    found = scrubbed({"n": 3, "ok": True, "none": None, "long": "x" * (TEXT_MAX + 7), "raw": b"\xff"}, [])

    assert (found["n"], found["ok"], found["none"], found["raw"]) == (3, True, None, "\\xff")
    assert re.fullmatch(r"x+… \(7 more\)", found["long"])
