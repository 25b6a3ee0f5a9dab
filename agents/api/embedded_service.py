"""The embedded log as a service: one thread writes, everybody reads.

The thread owns the log. It takes what waits and publishes it together, in one transaction, so that many small
requests share one write to the disk; then the read model catches up, and only then they are answered: who
was answered finds in the read model what was written. It also closes cycles, while observations come in.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry

from agents import composition, correcting, dead_letters
from agents.accepting import Judged
from agents.api.forgotten import busy
from agents.api.problems import Problem
from agents.api.service import Bell, Check
from agents.audit import due, ends_of_cycle
from agents.forget import FileInUse, erase_everything, verify_embedded
from agents.lag import behind, ends_of_embedded
from agents.proving import Words
from agents.read_model import (
    Folding,
    ReadModel,
    catch_up,
    folding_of,
    how_far,
    open_read_model,
    wishes,
)
from agents.read_model.projection import applied_offsets
from agents.replay import LIVE_MARK, now_of
from state.errors import FactdriftError
from state.instants import Instant
from streams.embedded import PARTITION, EmbeddedHost, EmbeddedStore
from streams.embedded.host import EmbeddedState
from streams.settings import Settings
from streams.topics import Topic
from streams.tracing import OFF, Tracing

log = structlog.get_logger()

WAITING_MAX: Final = 1_000  # requests; more are refused, so that nobody waits for long in vain
TOGETHER_MAX: Final = 2_000  # records that requests may share one transaction for
LOOK_S: Final = 1.0  # how soon what another process wrote is seen; SQLite tells nobody
_decode: Final = msgspec.json.Decoder().decode

Fields = dict[str, Any]


@dataclass(slots=True)
class _Job:
    """One request that waits for the writer: observations, or something that stands alone."""

    judged: Sequence[Judged] = ()
    trace: bytes | None = None
    alone: Callable[[], Any] | None = None
    done: Future[Any] = field(default_factory=Future)

    @property
    def n_records(self) -> int:
        return sum(one.value is not None for one in self.judged)


class EmbeddedService:
    """The log in a folder, its read model, and the thread that writes both."""

    model: ReadModel
    folding: Folding

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        *,
        registry: CollectorRegistry | None = None,
        tracing: Tracing = OFF,
    ) -> None:
        """What the agents of the log count is registered in `registry`."""
        self._settings = settings
        self._registry = registry
        self._tracing = tracing
        self._folder = folder
        self._jobs: queue.Queue[_Job | None] = queue.Queue(WAITING_MAX)
        self._opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._stopping = False
        self._is_last = False
        self._live = False
        self._replayed_to: Instant | None = None
        self._trouble = ""
        self._newest = ""
        self._is_unclean = False
        self._whole = threading.Lock()  # held by whoever reads or rewrites every file
        self.bell = Bell()

    # -- for the event loop -----------------------------------------------------------------

    async def start(self) -> None:
        """Open the log and bring the read model up to date. Raises FactdriftError."""
        self.bell.open()
        self._thread.start()
        await asyncio.wrap_future(self._opened)

    async def stop(self) -> None:
        """Publish what waits, and close."""
        self._stopping = True
        self.bell.close()
        if self._thread.is_alive():
            await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._jobs.put(None)  # waits where the queue is full: the writer is emptying it
        self._thread.join()

    def now(self) -> Instant:
        """The clock on the wall once the log is a service's; before, where the replay has got to."""
        replayed_to = self._replayed_to
        if self._live or replayed_to is None:
            return composition.wall_clock()
        return replayed_to

    async def publish(self, judged: Sequence[Judged], *, trace: bytes | None = None) -> None:
        """Return when the accepted records are durable, and their facts are to be read."""
        job = _Job(judged=judged, trace=trace)
        if job.n_records:
            await self._submit(job)

    async def correct(self, fields: Mapping[str, Any], *, trace: bytes | None = None) -> tuple[int, Fields]:
        """Publish a correction and say what it did."""
        return 200, await self._submit(_Job(alone=lambda: self._correct(fields, trace)))

    async def _submit(self, job: _Job) -> Any:
        if self._stopping:
            raise Problem("stopping", "The service is being stopped; ask again when it is back.")
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            raise Problem(
                "overloaded", f"{WAITING_MAX} requests wait to be written; send more of them together.",
                {"Retry-After": "1"},
            ) from None  # fmt: skip
        # A caller that goes away takes nothing back: what was handed over is written.
        return await asyncio.shield(asyncio.wrap_future(job.done))

    async def search(self, words: Words) -> Fields:
        """Look for words in the log, its tables, the read model and every file of the folder."""
        return await asyncio.to_thread(self._search, words)

    def _search(self, words: Words) -> Fields:
        if not self._whole.acquire(blocking=False):
            raise busy()
        try:
            with contextlib.closing(EmbeddedStore(self._folder)) as store:
                return verify_embedded(store, self._folder, words, settings=self._settings).fields()
        finally:
            self._whole.release()

    async def dead_letters(self, *, before: int | None, limit: int) -> Fields:
        """A page of dead letters, newest first."""
        found = await self._submit(
            _Job(alone=lambda: dead_letters.newest(self._host.store, before=before, limit=limit))
        )
        return dict(found)

    async def send_again(self, offsets: Sequence[int]) -> int:
        """Send the records of dead letters again. Raises NoSuchLetter."""
        return int(await self._submit(_Job(alone=lambda: dead_letters.send_again(self._host, offsets))))

    async def lag(self) -> dict[str, int]:
        """How far the read model is behind the log."""
        return dict(await self._submit(_Job(alone=self._lag)))

    def _lag(self) -> dict[str, int]:
        with self.model.reading() as connection:
            reached = applied_offsets(connection)
        return behind(ends_of_embedded(self._host.store), reached)

    def checks(self) -> list[Check]:
        """Whether the writer lives, and whether the read model follows."""
        alive = self._thread.is_alive() and not self._stopping
        return [
            Check("log", alive, "" if alive else "The writer has stopped."),
            Check("read_model", not self._trouble, self._trouble),
        ]

    # -- the writer's thread ----------------------------------------------------------------

    def _run(self) -> None:
        with contextlib.ExitStack() as stack:
            try:
                self._host = composition.embedded(self._settings, self._folder, tracing=self._tracing)
                stack.callback(self._host.store.close)
                if self._registry is not None:
                    for collector in chain.from_iterable(agent.collectors for agent in self._host.agents):
                        self._registry.register(collector)
                self._host.start()
                self.folding = folding_of(self._settings)
                self.model = stack.enter_context(
                    contextlib.closing(open_read_model(self._settings, self._folder))
                )
                catch_up(self.model, self._host.store)
                self._catch_up()  # and carry out what was interrupted
            except BaseException as error:
                self._opened.set_exception(error)
                return
            self._opened.set_result(None)
            self._work()

    def _work(self) -> None:
        next_tick_s = time.monotonic() + self._settings.tick_s
        carried: _Job | None = None
        while not (self._is_last and carried is None):
            try:
                job = carried or self._jobs.get(timeout=LOOK_S)
            except queue.Empty:
                job = None
            else:
                if job is None:
                    return
            carried = None
            if job is not None:
                carried = self._do(job)
            else:
                self._catch_up()
            if time.monotonic() >= next_tick_s:
                self._tick()
                next_tick_s = time.monotonic() + self._settings.tick_s

    def _do(self, job: _Job) -> _Job | None:
        """Carry out a job, with others like it that wait; returns one of another kind that was taken too."""
        jobs, carried = [job], None
        n_records = job.n_records
        while job.alone is None and n_records < TOGETHER_MAX:
            try:
                other = self._jobs.get_nowait()
            except queue.Empty:
                break
            if other is None:
                self._is_last = True
                break
            if other.alone is not None:
                carried = other
                break
            jobs.append(other)
            n_records += other.n_records
        try:
            result = None
            if job.alone is not None:
                result = job.alone()
            else:
                self._publish(jobs)
        except Exception as error:
            for one in jobs:
                one.done.set_exception(error)
            return carried
        self._catch_up()
        for one in jobs:
            one.done.set_result(result)
        return carried

    def _publish(self, jobs: Sequence[_Job]) -> None:
        """Publish the records of some requests in one transaction."""
        accepted = [(one, job.trace) for job in jobs for one in job.judged if one.value is not None]
        judged = [one for one, _ in accepted]
        traces = {number: trace for number, (_, trace) in enumerate(accepted) if trace is not None}
        host = self._host
        start = 0

        def appends() -> Any:
            nonlocal start
            host.store.set_mark(LIVE_MARK, "1")  # first, as the agents ask for it
            start = host.store.end(Topic.OBSERVATIONS, PARTITION)
            yield Topic.OBSERVATIONS, [(one.key, one.value, None) for one in judged]

        outputs = host.publish_each(appends(), traces=traces)
        for output in outputs:
            if output.topic is Topic.DEAD_LETTERS:
                letter = _decode(output.value)
                number = letter["origin_offset"] - start
                if letter["origin_topic"] == Topic.OBSERVATIONS and 0 <= number < len(judged):
                    refuse(judged[number], letter["code"], letter["message"])

    def _correct(self, fields: Mapping[str, Any], trace: bytes | None) -> Fields:
        self._catch_up()  # a target may be younger than what the read model has seen
        whole = self._whole if fields.get("op") == "forget" else contextlib.nullcontext()
        with whole:
            try:
                return correct(
                    self._host, self.model, fields, settings=self._settings, folder=self._folder, trace=trace
                )
            except FileInUse:
                self._is_unclean = True  # tried again with the next tick, whoever asks again or not
                raise

    def _erase(self) -> None:
        """Erase what a wish names that came by the topic, or that was interrupted."""
        with self._whole:
            try:
                erase_everything(self._host, self._settings, self._folder, model=self.model)
            except FactdriftError as error:
                log.warning("what is forgotten is not erased from every file yet", reason=str(error))
                self._is_unclean = True
                return
        self._is_unclean = False

    def _catch_up(self) -> None:
        try:
            catch_up(self.model, self._host.store)
            self._look_at_clock()
            with self.model.reading() as connection:  # another process may have applied what is new
                newest = how_far(connection)
                is_wished = bool(wishes.pending(connection))
        except FactdriftError as error:
            # What was published stays: the read model follows as soon as it can.
            if not self._trouble:
                log.warning("the read model does not follow", reason=str(error))
            self._trouble = str(error)
            return
        self._trouble = ""
        if is_wished:
            self._erase()
        if newest != self._newest:
            self._newest = newest
            self.bell.ring_soon()

    def _look_at_clock(self) -> None:
        store = self._host.store
        self._live = store.mark(LIVE_MARK) is not None
        self._replayed_to = None if self._live else now_of(store, Instant(-1))
        if self._replayed_to == -1:
            self._replayed_to = None

    def _tick(self) -> None:
        """Close the cycle under way where one is due; time passes by itself only in a service's own log."""
        if self._is_unclean:
            self._erase()
        if not self._live:
            return
        try:
            state = EmbeddedState(self._host.store)
            end = self._host.store.end(Topic.BY_CLAIM, PARTITION)
            closed = ends_of_cycle(state)
            request = due(state, end > (closed[0] if closed else 0))
            if request is not None:
                self._host.publish(Topic.CLOCK, [(None, request, None)])
                self._catch_up()
        except FactdriftError as error:
            log.warning("the cycle could not be closed", reason=str(error))


def correct(
    host: EmbeddedHost,
    model: ReadModel,
    fields: Mapping[str, Any],
    *,
    settings: Settings,
    folder: Path,
    trace: bytes | None = None,
) -> Fields:
    """Publish a correction into an embedded log and say what it did. A forget is erased everywhere, too.

    The read model must be up to date: it names the target. Raises Refused where it is not taken, FileInUse.
    """
    with model.reading() as connection:
        correction = correcting.prepared(connection, fields, now=host.clock())
    traces = {} if trace is None else {0: trace}
    outputs = host.publish(Topic.CORRECTIONS, [(correction.key, correction.value, None)], traces=traces)
    answer = correcting.outcome(correction, outputs)
    if correction.op != "forget":
        return answer
    erased = erase_everything(host, settings, folder, model=model)
    is_something = answer["events"] or erased.claims or Topic.DEAD_LETTERS in erased.rows
    return {**answer, "outcome": "applied" if is_something else "unchanged", "erased": erased.rows}


def refuse(judged: Judged, code: str, message: str) -> None:
    """Write into the answer about a record that the log did not take it after all."""
    number = judged.answer["line"]
    judged.answer.clear()
    judged.answer.update({"line": number, "accepted": False, "code": code, "message": message})
