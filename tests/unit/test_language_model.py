"""A language model asked over real HTTP: what it answers, and what it does to whoever asks."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator

import pytest

from state.budget import Budget
from state.prompts import Answer, NoAnswer, Prompt
from state.refinement import Outcome
from streams import language_client, language_model
from streams.language_model import language_model_of
from streams.settings import BadSetting, LanguageModelSettings
from tests.parts.language import (
    KEY,
    LONG_S,
    MODEL,
    Fault,
    LanguageServer,
    asking,
    drips,
    floods,
    half_closes,
    hangs,
    says,
    sends,
    serving,
    status,
)

SHORT_S = 0.3


@pytest.fixture
def server() -> Iterator[LanguageServer]:
    with serving(lambda asked: f"about {asked['n']}") as found:
        yield found


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "PAUSE_FIRST_S", 0.001)


def about(n: int) -> Prompt:
    return Prompt("the rules", f'{{"n": {n}}}', 20)


def outcome(reply: Answer | NoAnswer) -> Outcome:
    assert isinstance(reply, NoAnswer)
    return reply.outcome


def test_answers_come_in_the_order_of_the_questions_and_no_more_are_asked_at_once_than_allowed(
    server: LanguageServer,
) -> None:
    replies = asking(server, at_once_max=3).ask([about(n) for n in range(20)], within_s=LONG_S)

    assert replies == [Answer(f"about {n}") for n in range(20)]
    assert 1 <= server.most_at_once <= 3


def test_the_request_is_what_the_protocol_says(server: LanguageServer) -> None:
    asking(server).ask([about(1)], within_s=LONG_S)

    assert server.bodies == [
        {
            "model": MODEL,
            "messages": [{"role": "system", "content": "the rules"}, {"role": "user", "content": '{"n": 1}'}],
            "temperature": 0,
            "max_tokens": 20,
        }
    ]
    assert server.keys == [f"Bearer {KEY}"]


def test_without_a_key_none_is_sent_though_the_machine_has_one_for_another_server(
    server: LanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-another-server")

    assert asking(server, api_key=None).ask([about(1)], within_s=LONG_S) == [Answer("about 1")]
    assert server.keys == [None]


def test_a_server_that_asks_for_no_key_needs_none(
    server: LanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    assert asking(server, api_key=None).ask([about(1)], within_s=LONG_S) == [Answer("about 1")]


def test_no_question_asks_nobody(server: LanguageServer) -> None:
    assert asking(server).ask([], within_s=LONG_S) == []
    assert server.n_requests == 0


@pytest.mark.parametrize(
    "fault",
    [status(429), status(429, Retry_After="0"), status(500), status(503), half_closes],
    ids=["429", "429 with a time", "500", "503", "half an answer"],
)
def test_what_may_pass_is_tried_again(server: LanguageServer, fault: Fault) -> None:
    server.faults = [fault, fault]

    assert asking(server).ask([about(1)], within_s=LONG_S) == [Answer("about 1")]
    assert server.n_requests == 3


@pytest.mark.parametrize(
    ("code", "advice"),
    [(400, "400"), (401, "FACTDRIFT_LLM_API_KEY"), (403, "API_KEY"), (404, "FACTDRIFT_LLM_URL")],
)
def test_what_will_not_pass_is_tried_once_and_says_what_to_do(
    server: LanguageServer, code: int, advice: str
) -> None:
    server.faults = [status(code)]

    (reply,) = asking(server).ask([about(1)], within_s=LONG_S)

    assert isinstance(reply, NoAnswer)
    assert reply.outcome is Outcome.UNAVAILABLE
    assert advice in reply.reason
    assert server.n_requests == 1


def test_tries_are_bounded(server: LanguageServer) -> None:
    server.down = status(503)

    (reply,) = asking(server).ask([about(1)], within_s=LONG_S)

    assert outcome(reply) is Outcome.UNAVAILABLE
    assert server.n_requests == language_model.TRIES_MAX


def test_a_time_that_is_longer_than_a_question_may_take_is_not_waited_for_and_nobody_asks_before_it(
    server: LanguageServer,
) -> None:
    now = 0.0
    model = asking(server, clock=lambda: now, timeout_s=30.0)
    server.faults = [status(429, Retry_After="40")]

    first = model.ask([about(1)], within_s=LONG_S)
    now = 39.0
    second = model.ask([about(2)], within_s=LONG_S)
    now = 40.0
    third = model.ask([about(3)], within_s=LONG_S)

    assert [outcome(first[0]), outcome(second[0])] == [Outcome.UNAVAILABLE] * 2
    assert "answered 429" in str(first[0])
    assert "asked again in" not in str(first[0]), "it was tried once more"
    assert "asked again in 1 s" in str(second[0])
    assert third == [Answer("about 3")]
    assert server.n_requests == 2


def test_a_time_that_one_question_was_told_holds_for_all(server: LanguageServer) -> None:
    told_at: list[float] = []
    too_early = status(429, Retry_After="1")

    def limited(_asked: object) -> Fault | None:
        told_at.append(time.monotonic())
        return too_early if time.monotonic() < told_at[0] + 1 else None

    server.fault_of = limited

    replies = asking(server, at_once_max=2).ask([about(n) for n in range(20)], within_s=LONG_S)

    assert replies == [Answer(f"about {n}") for n in range(20)]
    assert server.n_requests <= 22, "only those that were under way did not know"


@pytest.mark.parametrize("fault", [hangs, drips], ids=["nothing", "a byte now and then"])
def test_a_question_without_an_end_ends_in_time_and_holds_up_no_other(
    server: LanguageServer, fault: Fault
) -> None:
    server.fault_of = lambda asked: fault if asked["n"] == 3 else None

    replies = asking(server, timeout_s=2.0).ask([about(n) for n in range(6)], within_s=LONG_S)

    assert outcome(replies[3]) is Outcome.TIMED_OUT
    assert [reply for n, reply in enumerate(replies) if n != 3] == [
        Answer(f"about {n}") for n in range(6) if n != 3
    ]


def test_what_a_batch_has_no_time_for_is_not_asked(server: LanguageServer) -> None:
    server.down = hangs
    model = asking(server, at_once_max=2)

    replies = model.ask([about(n) for n in range(50)], within_s=SHORT_S)

    assert {outcome(reply) for reply in replies} == {Outcome.TIMED_OUT}
    assert model.n_calls == 2


def test_after_as_many_failures_in_a_row_as_are_asked_at_once_the_server_is_left_alone_for_a_while(
    server: LanguageServer,
) -> None:
    now = 0.0
    model = asking(server, at_once_max=4, rest_s=10.0, clock=lambda: now)
    server.down = status(400)

    replies = model.ask([about(n) for n in range(40)], within_s=LONG_S)
    n_asked = server.n_requests
    server.down = None
    now = 9.0
    resting, *_ = model.ask([about(n) for n in range(20)], within_s=LONG_S)
    now = 10.0
    back = model.ask([about(1)], within_s=LONG_S)

    assert {outcome(reply) for reply in replies} == {Outcome.UNAVAILABLE}
    assert 4 <= n_asked <= 8, "those that were under way when it began are all that may be more"
    assert isinstance(resting, NoAnswer)
    assert "asked again in 1 s" in resting.reason
    assert back == [Answer("about 1")]


def test_failures_among_answers_are_no_outage(server: LanguageServer) -> None:
    server.fault_of = lambda asked: status(400) if asked["n"] % 2 else None
    model = asking(server, at_once_max=2, rest_s=1000.0)

    for n in range(20):
        model.ask([about(n)], within_s=LONG_S)

    assert server.n_requests == 20


def test_a_body_without_end_is_not_read_to_its_end(server: LanguageServer) -> None:
    server.faults = [floods]

    (reply,) = asking(server).ask([about(1)], within_s=LONG_S)

    assert isinstance(reply, NoAnswer)
    assert reply.outcome is Outcome.MALFORMED
    assert f"over {language_client.RESPONSE_BYTES_MAX} bytes" in reply.reason


def test_a_body_that_would_unfold_is_not_read(server: LanguageServer) -> None:
    answer = b'{"choices": [{"message": {"content": "about 1"}}]}'
    server.faults = [sends(gzip.compress(answer + b" " * 10_000_000), Content_Encoding="gzip")]

    (reply,) = asking(server).ask([about(1)], within_s=LONG_S)

    assert outcome(reply) is Outcome.MALFORMED


@pytest.mark.parametrize(
    "fault",
    [
        sends(b"<html>"), sends(b""), sends(b"\xff\xfe"), sends(b"null"), sends(b"[]"), sends(b"{}"),
        sends(b'{"choices": []}'), sends(b'{"choices": 5}'), sends(b'{"choices": [{"message": 1}]}'),
        sends(b"[" * 100_000), says(None), says(5), says(["a"]), says("cut", finish_reason="length"),
    ],
    ids=[
        "html", "nothing", "no text", "null", "a list", "an object", "no choice", "a number", "no message",
        "brackets", "no content", "a number as content", "a list as content", "cut off",
    ],
)  # fmt: skip
def test_a_response_that_is_none_is_malformed_and_is_not_asked_for_again(
    server: LanguageServer, fault: Fault
) -> None:
    server.faults = [fault]

    (reply,) = asking(server).ask([about(1)], within_s=LONG_S)

    assert outcome(reply) is Outcome.MALFORMED
    assert server.n_requests == 1


@pytest.mark.parametrize("fault", [says(None, refusal="no"), says("x", finish_reason="content_filter")])
def test_a_model_that_refuses_declines(server: LanguageServer, fault: Fault) -> None:
    server.faults = [fault]

    assert outcome(asking(server).ask([about(1)], within_s=LONG_S)[0]) is Outcome.DECLINED


def test_the_key_is_in_no_message_although_the_server_repeats_it(server: LanguageServer) -> None:
    server.faults = [status(401, f"the key {KEY} is not known")]

    (reply,) = asking(server).ask([about(1)], within_s=LONG_S)

    assert isinstance(reply, NoAnswer)
    assert KEY not in reply.reason
    assert "is not known" in reply.reason


def test_a_server_that_redirects_is_not_followed_with_the_key(server: LanguageServer) -> None:
    with serving() as other:
        server.faults = [status(307, Location=f"{other.url}/chat/completions")]

        assert outcome(asking(server).ask([about(1)], within_s=LONG_S)[0]) is Outcome.UNAVAILABLE
        assert other.n_requests == 0


def test_nobody_there_is_unavailable() -> None:
    with serving() as server:
        model = asking(server)

    assert outcome(model.ask([about(1)], within_s=LONG_S)[0]) is Outcome.UNAVAILABLE


def test_a_budget_of_calls_counts_tries_and_begins_anew_with_the_next_span(server: LanguageServer) -> None:
    now = 0.0
    model = asking(server, budget=Budget(3, None, 60.0), clock=lambda: now)
    server.faults = [status(503)]

    replies = model.ask([about(0)], within_s=LONG_S) + model.ask([about(1)], within_s=LONG_S)
    over = model.ask([about(2)], within_s=LONG_S)
    now = 60.0
    again = model.ask([about(3)], within_s=LONG_S)

    assert replies == [Answer("about 0"), Answer("about 1")]
    assert outcome(over[0]) is Outcome.OVER_BUDGET
    assert again == [Answer("about 3")]
    assert server.n_requests == 4


def test_a_budget_of_tokens_is_never_overspent_though_many_are_asked_at_once(server: LanguageServer) -> None:
    server.usage = {"total_tokens": 20}
    reserved = about(0).tokens_at_most
    model = asking(server, budget=Budget(None, 200, 3600.0), at_once_max=8)

    replies = model.ask([about(n) for n in range(40)], within_s=LONG_S)

    n_answered = sum(isinstance(reply, Answer) for reply in replies)
    assert 200 // reserved <= n_answered <= 200 // 20
    assert {outcome(reply) for reply in replies if isinstance(reply, NoAnswer)} == {Outcome.OVER_BUDGET}
    assert server.n_requests == n_answered


def test_where_the_server_does_not_say_what_it_cost_what_was_reserved_counts(server: LanguageServer) -> None:
    server.usage = None
    reserved = about(0).tokens_at_most
    model = asking(server, budget=Budget(None, 2 * reserved, 3600.0))

    replies = [model.ask([about(n)], within_s=LONG_S)[0] for n in range(3)]

    assert replies[:2] == [Answer("about 0"), Answer("about 1")]
    assert outcome(replies[2]) is Outcome.OVER_BUDGET


def test_a_model_without_a_name_is_refused_with_the_setting() -> None:
    with pytest.raises(BadSetting, match="FACTDRIFT_LLM_MODEL is not set"):
        language_model_of(LanguageModelSettings())


def test_the_settings_reach_the_endpoint(server: LanguageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTDRIFT_LLM_URL", server.url)
    monkeypatch.setenv("FACTDRIFT_LLM_MODEL", "named")
    monkeypatch.setenv("FACTDRIFT_LLM_API_KEY", KEY)
    monkeypatch.setenv("FACTDRIFT_LLM_BUDGET_CALLS", "1")
    model = language_model_of(LanguageModelSettings())

    replies = model.ask([about(1), about(2)], within_s=LONG_S)

    assert sorted(type(reply).__name__ for reply in replies) == ["Answer", "NoAnswer"]
    assert (server.bodies[0]["model"], server.keys) == ("named", [f"Bearer {KEY}"])
