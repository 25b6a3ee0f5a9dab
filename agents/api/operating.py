"""The routes for whoever runs the service: whether it is well, its numbers, and the list of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from agents.api import shapes
from agents.api.metrics import CONTENT_TYPE, Metrics
from agents.api.problems import PROBLEMS
from agents.api.replying import BEARER, json_response, problems, service_of
from agents.api.service import Check

router = APIRouter(tags=["operation"])

_NOT_READY: dict[int | str, dict[str, Any]] = {
    503: {"model": shapes.Health, "description": "Not well; `why` says what to do."}
}


@router.get("/healthz", response_model=shapes.Health, summary="Whether the process lives")
async def healthz() -> Response:
    """Answers while the process does."""
    return _health([])


@router.get("/readyz", response_model=shapes.Health, responses=_NOT_READY, summary="Whether it can be asked")
async def readyz(request: Request) -> Response:
    """Whether the log takes writes and the read model follows."""
    return _health(service_of(request).checks())


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "For Prometheus."},
        **problems(),
    },
    dependencies=[BEARER],
    summary="Numbers for Prometheus",
)
async def metrics(request: Request) -> Response:
    """What was asked and written, how long it took, and what became of it."""
    found: Metrics = request.app.state.metrics
    return Response(found.text(), headers={"Content-Type": CONTENT_TYPE})


@router.get(
    "/v1/problems",
    response_model=list[shapes.ProblemKind],
    responses=problems(),
    dependencies=[BEARER],
    summary="Every code that an answer can carry",
)
async def problem_kinds() -> Response:
    """Code, status and meaning, by code."""
    return json_response(
        [{"code": code, "status": s, "title": title} for code, (s, title) in sorted(PROBLEMS.items())]
    )


def _health(checks: Sequence[Check]) -> Response:
    ok = all(check.ok for check in checks)
    body = {
        "ok": ok,
        "why": [f"{check.name}: {check.why}" for check in checks if not check.ok],
        "checks": {check.name: {"ok": check.ok, "why": check.why} for check in checks},
    }
    return json_response(body, status=200 if ok else 503)
