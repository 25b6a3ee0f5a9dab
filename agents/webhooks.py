"""Webhooks put together: which receivers, from which log, with what is counted of them.

Runs alone (`factdrift webhooks run`) or beside the API, where an error of the log must not end the service:
it is told, and begun again. Decides nothing about events.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Counter as Counted
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.logs import NoSuchLog
from state.errors import FactdriftError
from streams.embedded.store import FILE_NAME
from streams.embedded.webhooks import EmbeddedWebhooks
from streams.settings import BadSetting, Settings
from streams.stderr_log import log_to_stderr
from streams.tracing import OFF, Tracing, tracing_of
from streams.webhook_config import Receiver, load
from streams.webhook_delivery import Delivery

log = structlog.get_logger()

AGAIN_S: Final = 5.0  # before webhooks beside an API are begun again
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Webhooks(Protocol):
    """What delivers, whichever log it follows."""

    deliveries: list[Delivery]

    async def start(self) -> None:
        """Begin. Raises FactdriftError."""
        ...

    async def stop(self) -> None:
        """Take in the answers that are awaited, write how far each receiver is, and let go."""
        ...

    async def wait(self) -> None:
        """Return never, and raise what made it stop."""
        ...


def receivers(settings: Settings, file: Path | None = None) -> list[Receiver]:
    """The receivers of a file, or of the one in the settings. Raises BadWebhooks, BadSetting."""
    path = settings.webhooks if file is None else file
    if path is None:
        raise BadSetting("No file of webhooks is given. Give --config FILE, or set FACTDRIFT_WEBHOOKS.")
    return load(path)


def webhooks_of(
    settings: Settings,
    folder: Path | None,
    found: Sequence[Receiver],
    metrics: WebhookMetrics,
    tracing: Tracing = OFF,
) -> Webhooks:
    """What delivers from the embedded log in a folder, or without one from the cluster of the settings.

    To be called where an event loop runs. Raises NoSuchLog.
    """
    made: Webhooks
    if folder is None:
        from streams.kafka.webhook_service import KafkaWebhooks  # nobody without a cluster needs it

        made = KafkaWebhooks(settings, found, told=metrics.called, tracing=tracing)
    else:
        if not (folder / FILE_NAME).is_file():
            raise NoSuchLog(
                f"{folder} holds no factdrift log. Make one with: factdrift serve --data {folder}"
            )
        made = EmbeddedWebhooks(folder, found, told=metrics.called, tracing=tracing)
    metrics.watch(made.deliveries)
    return made


# -- alone ----------------------------------------------------------------------------------


async def run(
    settings: Settings,
    folder: Path | None,
    found: Sequence[Receiver],
    *,
    health: tuple[str, int] | None,
    ready: Callable[[str], None],
) -> None:
    """Deliver until SIGTERM or SIGINT. `ready` gets a line once everything runs. Raises FactdriftError.

    `health` is the address of `/healthz` and `/metrics`, or None.
    """
    log_to_stderr(settings, service="webhooks")
    tracing = tracing_of(settings, "webhooks")
    metrics = WebhookMetrics()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    webhooks = webhooks_of(settings, folder, found, metrics, tracing)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.to_thread, tracing.close)
        where = "" if health is None else await stack.enter_async_context(_site(metrics, *health))
        await webhooks.start()
        stack.push_async_callback(webhooks.stop)
        ready(f"factdrift webhooks ready receivers={len(found)}{where and f' health={where}'}")
        told, failed = asyncio.create_task(stopping.wait()), asyncio.create_task(webhooks.wait())
        await asyncio.wait((told, failed), return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if failed.done():
            await failed
        failed.cancel()


# -- beside the API -------------------------------------------------------------------------


class Beside:
    """Webhooks beside a service: begun with it, ended with it, begun again where they fail."""

    def __init__(
        self,
        settings: Settings,
        folder: Path | None,
        *,
        metrics: WebhookMetrics,
        tracing: Tracing = OFF,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._metrics = metrics
        self._tracing = tracing
        self._webhooks: Webhooks | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin, where the settings name a file. Raises FactdriftError, so that a fault of it is told."""
        if self._settings.webhooks is None:
            return
        found = receivers(self._settings)
        await self._begin(found)
        self._task = asyncio.create_task(self._watch(found))

    async def stop(self) -> None:
        """Take in the answers that are awaited, and let go."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._end()

    async def _begin(self, found: Sequence[Receiver]) -> None:
        self._webhooks = webhooks_of(self._settings, self._folder, found, self._metrics, self._tracing)
        try:
            await self._webhooks.start()
        except BaseException:
            self._webhooks = None  # it has let go by itself
            raise

    async def _end(self) -> None:
        webhooks, self._webhooks = self._webhooks, None
        if webhooks is not None:
            await webhooks.stop()

    async def _watch(self, found: Sequence[Receiver]) -> None:
        while True:
            try:
                if self._webhooks is None:
                    await self._begin(found)
                assert self._webhooks is not None
                await self._webhooks.wait()
            except FactdriftError as error:
                log.error("webhooks are not delivered at present", reason=str(error))
            except Exception:
                log.exception("webhooks failed, and are begun again")
            await self._end()
            await asyncio.sleep(AGAIN_S)


# -- what is counted ------------------------------------------------------------------------


class WebhookMetrics:
    """What is counted of webhooks, in a registry of its own or in the API's beside which they run."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry
        self._standing = _Standing()
        self.registry.register(self._standing)
        self._calls = Counted(
            "factdrift_webhook_calls",
            "Calls to receivers, by what became of them: delivered, again, away, refused, gone.",
            ("webhook", "outcome"), registry=self.registry,
        )  # fmt: skip

    def called(self, webhook: str, outcome: str) -> None:
        """A call was answered, or was not."""
        self._calls.labels(webhook, outcome).inc()

    def watch(self, deliveries: Sequence[Delivery]) -> None:
        """Show how these stand, whenever it is asked, in the place of those before."""
        self._standing.watch(deliveries)

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return bytes(generate_latest(self.registry))


