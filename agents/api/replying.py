"""How routes ask and answer: a question in a thread of its own, the answer as JSON with a tag.

Shared by all routes; knows none of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeVar

import anyio.to_thread
import msgspec
from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from starlette.responses import Response

from agents.answers import Asked
from agents.api import shapes
from agents.api.problems import MEDIA_TYPE, PROBLEMS, Problem
from agents.api.service import Service

Result = TypeVar("Result")

BEARER: Final = Security(
    HTTPBearer(auto_error=False, description="One of the tokens of the service, where it asks for one.")
)
"""Declares the token in the OpenAPI document; it was checked before any route is reached (`guarding`)."""

REPEATABLE: Final = frozenset({"names", "text"})


async def _refuse_repeated(request: Request) -> None:
    """A parameter that is given twice would otherwise count once, and nobody would say which."""
    given = Counter(name for name, _ in request.query_params.multi_items())
    for name, times in given.items():
        if name not in REPEATABLE and times > 1:
            raise Problem("invalid_parameter", f"query.{name[:100]}: given more than once.")


ONCE: Final = Depends(_refuse_repeated)
"""Every parameter at most once, except those that are lists."""

_encode: Final = msgspec.json.Encoder().encode


def service_of(request: Request) -> Service:
    """The service behind a request."""
    found: Service = request.app.state.service
    return found


async def ask(request: Request, question: Callable[[Asked], Result]) -> Result:
    """Ask one state of the read model, in a thread: a question may take as long as a claim is large."""
    service = service_of(request)

    def asked() -> Result:
        with service.model.reading() as connection:
            return question(Asked(connection, service.folding, service.now()))

    return await anyio.to_thread.run_sync(asked)


def json_response(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer as JSON."""
    return Response(_encode(body), status_code=status, media_type="application/json", headers=headers)


def tagged(request: Request, body: Any) -> Response:
    """An answer with its tag; 304 without a body where the reader has it already."""
    content = _encode(body)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if _has(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(content, media_type="application/json", headers={"ETag": tag})


def _has(if_none_match: str | None, tag: str) -> bool:
    if if_none_match is None:
        return False
    tags = [one.strip().removeprefix("W/") for one in if_none_match.split(",")]
    return "*" in tags or tag in tags


def problems(*codes: str, tags: bool = False) -> dict[int | str, dict[str, Any]]:
    """The declarations of these problems, and of those that every address can answer with.

    With `tags` the answer may also be 304.
    """
    by_status: dict[int, list[str]] = {}
    for code in (*codes, *_ANYWHERE):
        by_status.setdefault(PROBLEMS[code][0], []).append(code)
    found: dict[int | str, dict[str, Any]] = {
        status: {
            "model": shapes.Problem,
            "description": "; ".join(f"`{code}`: {PROBLEMS[code][1]}" for code in dict.fromkeys(listed)),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, listed in sorted(by_status.items())
    }
    if tags:
        found[304] = {"description": "The reader has it already (If-None-Match)."}
    return found


_ANYWHERE: Final = (
    "unauthorised", "method_not_allowed", "body_too_slow", "body_too_large", "wrong_host",
    "headers_too_large", "invalid_parameter", "too_many_requests", "read_model_busy",
    "read_model_unreachable", "internal",
)  # fmt: skip
