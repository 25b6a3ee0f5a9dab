"""What stands before every request: name, token, rate, size and time; and what is counted of it.

A plain ASGI layer, so that a request that is refused costs nothing behind it. Looks at no body: it counts its
bytes and the time that they take.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.api.metrics import Metrics
from agents.api.problems import Problem
from agents.api.rates import Rates
from agents.api.tokens import Tokens, names_this_machine
from streams.settings import ApiSettings

HEADER_BYTES_MAX: Final = 64 * 1024  # some names of 1,000 characters, percent-encoded, and a cursor
OPEN: Final = frozenset({"/healthz", "/readyz"})
"""Asked by whatever watches over the process, which has no token; neither tells anything of the log."""


class Guard:
    """Lets a request through, or answers with a problem."""

    def __init__(self, app: ASGIApp, *, settings: ApiSettings, tokens: Tokens, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._tokens = tokens
        self._metrics = metrics
        self._rates = Rates(settings.rate_per_s, settings.rate_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection; only HTTP is spoken here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        began = time.perf_counter()
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-content-type-options", b"nosniff"),
                    (b"cache-control", b"no-cache"),
                ]
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, self._counted(scope, receive), watched)
        except Problem as problem:
            if status == 0:
                await problem.response()(scope, receive, watched)
        finally:
            self._metrics.request(scope, status, time.perf_counter() - began)

    def _check(self, scope: Scope) -> None:
        """Raise Problem where the request is not let through."""
        # The parser bounds only what arrives in pieces.
        n_bytes = sum(len(name) + len(value) for name, value in scope["headers"])
        if n_bytes + len(scope["raw_path"]) + len(scope["query_string"]) > HEADER_BYTES_MAX:
            raise Problem(
                "headers_too_large",
                f"Address and headers hold at most {HEADER_BYTES_MAX:,} bytes together.",
                {"Connection": "close"},
            )
        headers = dict(scope["headers"])
        caller = str((scope.get("client") or ("unknown",))[0])
        if not self._tokens and not names_this_machine(headers.get(b"host")):
            raise Problem("wrong_host", "Without a token only 127.0.0.1, ::1 and localhost are answered for.")
        if self._tokens and scope["path"] not in OPEN and scope["method"] != "OPTIONS":
            name = self._tokens.admits(headers.get(b"authorization"))
            if name is None:
                # Whoever guesses is slowed down too.
                self._limit(f"refused {caller}")
                raise Problem(
                    "unauthorised",
                    "Send the header Authorization: Bearer TOKEN.",
                    {"WWW-Authenticate": 'Bearer realm="factdrift"'},
                )
            caller = name
        self._limit(caller)
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > self._settings.body_bytes_max:
            raise self._too_large()

    def _limit(self, caller: str) -> None:
        wait_s = self._rates.wait_s(caller, time.monotonic())
        if wait_s:
            raise Problem(
                "too_many_requests",
                f"More than {self._settings.rate_per_s:g} requests a second; come back in {wait_s:.1f} s.",
                {"Retry-After": str(math.ceil(wait_s))},
            )

    def _too_large(self) -> Problem:
        return Problem(
            "body_too_large",
            f"A body holds at most {self._settings.body_bytes_max:,} bytes; send more requests.",
            {"Connection": "close"},
        )

    def _counted(self, scope: Scope, receive: Receive) -> Receive:
        """The body as it arrives, within its size and its time; what comes after it is not waited for."""
        deadline = asyncio.get_running_loop().time() + self._settings.body_timeout_s
        n_bytes = 0
        done = False

        async def counted() -> Message:
            nonlocal n_bytes, done
            if done:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise Problem(
                    "body_too_slow",
                    f"The body did not arrive within {self._settings.body_timeout_s:g} s.",
                    {"Connection": "close"},
                ) from None
            n_bytes += len(message.get("body", b""))
            if n_bytes > self._settings.body_bytes_max:
                raise self._too_large()
            done = not message.get("more_body", False)
            return message

        return counted
