"""A real receiver of webhooks: checks every signature, remembers every call, and answers as it is told to.

It can be down (nothing listens on its port) and come up again on the same port. Answers are statuses, taken
one for each call from `answers`, else from `answer_of`.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from state.webhooks import BadSignature, verify, written_secret
from tests.parts.processes import free_ports, wait_until

KEY = b"key of the tests, which is known"
SECRET = written_secret(KEY)
SECRET_NAME = "FACTDRIFT_TEST_WEBHOOK_SECRET"


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its id as signed, its headers by name in lower case, its body, and what was answered."""

    event_id: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int

    @property
    def event(self) -> dict[str, Any]:
        """The body as JSON."""
        found: dict[str, Any] = json.loads(self.body)
        return found


class Receiver:
    """A receiver on a port of its own."""

    def __init__(self, *, up: bool = True, tls: ssl.SSLContext | None = None) -> None:
        (self.port,) = free_ports(1)
        self.tls = tls
        host = "http://127.0.0.1" if tls is None else "https://localhost"
        self.url = f"{host}:{self.port}/hook?token=t0ken"
        self.answers: list[int] = []
        self.answer_of: Callable[[Call], int] = lambda _call: 204
        self.headers: dict[str, str] = {}
        self.body = b""
        self.calls: list[Call] = []
        self.forged: list[str] = []
        self.n_open = 0
        self.n_open_most = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        if up:
            self.come_up()

    def come_up(self) -> None:
        """Listen from now on."""
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def go_down(self) -> None:
        """Refuse connections from now on. Harmless when repeated."""
        server, self._server = self._server, None
        self.may_answer.set()
        if server is not None:
            server.shutdown()
            server.server_close()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        """One call: remembered, and the status to be answered."""
        with self._lock:
            self.n_open += 1
            self.n_open_most = max(self.n_open_most, self.n_open)
        try:
            self.may_answer.wait(60)
            try:
                event_id = verify([KEY], headers, body, now_s=int(time.time()))
            except BadSignature as error:
                self.forged.append(str(error))
                return 401
            with self._lock:
                call = Call(event_id, path, headers, body, 0)
                status = self.answers.pop(0) if self.answers else self.answer_of(call)
                self.calls.append(Call(event_id, path, headers, body, status))
            return status
        finally:
            with self._lock:
                self.n_open -= 1

    # -- what was received ------------------------------------------------------------------

    @property
    def delivered(self) -> dict[str, bytes]:
        """What was acknowledged, once by id; two calls with one id must be alike."""
        found: dict[str, bytes] = {}
        for call in list(self.calls):
            if 200 <= call.status < 300:
                assert found.setdefault(call.event_id, call.body) == call.body
        return found

    def wait_for(self, n_events: int, timeout_s: float = 60) -> dict[str, bytes]:
        """What was delivered, once that are so many events."""
        wait_until(
            lambda: len(self.delivered) >= n_events, timeout_s=timeout_s, what=f"{n_events} events delivered"
        )
        return self.delivered


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that died is what some tests are about."""


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            named = {name.lower(): value for name, value in self.headers.items()}
            status = receiver.take(self.path, named, body)
            self.send_response(status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing: calls are looked at in the test."""

    return Handler


@contextlib.contextmanager
def receiving(*, up: bool = True, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver that is gone afterwards."""
    found = Receiver(up=up, tls=tls)
    try:
        yield found
    finally:
        found.go_down()


def write_config(path: Path, receivers: dict[str, Receiver], **fields: Any) -> Path:
    """A file of webhooks for some receivers, all with these fields."""
    lines: list[str] = []
    for name, receiver in receivers.items():
        lines += [f"[webhooks.{name}]", f'url = "{receiver.url}"', f'secret_env = "{SECRET_NAME}"']
        lines += [
            f"{field} = {json.dumps(value)}" for field, value in {"allow_private": True, **fields}.items()
        ]
    path.write_text("\n".join(lines))
    return path
