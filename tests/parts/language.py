"""A real HTTP server that speaks the chat part of the OpenAI protocol, and misbehaves when told to.

Its model is a function from the fields of the question to the text of an answer. Which fault a test wants is
a `Fault`: `faults` are taken one by one, `down` is taken by every request, and `fault_of` decides by the
question.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from state.budget import Budget
from streams.language_model import LanguageEndpoint, LanguageModel

KEY = "key-of-the-test"
MODEL = "model-of-the-test"
LONG_S = 60.0  # a bound that only a hang reaches

Asked = dict[str, Any]
"""The fields of the question, as the model sees them."""

Fault = Callable[["Handler", str], None]
"""Answers a request in another way; is given the handler and the text of the right answer."""


def tidy(asked: Asked) -> str:
    """What the model answers to a question about a triple: the predicate in the present tense, less words."""
    value = asked["object"]
    return json.dumps(
        {
            "predicate": {"was living in": "lives_in"}.get(asked["predicate"], asked["predicate"]),
            "object": value.removeprefix("the city of ") if isinstance(value, str) else value,
        }
    )


class LanguageServer(ThreadingHTTPServer):
    """The server. `bodies` and `keys` say what was asked, `most_at_once` how much of it at one time."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, model: Callable[[Asked], str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model = model
        self.faults: list[Fault] = []
        self.down: Fault | None = None
        self.fault_of: Callable[[Asked], Fault | None] = lambda _asked: None
        self.usage: dict[str, int] | None = {"total_tokens": 10}
        self.keeps_bodies = True
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.n_requests = 0
        self.n_tries: Counter[str] = Counter()
        self.most_at_once = self._at_once = 0
        self.released = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def asked(self) -> list[Asked]:
        return [json.loads(body["messages"][1]["content"]) for body in self.bodies]

    def enter(self, body: dict[str, Any], key: str | None) -> Fault | None:
        with self._lock:
            self.n_requests += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            if self.keeps_bodies:
                self.bodies.append(body)
                self.keys.append(key)
            if self.down is not None:
                return self.down
            if self.faults:
                return self.faults.pop(0)
        return self.fault_of(json.loads(body["messages"][1]["content"]))

    def leave(self) -> None:
        with self._lock:
            self._at_once -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: LanguageServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions"
        fault = self.server.enter(body, self.headers["Authorization"])
        try:
            right = self.server.model(json.loads(body["messages"][1]["content"]))
            if fault is None:
                self.answer(right)
            else:
                fault(self, right)
        finally:
            self.server.leave()

    def do_GET(self) -> None:
        """How often it was asked: for a server that runs as a process of its own."""
        self.respond({"n_requests": self.server.n_requests})

    def answer(self, text: Any, *, finish_reason: str = "stop", **message: Any) -> None:
        self.respond(
            {
                "id": "one",
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": text, **message},
                        "finish_reason": finish_reason,
                    }
                ],
                "usage": self.server.usage,
            }
        )

    def respond(self, body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.raw(json.dumps(body).encode(), status=status, headers=headers)

    def raw(self, body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        named = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        for name, value in named.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Tests say what matters."""


@contextmanager
def serving(model: Callable[[Asked], str] = tidy) -> Iterator[LanguageServer]:
    """A server on a free port, gone afterwards; whatever hangs in it is released first."""
    server = LanguageServer(model)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()


def asking(
    server: LanguageServer,
    *,
    timeout_s: float = LONG_S,
    at_once_max: int = 16,
    rest_s: float = 0.0,
    api_key: str | None = KEY,
    budget: Budget | None = None,
    **options: Any,
) -> LanguageModel:
    """The model behind a server; without a budget there is no bound."""
    return LanguageModel(
        LanguageEndpoint(
            url=server.url,
            model=MODEL,
            api_key=api_key,
            timeout_s=timeout_s,
            at_once_max=at_once_max,
            rest_s=rest_s,
            budget=budget or Budget(None, None, 3600.0),
        ),
        **options,
    )


def environment(server: LanguageServer) -> dict[str, str]:
    """What a process is told, so that it asks this server."""
    return {
        "FACTDRIFT_TRIPLE_SOURCE": "llm",
        "FACTDRIFT_LLM_URL": server.url,
        "FACTDRIFT_LLM_MODEL": MODEL,
        "FACTDRIFT_LLM_API_KEY": KEY,
        "FACTDRIFT_LLM_TIMEOUT_S": "60",
        "FACTDRIFT_LLM_REST_S": "0",
    }


# -- faults ---------------------------------------------------------------------------------


def status(code: int, message: str = "no", **headers: str) -> Fault:
    """An error as the protocol has it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _: handler.respond({"error": {"message": message}}, status=code, headers=named)


def sends(body: bytes, **headers: str) -> Fault:
    """These bytes, as a whole response."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _: handler.raw(body, headers=named)


def says(text: Any, **more: Any) -> Fault:
    """Another answer in the right form of a response."""
    return lambda handler, _: handler.answer(text, **more)


def hangs(handler: Handler, _right: str) -> None:
    """Nothing, until the test is over."""
    handler.server.released.wait()
    handler.close_connection = True


def drips(handler: Handler, _right: str) -> None:
    """A byte now and then for ever: no timeout of a socket notices."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.server.released.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()
    handler.close_connection = True


def floods(handler: Handler, _right: str) -> None:
    """A body without end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    piece = b" " * (1 << 18)
    while not handler.server.released.is_set():
        handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    handler.close_connection = True


def half_closes(handler: Handler, _right: str) -> None:
    """The beginning of a response, and then the end of the connection."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True
