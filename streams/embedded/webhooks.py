"""Webhooks from an embedded log: follows its events, and keeps how far each receiver is in the log itself.

Each receiver is carried by a task of its own, so that a slow one holds up nobody; all share one connection to
the file, in one thread. The place of a receiver is written after its events were acknowledged or given up: a
process that dies in between sends some again, with the same ids. One process at a time delivers from a log.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from state.errors import FactdriftError
from state.instants import Instant
from streams.embedded.host import PARTITION
from streams.embedded.store import EmbeddedStore
from streams.host import Record
from streams.keys import Offset
from streams.topics import Topic
from streams.tracing import OFF, Tracing
from streams.webhook_config import ALERT_TOPICS, Receiver
from streams.webhook_delivery import Delivery, Place

LOCK_NAME: Final = "webhooks.lock"
LOOK_S: Final = 0.25  # how soon a new event is seen; SQLite tells nobody
COMMIT_S: Final = 0.25  # between two writes of a place while calls are under way
AGAIN_S: Final = 5.0  # after an error of the file

_log = logging.getLogger(__name__)
T = TypeVar("T")
Told = Callable[[str, str], None]
"""Called with the name of a webhook and what happened to a call of it."""


class WebhooksTaken(FactdriftError):
    """Another process delivers the events of this log."""


class EmbeddedWebhooks:
    """Carries the events of the log in `folder` to receivers, from `start` to `stop`."""

    def __init__(
        self,
        folder: Path,
        receivers: Sequence[Receiver],
        *,
        told: Told = lambda _webhook, _outcome: None,
        tracing: Tracing = OFF,
    ) -> None:
        self._folder = folder
        self.deliveries = [
            Delivery(receiver, self._keep_letter, told=partial(told, receiver.name), tracing=tracing)
            for receiver in receivers
        ]
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="webhooks")
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._store: EmbeddedStore | None = None
        self._lock = -1

    async def start(self) -> None:
        """Open the log, place new receivers, begin. Raises WebhooksTaken, BadWebhooks, StoreFormat."""
        try:
            self._lock = _locked(self._folder)
            self._store = await self._in_thread(lambda: EmbeddedStore(self._folder))
            for delivery in self.deliveries:
                await delivery.start()
                await self._in_thread(partial(self._place, delivery.receiver))
        except BaseException:
            await self.stop()
            raise
        self._tasks = [asyncio.create_task(self._carry(delivery)) for delivery in self.deliveries]

    async def wait(self) -> None:
        """Return never, and raise what ended a receiver's task: a fault of ours."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def stop(self) -> None:
        """Take in the answers that are awaited, write how far each receiver is, and let go of the log."""
        self._stopping.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for delivery in self.deliveries:
            await delivery.stop()
        store, self._store = self._store, None
        if store is not None:
            await self._in_thread(store.close)
        self._thread.shutdown()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # -- one receiver -----------------------------------------------------------------------

    async def _carry(self, delivery: Delivery) -> None:
        """Deliver until stopped. An error of the file is told, and tried again: the service goes on."""
        while not self._stopping.is_set():
            try:
                await self._follow(delivery)
            except FactdriftError as error:
                _log.error("Webhook %s cannot follow the log: %s", delivery.receiver.name, error)
                delivery.break_off()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN_S):
                        await self._stopping.wait()

    async def _follow(self, delivery: Delivery) -> None:
        name = delivery.receiver.name
        topics = [topic for topic in ALERT_TOPICS if topic.value in delivery.receiver.wanted.topics]
        read = await self._in_thread(partial(self._committed, name, topics))
        committed: dict[Place, int] = dict(read)
        committed_at = 0.0
        while not self._stopping.is_set():
            records = await self._in_thread(partial(self._unread, read, delivery.room))
            delivery.take(records)
            for record in records:
                read[record.topic, record.partition] = record.offset + 1
            await delivery.step(0 if records and delivery.room else LOOK_S)
            may_wait = delivery.n_under_way and time.monotonic() - committed_at < COMMIT_S
            if not may_wait and await self._commit(name, delivery, committed):
                committed_at = time.monotonic()
        await delivery.finish()
        await self._commit(name, delivery, committed)

    async def _commit(self, name: str, delivery: Delivery, committed: dict[Place, int]) -> bool:
        """Write the places that moved; False where none did."""
        moved = {place: at for place, at in delivery.reached().items() if at != committed.get(place)}
        if moved:
            await self._in_thread(partial(self._write_places, name, moved))
            committed |= moved
        return bool(moved)

    # -- in the thread of the store ---------------------------------------------------------

    def _opened(self) -> EmbeddedStore:
        assert self._store is not None, "it is not started"
        return self._store

    def _place(self, receiver: Receiver) -> None:
        """Where a receiver begins that is new to a topic: at its end, or at its beginning."""
        store = self._opened()
        with store.transaction():
            for topic in ALERT_TOPICS:
                mark = f"{_agent(receiver.name)}/{topic.value}"
                if topic.value not in receiver.wanted.topics or store.mark(mark) is not None:
                    continue
                at = Offset(0) if receiver.from_start else store.end(topic, PARTITION)
                store.commit_offset(_agent(receiver.name), topic, PARTITION, at)
                store.set_mark(mark, "begun")

    def _committed(self, name: str, topics: Sequence[Topic]) -> dict[Place, int]:
        store = self._opened()
        return {(topic, PARTITION): store.next_offset(_agent(name), topic, PARTITION) for topic in topics}

    def _unread(self, read: dict[Place, int], limit: int) -> list[Record]:
        """At most so many records that were not read yet."""
        store, found = self._opened(), list[Record]()
        for (topic, partition), start in read.items():
            if len(found) < limit and start < store.end(topic, partition):
                found += store.read(topic, partition, start, limit - len(found))
        return found

    def _write_places(self, name: str, places: dict[Place, int]) -> None:
        store = self._opened()
        with store.transaction():
            for (topic, partition), offset in places.items():
                store.commit_offset(_agent(name), topic, partition, offset)

    async def _keep_letter(self, key: bytes, value: bytes) -> None:
        await self._in_thread(partial(self._append_letter, key, value))

    def _append_letter(self, key: bytes, value: bytes) -> None:
        store = self._opened()
        now = Instant(time.time_ns() // 1_000_000)
        with store.transaction():
            store.append(Topic.WEBHOOK_LETTERS, PARTITION, [(key, value, now)])


def _agent(name: str) -> str:
    """Under which name the log keeps how far a receiver is."""
    return f"webhook:{name}"


def _locked(folder: Path) -> int:
    """A lock that ends with the process, in whatever way. Raises WebhooksTaken."""
    try:
        lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise WebhooksTaken(
            f"{folder / LOCK_NAME} cannot be written: {error.strerror}. Give another --data."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise WebhooksTaken(
            f"Another process delivers the webhooks of {folder}: a `factdrift webhooks run`, or a "
            "`factdrift serve` with FACTDRIFT_WEBHOOKS. Stop it, or let it do so."
        ) from error
    return lock
