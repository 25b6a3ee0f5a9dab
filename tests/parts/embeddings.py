"""A real HTTP server that speaks the embeddings part of the OpenAI protocol, and misbehaves when told to.

Its vectors are the packaged ones, so that what it says of texts is true. Which fault a test wants is a
`Fault`; each request takes the next one of `faults`, and none where the list is empty.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from streams.vectors import packaged

KEY = "key-of-the-test"
DIMENSION = 256

Fault = Callable[["Handler", list[dict[str, Any]]], None]
"""Answers a request in another way; is given the handler and the entries of the right answer."""


class EmbeddingsServer(ThreadingHTTPServer):
    """The server. `bodies` and `keys` say what was asked; `down` makes every request fail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.vectors = packaged()
        self.faults: list[Fault] = []
        self.down: Fault | None = None
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def inputs(self) -> list[list[str]]:
        return [body["input"] for body in self.bodies]

    @property
    def n_requests(self) -> int:
        return len(self.bodies)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: EmbeddingsServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/embeddings"
        self.server.bodies.append(body)
        self.server.keys.append(self.headers["Authorization"])
        made = self.server.vectors.embed(body["input"])
        entries = [
            {"object": "embedding", "index": n, "embedding": list(struct.unpack(f"<{DIMENSION}f", vector))}
            for n, vector in enumerate(made)
        ]
        fault = self.server.down or (self.server.faults.pop(0) if self.server.faults else None)
        if fault is None:
            self.answer({"object": "list", "data": entries, "model": body["model"]})
        else:
            fault(self, entries)

    def answer(self, body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.raw(json.dumps(body).encode(), status=status, headers=headers)

    def raw(self, body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Tests say what matters."""


@contextmanager
def serving() -> Iterator[EmbeddingsServer]:
    """A server on a free port, gone afterwards; whatever hangs in it is released first."""
    server = EmbeddingsServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()


# -- faults ---------------------------------------------------------------------------------


def status(code: int, message: str = "no", **headers: str) -> Fault:
    """An error as the protocol has it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _: handler.answer({"error": {"message": message}}, status=code, headers=named)


def sends(body: bytes) -> Fault:
    """These bytes, as a whole answer."""
    return lambda handler, _: handler.raw(body)


def changed(change: Callable[[list[dict[str, Any]]], Any]) -> Fault:
    """The right answer, changed."""
    return lambda handler, entries: handler.answer({"data": change(entries)})


def hangs(handler: Handler, _entries: list[dict[str, Any]]) -> None:
    """Nothing, until the test is over."""
    handler.server.released.wait()
    handler.close_connection = True


def drips(handler: Handler, _entries: list[dict[str, Any]]) -> None:
    """A byte now and then for ever: no timeout of a socket notices."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.server.released.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()
    handler.close_connection = True


def floods(handler: Handler, _entries: list[dict[str, Any]]) -> None:
    """A body without end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    piece = b" " * (1 << 20)
    while not handler.server.released.is_set():
        handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    handler.close_connection = True


def half_closes(handler: Handler, _entries: list[dict[str, Any]]) -> None:
    """The beginning of an answer, and then the end of the connection."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.close_connection = True
