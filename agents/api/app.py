"""The application: the routes with what every one of them needs, put together.

Decides how errors become problems and what the OpenAPI document says of them; knows no question itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

import anyio.to_thread
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from agents.api import asking, changing, commands, forgotten, operating, writing
from agents.api.guarding import Guard
from agents.api.metrics import Metrics
from agents.api.problems import Problem, problem_of
from agents.api.service import Service
from agents.api.tokens import Tokens
from state.errors import FactdriftError
from streams.events import Observation
from streams.settings import Settings
from streams.tracing import OFF, Tracing

log = structlog.get_logger()

READERS_MAX: Final = 12  # questions at one time; the pool of the read model has 15 connections
DESCRIPTION: Final = (
    "What is believed, what was believed, and why: facts at two clocks, with every change as an event. Names "
    "come in any spelling, instants and windows in words. Errors are problem documents with a stable `code`, "
    "listed at /v1/problems."
)
_REF: Final = "#/components/schemas/{model}"


def create(
    service: Service, settings: Settings, tokens: Tokens, *, metrics: Metrics, tracing: Tracing = OFF
) -> ASGIApp:
    """The application over a service, which whoever runs it starts before and stops after (`serving`).

    Once in a process: the dashboard beside it has one application for all.
    """
    api = settings.api

    app = _routed()
    app.state.service = service
    app.state.settings = api
    app.state.record_bytes_max = settings.record_bytes_max
    app.state.streams = 0
    app.state.metrics = metrics
    app.state.tracing = tracing
    for kind in (Problem, FactdriftError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _answered)
    guarded: ASGIApp = Guard(app, settings=api, tokens=tokens, metrics=metrics)
    origins = [one.strip() for one in api.cors_origins.split(",") if one.strip()]
    if origins:
        guarded = CORSMiddleware(
            guarded,
            allow_origins=origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID", "If-None-Match", "traceparent"],
            expose_headers=["ETag", "Location", "Retry-After"],
        )
    from agents.dashboard.gate import beside  # it stands on this package

    return beside(guarded, app, service=service, metrics=metrics, tokens=tokens)


def document() -> dict[str, Any]:
    """The OpenAPI document; it is the same whatever is served."""
    return _openapi(_routed())


@asynccontextmanager
async def _lifespan(_app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = READERS_MAX
    yield


def _routed() -> FastAPI:
    """The routes and the document, with nothing behind them."""
    app = FastAPI(
        title="factdrift",
        version=version("factdrift"),
        description=DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,  # its page loads code from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    for module in (asking, forgotten, changing, writing, operating):
        app.include_router(module.router)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


async def _answered(_request: Request, error: Exception) -> Response:
    """Any error as a problem document."""
    if isinstance(error, RequestValidationError):
        return _invalid(error).response()
    if isinstance(error, HTTPException):
        return _of_the_framework(error).response()
    problem = problem_of(error)
    if problem.status >= 500:
        log.error(
            "a request failed", code=problem.code, reason=str(error), exc_info=problem.code == "internal"
        )
    return problem.response()


def _invalid(error: RequestValidationError) -> Problem:
    faults = [
        {"where": ".".join(str(part) for part in fault["loc"]), "message": fault["msg"]}
        for fault in error.errors()
    ]
    detail = "; ".join(f"{fault['where']}: {fault['message']}" for fault in faults[:5])
    return Problem("invalid_parameter", detail, more={"errors": faults})


def _of_the_framework(error: HTTPException) -> Problem:
    if error.status_code == 405:
        allowed = dict(error.headers or {})
        return Problem("method_not_allowed", f"Allowed here: {allowed.get('Allow', 'another one')}.", allowed)
    if error.status_code == 404:
        return Problem("not_found", "See /openapi.json for every address.")
    return Problem("bad_json", str(error.detail))


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document: that of the routes, with the bodies that they read by themselves."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        bodies = [(model, "validation") for model in (Observation, *commands.MODELS)]
        _, schemas = models_json_schema(bodies, ref_template=_REF)  # type: ignore[arg-type]
        known = document.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in schemas["$defs"].items():
            known.setdefault(name, schema)
        app.openapi_schema = document
    return app.openapi_schema
