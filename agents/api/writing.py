"""The routes that write: observations and corrections. They answer when what they took is durable."""

from __future__ import annotations

from typing import Annotated, Any, Final

import anyio.to_thread
import msgspec
from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from agents import accepting, correcting
from agents.answers import Asked
from agents.api import commands, shapes
from agents.api.metrics import Metrics
from agents.api.problems import Problem, problem_of
from agents.api.replying import BEARER, ask, json_response, problems, service_of
from agents.composition import wall_clock
from state.errors import BadInput, FactdriftError
from state.traceparent import well_formed
from state.validation import fields_of
from streams.settings import ApiSettings
from streams.tracing import Tracing

router = APIRouter(prefix="/v1", tags=["writing"], dependencies=[BEARER])

_OBSERVATION: Final = {
    "subject": "Caroline", "predicate": "is pursuing", "object": "adoption",
    "observed_at": "2023-05-25T13:14:00Z", "source": {"id": "caroline", "document": "session-2"},
}  # fmt: skip
_ONE_OR_MORE: Final = {
    "oneOf": [
        {"$ref": "#/components/schemas/Observation"},
        {"type": "array", "items": {"$ref": "#/components/schemas/Observation"}},
    ]
}
_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": _ONE_OR_MORE, "example": _OBSERVATION},
            "application/x-ndjson": {
                "schema": {"type": "string", "description": "An observation on each line."},
                "example": msgspec.json.encode(_OBSERVATION).decode() + "\n",
            },
        },
    }
}
_COMMAND: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "oneOf": [
                        {"$ref": f"#/components/schemas/{model.__name__}"} for model in commands.MODELS
                    ],
                    "discriminator": {
                        "propertyName": "op",
                        "mapping": {
                            model.__name__.lower(): f"#/components/schemas/{model.__name__}"
                            for model in commands.MODELS
                        },
                    },
                },
                "example": {
                    "op": "retract", "observation_id": "s2-17", "reason": "said of somebody else",
                },
            }
        },
    }
}  # fmt: skip
_CORRECTION_CODES: Final = (
    "bad_json", "unsupported_media_type", "unknown_target", "already_closed", "correction_id_taken",
    "blank_reason", "file_in_use", "log_unavailable", "overloaded", "stopping",
)  # fmt: skip


@router.post(
    "/observations",
    response_model=shapes.Accepted,
    openapi_extra=_BODY,
    responses={
        207: {"model": shapes.Accepted, "description": "Some were accepted, some refused; see `results`."},
        **problems(
            "unsupported_media_type", "too_many_lines", "nothing_accepted", "log_unavailable", "overloaded",
            "stopping",
        ),
    },
    summary="Publish observations; answered once they are durable",
)  # fmt: skip
async def observations(request: Request) -> Response:
    """An object, an array, or one on each line (NDJSON). Each is accepted or refused by itself.

    200: all are accepted and durable; 207: some; 422: none. What is refused has a dead-letter code, and is
    not kept. An observation that was sent before is recognised by its id and changes nothing.
    """
    kind = _media_type(request, ("application/json", *accepting.NDJSON_TYPES))
    settings: ApiSettings = request.app.state.settings
    metrics: Metrics = request.app.state.metrics
    service = service_of(request)
    body = await request.body()

    def judged() -> list[accepting.Judged]:
        records = accepting.records_of(body, kind)
        if len(records) > settings.lines_max:
            raise Problem(
                "too_many_lines",
                f"The request holds {len(records):,} observations; at most {settings.lines_max:,} are taken.",
            )
        bytes_max = request.app.state.record_bytes_max
        aliases = service.folding.aliases
        return accepting.judge(records, now=wall_clock(), bytes_max=bytes_max, aliases=aliases)

    tracing: Tracing = request.app.state.tracing
    with tracing.span("POST /v1/observations", traceparent(request), "server", begins=True) as span:
        found = await anyio.to_thread.run_sync(judged)
        await service.publish(found, trace=span.header)
        span.note("factdrift.observations", sum(one.value is not None for one in found))
    for one in found:
        metrics.observation(one.answer.get("code", "accepted"))
    answer = accepting.summary(found)
    if answer["rejected"] and not answer["accepted"]:
        first = answer["results"][0]
        raise Problem(
            "nothing_accepted", f"{first['code']}: {first['message']}", more={"results": answer["results"]}
        )
    return json_response(answer, status=207 if answer["rejected"] else 200)


@router.post(
    "/corrections",
    response_model=shapes.CorrectionResult,
    openapi_extra=_COMMAND,
    responses={
        202: {
            "model": shapes.CorrectionResult,
            "description": "Durable, and not projected yet: Location says where its outcome will be.",
        },
        **problems(*_CORRECTION_CODES),
    },
    summary="Correct what is believed",
)
async def correct(request: Request) -> Response:
    """Supersede, invalidate, link, retract or forget. The same command twice is one."""
    _media_type(request, ("application/json",))
    metrics: Metrics = request.app.state.metrics
    fields = _fields(await request.body(), request.app.state.record_bytes_max)
    op = str(fields.get("op")) if fields.get("op") in correcting.OPS else "other"
    try:
        commands.refuse_unknown_fields(fields)
        tracing: Tracing = request.app.state.tracing
        with tracing.span("POST /v1/corrections", traceparent(request), "server", begins=True) as span:
            status, answer = await service_of(request).correct(fields, trace=span.header)
    except FactdriftError as error:
        metrics.correction(op, problem_of(error).code)
        raise
    metrics.correction(op, answer["outcome"])
    headers = {"Location": f"/v1/corrections/{answer['correction_id']}"} if status == 202 else None
    return json_response(answer, status=status, headers=headers)


@router.get(
    "/corrections/{correction_id}",
    response_model=shapes.CorrectionResult,
    responses=problems("no_such_correction", "unknown_target", "already_closed", "too_much_evidence"),
    summary="What became of a correction",
)
async def correction(
    request: Request, correction_id: Annotated[str, Path(min_length=1, max_length=1000)]
) -> Response:
    """The events that followed from it, or why its claim did not take it."""

    def question(asked: Asked) -> Any:
        return correcting.found(asked.connection, asked.folding, correction_id)

    found = await ask(request, question)
    if found is None:
        raise Problem("no_such_correction", f"Nothing is known of the correction {correction_id[:64]!r}.")
    return json_response(found)


def _fields(body: bytes, bytes_max: int) -> dict[str, Any]:
    try:
        return fields_of(body, bytes_max=bytes_max)
    except BadInput as bad:
        raise Problem("bad_json" if bad.code in ("not_json", "not_utf8") else bad.code, bad.message) from bad


def traceparent(request: Request) -> bytes | None:
    """The traceparent that a request bears; None where it has none, a malformed one or several."""
    found = request.headers.getlist("traceparent")
    return well_formed(found[0].strip().encode("latin-1")) if len(found) == 1 else None


def _media_type(request: Request, known: tuple[str, ...]) -> str:
    """The kind of the body. Raises Problem: a page of another site can send any other kind unasked."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in known:
        raise Problem("unsupported_media_type", f"Content-Type must be one of {', '.join(known)}.")
    return kind
