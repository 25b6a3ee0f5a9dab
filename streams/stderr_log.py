"""The log of a process that runs until it is stopped: on standard error, every line in one form.

Our own modules and the libraries that they use come out alike: a JSON object on each line, or text. Libraries
are heard from warnings on, unless the level is `debug`. What a line may hold is `streams.log_lines`.
"""

from __future__ import annotations

import logging
import socket
import sys
from typing import Any, Final

import structlog
from structlog.stdlib import ProcessorFormatter

from state.errors import FactdriftError
from streams.log_lines import Line, as_json, as_text, scrubbed, secrets_of
from streams.settings import Settings
from streams.tracing import active

_OURS: Final = ("agents", "state", "streams", "__main__")
_TELLS_REQUESTS: Final = "aiokafka.conn"  # on debug it writes out what is sent, passwords among it
_UNWANTED: Final = ("color_message", "_record", "_from_structlog")


class _Handler(logging.StreamHandler[Any]):
    """Ours, so that a second call takes the place of the first and leaves those of others alone."""

    is_json = False


def log_to_stderr(settings: Settings, *, service: str) -> None:
    """Log as the settings say; every line of JSON says that it is of `factdrift-<service>`, and where."""
    handler = _Handler(sys.stderr)
    is_text = settings.log_format == "text" or (settings.log_format == "auto" and sys.stderr.isatty())
    handler.is_json = not is_text
    where = {
        "service": f"factdrift-{service}",
        "instance": settings.kafka.group_instance_id or socket.gethostname(),
    }
    secrets = secrets_of(settings)

    def written(_logger: Any, _method: str, line: Line) -> str:
        for name in _UNWANTED:
            line.pop(name, None)
        return as_text(scrubbed(line, secrets)) if is_text else as_json(scrubbed({**where, **line}, secrets))

    common: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _with_trace,
        _with_code,
        structlog.processors.format_exc_info,
    ]
    handler.setFormatter(ProcessorFormatter(foreign_pre_chain=common, processors=[written]))
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *common, ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    _listen(handler, settings.log_level)


def _listen(handler: _Handler, level: str) -> None:
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if level == "debug" else logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(level.upper())
    logging.getLogger(_TELLS_REQUESTS).setLevel(logging.INFO if level == "debug" else logging.WARNING)


def tell_refusal(error: FactdriftError) -> None:
    """Log why the process ends, where lines are for programs; a person reads the sentence after it."""
    handlers = [one for one in logging.getLogger().handlers if isinstance(one, _Handler)]
    if any(one.is_json for one in handlers):
        logging.getLogger(__name__).critical("stopped", extra={"reason": str(error), **_code_of(error)})


def _with_trace(_logger: Any, _method: str, line: Line) -> Line:
    """The ids of the span in which it is said, if in any."""
    if (place := active.get()) is not None:
        line.setdefault("trace_id", place.trace_id)
        line.setdefault("span_id", place.span_id)
    return line


def _with_code(_logger: Any, _method: str, line: Line) -> Line:
    """The code of the error that is told, where it has one."""
    told = line.get("exc_info")
    error = sys.exc_info()[1] if told is True else told[1] if isinstance(told, tuple) else told
    if isinstance(error, BaseException):
        for name, value in _code_of(error).items():
            line.setdefault(name, value)
    return line


def _code_of(error: BaseException) -> dict[str, Any]:
    """What kind of error it is, its stable code, and the record that it is about, as far as known."""
    told = {name: getattr(error, name, None) for name in ("code", "topic", "partition", "offset")}
    return {
        "error": type(error).__name__,
        **{name: value for name, value in told.items() if value not in (None, "")},
    }
