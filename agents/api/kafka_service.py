"""Topics on Kafka as a service: an acknowledged write, and a read model that follows behind it.

What was acknowledged is durable, and read a moment later: workers fold it first. A connection that fails is
made anew for the next request; the read model goes on where its own offsets say.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import structlog

from agents import composition, correcting
from agents.accepting import Judged
from agents.api.forgotten import busy
from agents.api.service import Bell, Check, rung
from agents.forget import erase_fulfilled, forget_kafka, verify_kafka
from agents.lag import behind
from agents.proving import Words
from agents.read_model import (
    Folding,
    ReadModel,
    folding_of,
    follow_kafka,
    how_far,
    open_read_model,
    wishes,
)
from agents.read_model.projection import applied_offsets
from state.errors import FactdriftError
from state.instants import Instant
from streams.kafka import ends_of, reach, topic_name
from streams.kafka.deadline import Deadline
from streams.kafka.producer import Producer
from streams.settings import Settings
from streams.topics import Topic
from streams.trace_headers import headers_of

log = structlog.get_logger()

AGAIN_S: Final = 5.0  # between two tries to follow; a broker that restarts is away for some seconds
LOOK_S: Final = 0.5  # how soon a reader hears of what another process applied
PAUSE_S: Final = 0.1  # between two rings: readers ask anew with each
NEVER: Final = Instant(-1)

Fields = dict[str, Any]


class KafkaService:
    """The cluster of the settings, and a read model in a folder or by URL."""

    model: ReadModel
    folding: Folding

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._producer: Producer | None = None
        self._connecting = asyncio.Lock()
        self._searching = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = "It has not begun."
        self._applied = asyncio.Event()
        self.bell = Bell()

    async def start(self) -> None:
        """Reach the broker, open the read model, and follow. Raises FactdriftError."""
        self.bell.open()
        await reach(self._settings.kafka)
        self.folding = await asyncio.to_thread(folding_of, self._settings)
        self.model = await asyncio.to_thread(open_read_model, self._settings, self._folder)
        running = (self._follow(), self._look(), self._erase())
        self._tasks = [asyncio.create_task(one) for one in running]

    async def stop(self) -> None:
        """Send what waits, follow no further, and close."""
        self.bell.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._disconnect()
        if hasattr(self, "model"):
            self.model.close()

    def now(self) -> Instant:
        """The clock on the wall."""
        return composition.wall_clock()

    async def publish(self, judged: Sequence[Judged], *, trace: bytes | None = None) -> None:
        """Return when the brokers have acknowledged the accepted records."""
        accepted = [(one.key, one.value) for one in judged if one.value is not None]
        await self._send(Topic.OBSERVATIONS, accepted, trace)

    async def correct(self, fields: Mapping[str, Any], *, trace: bytes | None = None) -> tuple[int, Fields]:
        """Publish a correction; wait a while for what becomes of it, else say where to look (202)."""
        correction = await asyncio.to_thread(self._prepared, fields)
        if correction.op == "forget":
            return await self._forget(correction, fields)
        if (before := await asyncio.to_thread(self._found, correction.correction_id)) is not None:
            return 200, {**before, "outcome": "unchanged", "events": [], "links": []}
        await self._send(Topic.CORRECTIONS, [(correction.key, correction.value)], trace)
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._settings.api.outcome_timeout_s
        found: Fields | None = None
        while not self.bell.closed:
            event = self.bell.next()
            found = await asyncio.to_thread(self._found, correction.correction_id)
            left_s = until_s - loop.time()
            if left_s <= 0 or (found is not None and found["outcome"] == "applied"):
                break
            await rung(event, min(left_s, AGAIN_S))
        if found is not None:
            return 200, found
        pending = correcting.told(correction.correction_id, correction.op, events=[], links=[])
        return 202, {**pending, "outcome": "pending"}

    async def _forget(
        self, correction: correcting.Correction, fields: Mapping[str, Any]
    ) -> tuple[int, Fields]:
        """Ask for it, every time: what was said since the last wish is meant too."""
        before = await asyncio.to_thread(self._wished, correction.correction_id)
        told = await forget_kafka(self._settings, fields, now=self.now())
        erased = {"erased": {Topic.DEAD_LETTERS.value: told["letters"]}}
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._settings.api.outcome_timeout_s
        while not self.bell.closed and loop.time() < until_s:
            if await asyncio.to_thread(self._wished, correction.correction_id) > before:
                found = await asyncio.to_thread(self._found, correction.correction_id)
                if found is not None and found["outcome"] != "pending":
                    return 200, {**found, **erased}
            await asyncio.sleep(LOOK_S)
        pending = correcting.told(correction.correction_id, correction.op, events=[], links=[])
        return 202, {**pending, "outcome": "pending", **erased}

    def _wished(self, correction_id: str) -> Instant:
        """When the newest wish with this id was recorded, as far as the read model knows."""
        with self.model.reading() as connection:
            return max((wish.recorded_at for wish in wishes.newest(connection, correction_id)), default=NEVER)

    def _prepared(self, fields: Mapping[str, Any]) -> correcting.Correction:
        with self.model.reading() as connection:
            return correcting.prepared(connection, fields, now=self.now())

    def _found(self, correction_id: str) -> Fields | None:
        with self.model.reading() as connection:
            return correcting.found(connection, self.folding, correction_id)

    async def search(self, words: Words) -> Fields:
        """Look for words in every topic and in the read model."""
        if self._searching.locked():
            raise busy()
        async with self._searching:
            return await asyncio.to_thread(self._search, words)

    def _search(self, words: Words) -> Fields:
        folders = [self._folder] if self._folder.is_dir() else []
        return asyncio.run(verify_kafka(self._settings, words, folders)).fields()

    async def lag(self) -> dict[str, int]:
        """How far the read model is behind the internal topic, which everything follows from."""
        name = topic_name(self._settings.kafka, Topic.BY_CLAIM)
        ends = await ends_of(self._settings.kafka, name)
        reached = await asyncio.to_thread(self._reached)
        return behind({(Topic.BY_CLAIM.value, n): end for n, end in enumerate(ends)}, reached)

    def _reached(self) -> Mapping[tuple[str, int], int]:
        with self.model.reading() as connection:
            return applied_offsets(connection)

    def checks(self) -> list[Check]:
        """Whether the read model follows, which also tells that a broker answers."""
        return [Check("read_model", not self._trouble, self._trouble)]

    # -- writing ----------------------------------------------------------------------------

    async def _send(
        self, topic: Topic, records: Sequence[tuple[bytes | None, bytes]], trace: bytes | None
    ) -> None:
        if not records:
            return
        name = topic_name(self._settings.kafka, topic)
        headers = headers_of(topic, trace)
        producer = await self._connected()
        try:
            for key, value in records:
                await producer.send(name, key=key, value=value, partition=None, headers=headers)
            await producer.flush()
        except FactdriftError:
            await self._disconnect(producer)
            raise

    async def _connected(self) -> Producer:
        async with self._connecting:
            if self._producer is None:
                await reach(self._settings.kafka)
                producer = Producer(self._settings.kafka)
                await producer.start()
                self._producer = producer
            return self._producer

    async def _disconnect(self, failed: Producer | None = None) -> None:
        """Let go of the producer; of one that failed only where it is still the one in use."""
        producer = self._producer
        if producer is None or (failed is not None and producer is not failed):
            return
        self._producer = None
        with contextlib.suppress(FactdriftError):
            await producer.stop(Deadline(self._settings.kafka.request_timeout_s))

    # -- reading ----------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            self._trouble = ""
            try:
                await follow_kafka(self.model, self._settings, applied=self._applied.set)
            except FactdriftError as error:
                log.warning("the read model does not follow", reason=str(error))
                self._trouble = str(error)
            except Exception as error:
                log.exception("the read model does not follow")
                self._trouble = f"A fault of ours: {type(error).__name__}."
            await asyncio.sleep(AGAIN_S)

    async def _erase(self) -> None:
        """Erase from the read model what wishes name, when the workers have carried them out."""
        while True:
            n_left = 0
            try:
                n_left = await erase_fulfilled(self.model, self._settings)
            except FactdriftError as error:
                log.warning("what is forgotten is not erased yet", reason=str(error))
            except Exception:
                log.exception("what is forgotten is not erased yet")
            await asyncio.sleep(LOOK_S if n_left else AGAIN_S)

    async def _look(self) -> None:
        """Ring when the read model has changed: at once where this process applied something."""
        before = ""
        while True:
            self._applied.clear()
            with contextlib.suppress(FactdriftError):
                found = await asyncio.to_thread(self._how_far)
                if found != before:
                    before = found
                    self.bell.ring()
            await asyncio.sleep(PAUSE_S)
            await rung(self._applied, LOOK_S)

    def _how_far(self) -> str:
        with self.model.reading() as connection:
            return how_far(connection)
