"""Running the API: one process, one port, an orderly end.

Binds before anything is opened, so that a port in use is told at once; prints where it listens when it can be
asked. SIGTERM or Ctrl-C takes no new requests, ends the streams, finishes what is being written, and leaves.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn

from agents.api.app import create
from agents.api.embedded_service import EmbeddedService
from agents.api.guarding import HEADER_BYTES_MAX
from agents.api.kafka_service import KafkaService
from agents.api.metrics import Metrics
from agents.api.service import Service
from agents.api.tokens import Tokens, refuse_unsafe
from agents.dashboard.extra import MISSING, is_installed
from agents.webhooks import Beside, WebhookMetrics
from state.errors import FactdriftError
from streams.settings import Settings
from streams.tracing import Tracing, tracing_of

LEAVE_S: Final = 20  # for requests that are being answered when the end comes
BACKLOG: Final = 512
PORT_MAX: Final = 65_535  # a greater one is silently taken for another


class CannotListen(FactdriftError):
    """The address or the port cannot be listened on."""


def serve_embedded(settings: Settings, folder: Path) -> None:
    """Serve the embedded log in a folder until told to stop. Raises FactdriftError."""
    tracing, metrics = tracing_of(settings, "serve"), Metrics()
    service = EmbeddedService(settings, folder, registry=metrics.registry, tracing=tracing)
    _serve(service, settings, folder, metrics, tracing)


def serve_kafka(settings: Settings, folder: Path) -> None:
    """Serve the topics of a cluster, with a read model in a folder or by URL. Raises FactdriftError."""
    _serve(KafkaService(settings, folder), settings, None, Metrics(), tracing_of(settings, "api"))


def _serve(
    service: Service, settings: Settings, log: Path | None, metrics: Metrics, tracing: Tracing
) -> None:
    """Serve the embedded log in a folder, or that of the cluster. Webhooks are counted with the API."""
    api = settings.api
    counted = WebhookMetrics(metrics.registry)
    webhooks = Beside(settings, log, metrics=counted, tracing=tracing)
    tokens = Tokens.of(api)
    refuse_unsafe(api.host, tokens)
    listener = _listener(api.host, api.port)
    app = create(service, settings, tokens, metrics=metrics, tracing=tracing)
    config = uvicorn.Config(
        app,
        http="h11",  # its limits are known; the other parser is no dependency of ours
        ws="websockets-sansio" if is_installed() else "none",  # only the dashboard speaks it
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=LEAVE_S,
        h11_max_incomplete_event_size=4 * HEADER_BYTES_MAX,  # beyond it the answer is no problem document
        backlog=BACKLOG,
    )
    server = _Server(config, service, webhooks, _url(api.host, listener.getsockname()[1]))
    try:
        server.run(sockets=[listener])
    finally:
        listener.close()
        tracing.close()
    if server.refusal is not None:
        raise server.refusal


class _Server(uvicorn.Server):
    """Tells when it can be asked, and ends the streams when it is told to stop."""

    def __init__(self, config: uvicorn.Config, service: Service, webhooks: Beside, url: str) -> None:
        super().__init__(config)
        self._service = service
        self._webhooks = webhooks
        self._url = url
        self.refusal: FactdriftError | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the log first, so that its errors are ours to tell."""
        try:
            await self._service.start()
            await self._webhooks.start()
        except FactdriftError as error:
            self.refusal = error
            self.should_exit = True
            await self._service.stop()
            return
        await super().startup(sockets)
        pages = f"The dashboard is at {self._url}/dashboard" if is_installed() else MISSING
        sys.stdout.write(f"factdrift listens on {self._url}\n{pages}\n")
        sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what was asked, then close the log."""
        await super().shutdown(sockets)
        await self._webhooks.stop()
        await self._service.stop()

    def handle_exit(self, _sig: int, _frame: FrameType | None) -> None:
        """Leave in order; a second signal leaves at once. Streams have no end of their own."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._service.bell.close()


def _listener(host: str, port: int) -> socket.socket:
    if port > PORT_MAX:
        raise CannotListen(f"{port} is no port; the greatest is {PORT_MAX}. Set --port; 0 is any free one.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"{host} is no address to listen on: {error}. Set --host.") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        found.close()
        raise CannotListen(
            f"Port {port} of {host} cannot be listened on: {error.strerror}. Set --port; 0 is any free one."
        ) from error
    return found


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
