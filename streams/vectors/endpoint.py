"""Vectors from an OpenAI-compatible embeddings URL.

Decides what is asked, how often, how long, and what of an answer can be used. Whatever the server does,
`embed` returns within its timeout, with one whole answer or VectorsUnavailable: never half a batch, never a
vector of another dimension. After a failure the server is left alone for a while, so that an outage costs one
timeout and not one for each batch.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import ssl
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from state.similarity import ModelId, VectorsUnavailable, length
from streams.background import BackgroundLoop
from streams.model_server import MAY_PASS, REASON_MAX, advice, said, wait_s
from streams.vectors.readable import readable, zero

TRIES_MAX: Final = 3
PAUSE_FIRST_S: Final = 0.5  # before the second try; doubled before each further one, and jittered
AT_ONCE_MAX: Final = 4  # requests under way for one batch
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024  # 64 texts of 3,072 dimensions as JSON take about 5 MB
_NO_OTHER: Final = aiohttp.ClientTimeout(total=None)  # the deadline of the whole batch bounds all of it


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where embeddings are asked for. `timeout_s` bounds a whole batch, with all tries and pauses.

    `api_key` never reaches a message or a log. `rest_s` is how long nothing is asked after a failure.
    """

    url: str
    api_key: str | None
    timeout_s: float
    batch_max: int
    rest_s: float


class EndpointVectors:
    """Vectors of one model at one endpoint."""

    def __init__(
        self, model: ModelId, endpoint: Endpoint, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._endpoint = endpoint
        self._clock = clock
        self._background = BackgroundLoop("factdrift-vectors")
        self._rests_until = -math.inf
        self._rests_because = ""

    @property
    def model(self) -> ModelId:
        """The model that is asked for."""
        return self._model

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector per text, as `Vectors.embed`, within `timeout_s`; zeros for one that is too long.

        Blocks its thread, not the caller's event loop: a host with one calls it from another thread.
        """
        asked = {text: shown for text in texts if (shown := readable(text)).strip()}
        if asked:
            self._refuse_while_resting()
        made: dict[str, bytes] = {}
        try:
            if asked:
                made = self._background.run(self._embed(asked), within_s=self._endpoint.timeout_s)
        except TimeoutError as error:
            reason = f"{self._where} did not answer within {self._endpoint.timeout_s:g} s"
            raise self._rest(reason) from error
        except _Failed as error:
            raise self._rest(str(error)) from error.__cause__
        return [made.get(text, zero(self._model.dimension)) for text in texts]

    @property
    def _where(self) -> str:
        return f"The embeddings endpoint {self._endpoint.url}"

    def _refuse_while_resting(self) -> None:
        left = self._rests_until - self._clock()
        if left > 0:
            raise VectorsUnavailable(f"{self._rests_because} It is asked again in {left:.0f} s.")

    def _rest(self, reason: str) -> VectorsUnavailable:
        self._rests_until = self._clock() + self._endpoint.rest_s
        self._rests_because = f"{reason.rstrip('.')}."
        return VectorsUnavailable(self._rests_because)

    async def _embed(self, asked: dict[str, str]) -> dict[str, bytes]:
        """All texts, in requests of at most `batch_max`; the first failure ends all of them."""
        texts, step = list(asked), self._endpoint.batch_max
        at_once = asyncio.Semaphore(AT_ONCE_MAX)
        headers = (
            {} if self._endpoint.api_key is None else {"Authorization": f"Bearer {self._endpoint.api_key}"}
        )
        async with aiohttp.ClientSession(headers=headers, timeout=_NO_OTHER, trust_env=True) as session:

            async def one(start: int) -> list[bytes]:
                async with at_once:
                    return await self._try(session, [asked[text] for text in texts[start : start + step]])

            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(one(start)) for start in range(0, len(texts), step)]
            except* _Failed as failures:
                raise failures.exceptions[0] from None
        vectors = [vector for task in tasks for vector in task.result()]
        return dict(zip(texts, vectors, strict=True))

    async def _try(self, session: aiohttp.ClientSession, texts: list[str]) -> list[bytes]:
        """One request, up to three times where that can help; the pauses grow and are jittered."""
        for attempt in range(TRIES_MAX):
            try:
                return await self._ask(session, texts)
            except _Failed as failure:
                if not failure.again or attempt + 1 == TRIES_MAX:
                    raise
                pause = PAUSE_FIRST_S * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311  no secret
                await asyncio.sleep(max(pause, failure.after_s))
        raise AssertionError("the last try returns or raises")

    async def _ask(self, session: aiohttp.ClientSession, texts: list[str]) -> list[bytes]:
        # Plain lists of floats: some servers do not know base64, and all know this.
        body = {"model": self._model.name, "input": texts, "encoding_format": "float"}
        try:
            async with session.post(
                f"{self._endpoint.url.rstrip('/')}/embeddings", json=body, allow_redirects=False
            ) as response:
                raw = await self._read(response)
                if response.status != 200:
                    raise self._refused(response.status, raw, response.headers.get("Retry-After"))
        except (aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            raise _Failed(f"{self._where} cannot be asked: {_reason(error)}", again=True) from error
        return list(self._vectors(raw, len(texts)))

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        found = bytearray()
        async for piece in response.content.iter_any():
            found += piece
            if len(found) > ANSWER_BYTES_MAX:
                raise _Failed(f"{self._where} sent over {ANSWER_BYTES_MAX} bytes", again=False)
        return bytes(found)

    def _refused(self, status: int, raw: bytes, retry_after: str | None) -> _Failed:
        words = said(raw[: 4 * REASON_MAX].decode("utf-8", "replace"), self._endpoint.api_key)
        after_s = wait_s(retry_after)
        again = status in MAY_PASS and after_s < self._endpoint.timeout_s
        told = f"{self._where} answered {status}: {words}.{advice(status, 'FACTDRIFT_VECTORS')}"
        return _Failed(told, again=again, after_s=after_s)

    def _vectors(self, raw: bytes, n_texts: int) -> Iterator[bytes]:
        """The vectors in an answer, in the order of the texts; all of them are well formed."""
        try:
            entries = json.loads(raw)["data"]
            by_index = {entry["index"]: entry["embedding"] for entry in entries}
            components = [by_index[index] for index in range(n_texts)]
            if len(entries) != n_texts:
                raise ValueError(f"{len(entries)} vectors for {n_texts} texts")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _Failed(
                f"{self._where} sent no list of {n_texts} embeddings: {_reason(error)}", again=False
            ) from error
        for numbers in components:
            yield self._vector(numbers)

    def _vector(self, numbers: Any) -> bytes:
        expected = self._model.dimension
        if not isinstance(numbers, list) or len(numbers) != expected:
            found = len(numbers) if isinstance(numbers, list) else type(numbers).__name__
            raise _Failed(
                f"{self._where} sent vectors of dimension {found}, expected {expected}. Set "
                "FACTDRIFT_VECTORS_DIMENSION to what the model has",
                again=False,
            )
        try:
            norm = length([float(number) for number in numbers])
            if not math.isfinite(norm):
                raise ValueError("not finite")
            scale = 1 / norm if norm else 0.0
            return struct.pack(f"<{expected}f", *(number * scale for number in numbers))
        except (TypeError, ValueError, OverflowError, struct.error) as error:
            raise _Failed(f"{self._where} sent a vector that is no list of numbers", again=False) from error


class _Failed(Exception):
    """An attempt that failed. `again`: another one may help, not before `after_s` seconds."""

    def __init__(self, message: str, *, again: bool, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.again = again
        self.after_s = after_s


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__} {error}".strip()[:REASON_MAX]
