"""Runs a coroutine on a loop of its own, and ends the loop in a bounded time whatever is left on it.

`asyncio.Runner` waits for every task that it cancelled, without a limit. A client's task that goes on asking
a silent broker, however often it is cancelled, would keep a process that has nothing left to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import uvloop

_log = logging.getLogger(__name__)


def run_and_close(main: Coroutine[Any, Any, None], *, close_s: float) -> None:
    """Run `main`; raises what it raises.

    Tasks that it left are cancelled and have `close_s` seconds to end. Those that have not ended by then are
    named in the log and left with their loop, which is not closed: the process is expected to end soon.
    """
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(main)
    finally:
        try:
            if loop.run_until_complete(_end_tasks(close_s)):
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.run_until_complete(loop.shutdown_default_executor())
                loop.close()
        finally:
            asyncio.set_event_loop(None)


async def _end_tasks(close_s: float) -> bool:
    """Cancel every other task; whether all of them ended in time."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel("the loop is closed")
    if not left:
        return True
    ended, late = await asyncio.wait(left, timeout=close_s)
    for task in ended:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s ended with an error while the loop was closed", task.get_name(), exc_info=error)
    for task in late:
        _log.warning("%r did not end within %g s and is left", task, close_s)
    return not late
