"""A real receiver of OpenTelemetry traces by OTLP over HTTP, as a collector: remembers every span."""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.parts.processes import wait_until


@dataclass(frozen=True, slots=True)
class Sent:
    """One span as it came: its ids in hexadecimal digits, `parent` empty where it begins a trace."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent: str
    links: tuple[tuple[str, str], ...]
    attributes: dict[str, str]
    failed: bool


class Collector:
    """A receiver on a port of its own."""

    def __init__(self) -> None:
        self.spans: list[Sent] = []
        self.paths: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.environment = {
            "FACTDRIFT_TRACING": "on",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def take(self, path: str, body: bytes) -> None:
        """One request: spans by resource and scope."""
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        self.paths.add(path)
        for resource in request.resource_spans:
            service = _values(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_sent(service, span) for span in scope.spans]

    # -- what was received ------------------------------------------------------------------

    def of(self, trace_id: str) -> list[Sent]:
        """The spans of a trace."""
        return [span for span in list(self.spans) if span.trace_id == trace_id]

    def wait_for(self, trace_id: str, *names: str, timeout_s: float = 60) -> dict[str, Sent]:
        """The spans of a trace by name, once there is one of each of these."""

        def there() -> dict[str, Sent] | None:
            found = {span.name: span for span in self.of(trace_id)}
            return found if found.keys() >= set(names) else None

        return wait_until(there, timeout_s=timeout_s, what=f"spans {names} of {trace_id}")


def _sent(service: str, span: Any) -> Sent:
    return Sent(
        service,
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        _values(span.attributes),
        span.status.code == 2,
    )


def _values(attributes: Any) -> dict[str, str]:
    return {one.key: str(getattr(one.value, one.value.WhichOneof("value"))) for one in attributes}


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            collector.take(self.path, body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing: spans are looked at in the test."""

    return Handler


@contextlib.contextmanager
def collecting() -> Iterator[Collector]:
    """A receiver that is gone afterwards."""
    found = Collector()
    try:
        yield found
    finally:
        found.close()
