"""An event loop of its own in a thread, for callers that wait: one bound on each wait, whatever it is for.

Decides nothing. A socket's timeout begins anew with each byte, so a peer that sends one byte now and then
could hold a caller for ever; a deadline over a whole coroutine cannot be stretched.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines in a daemon thread, which starts with the first one. Safe in several threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Coroutine[Any, Any, T], *, within_s: float) -> T:
        """Wait for the result of `work`; at most `within_s` seconds, then it is cancelled.

        Raises TimeoutError, and whatever `work` raises. Must not be called from `work` itself.
        """
        future = asyncio.run_coroutine_threadsafe(_bounded(work, within_s), self._started())
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the caller was interrupted: nobody wants the answer any more
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True).start()
            return self._loop


async def _bounded(work: Coroutine[Any, Any, T], within_s: float) -> T:
    async with asyncio.timeout(within_s):
        return await work
