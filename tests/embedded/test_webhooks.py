"""Webhooks of an embedded log against real receivers: down, slow, rude, killed; each event, once by id."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from agents import composition
from agents.replay import records, replay
from streams.embedded import PARTITION, EmbeddedStore
from streams.embedded.webhooks import EmbeddedWebhooks, WebhooksTaken
from streams.settings import Settings
from streams.topics import Topic
from streams.webhook_config import load
from tests.api.served import Served
from tests.parts.processes import Process, start_process, wait_until
from tests.parts.receiver import SECRET, SECRET_NAME, receiving, write_config

ROOT = Path(__file__).parents[2]
ALERTS = (Topic.FACT_INVALIDATED, Topic.DRIFT_ALERTS)
ENVIRONMENT = {SECRET_NAME: SECRET}


def moves(subject: str, n_moves: int, *, first: int = 1) -> list[dict[str, Any]]:
    """A subject that moves again and again within a month: each move invalidates, the fifth alerts."""
    return [
        {"subject": subject, "predicate": "lives in", "object": f"place {first + number}",
         "observed_at": f"2024-03-{first + number:02d}"}
        for number in range(n_moves + 1)
    ]  # fmt: skip


def learn(folder: Path, lines: list[dict[str, Any]]) -> None:
    """Replay lines into the log, ticks and all."""
    source = folder.with_suffix(f".{len(lines)}.{lines[0]['subject']}.jsonl")
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    host = composition.embedded(Settings(), folder)
    try:
        with source.open("rb") as stream:
            replay(host, source, stream, batch_max=500)
    finally:
        host.store.close()


def alerts(folder: Path) -> dict[str, bytes]:
    """Every alert of the log, by id, as it stands there."""
    store = EmbeddedStore(folder)
    try:
        found = [record for topic in ALERTS for record in records(store, topic) if record.value]
    finally:
        store.close()
    return {json.loads(record.value)["event_id"]: record.value for record in found}


def letters(folder: Path) -> list[dict[str, Any]]:
    store = EmbeddedStore(folder)
    try:
        return [json.loads(record.value) for record in records(store, Topic.WEBHOOK_LETTERS)]
    finally:
        store.close()


def places(folder: Path, name: str = "a") -> dict[Topic, int]:
    """How far the log says that a receiver is."""
    store = EmbeddedStore(folder)
    try:
        return {topic: store.next_offset(f"webhook:{name}", topic, PARTITION) for topic in ALERTS}
    finally:
        store.close()


def ends(folder: Path) -> dict[Topic, int]:
    store = EmbeddedStore(folder)
    try:
        return {topic: store.end(topic, PARTITION) for topic in ALERTS}
    finally:
        store.close()


def wait_done(folder: Path, name: str = "a") -> None:
    """Return when the log says that everything is delivered or given up."""
    wait_until(lambda: places(folder, name) == ends(folder), timeout_s=60, what="everything to be done")


Deliver = Callable[..., Process]


@pytest.fixture
def deliver(tmp_path: Path) -> Iterator[Deliver]:
    """Starts `factdrift webhooks run` as a process; ended with the test."""
    with ExitStack() as stack:

        def start(config: Path, *, wait: bool = True) -> Process:
            process = start_process(
                [sys.executable, "-m", "agents.main", "webhooks", "run", "--data", tmp_path / "log",
                 "--config", config],
                name="factdrift webhooks run",
                log=tmp_path / "webhooks.log",
                environment=ENVIRONMENT,
                folder=ROOT,
            )  # fmt: skip
            stack.callback(process.kill)
            if wait:
                process.wait_for_line("^factdrift webhooks ready", 60)
            return process

        yield start


@asynccontextmanager
async def delivering(folder: Path, config: Path) -> Any:
    """Delivers in this process while the block runs."""
    webhooks = EmbeddedWebhooks(folder, load(config, ENVIRONMENT))
    await webhooks.start()
    try:
        yield webhooks
    finally:
        await webhooks.stop()


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait without standing in the way of what is waited for."""
    await asyncio.to_thread(wait_until, condition, timeout_s=60, what=what)


# -- down, killed, up again -----------------------------------------------------------------


