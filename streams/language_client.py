"""One request to an OpenAI-compatible URL: what is sent, what of a response is an answer, what a failure is.

Decides whether another try may help, and never tries itself; `streams.language_model` decides how often and
how long. Reads no more of a response than an answer can have.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from state.prompts import Prompt
from state.refinement import Outcome
from streams.model_server import MAY_PASS, REASON_MAX, advice, said, wait_s

if TYPE_CHECKING:
    import openai

RESPONSE_BYTES_MAX: Final = 1024 * 1024  # an answer has some hundred tokens


class CallFailed(Exception):
    """A request without an answer. `again`: another one may help, not before `after_s` seconds.

    A cause inside this process, and never shown to a user: it becomes an outcome.
    """

    def __init__(self, outcome: Outcome, message: str, *, again: bool = False, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.again = again
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class Response:
    """What a model wrote, None where it refused; and the tokens of question and answer, where it says so."""

    text: str | None
    tokens: int | None


class LanguageClient:
    """A connection to one endpoint. Used in one event loop; `api_key` never reaches a message or a log."""

    def __init__(self, *, url: str, model: str, api_key: str | None, connections_max: int) -> None:
        self._url = url
        self._model = model
        self._api_key = api_key
        self._connections_max = connections_max
        self._client: openai.AsyncOpenAI | None = None

    @property
    def where(self) -> str:
        """What is asked, in the words of a sentence."""
        return f"The language model at {self._url}"

    async def send(self, prompt: Prompt) -> Response:
        """Send one request and read its answer; bounded by nothing but the caller. Raises CallFailed."""
        import httpx2
        import openai

        client = self.open()
        try:
            response = await client.chat.completions.with_raw_response.create(
                model=self._model,
                messages=[
                    {"role": "system", "content": prompt.system},
                    {"role": "user", "content": prompt.user},
                ],
                temperature=0,
                max_tokens=prompt.answer_tokens_max,
                # Without a key none is sent, whatever OPENAI_API_KEY says: it is for another server.
                extra_headers=None if self._api_key else {"Authorization": openai.Omit()},
            )
            raw = response.content
        except CallFailed:
            raise
        except openai.APIStatusError as error:
            raise self._refused(error) from error
        except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:
            raise self._unreachable(error, again=True) from error
        except Exception as error:  # what the client makes of a strange response is not ours to list
            raise self._unreachable(error, again=False) from error
        return self._read(raw)

    def open(self) -> openai.AsyncOpenAI:
        """The client, made when it is used for the first time: loading it takes most of a second."""
        if self._client is None:
            import httpx2
            import openai

            n = self._connections_max
            self._client = openai.AsyncOpenAI(
                base_url=self._url,
                api_key=self._api_key or "none",
                max_retries=0,  # tries, pauses and their cost are counted by the caller
                timeout=None,  # the deadline of the question bounds all of it
                default_headers={"Accept-Encoding": "identity"},
                http_client=openai.DefaultAsyncHttpxClient(
                    follow_redirects=False,  # the key is for this server only
                    limits=httpx2.Limits(max_connections=n, max_keepalive_connections=n),
                    event_hooks={"response": [_bound]},
                ),
            )
        return self._client

    def _refused(self, error: openai.APIStatusError) -> CallFailed:
        status = error.status_code
        words = said(error.message, self._api_key).rstrip(".")
        return CallFailed(
            Outcome.UNAVAILABLE,
            f"{self.where} answered {status}: {words}.{advice(status, 'FACTDRIFT_LLM')}",
            again=status in MAY_PASS,
            after_s=wait_s(error.response.headers.get("Retry-After")),
        )

    def _unreachable(self, error: Exception, *, again: bool) -> CallFailed:
        reason = f"{type(error).__name__} {error.__cause__ or error}".strip()[:REASON_MAX]
        return CallFailed(Outcome.UNAVAILABLE, f"{self.where} cannot be asked: {reason}.", again=again)

    def _read(self, raw: bytes) -> Response:
        try:
            body = json.loads(raw)
            choice = body["choices"][0]
            message = choice["message"]
            tokens = _tokens(body)
            if choice.get("finish_reason") == "content_filter" or message.get("refusal"):
                return Response(None, tokens)
            text = message["content"]
            if not isinstance(text, str) or choice.get("finish_reason") == "length":
                raise ValueError("the answer was cut off, or is no text")
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise CallFailed(Outcome.MALFORMED, f"{self.where} sent no answer that can be read.") from error
        return Response(text, tokens)


def _tokens(body: dict[str, Any]) -> int | None:
    usage = body.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if type(total) is int and total > 0 else None


async def _bound(response: Any) -> None:
    """Let no more of a body be read than an answer can have, and nothing that unfolds to more than it is."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise CallFailed(
            Outcome.MALFORMED, "The language model sent a compressed body that nobody asked for."
        )
    response.stream = _bounded(response.stream)


def _bounded(stream: Any) -> Any:
    """The same stream of a body, which ends in a failure where it is too long."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            n_bytes = 0
            async for piece in stream:
                n_bytes += len(piece)
                if n_bytes > RESPONSE_BYTES_MAX:
                    raise CallFailed(
                        Outcome.MALFORMED, f"The language model sent over {RESPONSE_BYTES_MAX} bytes."
                    )
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()
