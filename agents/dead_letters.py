"""Dead letters of an embedded log, newest first and a page at a time, and sending their records again.

What `factdrift dlq` does, for a service: it reads backwards, so that a page costs a page however many letters
there are. Judges nothing; a record that still cannot be used becomes a dead letter once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from state.errors import FactdriftError
from streams.embedded import PARTITION, EmbeddedHost, EmbeddedStore
from streams.events import DeadLetter
from streams.keys import Offset
from streams.topics import Topic

Fields = dict[str, Any]

PAGE_MAX: Final = 100
AGAIN_MAX: Final = 1_000
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class NoSuchLetter(FactdriftError):
    """A dead letter that is not there, or is kept no more."""

    code = "no_such_dead_letter"


@runtime_checkable
class OffersDeadLetters(Protocol):
    """A service that shows its dead letters and sends them again."""

    async def dead_letters(self, *, before: int | None, limit: int) -> Fields:
        """A page of them: `items`, each with its `offset`, and `next`, what `before` is for the next one."""
        ...

    async def send_again(self, offsets: Sequence[int]) -> int:
        """Send the records of these letters again; how many those were. Raises FactdriftError."""
        ...


def newest(store: EmbeddedStore, *, before: int | None, limit: int) -> Fields:
    """Up to `limit` letters before an offset (None: before the end), newest first."""
    end = store.end(Topic.DEAD_LETTERS, PARTITION)
    until = end if before is None else min(max(before, 0), end)
    start = max(until - min(max(limit, 1), PAGE_MAX), 0)
    n_records = until - start
    records = store.read(Topic.DEAD_LETTERS, PARTITION, Offset(start), n_records) if n_records else []
    items = [
        {**_decode(record.value), "offset": record.offset}
        for record in reversed(records)
        if record.offset < until and record.value  # else it was erased
    ]
    return {"items": items, "next": start or None, "n_letters": end}


def originals(store: EmbeddedStore, offsets: Sequence[int]) -> list[bytes]:
    """The records of these letters, each once. Raises NoSuchLetter."""
    found: dict[bytes, None] = {}
    for offset in dict.fromkeys(offsets[:AGAIN_MAX]):
        records = store.read(Topic.DEAD_LETTERS, PARTITION, Offset(offset), 1) if offset >= 0 else []
        if not records or records[0].offset != offset or not records[0].value:
            raise NoSuchLetter(f"There is no dead letter {offset}, or it is kept no more.")
        found[DeadLetter.model_validate_json(records[0].value).original()] = None
    return list(found)


def send_again(host: EmbeddedHost, offsets: Sequence[int]) -> int:
    """Publish the records of these letters again, in one transaction. Raises NoSuchLetter."""
    values = originals(host.store, offsets)
    if values:
        host.publish(Topic.OBSERVATIONS, [(None, value, None) for value in values])
    return len(values)