def test_a_receiver_that_was_down_gets_each_alert_once_by_id_though_the_deliverer_was_killed(
    tmp_path: Path, deliver: Deliver
) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 6))
    with receiving(up=False) as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        first = deliver(config)
        first.wait_for_line("Webhook a takes nothing at present: it cannot be reached", 60)
        learn(folder, moves("lee", 6))
        first.kill()
        second = deliver(config)
        second.wait_for_line("Webhook a takes nothing at present: it cannot be reached", 60)

        receiver.come_up()

        expected = alerts(folder)
        assert len(expected) == 14  # six moves and an alert for each of two subjects
        assert receiver.wait_for(len(expected)) == expected
        wait_done(folder)
        assert receiver.forged == []
        assert letters(folder) == []


def test_a_deliverer_that_is_killed_while_it_delivers_is_followed_by_one_that_sends_the_rest(
    tmp_path: Path, deliver: Deliver
) -> None:
    folder = tmp_path / "log"
    for number in range(8):
        learn(folder, moves(f"subject {number}", 5))
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start", at_once=2)
        for n_before_death in (3, 9, 20):
            process = deliver(config)
            process.wait_for(
                lambda n=n_before_death: len(receiver.delivered) >= n, 60, what="events to be delivered"
            )
            process.kill()

        process = deliver(config)
        expected = alerts(folder)
        assert receiver.wait_for(len(expected)) == expected
        wait_done(folder)
        n_calls = len(receiver.calls)
        assert process.terminate() == 0

        last = deliver(config)  # a start after everything was delivered sends nothing again
        learn(folder, moves("one more", 1))
        receiver.wait_for(len(expected) + 1)
        assert len(receiver.calls) == n_calls + 1
        assert last.terminate() == 0


def test_events_of_a_subject_arrive_in_their_order(tmp_path: Path, deliver: Deliver) -> None:
    folder = tmp_path / "log"
    for number in range(4):
        learn(folder, moves(f"subject {number}", 9))
    with receiving() as receiver:
        failures = iter([204, 204, 500, 204, 204, 503] * 200)
        receiver.answer_of = lambda _call: next(failures)
        config = write_config(
            tmp_path / "webhooks.toml", {"a": receiver}, begin="start", topics=["fact-invalidated"], at_once=8
        )
        deliver(config)
        receiver.wait_for(36)

    by_subject: dict[str, list[str]] = {}
    for call in receiver.calls:
        if call.status == 204:
            by_subject.setdefault(call.event["subject"], []).append(call.event["object"])
    assert set(map(tuple, by_subject.values())) == {tuple(f"place {number}" for number in range(1, 10))}


# -- receivers that are slow or rude --------------------------------------------------------


@pytest.mark.asyncio
async def test_a_receiver_that_hangs_holds_up_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 6))
    with receiving() as hanging, receiving() as quick:
        hanging.may_answer.clear()
        config = write_config(
            tmp_path / "webhooks.toml", {"a": hanging, "b": quick}, begin="start", timeout_s=30
        )
        async with delivering(folder, config):
            await until(lambda: len(quick.delivered) == 7, "the quick one to have everything")

            assert hanging.calls == []
            hanging.may_answer.set()
            await until(lambda: len(hanging.delivered) == 7, "the other one to have everything")


@pytest.mark.asyncio
async def test_what_is_refused_is_a_dead_letter_and_the_next_event_goes_out(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 3))
    with receiving() as receiver:
        receiver.answers = [204, 422]
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        async with delivering(folder, config):
            await until(lambda: places(folder) == ends(folder), "everything to be done")

    assert [call.status for call in receiver.calls] == [204, 422, 204]
    (letter,) = letters(folder)
    refused = receiver.calls[1].event
    assert letter["event_id"] == refused["event_id"]
    assert (letter["webhook"], letter["code"], letter["status"], letter["tries"]) == ("a", "refused", 422, 1)
    assert "kim" not in json.dumps(letter)
    assert refused["object"] not in json.dumps(letter)


@pytest.mark.asyncio
async def test_an_event_whose_tries_are_used_up_is_a_dead_letter(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 1))
    with receiving() as receiver:
        receiver.answer_of = lambda _call: 500
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start", tries_max=2)
        async with delivering(folder, config):
            await until(lambda: places(folder) == ends(folder), "everything to be done")

    assert [call.status for call in receiver.calls] == [500, 500]
    (letter,) = letters(folder)
    assert (letter["code"], letter["tries"]) == ("tries_used_up", 2)


