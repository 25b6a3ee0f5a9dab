"""One worker process: starts everything, says when it is ready, and stops as it was told.

A worker ends in one of three ways: asked (SIGTERM or SIGINT: the batch under way is finished and committed,
the groups are left), asked twice (at once; what was not committed is done again at the next start), or by a
failure, which is raised as one sentence.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Final

from state.errors import FactdriftError
from streams.drift import DriftStore
from streams.host import Agent, Mark
from streams.kafka.admin import check_topics
from streams.kafka.closing import run_and_close
from streams.kafka.connection import reach
from streams.kafka.consolidation_app import ConsolidationApp
from streams.kafka.cycles_service import Cycles, CyclesService
from streams.kafka.deadline import Deadline
from streams.kafka.drift_service import DriftService
from streams.kafka.errors import BrokerRefused, ChangelogLost, KafkaTrouble, TopicMismatch
from streams.kafka.folders import WorkerFolder
from streams.kafka.health import Standing, Watch
from streams.kafka.health_server import HealthServer
from streams.kafka.intake_service import IntakeService
from streams.kafka.metrics import Metrics
from streams.kafka.naming import RESET, TABLES
from streams.kafka.notes import check_marks, committed
from streams.kafka.producer import Producer
from streams.kafka.reset import with_newest_state
from streams.kafka.store import memory_stores, rocks_stores
from streams.settings import Settings
from streams.stderr_log import log_to_stderr
from streams.tracing import Tracing, tracing_of

_log = logging.getLogger(__name__)
STOP_S: Final = 60.0  # docker-compose.yml gives a container 75 s
FAILED_STOP_S: Final = 10.0  # after a failure there is nothing to finish, only groups to leave
EXIT_AT_ONCE: Final = 130  # as after an interrupt


def run_worker(
    settings: Settings,
    intake: Agent,
    consolidation: Agent,
    cycles: Cycles | None = None,
    drift: DriftStore | None = None,
    *,
    marks: Sequence[Mark] = (),
) -> None:
    """Run a worker until it is told to stop. Blocks; owns the process's signals.

    With `cycles` it may become the owner of the clock and the audit; some worker must. With `drift` it
    helps to fill that store, and closes it. `marks` are met before it joins the group, and again with each
    partition that it is given.

    Prints `factdrift worker ready partitions=[…]` whenever it has been given partitions and their tables
    are restored. Raises FactdriftError with one sentence for a person when it had to stop by itself.
    """
    log_to_stderr(settings, service="worker")
    tracing = tracing_of(settings, "worker")
    try:
        running = _run(settings, intake, consolidation, cycles, drift, marks, tracing)
        run_and_close(running, close_s=FAILED_STOP_S)
    finally:
        tracing.close()


async def _run(
    settings: Settings,
    intake: Agent,
    consolidation: Agent,
    cycles: Cycles | None,
    drift: DriftStore | None,
    marks: Sequence[Mark],
    tracing: Tracing,
) -> None:
    newest = await with_newest_state(settings)
    await _Worker(newest, intake, consolidation, cycles, drift, marks, tracing).run()


class _Worker:
    def __init__(
        self,
        settings: Settings,
        intake: Agent,
        consolidation: Agent,
        cycles: Cycles | None,
        drift: DriftStore | None,
        marks: Sequence[Mark],
        tracing: Tracing,
    ) -> None:
        self._settings = settings
        self._marks = marks
        self._tracing = tracing
        self._intake_agent = intake
        self._agent = consolidation
        self._cycles = cycles
        self._drift = drift
        self._told_to_stop = asyncio.Event()
        self._failure: BaseException | None = None
        self._partitions: list[int] | None = None
        self._intake_assigned = False
        self._metrics = Metrics()
        for collector in (*intake.collectors, *consolidation.collectors):
            self._metrics.registry.register(collector)
        self._watch = Watch(settings.kafka, self._metrics)

    async def run(self) -> None:
        """Start, wait, stop. Raises FactdriftError."""
        self._listen_to_signals()
        with contextlib.ExitStack() as stack:
            self._serve_health(stack)
            await self._work()
        self._raise_failure()

    def _serve_health(self, stack: contextlib.ExitStack) -> None:
        settings = self._settings
        if settings.health_port is None:
            return
        server = HealthServer(self._watch.vitals, host=settings.health_host, port=settings.health_port)
        stack.callback(server.stop)
        _say(sys.stdout.fileno(), f"factdrift worker health {server.url}/healthz")

    async def _work(self) -> None:
        kafka = self._settings.kafka
        assert set(self._agent.tables) <= set(TABLES), "every table needs a changelog: add it to TABLES"
        problems = await check_topics(self._settings)
        lost = [problem.topic for problem in problems if problem.mend == RESET]
        if lost:
            raise ChangelogLost(
                f"The changelogs {', '.join(lost)} are gone, though the group has committed: what the tables "
                f"held is lost. Stop all workers, run: {RESET}  (it derives the tables again from the log), "
                "and start again."
            )
        if problems:
            raise TopicMismatch(kafka.bootstrap, problems)
        check_marks(await committed(kafka), self._marks)
        folder = WorkerFolder(self._settings.data)
        try:
            producer = Producer(kafka)
            await producer.start()
            await self._run_app(folder, producer)
        finally:
            folder.release()

    async def _run_app(self, folder: WorkerFolder, producer: Producer) -> None:
        settings = self._settings
        intake = IntakeService(
            settings,
            self._intake_agent,
            producer,
            metrics=self._metrics,
            halt=self._halt,
            assigned=self._intake_is_assigned,
            tracing=self._tracing,
        )
        rocks = settings.table_store == "rocksdb"
        app = ConsolidationApp(
            settings.kafka,
            self._agent,
            metrics=self._metrics,
            open_store=rocks_stores(self._tables_folder(folder)) if rocks else memory_stores(),
            services=[intake, *self._cycles_services(), *self._drift_services()],
            halt=self._halt,
            ready=self._app_is_ready,
            data=str(folder.path / "faust"),
            marks=self._marks,
            tracing=self._tracing,
        )
        starting = asyncio.create_task(app.start())
        starting.add_done_callback(self._started)
        watching = self._start_watch(app, intake, producer)
        await self._told_to_stop.wait()
        await self._stop(starting, app, intake, producer)
        watching.cancel()

    def _cycles_services(self) -> list[CyclesService]:
        if self._cycles is None:
            return []
        return [CyclesService(self._settings, self._cycles, metrics=self._metrics, halt=self._halt)]

    def _drift_services(self) -> list[DriftService]:
        if self._drift is None:
            return []
        told = self._metrics.tell_drift_degraded
        return [DriftService(self._settings.kafka, self._drift, halt=self._halt, degraded=told)]

    def _tables_folder(self, folder: WorkerFolder) -> Path:
        """Each state has a folder of its own, so that no table meets a changelog that is not its own."""
        state = self._settings.kafka.state
        return folder.path / (f"tables-{state}" if state else "tables")

    def _start_watch(
        self, app: ConsolidationApp, intake: IntakeService, producer: Producer
    ) -> asyncio.Task[None]:
        self._watch.vitals.beat_age_s = lambda: app.lease.beat_age_s

        async def standings() -> list[Standing]:
            return [*app.standings(), *await intake.standings()]

        watching = asyncio.create_task(
            self._watch.run(standings=standings, ping=producer.ping, silent=self._ask_why)
        )
        watching.add_done_callback(_log_failure)
        return watching

    async def _ask_why(self) -> None:
        """Stop where a broker is there and refuses this worker: that does not heal by itself."""
        try:
            await reach(self._settings.kafka)
        except BrokerRefused as error:
            # A broker that is being stopped or started closes connections too, as a wrong protocol would.
            if error.code != "wrong_protocol":
                self._halt(error)
        except FactdriftError:
            pass  # it is silent, and is waited for

    async def _stop(
        self, starting: asyncio.Task[None], app: ConsolidationApp, intake: IntakeService, producer: Producer
    ) -> None:
        """Intake first, since it makes work for the rest; the producer last, since all need it."""
        deadline = Deadline(STOP_S if self._failure is None else FAILED_STOP_S)
        if self._failure is None:
            if intake.started:
                await self._in_time(intake.stop(), deadline, "intake")
            if app.started:
                await self._in_time(app.drain(deadline), deadline, "the batch under way")
        await self._in_time(app.stop(), deadline, "the Faust app")
        await app.producers.stop(deadline.within(FAILED_STOP_S))
        await producer.stop(deadline.within(FAILED_STOP_S))
        starting.cancel()

    async def _in_time(self, step: Awaitable[object], deadline: Deadline, what: str) -> None:
        try:
            async with asyncio.timeout(deadline.left_s):
                await step
        except TimeoutError:
            self._halt(
                KafkaTrouble(
                    f"The worker did not stop within {deadline.after_s:g} s, waiting for {what}. What was "
                    "not committed is done again at the next start."
                )
            )
        except Exception as error:
            _log.exception("Stopping %s failed", what)
            self._halt(error)

    # -- what happens meanwhile -------------------------------------------------------------

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        if self._told_to_stop.is_set():
            _say(
                sys.stderr.fileno(),
                "Stopped at once. What was not committed is done again at the next start.",
            )
            os._exit(EXIT_AT_ONCE)
        self._watch.vitals.stopping = "It was told to stop."
        self._told_to_stop.set()

    def _halt(self, error: BaseException) -> None:
        """Stop because of the first of all errors: the others follow from it."""
        if self._failure is None:
            self._failure = error
            self._watch.vitals.stopping = f"It stops: {error}"
        self._told_to_stop.set()

    def _started(self, starting: asyncio.Task[None]) -> None:
        if not starting.cancelled() and (error := starting.exception()) is not None:
            self._halt(error)

    def _app_is_ready(self, partitions: list[int]) -> None:
        self._partitions = self._watch.vitals.assigned = partitions
        self._announce()

    def _intake_is_assigned(self) -> None:
        if not self._intake_assigned:
            self._intake_assigned = self._watch.vitals.intake_assigned = True
            self._announce()

    def _announce(self) -> None:
        if self._partitions is not None and self._intake_assigned and not self._told_to_stop.is_set():
            _say(sys.stdout.fileno(), f"factdrift worker ready partitions={self._partitions}")

    def _raise_failure(self) -> None:
        failure = self._failure
        if failure is None:
            return
        if isinstance(failure, FactdriftError):
            raise failure
        raise KafkaTrouble(
            f"The worker stopped because of a fault of its own: {type(failure).__name__}: {failure}. Nothing "
            "was committed that was not durable; start it again, and report this with the log."
        ) from failure


def _log_failure(watching: asyncio.Task[None]) -> None:
    """The work goes on without the watch; `/healthz` then says that the event loop is silent."""
    if not watching.cancelled() and (error := watching.exception()) is not None:
        _log.error("The watch over this worker's health ended", exc_info=error)


def _say(descriptor: int, line: str) -> None:
    """Write one whole line at once, so that whoever reads the log never sees half of it."""
    os.write(descriptor, f"{line}\n".encode())