class _Standing(Collector):
    """Read from the thread that answers, while the event loop delivers: single numbers, no lists of ours."""

    def __init__(self) -> None:
        self._deliveries: Sequence[Delivery] = ()
        self._letters: Counter[tuple[str, str]] = Counter()  # of deliveries that were begun again

    def watch(self, deliveries: Sequence[Delivery]) -> None:
        self._letters = self._n_letters()
        self._deliveries = deliveries

    def _n_letters(self) -> Counter[tuple[str, str]]:
        found = self._letters.copy()
        for one in self._deliveries:
            found.update({(one.receiver.name, code): n for code, n in one.n_letters.copy().items()})
        return found

    def collect(self) -> Iterator[Metric]:
        letters = CounterMetricFamily(
            "factdrift_webhook_dead_letters", "Events that a receiver did not take and that were given up.",
            labels=("webhook", "code"),
        )  # fmt: skip
        for (webhook, code), n in sorted(self._n_letters().items()):
            letters.add_metric((webhook, code), n)
        pending = GaugeMetricFamily(
            "factdrift_webhook_pending_seconds", "Age of the oldest event in memory that is not delivered.",
            labels=("webhook",),
        )  # fmt: skip
        waiting = GaugeMetricFamily(
            "factdrift_webhook_waiting", "Events in memory that are not delivered yet.", labels=("webhook",)
        )
        away = GaugeMetricFamily(
            "factdrift_webhook_away", "1 while the receiver takes nothing.", labels=("webhook",)
        )
        for delivery in self._deliveries:
            waiting.add_metric((delivery.receiver.name,), delivery.n_waiting)
            away.add_metric((delivery.receiver.name,), delivery.is_away)
            pending.add_metric((delivery.receiver.name,), delivery.pending_s)
        yield from (letters, pending, waiting, away)


@contextlib.asynccontextmanager
async def _site(metrics: WebhookMetrics, host: str, port: int) -> AsyncIterator[str]:
    """`/healthz` and `/metrics`; gives the address. Knows no password, so it belongs on no open network."""

    async def alive(_request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def numbers(_request: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    application = web.Application()
    application.add_routes([web.get("/healthz", alive), web.get("/metrics", numbers)])
    runner = web.AppRunner(application, handle_signals=False, access_log=None, shutdown_timeout=0.5)
    try:
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, OverflowError) as error:
            raise BadSetting(
                f"Health cannot be served on {host}:{port}: {error}. Set FACTDRIFT_HEALTH_PORT to a free "
                "port, or to 0 to have one chosen."
            ) from error
        (address, *_) = runner.addresses
        yield f"http://{f'[{host}]' if ':' in host else host}:{address[1]}"
    finally:
        await runner.cleanup()
