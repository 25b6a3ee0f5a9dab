"""`factdrift serve`, `factdrift api` and `factdrift mcp`: answering over HTTP, and to assistants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from streams.settings import Settings
from streams.stderr_log import log_to_stderr

Host = Annotated[
    str | None,
    typer.Option("--host", help="Address to listen on, instead of FACTDRIFT_API_HOST. Beyond this machine a "
                 "token is needed."),
]  # fmt: skip
Port = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Port, instead of FACTDRIFT_API_PORT; 0 is any free one."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help="File of bearer tokens, one on each line; whoever has one may ask."),
]


def serve(
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the embedded log, instead of FACTDRIFT_DATA.")
    ] = None,
    host: Host = None,
    port: Port = None,
    token_file: TokenFile = None,
) -> None:
    """Run a durable service on one machine: the embedded log and the HTTP API in one process.

    Observations come in by POST /v1/observations, changes go out by GET /v1/changes. SIGTERM or Ctrl-C
    finishes what is being written and leaves; a second one leaves at once.
    """
    from agents.api import serve_embedded

    settings = _settings(host, port, token_file)
    log_to_stderr(settings, service="serve")
    serve_embedded(settings, settings.data if data is None else data)


def api(
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the read model, instead of FACTDRIFT_DATA."),
    ] = None,
    host: Host = None,
    port: Port = None,
    token_file: TokenFile = None,
) -> None:
    """Serve the HTTP API over the Kafka cluster of FACTDRIFT_KAFKA_…; workers run beside it.

    Follows the topics into the read model: of FACTDRIFT_READ_MODEL_URL, else a file in the folder.
    """
    from agents.api import serve_kafka

    settings = _settings(host, port, token_file)
    log_to_stderr(settings, service="api")
    serve_kafka(settings, settings.data if data is None else data)


def mcp(
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of an embedded log. It need not exist yet.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="A running API, instead of a folder: http://127.0.0.1:8600.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="File whose first token the API at --url is asked with."),
    ] = None,
) -> None:
    """Offer facts, history, why, unstable, links and correct to an assistant, by MCP on standard input.

    Needs the extra: pip install 'factdrift[mcp]'.
    """
    from agents.desk import open_desk
    from agents.mcp_server import run

    settings = Settings()
    log_to_stderr(settings, service="mcp")  # standard output belongs to the protocol
    run(lambda: open_desk(settings, data=data, url=url, token_file=token_file, create=True))


def _settings(host: str | None, port: int | None, token_file: Path | None) -> Settings:
    settings = Settings()
    given: dict[str, Any] = {"host": host, "port": port, "token_file": token_file}
    changed = {name: value for name, value in given.items() if value is not None}
    return settings.model_copy(update={"api": settings.api.model_copy(update=changed)})
