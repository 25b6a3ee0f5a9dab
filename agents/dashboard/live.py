"""Pages that follow the log: drawn anew when the read model has changed, and not more often than that.

One task for each open page, which ends with the page or with the service. A bell that rings often is heard
as often as `PAUSE_S` allows, and the last ring is never missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from nicegui import background_tasks, ui

from agents.api.service import Bell, rung
from state.errors import FactdriftError

log = structlog.get_logger()

PAUSE_S: Final = 0.25
"""Between two drawings of one page; a burst of changes costs four questions a second."""
SILENCE_S: Final = 30.0
"""After so long the page is drawn anyway: what says how long ago something was grows old."""


def follow(bell: Bell, draw: Callable[[], Awaitable[None]], *, every_s: float = SILENCE_S) -> None:
    """Draw the page that is being built when the bell rings or `every_s` has passed, until it is left."""
    client = ui.context.client

    async def following() -> None:
        while not bell.closed and not client.is_deleted:
            event = bell.next()
            await rung(event, every_s)
            if bell.closed or client.is_deleted:
                return
            try:
                await draw()
            except FactdriftError as error:
                log.warning("a page of the dashboard was not drawn", reason=str(error))
            await asyncio.sleep(PAUSE_S)

    task = background_tasks.create(following(), name="dashboard page")
    client.on_delete(task.cancel)
