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

Draw = Callable[[], Awaitable[None]]

PAUSE_S: Final = 0.25
"""Between two drawings of one page; a burst of changes costs four questions a second."""
SILENCE_S: Final = 30.0
"""After so long the page is drawn anyway: what says how long ago something was grows old."""


async def follow(bell: Bell, draw: Draw, *, every_s: float = SILENCE_S) -> None:
    """Draw the page that is being built; anew when the bell rings or `every_s` has passed, until it is left.

    Raises what the first drawing raises.
    """
    heard = bell.next()
    await draw()
    client = ui.context.client

    def is_left() -> bool:
        return bell.closed or client.is_deleted

    task = background_tasks.create(redraw(bell, heard, draw, is_left, every_s), name="dashboard page")
    client.on_delete(task.cancel)


async def redraw(
    bell: Bell, heard: asyncio.Event, draw: Draw, is_left: Callable[[], bool], every_s: float
) -> None:
    """Draw at every ring from `heard` on, until the page is left."""
    while not is_left():
        await rung(heard, every_s)
        if is_left():
            return
        heard = bell.next()  # before it is drawn: what changes while it is being read rings this one
        try:
            await draw()
        except FactdriftError as error:
            log.warning("a page of the dashboard was not drawn", reason=str(error))
        await asyncio.sleep(PAUSE_S)
