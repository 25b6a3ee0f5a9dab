"""One record of each partition at a time, and different partitions beside each other.

A record waits three times for the broker. Meanwhile another partition's is applied, and what they send shares
requests. Within a partition nothing changes: the next record starts when the one before it has ended. Knows
nothing of what a record is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from streams.kafka.deadline import Deadline


class Lanes:
    """The records under way, one for each partition. `handle` takes one and never raises."""

    def __init__(self, handle: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        self._handle = handle
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self.is_open = True

    async def start(self, message: Any) -> None:
        """Start a record once the one before it in its partition has ended.

        While the lanes are shut it is let go instead: nobody has said that it is done, so it is read again.
        """
        before = self._under_way.get(message.partition)
        if before is not None:
            await before
        if self.is_open:
            self._under_way[message.partition] = asyncio.create_task(self._handle(message))

    def shut(self) -> None:
        """Start no record until the lanes are opened again."""
        self.is_open = False

    def open(self) -> None:
        """Start records again."""
        self.is_open = True

    async def idle(self, deadline: Deadline) -> bool:
        """Wait until no record is under way; False where that takes too long."""
        under_way = [task for task in self._under_way.values() if not task.done()]
        if not under_way:
            return True
        _, late = await asyncio.wait(under_way, timeout=deadline.left_s)
        return not late
