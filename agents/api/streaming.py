"""The change feed as server-sent events: resumed from the last one that a reader has, alive when silent.

Each reader goes through the read model by its own cursor, a page at a time, and reads on only when it has
taken the page: a slow one holds one page and nothing else. Decides nothing about facts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from agents.api.service import Bell, rung
from agents.read_model import FactVersion, Page
from state.names import normalise, normalise_predicate

PAGE: Final = 100  # events that one reader holds at a time
RETRY_MS: Final = 2_000  # how soon a browser that lost the stream comes back

Read = Callable[[str | None], Awaitable[Page[FactVersion]]]
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which changes a reader wants; names in any spelling, None is any."""

    namespace: str | None = None
    subject: str | None = None
    predicate: str | None = None
    event: str | None = None

    def has(self, version: FactVersion) -> bool:
        """Whether it wants this one."""
        return (
            self.namespace in (None, version.namespace)
            and self.event in (None, version.event)
            and (self.subject is None or normalise(self.subject) == normalise(version.subject))
            and (
                self.predicate is None
                or normalise_predicate(self.predicate) == normalise_predicate(version.predicate)
            )
        )


async def stream(
    read: Read, first: Page[FactVersion], wanted: Wanted, bell: Bell, *, heartbeat_s: float
) -> AsyncIterator[bytes]:
    """Events from a first page on, for ever; until the bell is closed.

    `id` is the cursor behind an event. A silent stream still says how far it is, in a line that no reader
    takes for an event: whoever comes back goes on from there, whatever was left out for it.
    """
    yield f"retry: {RETRY_MS}\n\n".encode()
    page = first
    while True:
        chunk = b"".join(written(version) for version in page.items if wanted.has(version))
        if chunk:
            yield chunk
        if bell.closed:
            return
        event = bell.next()
        cursor = page.next
        page = await read(cursor)
        while not page.items:
            if not await rung(event, heartbeat_s):
                yield f": alive\nid: {cursor}\n\n".encode()
            if bell.closed:
                return
            event = bell.next()
            page = await read(cursor)


def written(version: FactVersion) -> bytes:
    """One event. JSON holds no line break, so its data is one line."""
    body = _encode(version)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (version.cursor.encode(), version.event.encode(), body)
