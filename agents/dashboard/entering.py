"""Entering with a token: the form is answered, the cookie is looked at, guesses are slowed down."""

from __future__ import annotations

import time
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from agents.api.rates import Rates
from agents.api.tokens import Tokens
from agents.dashboard import login
from agents.dashboard.markup import ROOT

GUESSES_PER_S: Final = 0.2
GUESSES_BURST: Final = 10
"""Tokens that somebody may try: ten at once, then one every five seconds."""


class Entrance:
    """Who has a token, and how one is given."""

    def __init__(self, tokens: Tokens, style: str) -> None:
        self._tokens = tokens
        self._style = style
        self._guesses = Rates(GUESSES_PER_S, GUESSES_BURST)

    def admits(self, cookie: bytes | None) -> bool:
        """Whether a header Cookie holds a token that is known, or none is asked for."""
        return not self._tokens or self._is_known(login.token_in(cookie))

    def _is_known(self, token: str | None) -> bool:
        return token is not None and self._tokens.admits(b"Bearer " + token.encode()) is not None

    async def answer(self, request: Request) -> Response:
        """The form, or what follows from it."""
        if not self._tokens:
            return RedirectResponse(f"{ROOT}/", 303)
        if request.method != "POST":
            return self._form(login.onward(request.query_params.get("next", "")))
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > login.BODY_BYTES_MAX:
                return PlainTextResponse("No token is so long.", 413)
        token, onward = login.fields(body)
        if not self._is_known(token):
            caller = request.client.host if request.client else "unknown"
            if self._guesses.wait_s(caller, time.monotonic()):
                return self._form(onward, "Too many tries; wait a few seconds.", status=429)
            return self._form(onward, "This token is not known here.", status=401)
        cookie = login.kept(token, secure=request.url.scheme == "https")
        return RedirectResponse(onward, 303, headers={"Set-Cookie": cookie})

    def _form(self, onward: str, refusal: str = "", *, status: int = 200) -> Response:
        return HTMLResponse(login.page(style=self._style, onward=onward, refusal=refusal), status)

    def left(self) -> Response:
        """The browser forgets the token, and is asked for one."""
        return RedirectResponse(login.LOGIN, 303, headers={"Set-Cookie": login.dropped()})
