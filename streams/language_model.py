"""Asking a language model many questions at once, each with an end.

Decides how often, how long and at what cost is asked. Whatever the server does, every question gets one reply
within its time: the text of an answer, or why there is none. What an answer means is `state.triples` and
`state.extraction`.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from state.budget import Budget, Spent, reserve, settle
from state.prompts import Answer, NoAnswer, Prompt, Reply
from state.refinement import Outcome
from streams.background import BackgroundLoop
from streams.language_client import CallFailed, LanguageClient
from streams.settings import BadSetting, LanguageModelSettings

TRIES_MAX: Final = 3
PAUSE_FIRST_S: Final = 0.5  # before the second try; doubled before each further one, and jittered
REST_MAX_S: Final = 300.0  # however long a server asks to be left alone, it is asked again after this
_GRACE_S: Final = 5.0  # for what is cancelled at the end to be gone; reached only if that hangs


@dataclass(frozen=True, slots=True)
class LanguageEndpoint:
    """Which model is asked, and where. `timeout_s` bounds one question with all tries and pauses.

    After as many failures in a row as there are questions at once, nothing is asked for `rest_s`, so that an
    outage costs one timeout and not one for each question.
    """

    url: str
    model: str
    api_key: str | None
    timeout_s: float
    at_once_max: int
    rest_s: float
    budget: Budget


def language_model_of(settings: LanguageModelSettings) -> LanguageModel:
    """The model that the settings name. Nothing is loaded or asked yet.

    Raises BadSetting where no model is named, or the client is not installed.
    """
    if settings.model is None:
        raise BadSetting(
            "FACTDRIFT_LLM_MODEL is not set. Set it to the name that the endpoint FACTDRIFT_LLM_URL, "
            f"{settings.url}, knows its model by."
        )
    if importlib.util.find_spec("openai") is None:
        raise BadSetting(
            'The client of language models is not installed. Run: pip install "factdrift[llm]"  (or set '
            "FACTDRIFT_TRIPLE_SOURCE=given)."
        )
    return LanguageModel(
        LanguageEndpoint(
            url=settings.url,
            model=settings.model,
            api_key=None if settings.api_key is None else settings.api_key.get_secret_value(),
            timeout_s=settings.timeout_s,
            at_once_max=settings.at_once_max,
            rest_s=settings.rest_s,
            budget=Budget(settings.budget_calls, settings.budget_tokens, settings.budget_s),
        )
    )


class LanguageModel:
    """One model at one endpoint. Safe in several threads.

    `n_calls` counts the requests that were sent; `longest_s` is the longest that one question took, with all
    its tries, from when it was its turn.
    """

    def __init__(self, endpoint: LanguageEndpoint, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._background = BackgroundLoop("factdrift-language-model")
        self._client = LanguageClient(
            url=endpoint.url,
            model=endpoint.model,
            api_key=endpoint.api_key,
            connections_max=endpoint.at_once_max,
        )
        self._at_once = asyncio.Semaphore(endpoint.at_once_max)
        self._spent = Spent()
        self._n_failures = 0  # in a row
        self._rests_until = self._not_before = -math.inf
        self._rests_because = ""
        self.n_calls = 0
        self.longest_s = 0.0

    @property
    def name(self) -> str:
        """The name that the endpoint knows the model by."""
        return self._endpoint.model

    def ask(self, prompts: Sequence[Prompt], *, within_s: float) -> list[Reply]:
        """One reply for each prompt, in their order, after at most `within_s` seconds. Raises nothing.

        Blocks its thread, not the caller's event loop: a host with one calls it from another thread.
        """
        replies: list[Reply | None] = [None] * len(prompts)
        if prompts:
            self._client.open()  # here, where it takes nobody's time
            with contextlib.suppress(TimeoutError):  # what has no reply by then gets none
                work = self._ask(prompts, replies, within_s)
                self._background.run(work, within_s=within_s + _GRACE_S)
        return [reply or self._late() for reply in replies]

    def _late(self) -> NoAnswer:
        return NoAnswer(Outcome.TIMED_OUT, f"{self._client.where} was not asked: its batch had no time left.")

    async def _ask(self, prompts: Sequence[Prompt], replies: list[Reply | None], within_s: float) -> None:
        """All questions, by at most `at_once_max` askers: what waits is a number, and no task."""
        deadline = asyncio.get_running_loop().time() + within_s
        waiting = iter(range(len(prompts)))

        async def asker(numbers: Iterator[int]) -> None:
            for number in numbers:
                replies[number] = await self._reply(prompts[number], deadline)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._endpoint.at_once_max, len(prompts))):
                group.create_task(asker(waiting))

    async def _reply(self, prompt: Prompt, deadline: float) -> Reply:
        if asyncio.get_running_loop().time() >= deadline:
            return self._late()
        try:
            async with asyncio.timeout_at(deadline), self._at_once:
                reply: Reply = Answer(await self._in_time(prompt))
        except TimeoutError:
            reply = NoAnswer(Outcome.TIMED_OUT, f"{self._client.where} did not answer in time.")
        except CallFailed as failure:
            reply = NoAnswer(failure.outcome, str(failure))
        self._note(reply)
        return reply

    async def _in_time(self, prompt: Prompt) -> str:
        began_at = self._clock()
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):
                return await self._try(prompt)
        finally:
            self.longest_s = max(self.longest_s, self._clock() - began_at)

    async def _try(self, prompt: Prompt) -> str:
        """One question, up to three times where that can help; the pauses grow and are jittered."""
        for attempt in range(TRIES_MAX):
            self._refuse_while_resting()
            if (left := self._not_before - self._clock()) > 0:
                await asyncio.sleep(left * _jitter())  # not all of them at the same instant
            try:
                return await self._paid(prompt)
            except CallFailed as failure:
                self._give_way(failure)
                if not failure.again or attempt + 1 == TRIES_MAX:
                    raise
                await asyncio.sleep(PAUSE_FIRST_S * 2**attempt * _jitter())
        raise AssertionError("the last try returns or raises")

    async def _paid(self, prompt: Prompt) -> str:
        """One request, if the budget allows it; one that failed has cost what was reserved for it."""
        reserved = prompt.tokens_at_most
        spent = reserve(self._endpoint.budget, self._spent, tokens=reserved, now=self._clock())
        if spent is None:
            raise CallFailed(
                Outcome.OVER_BUDGET, "The budget of the language model (FACTDRIFT_LLM_BUDGET_…) is spent."
            )
        self._spent = spent
        self.n_calls += 1
        response = await self._client.send(prompt)
        used = reserved if response.tokens is None else response.tokens
        self._spent = settle(self._spent, began_at=spent.began_at, reserved=reserved, used=used)
        if response.text is None:
            raise CallFailed(Outcome.DECLINED, f"{self._client.where} refused to answer.")
        return response.text

    # -- giving way -------------------------------------------------------------------------

    def _give_way(self, failure: CallFailed) -> None:
        """A server that names a time to one question means all of them."""
        if failure.after_s >= self._endpoint.timeout_s:
            failure.again = False  # nobody may wait that long
            self._rest(failure.after_s, str(failure))
        elif failure.after_s:
            self._not_before = max(self._not_before, self._clock() + failure.after_s)

    def _note(self, reply: Reply) -> None:
        """Count failures in a row, and begin to rest after enough of them."""
        if isinstance(reply, Answer) or reply.outcome not in (Outcome.TIMED_OUT, Outcome.UNAVAILABLE):
            self._n_failures = 0
            return
        if self._rests_until > self._clock():
            return  # not asked, or asked before the rest began: no reason to rest longer
        self._n_failures += 1
        if self._n_failures >= self._endpoint.at_once_max:
            self._rest(self._endpoint.rest_s, reply.reason)

    def _rest(self, rest_s: float, reason: str) -> None:
        if self._rests_until <= self._clock():
            self._rests_because = reason
        self._rests_until = max(self._rests_until, self._clock() + min(rest_s, REST_MAX_S))
        self._n_failures = 0

    def _refuse_while_resting(self) -> None:
        left = self._rests_until - self._clock()
        if left > 0:
            raise CallFailed(Outcome.UNAVAILABLE, f"{self._rests_because} It is asked again in {left:.0f} s.")


def _jitter() -> float:
    return random.uniform(1.0, 1.5)  # noqa: S311  no secret
