"""What stands before the dashboard: the way to it, and who may take it.

Sends what begins with /dashboard to the pages and everything else to the API, which its own guard stands
before. A browser sends no bearer token, so the token comes in a cookie; a page of another site cannot use it
nor open a web socket here, since every request must come from the dashboard itself. Without the extra the
same addresses say how to get it. Decides nothing about facts.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.api.tokens import Tokens, names_this_machine
from agents.dashboard import login
from agents.dashboard.entering import Entrance
from agents.dashboard.extra import MISSING, is_installed
from agents.dashboard.markup import ROOT

if TYPE_CHECKING:
    from fastapi import FastAPI

    from agents.api.metrics import Metrics
    from agents.api.service import Service

HEADER_BYTES_MAX: Final = 64 * 1024
POLICY: Final = (
    # Vue compiles its templates in the browser, which needs eval; nothing may be loaded from elsewhere.
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


def beside(api: ASGIApp, app: FastAPI, *, service: Service, metrics: Metrics, tokens: Tokens) -> ASGIApp:
    """The API with the dashboard beside it. `app` is what the pages are mounted into, behind the guard."""
    if is_installed():
        from agents.dashboard.mounting import mount

        mount(app, service, metrics, with_token=bool(tokens))
    return Gate(api, app, tokens=tokens, installed=is_installed())


class Gate:
    """Tells the two apart, and lets into the dashboard whoever may enter."""

    def __init__(self, api: ASGIApp, pages: ASGIApp, *, tokens: Tokens, installed: bool) -> None:
        self._api = api
        self._pages = pages
        self._tokens = tokens
        self._installed = installed
        self._entrance = Entrance(tokens, _style() if installed else "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "lifespan" or not _is_ours(scope):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._api(scope, receive, send)
            return
        refusal = await self._refused(scope, receive)
        if refusal is None:
            await self._pages(scope, receive, _with_headers(scope, send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refusal(scope, receive, _with_headers(scope, send))

    async def _refused(self, scope: Scope, receive: Receive) -> Response | None:
        """What is answered instead of a page; None where the way is free."""
        headers = dict(scope["headers"])
        path, is_http = scope["path"], scope["type"] == "http"
        found = self._unsafe(scope, headers)
        if found is None and path in ("/", ROOT):
            found = RedirectResponse(f"{ROOT}/", 307)
        if found is None and not self._installed:
            found = PlainTextResponse(MISSING + "\n", 501)
        if found is None and is_http and path == login.LOGIN:
            found = await self._entrance.answer(Request(scope, receive))
        if found is None and is_http and path == login.LOGOUT and scope["method"] == "POST":
            found = self._entrance.left()
        if found is not None or self._entrance.admits(headers.get(b"cookie")):
            return found
        if is_http and scope["method"] == "GET" and b"text/html" in headers.get(b"accept", b""):
            query = scope["query_string"].decode("latin-1")
            onward = login.onward(f"{path}?{query}" if query else path)
            return RedirectResponse(f"{login.LOGIN}?next={quote(onward, safe='')}", 303)
        return PlainTextResponse("Log in first.", 401)

    def _unsafe(self, scope: Scope, headers: dict[bytes, bytes]) -> Response | None:
        """The refusal of a request that no page of ours would send."""
        if not self._tokens and not names_this_machine(headers.get(b"host")):
            told = "Without a token only 127.0.0.1, ::1 and localhost are answered for."
            return PlainTextResponse(told, 421)
        n_bytes = sum(len(name) + len(value) for name, value in scope["headers"])
        if n_bytes + len(scope["query_string"]) > HEADER_BYTES_MAX:
            return PlainTextResponse("Address and headers are too large.", 431)
        if not _is_same_origin(headers, needed=scope["type"] == "websocket"):
            return PlainTextResponse("Another site may not ask this.", 403)
        return None


def _is_ours(scope: Scope) -> bool:
    path = scope["path"]
    if path == ROOT or path.startswith(f"{ROOT}/"):
        return True
    # A person who opens the bare address wants the pages; a program is told what it always was.
    accepts = dict(scope["headers"]).get(b"accept", b"")
    return path == "/" and scope["type"] == "http" and b"text/html" in accepts


def _is_same_origin(headers: dict[bytes, bytes], *, needed: bool) -> bool:
    """Whether a request comes from a page of this address. A browser names the origin where it matters."""
    origin = headers.get(b"origin")
    if origin is None:
        return not needed
    return (
        urlsplit(origin.decode("latin-1")).netloc.casefold()
        == headers.get(b"host", b"").decode("latin-1").casefold()
    )


def _with_headers(scope: Scope, send: Send) -> Send:
    """Sends on, with the headers that every answer has. What carries a version in its address is kept."""
    is_fixed = scope["path"].startswith(f"{ROOT}/_nicegui/")

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [one for one in message.get("headers", ()) if one[0].lower() != b"cache-control"]
            lasting = b"public, max-age=31536000, immutable" if is_fixed else b"no-cache"
            if message["status"] != 200:
                lasting = b"no-store"
            message["headers"] = [*kept, *HEADERS, (b"cache-control", lasting)]
        await send(message)

    return sent


def _style() -> str:
    return resources.files("agents.dashboard").joinpath("static", "style.css").read_text(encoding="utf-8")
