"""The stream of changes: server-sent events, resumed from Last-Event-ID."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from agents.api import queries
from agents.api.metrics import Metrics
from agents.api.problems import Problem
from agents.api.replying import BEARER, ONCE, problems, service_of
from agents.api.streaming import PAGE, Wanted, stream
from agents.read_model import FactVersion, Page, changes, newest_change
from streams.settings import ApiSettings

router = APIRouter(prefix="/v1", tags=["changes"], dependencies=[BEARER, ONCE])

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events for ever. `event` is the kind of change, `data` the event as published, `id` "
        "where to go on after it.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 1f0c-17\nevent: fact-created\ndata: {"fact_id":"…","version":1}\n\n',
            }
        },
    }
}


@router.get(
    "/changes",
    response_class=Response,
    responses={**_EVENTS, **problems("bad_cursor", "cursor_expired", "too_many_streams", "stopping")},
    summary="Every change of a fact, as it happens",
)
async def changes_feed(
    request: Request,
    query: Annotated[queries.ChangesQuery, Query()],
    last_event_id: Annotated[
        str | None, Header(alias="Last-Event-ID", description="The id of the last event at hand.")
    ] = None,
) -> Response:
    """Follow the change feed. Begins at the present end, or behind the event that Last-Event-ID names."""
    service = service_of(request)
    settings: ApiSettings = request.app.state.settings
    metrics: Metrics = request.app.state.metrics
    if service.bell.closed:
        raise Problem("stopping", "The service is being stopped; come back when it runs again.")
    if request.app.state.streams >= settings.streams_max:
        raise Problem(
            "too_many_streams", f"{settings.streams_max} streams are being followed already.",
            {"Retry-After": "30"},
        )  # fmt: skip

    def page(after: str | None) -> Page[FactVersion]:
        with service.model.reading() as connection:
            return changes(connection, after=after, limit=PAGE)

    def first() -> Page[FactVersion]:
        after = last_event_id or query.after
        if after is None and not query.from_start:
            with service.model.reading() as connection:
                after = newest_change(connection)
        return page(after)

    async def read(after: str | None) -> Page[FactVersion]:
        return await anyio.to_thread.run_sync(page, after)

    wanted = Wanted(query.namespace, query.subject, service.folding.meant(query.predicate), query.event)
    begun = await anyio.to_thread.run_sync(first)

    async def counted() -> AsyncIterator[bytes]:
        request.app.state.streams += 1
        metrics.streams.inc()
        try:
            async for chunk in stream(read, begun, wanted, service.bell, heartbeat_s=settings.heartbeat_s):
                metrics.changes.inc(chunk.count(b"\ndata: "))
                yield chunk
        finally:
            request.app.state.streams -= 1
            metrics.streams.dec()

    return StreamingResponse(counted(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
