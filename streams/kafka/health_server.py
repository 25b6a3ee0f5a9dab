"""The worker's HTTP server: `/healthz`, `/readyz` and `/metrics`, in a thread of its own.

In a thread, because an agent computes on the worker's event loop and nothing else runs there meanwhile: a
server on that loop would be silent when it is asked most. It reads what the worker has noted and touches
nothing. Knows no passwords; it listens on this machine only unless a setting says otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from aiohttp import web

from streams.kafka.errors import HealthPortUnusable
from streams.kafka.health import Check, Vitals
from streams.kafka.metrics import CONTENT_TYPE

_START_S: Final = 10.0  # to bind a port of this machine; it takes milliseconds
_WELL: Final = 200
_ILL: Final = 503


class HealthServer:
    """Serves from construction to `stop`. Raises HealthPortUnusable where it cannot listen."""

    def __init__(self, vitals: Vitals, *, host: str, port: int) -> None:
        self._vitals = vitals
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="health", daemon=True)
        self._thread.start()
        self._runner: web.AppRunner | None = None
        try:
            self.port = self._run(self._start(host, port))
        except (OSError, OverflowError) as error:
            self.stop()
            raise HealthPortUnusable(
                f"Health cannot be served on {host}:{port}: {error}. Set FACTDRIFT_HEALTH_PORT to a free "
                "port, or to 0 to have one chosen."
            ) from error
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def stop(self) -> None:
        """Answer no more. Harmless when repeated."""
        if self._loop.is_closed():
            return
        with contextlib.suppress(TimeoutError):
            self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_START_S)
        if not self._thread.is_alive():
            self._loop.close()

    def _run(self, step: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(_START_S)

    async def _start(self, host: str, port: int) -> int:
        application = web.Application()
        application.add_routes(
            [
                web.get("/healthz", self._judged(self._vitals.health)),
                web.get("/readyz", self._judged(self._vitals.readiness)),
                web.get("/metrics", self._metrics),
            ]
        )
        self._runner = web.AppRunner(application, handle_signals=False, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        (address, *_) = self._runner.addresses
        return int(address[1])

    async def _end(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def _judged(self, judge: Callable[[float], Sequence[Check]]) -> Callable[[web.Request], Any]:
        async def answer(_request: web.Request) -> web.Response:
            checks = judge(time.monotonic())
            ok = all(check.ok for check in checks)
            body = {
                "ok": ok,
                "why": [f"{check.name}: {check.why}" for check in checks if not check.ok],
                "checks": {check.name: {"ok": check.ok, "why": check.why} for check in checks},
            }
            return web.Response(
                body=msgspec.json.encode(body), status=_WELL if ok else _ILL, content_type="application/json"
            )

        return answer

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._vitals.metrics.text(), headers={"Content-Type": CONTENT_TYPE})
