"""Traces by OpenTelemetry: spans from a request to the events that follow from it, sent by OTLP over HTTP.

Where they go, how many are kept and what the service is called are the standard's own settings (`OTEL_…`).
A span says which agent, topic, partition and offset; never what a record says, since that may have to be
forgotten. Sending never holds up the work: what does not fit into the buffer is dropped.

    POST /v1/observations            one for each request
      intake                         one for each different header of a batch, linked to `intake batch`
        consolidation                as intake
          emit fact-created          one for each event, linked to what else caused it
            webhook                  one for each call
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Final

import msgspec
from opentelemetry import trace as api
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from state.traceparent import Traceparent, packed, parse, unpacked
from streams.host import Output, Record
from streams.topics import Topic
from streams.tracing import Kind, Span, during

CLOSE_S: Final = 5.0  # for what is recorded to be taken at the end
LINKS_MAX: Final = 128  # of one span; as many as the SDK keeps
_KINDS: Final = {
    "server": api.SpanKind.SERVER, "client": api.SpanKind.CLIENT, "internal": api.SpanKind.INTERNAL
}  # fmt: skip


class _Event(msgspec.Struct):
    event_id: str = ""


_decode: Final = msgspec.json.Decoder(_Event).decode


class OtelTracing:
    """Records spans with a provider of its own, beside what else uses OpenTelemetry in this process."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("factdrift", version("factdrift"))

    @classmethod
    def exporting(cls, service: str) -> OtelTracing:
        """One that sends spans to the endpoint of `OTEL_EXPORTER_OTLP_…`, as `factdrift-<service>`."""
        resource = Resource.create({SERVICE_VERSION: version("factdrift")})
        if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: f"factdrift-{service}"}))
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return cls(provider)

    def close(self) -> None:
        """Send what is recorded, and record no more. A collector that does not answer is not waited for."""
        ending = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        ending.start()
        ending.join(CLOSE_S)

    @contextlib.contextmanager
    def span(self, name: str, header: bytes | None, kind: Kind, *, begins: bool = False) -> Iterator[Span]:
        """A span below a header; without a header, one that begins a trace if it `begins`, else none."""
        if header is None and not begins:
            yield _Span(api.INVALID_SPAN, None)
            return
        span = self._tracer.start_span(name, context=_below(header), kind=_KINDS[kind])
        with _ending([span]), during(_place(span)):
            yield _Span(span, _header(span))

    @contextlib.contextmanager
    def handling(self, agent: str, records: Sequence[Record]) -> Iterator[_Handling]:
        """The spans of a batch: one of its own, and one below each different header of its records."""
        found = _Handling(self._tracer, agent, records)
        with _ending(found.spans), during(found.place):
            yield found


class _Span:
    def __init__(self, span: api.Span, header: bytes | None) -> None:
        self._span = span
        self.header = header

    def note(self, name: str, value: str | int) -> None:
        """Say something about it."""
        self._span.set_attribute(name, value)


class _Handling:
    """An agent at a batch, with a span for each different header."""

    def __init__(self, tracer: api.Tracer, agent: str, records: Sequence[Record]) -> None:
        self._tracer = tracer
        self._agent = agent
        first = records[0]
        self._where: dict[str, str | int] = {
            "messaging.system": "factdrift",
            "messaging.destination.name": first.topic.value,
            "messaging.destination.partition.id": str(first.partition),
        }
        wanted = dict.fromkeys(header for record in records for header in _headers(record))
        self._batch = tracer.start_span(
            f"{agent} batch",
            context=Context(),
            kind=api.SpanKind.CONSUMER,
            links=_links(wanted),
            attributes={
                **self._where,
                "messaging.batch.message_count": len(records),
                "factdrift.offset": int(first.offset),
            },
        )
        self.spans: list[api.Span] = [self._batch]
        below = {header: self._begin(header) for header in wanted}
        self.records = [_with(record, below) for record in records] if below else records
        one = self.spans[-1] if len(self.spans) == 2 else self._batch
        self.place = _place(one)

    def _begin(self, header: bytes) -> bytes:
        span = self._tracer.start_span(
            self._agent,
            context=_below(header),
            kind=api.SpanKind.CONSUMER,
            links=[api.Link(self._batch.get_span_context())],
            attributes=self._where,
        )
        self.spans.append(span)
        return _header(span) or header

    def emitted(self, outputs: list[Output]) -> list[Output]:
        """The outputs, each event below a span of its own."""
        return [self._emitted(output) for output in outputs]

    def _emitted(self, output: Output) -> Output:
        if output.trace is None or output.topic is Topic.BY_CLAIM:
            return output
        span = self._tracer.start_span(
            f"emit {output.topic.value}",
            context=_below(output.trace),
            kind=api.SpanKind.PRODUCER,
            links=_links(output.linked),
            attributes={"messaging.system": "factdrift", "messaging.destination.name": output.topic.value},
        )
        if event_id := _decode(output.value).event_id:
            span.set_attribute("factdrift.event_id", event_id)
        self.spans.append(span)
        return msgspec.structs.replace(output, trace=_header(span) or output.trace)


def _headers(record: Record) -> Iterable[bytes]:
    """The traceparents of a record: its own, or on the internal topic those of its entries."""
    if record.trace is None:
        return ()
    return unpacked(record.trace).values() if record.topic is Topic.BY_CLAIM else (record.trace,)


def _with(record: Record, below: dict[bytes, bytes]) -> Record:
    """A record with the headers of the spans that were begun below its own."""
    if record.trace is None:
        return record
    if record.topic is not Topic.BY_CLAIM:
        return msgspec.structs.replace(record, trace=below[record.trace])
    headers = unpacked(record.trace)
    ordered = [headers.get(number) for number in range(max(headers, default=-1) + 1)]
    trace = packed([None if header is None else below[header] for header in ordered])
    return msgspec.structs.replace(record, trace=trace)


@contextlib.contextmanager
def _ending(spans: list[api.Span]) -> Iterator[None]:
    """End these spans, and those added meanwhile: as failed where it raises. The innermost end first."""
    failed: str | None = None
    try:
        yield
    except BaseException as error:
        failed = type(error).__name__  # its words may be those of a record
        raise
    finally:
        for span in reversed(spans):
            if failed is not None:
                span.set_attribute("error.type", failed)
                span.set_status(api.StatusCode.ERROR)
            span.end()


def _links(headers: Iterable[bytes]) -> list[api.Link]:
    found = [parsed for header in headers if (parsed := parse(header)) is not None]
    return [api.Link(_context_of(one)) for one in found[:LINKS_MAX]]


def _below(header: bytes | None) -> Context:
    """Where a span begins: below a header, or at the beginning of a trace, whatever is active here."""
    parsed = None if header is None else parse(header)
    if parsed is None:
        return Context()
    return api.set_span_in_context(api.NonRecordingSpan(_context_of(parsed)), Context())


def _context_of(place: Traceparent) -> api.SpanContext:
    return api.SpanContext(
        int(place.trace_id, 16),
        int(place.span_id, 16),
        is_remote=True,
        trace_flags=api.TraceFlags(place.flags),
    )


def _place(span: api.Span) -> Traceparent | None:
    found = span.get_span_context()
    if not found.is_valid:  # OTEL_SDK_DISABLED
        return None
    return Traceparent(
        api.format_trace_id(found.trace_id), api.format_span_id(found.span_id), int(found.trace_flags)
    )


def _header(span: api.Span) -> bytes | None:
    found = _place(span)
    return None if found is None else found.header()