@pytest.mark.asyncio
async def test_a_receiver_that_says_gone_is_asked_nothing_more_and_what_it_did_not_get_is_kept(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 3))
    with receiving() as receiver, receiving() as other:
        receiver.answers = [410]
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver, "b": other}, begin="start")
        async with delivering(folder, config):
            await until(lambda: len(other.delivered) == 3, "the other one to have everything")
            await until(lambda: len(letters(folder)) == 1, "the dead letter")
        assert len(receiver.calls) == 1
        assert letters(folder)[0]["code"] == "gone"

        async with delivering(folder, config):
            await until(lambda: len(receiver.delivered) == 2, "what was kept")


@pytest.mark.asyncio
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(tmp_path: Path, status: int) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 1))
    with receiving() as receiver, receiving() as thief:
        receiver.answers = [status]
        receiver.headers = {"location": thief.url}
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        async with delivering(folder, config):
            await until(lambda: len(receiver.delivered) == 1, "the second try")

    assert thief.calls == []


@pytest.mark.asyncio
async def test_a_name_that_leads_into_the_own_network_is_not_called(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 1))
    with receiving() as receiver, caplog.at_level(logging.WARNING):
        receiver.url = f"https://localhost:{receiver.port}/hook"
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start", allow_private=False)
        async with delivering(folder, config):
            await until(lambda: "in a private network" in caplog.text, "the refusal to be told")

    assert receiver.calls == []


@pytest.mark.asyncio
async def test_a_call_that_is_not_answered_in_time_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 1))
    with receiving() as receiver:
        receiver.may_answer.clear()
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start", timeout_s=0.2)
        async with delivering(folder, config):
            await until(lambda: receiver.n_open_most >= 2, "a second call")
            receiver.may_answer.set()
            await until(lambda: places(folder) == ends(folder), "everything to be done")

    assert receiver.delivered == alerts(folder)


@pytest.mark.asyncio
async def test_an_answer_may_be_of_any_size(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 3))
    with receiving() as receiver:
        receiver.body = b"x" * 8_000_000
        receiver.answer_of = lambda _call: 200
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        async with delivering(folder, config):
            await until(lambda: places(folder) == ends(folder), "everything to be done")

    assert len(receiver.calls) == 3


@pytest.mark.asyncio
async def test_a_receiver_proves_who_it_is_by_its_certificate(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 1))
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(tls)
    with receiving(tls=tls) as receiver, caplog.at_level(logging.WARNING):
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        async with delivering(folder, config):
            await until(lambda: "its certificate is not trusted" in caplog.text, "the refusal to be told")
        assert receiver.calls == []

        write_config(config, {"a": receiver}, begin="start", ca_file="ca.pem")
        async with delivering(folder, config):
            await until(lambda: len(receiver.delivered) == 1, "the event")


@pytest.mark.asyncio
async def test_no_more_calls_are_open_than_allowed(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    for number in range(6):
        learn(folder, moves(f"subject {number}", 1))
    with receiving() as receiver:
        receiver.may_answer.clear()
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start", at_once=3)
        async with delivering(folder, config) as webhooks:
            await until(lambda: receiver.n_open == 3, "three calls")
            receiver.may_answer.set()
            await until(lambda: len(receiver.delivered) == 6, "all events")
            assert webhooks.deliveries[0].n_waiting == 0

    assert receiver.n_open_most == 3


# -- which events, and from where on --------------------------------------------------------


@pytest.mark.asyncio
async def test_a_new_receiver_is_told_what_happens_from_now_on_and_after_a_rest_what_it_missed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 2))
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver})
        async with delivering(folder, config):
            pass
        learn(folder, moves("lee", 2))
        async with delivering(folder, config):
            await until(lambda: len(receiver.delivered) == 2, "what happened since")

    assert {call.event["subject"] for call in receiver.calls} == {"lee"}


