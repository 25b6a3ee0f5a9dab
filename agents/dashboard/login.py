"""The page that asks for a token, and the cookie that keeps it. Pure.

No part of NiceGUI: where a token is asked for, nothing else is sent before one is known. The cookie holds
the token itself, so that it means what it means to the API, after a restart too; no script can read it, and
no other site can have it sent.
"""

from __future__ import annotations

import base64
import binascii
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs

from agents.dashboard.markup import ROOT, Html, tag

COOKIE: Final = "factdrift_token"
KEPT_S: Final = 30 * 86_400
BODY_BYTES_MAX: Final = 8 * 1024
LOGIN: Final = f"{ROOT}/login"
LOGOUT: Final = f"{ROOT}/logout"


def page(*, style: str, onward: str, refusal: str = "") -> str:
    """The document, complete. `refusal` says why the token before was none."""
    told = tag("p", refusal, class_="refusal", role="alert", id="refusal") if refusal else None
    form = tag(
        "form",
        tag("h1", "factdrift"),
        tag("p", "This service asks for a token: one of those that its API takes.", class_="quiet"),
        told,
        tag("label", "Token", for_="token"),
        tag(
            "input", id="token", name="token", type="password", autocomplete="current-password",
            required=True, autofocus=True, spellcheck="false", aria_invalid="true" if refusal else None,
            aria_describedby="refusal" if refusal else None,
        ),
        tag("input", type="hidden", name="next", value=onward),
        tag("button", "Log in", type="submit", class_="button primary"),
        method="post", action=LOGIN, class_="login card",
    )  # fmt: skip
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("title", "Log in · factdrift"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        Html(f"<style>{style}</style>"),
    )
    return "<!doctype html>" + tag("html", head, tag("body", tag("main", form)), lang="en").text


def fields(body: bytes) -> tuple[str, str]:
    """The token, and where to go on, from the body of the form."""
    given = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    token = given.get("token", [""])[0].strip()
    return token, onward(given.get("next", [""])[0])


def onward(wanted: str) -> str:
    """Where to go after the login: a page of the dashboard, whatever is asked for."""
    safe = wanted.startswith(f"{ROOT}/") and wanted.isascii() and wanted.isprintable() and "\\" not in wanted
    return wanted if safe and not wanted.startswith((LOGIN, LOGOUT)) else f"{ROOT}/"


def kept(token: str, *, secure: bool) -> str:
    """The header Set-Cookie that keeps a token."""
    value = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    return _cookie(value, KEPT_S, secure=secure)


def dropped() -> str:
    """The header Set-Cookie by which the browser forgets it."""
    return _cookie("", 0, secure=False)


def _cookie(value: str, age_s: int, *, secure: bool) -> str:
    flags = "; Secure" if secure else ""
    return f"{COOKIE}={value}; Path={ROOT}; Max-Age={age_s}; HttpOnly; SameSite=Strict{flags}"


def token_in(header: bytes | None) -> str | None:
    """The token that a header Cookie holds."""
    try:
        found = SimpleCookie((header or b"").decode("latin-1")).get(COOKIE)
        if found is None or not found.value:
            return None
        padded = found.value + "=" * (-len(found.value) % 4)
        return base64.urlsafe_b64decode(padded.encode("ascii")).decode("utf-8")
    except (CookieError, ValueError, binascii.Error):
        return None
