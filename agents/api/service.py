"""What the API needs of a log, whichever it is, and how readers hear that something has changed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agents.accepting import Judged
from agents.proving import Words
from agents.read_model import Folding, ReadModel
from state.instants import Instant

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that readiness depends on."""

    name: str
    ok: bool
    why: str = ""


class Service(Protocol):
    """A log that is written to, and the read model that follows it. Methods belong to one event loop."""

    model: ReadModel
    folding: Folding
    bell: Bell

    async def start(self) -> None:
        """Open everything, and return when it can be asked. Raises FactdriftError."""
        ...

    async def stop(self) -> None:
        """Finish what was begun and let go of everything."""
        ...

    def now(self) -> Instant:
        """What now means in the log. Asked from any thread."""
        ...

    async def publish(self, judged: Sequence[Judged], *, trace: bytes | None = None) -> None:
        """Return when the records that were accepted are durable; each bears the traceparent `trace`.

        What the log refuses after all is written into the answers. Raises FactdriftError, Problem.
        """
        ...

    async def correct(self, fields: Mapping[str, Any], *, trace: bytes | None = None) -> tuple[int, Fields]:
        """Publish a correction, with the traceparent `trace`: the status of the answer and what became of it.

        Raises Refused, Problem.
        """
        ...

    async def search(self, words: Words) -> Fields:
        """Look for words in everything that is kept (`agents.proving`). Raises FactdriftError, Problem."""
        ...

    def checks(self) -> list[Check]:
        """What is well and what is not. Asked from any thread."""
        ...


class Bell:
    """Rings when the read model has changed. For one event loop, except `ring_soon`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event = asyncio.Event()
        self.closed = False

    def open(self) -> None:
        """Belong to the event loop that runs now."""
        self._loop = asyncio.get_running_loop()

    def next(self) -> asyncio.Event:
        """What is set at the next ring. Taken before reading, so that no ring in between is missed."""
        return self._event

    def ring(self) -> None:
        """Wake whoever waits."""
        rung, self._event = self._event, asyncio.Event()
        rung.set()

    def ring_soon(self) -> None:
        """As `ring`, from any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is gone, and everybody who waited
                self._loop.call_soon_threadsafe(self.ring)

    def close(self) -> None:
        """Ring for the last time: whoever waits shall go."""
        self.closed = True
        self.ring_soon()


async def rung(event: asyncio.Event, timeout_s: float) -> bool:
    """Wait for a ring; False where none came in time."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return False
    return True
