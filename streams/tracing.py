"""Traces as hosts know them: a span around what is done, and the header that goes on from it.

Off by default: then a header is passed on as it came, and nothing is recorded. What records and sends spans
is `streams.otel`. Decides nothing about records, and reads none but their headers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Literal, Protocol

from state.traceparent import Traceparent, parse
from streams.host import Output, Record
from streams.settings import BadSetting

if TYPE_CHECKING:
    from streams.settings import Settings

Kind = Literal["server", "client", "internal"]

active: Final[ContextVar[Traceparent | None]] = ContextVar("active_trace", default=None)
"""The span in which something is done now; what is logged meanwhile bears its ids."""


class Span(Protocol):
    """Something under way. `header` is what goes on with whatever follows from it; None: no trace."""

    header: bytes | None

    def note(self, name: str, value: str | int) -> None:
        """Say something about it."""
        ...


class Handling(Protocol):
    """An agent at a batch. `records` are what the agent is to be given."""

    records: Sequence[Record]

    def emitted(self, outputs: list[Output]) -> list[Output]:
        """The outputs with the headers that they are to be written with; values and order stay."""
        ...


class Tracing(Protocol):
    """What hosts tell of their work. Safe in several threads."""

    def span(
        self, name: str, header: bytes | None, kind: Kind, *, begins: bool = False
    ) -> AbstractContextManager[Span]:
        """A span below a header; without a header, one that begins a trace if it `begins`, else none."""
        ...

    def handling(self, agent: str, records: Sequence[Record]) -> AbstractContextManager[Handling]:
        """The spans of a batch; they end, as failed where it raises, when its effects are durable."""
        ...

    def close(self) -> None:
        """Send what is recorded, within some seconds, and record no more."""
        ...


# -- off ------------------------------------------------------------------------------------


class _Passed:
    """A header that goes on as it came."""

    def __init__(self, header: bytes | None) -> None:
        self.header = header

    def note(self, name: str, value: str | int) -> None:
        """Nobody listens."""


class _AsRead:
    """A batch as it was read."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records

    def __enter__(self) -> _AsRead:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def emitted(self, outputs: list[Output]) -> list[Output]:
        """The same."""
        return outputs


class _Off:
    @contextlib.contextmanager
    def span(self, _name: str, header: bytes | None, _kind: Kind, *, begins: bool = False) -> Iterator[Span]:
        with during(None if header is None else parse(header)):
            yield _Passed(header)

    def handling(self, _agent: str, records: Sequence[Record]) -> AbstractContextManager[Handling]:
        return _AsRead(records)

    def close(self) -> None:
        pass


OFF: Final[Tracing] = _Off()
"""Records nothing and passes headers on."""


@contextlib.contextmanager
def during(trace: Traceparent | None) -> Iterator[None]:
    """What is logged inside belongs to this place of a trace; None leaves it with what is around it."""
    if trace is None:
        yield
        return
    before = active.set(trace)
    try:
        yield
    finally:
        active.reset(before)


# -- on -------------------------------------------------------------------------------------


def tracing_of(settings: Settings, service: str) -> Tracing:
    """What the settings ask for; `service` is how this process is named in traces.

    Raises BadSetting where what records them is not installed.
    """
    if settings.tracing == "off":
        return OFF
    try:
        from streams.otel import OtelTracing  # nobody else needs it
    except ImportError as error:
        raise BadSetting(
            'FACTDRIFT_TRACING is on, and OpenTelemetry is not installed. Run: pip install "factdrift[otel]"'
            "  (or set FACTDRIFT_TRACING=off)."
        ) from error
    return OtelTracing.exporting(service)
