"""The log of a long-running command as it comes out of a process: one form, whoever speaks."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TELL = """
import logging, structlog
from state.errors import BadInput
from state.traceparent import Traceparent
from streams.settings import Settings
from streams.stderr_log import log_to_stderr, tell_refusal
from streams.tracing import during

log_to_stderr(Settings(), service="worker")
"""


def told(code: str, **environment: str) -> str:
    """What a process says on standard error."""
    done = subprocess.run(
        [sys.executable, "-c", TELL + code], check=True, capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.stdout == ""
    return done.stderr


def lines(code: str, **environment: str) -> list[dict[str, Any]]:
    """The lines of JSON of a process."""
    return [json.loads(line) for line in told(code, **environment).splitlines()]


EVERYBODY = """
structlog.get_logger("agents.a").warning("ours", partition=3, offset=7)
logging.getLogger("streams.b").warning("theirs %d", 5, extra={"partition": 4})
for name in ("faust.app", "aiokafka.consumer", "uvicorn.error", "mode.services"):
    logging.getLogger(name).warning("%s speaks", name)
    logging.getLogger(name).info("%s chats", name)
"""


def test_everybody_comes_out_alike() -> None:
    found = lines(EVERYBODY)

    assert [one["event"] for one in found] == [
        "ours", "theirs 5", "faust.app speaks", "aiokafka.consumer speaks", "uvicorn.error speaks",
        "mode.services speaks",
    ]  # fmt: skip
    for one in found:
        assert list(one)[:6] == ["timestamp", "level", "logger", "service", "instance", "event"]
        assert one["level"] == "warning"
        assert one["service"] == "factdrift-worker"
        assert one["timestamp"].endswith("Z")
    assert [one["logger"] for one in found[:3]] == ["agents.a", "streams.b", "faust.app"]
    assert (found[0]["partition"], found[0]["offset"], found[1]["partition"]) == (3, 7, 4)


def test_text_says_the_same_in_words() -> None:
    ours, theirs, *_ = told(EVERYBODY, FACTDRIFT_LOG_FORMAT="text").splitlines()

    assert ours.split(" ", 1)[1] == "WARNING agents.a: ours partition=3 offset=7"
    assert theirs.split(" ", 1)[1] == "WARNING streams.b: theirs 5 partition=4"


def test_on_a_terminal_it_is_text() -> None:
    ours, terminal = pty.openpty()
    code = TELL + 'logging.getLogger("agents.a").warning("hello")'
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, stderr=terminal)
    os.close(terminal)

    assert b"WARNING agents.a: hello" in os.read(ours, 4096)
    os.close(ours)


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        ("debug", ["debug", "info", "error", "lib debug"]),
        ("info", ["info", "error"]),
        ("warning", ["error"]),
        ("error", ["error"]),
    ],
)
def test_the_level_is_that_of_our_own_modules(level: str, heard: list[str]) -> None:
    found = lines(
        """
for speak in (structlog.get_logger("agents.a"), ):
    speak.debug("debug"); speak.info("info"); speak.error("error")
logging.getLogger("aiokafka.cluster").debug("lib debug")
logging.getLogger("aiokafka.conn").debug("Request 1: with a password")
""",
        FACTDRIFT_LOG_LEVEL=level,
    )

    assert [one["event"] for one in found] == heard


def test_a_line_bears_the_ids_of_the_span_it_is_said_in() -> None:
    within, outside = lines(
        """
with during(Traceparent("a" * 32, "b" * 16, 1)):
    logging.getLogger("streams.b").warning("within")
structlog.get_logger("agents.a").warning("outside")
"""
    )

    assert (within["trace_id"], within["span_id"]) == ("a" * 32, "b" * 16)
    assert "trace_id" not in outside


def test_an_error_brings_its_code_and_its_traceback_in_one_line() -> None:
    (found,) = lines(
        """
try:
    raise BadInput("bad_instant", "no \\n instant")
except BadInput:
    logging.getLogger("streams.b").exception("it failed", extra={"topic": "t", "partition": 1, "offset": 2})
"""
    )

    assert (found["code"], found["error"], found["level"]) == ("bad_instant", "BadInput", "error")
    assert "Traceback" in found["exception"]
    assert (found["topic"], found["partition"], found["offset"]) == ("t", 1, 2)


def test_a_password_is_in_no_line_even_where_a_library_tells_it() -> None:
    said = told(
        """
logging.getLogger("aiokafka.cluster").debug("sasl %r", b"\\x00user\\x00hush-hush")
try:
    raise OSError("hush-hush")
except OSError:
    structlog.get_logger("agents.a").exception("refused", url="redis://u:other@h/0")
""",
        FACTDRIFT_LOG_LEVEL="debug",
        FACTDRIFT_KAFKA_PASSWORD="hush-hush",
    )

    assert said.count("***") >= 3
    assert "hush-hush" not in said
    assert "other" not in said


def test_why_a_process_ends_is_a_line_for_programs() -> None:
    code = 'tell_refusal(BadInput("bad_instant", "It is no instant."))'

    (found,) = lines(code)

    assert (found["level"], found["event"], found["code"]) == ("critical", "stopped", "bad_instant")
    assert found["reason"] == "It is no instant."
    assert told(code, FACTDRIFT_LOG_FORMAT="text") == ""


def test_a_second_call_takes_the_place_of_the_first() -> None:
    found = lines(
        'log_to_stderr(Settings(), service="api"); structlog.get_logger("agents.a").warning("once")'
    )

    assert [(one["event"], one["service"]) for one in found] == [("once", "factdrift-api")]