@pytest.mark.asyncio
async def test_filters_say_which_events_a_receiver_gets(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    learn(folder, [*moves("kim", 6), *moves("lee", 6)])
    with receiving() as facts, receiving() as unstable:
        config = tmp_path / "webhooks.toml"
        write_config(config, {"a": facts}, begin="start", topics=["fact-invalidated"], subjects=["KIM"])
        more = write_config(tmp_path / "b", {"b": unstable}, begin="start", signals=["unstable"],
                            topics=["drift-alerts"]).read_text()  # fmt: skip
        config.write_text(f"{config.read_text()}\n{more}")
        async with delivering(folder, config):
            await until(lambda: places(folder)[ALERTS[0]] == ends(folder)[ALERTS[0]], "facts to be done")
            await until(lambda: len(unstable.delivered) == 2, "both alerts")

    assert {(call.event["subject"], call.event["event"]) for call in facts.calls} == {
        ("kim", "fact-invalidated")
    }
    assert len(facts.delivered) == 6
    assert {call.event["signal"] for call in unstable.calls} == {"unstable"}
    assert {call.headers["factdrift-topic"] for call in unstable.calls} == {"drift-alerts"}


@pytest.mark.asyncio
async def test_what_was_forgotten_is_not_sent(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 2))
    store = EmbeddedStore(folder)
    with store.transaction():
        store.rewrite(Topic.FACT_INVALIDATED, PARTITION, 0, b"")
    store.close()
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        async with delivering(folder, config):
            await until(lambda: places(folder) == ends(folder), "everything to be done")

    assert len(receiver.calls) == 1


# -- one process at a time, and no secrets --------------------------------------------------


@pytest.mark.asyncio
async def test_a_second_process_is_refused_while_one_delivers(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 1))
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver})
        async with delivering(folder, config):
            with pytest.raises(WebhooksTaken, match="Another process delivers"):
                await EmbeddedWebhooks(folder, load(config, ENVIRONMENT)).start()
        async with delivering(folder, config):
            pass


@pytest.mark.asyncio
async def test_no_secret_and_no_address_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 4))
    with receiving() as receiver, caplog.at_level(logging.DEBUG):
        receiver.answers = [503, 500, 422, 204, 410]
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        async with delivering(folder, config):
            await until(lambda: len(letters(folder)) == 2, "both dead letters")
        receiver.go_down()
        async with delivering(folder, config):
            await until(lambda: "cannot be reached: connection refused" in caplog.text, "an outage")

    assert "Webhook a" in caplog.text
    for word in (SECRET, SECRET.removeprefix("whsec_"), "t0ken", "/hook", str(receiver.port)):
        assert word not in caplog.text + json.dumps(letters(folder))


# -- commands -------------------------------------------------------------------------------


def command(*words: object) -> tuple[int, list[Any], str]:
    """Exit code, JSON lines and errors of `factdrift webhooks …`."""
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "webhooks", *map(str, words)],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, check=False,
    )  # fmt: skip
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_dead_letters_are_listed_and_sent_again_after_the_receiver_was_mended(
    tmp_path: Path, deliver: Deliver
) -> None:
    folder = tmp_path / "log"
    learn(folder, moves("kim", 3))
    with receiving() as receiver:
        receiver.answer_of = lambda _call: 400
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        process = deliver(config)
        wait_done(folder)
        assert process.terminate() == 0

        code, listed, _ = command("list", "--data", folder)
        assert (code, [one["code"] for one in listed]) == (0, ["refused"] * 3)
        assert command("replay", "--data", folder, "--config", config)[1][-1] == {"sent": 0, "failed": 3}
        receiver.answer_of = lambda _call: 204
        code, _, _ = command("replay", listed[0]["dead_letter_id"], "--data", folder, "--config", config)
        assert (code, set(receiver.delivered)) == (0, {listed[0]["event_id"]})
        code, told, _ = command("replay", "--data", folder, "--config", config)
        assert (code, told) == (0, [{"sent": 3, "failed": 0}])
        assert receiver.delivered == alerts(folder)


def test_a_fault_of_the_file_is_a_sentence_and_exit_code_3(tmp_path: Path) -> None:
    config = tmp_path / "webhooks.toml"
    config.write_text("[webhooks.a]\nurl = 'https://example.org'\n")

    code, told, errors = command("run", "--data", tmp_path / "log", "--config", config)

    assert (code, told) == (3, [])
    assert "[webhooks.a]: give either secret_file or secret_env." in errors.replace("\n", " ")


def test_serve_delivers_what_it_is_told(tmp_path: Path) -> None:
    with receiving() as receiver:
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver})
        served = Served(tmp_path / "log", FACTDRIFT_WEBHOOKS=str(config), **ENVIRONMENT)
        try:
            served.learn(*moves("kim", 2))
            receiver.wait_for(2)
        finally:
            served.end()

    assert receiver.delivered == alerts(tmp_path / "log")
