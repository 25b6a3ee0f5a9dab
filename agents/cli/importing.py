"""`factdrift import`: exports of other systems as observations, into a log or on standard output."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from agents import importing
from agents.cli.models import AcceptModelChange
from agents.cli.output import Json, err, for_programs, out, write_json
from agents.cli.replay import opened
from agents.importing import Import, Item
from agents.replay import UnreadableFile
from streams.settings import Settings
from streams.wire import to_json

SHOWN_MAX = 20  # refusals that are told one by one where no file takes them

File = Annotated[str, typer.Argument(help="The export; - is standard input.", show_default=False)]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of the embedded log that takes them in. Without it they are printed."
    ),
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", help="Namespace of all observations, instead of their own.")
]
Errors = Annotated[
    Path | None, typer.Option("--errors", help="File for what could not be used, as JSON lines.")
]

typer_app = typer.Typer(
    no_args_is_help=True,
    help="Turn the export of another system into observations: JSON lines, or straight into a log.",
)


@typer_app.command("mem0")
def mem0(
    file: File,
    data: Data = None,
    namespace: Namespace = None,
    predicate: Annotated[
        str | None,
        typer.Option(
            "--predicate",
            help="One predicate for all memories; declare it multi. Without it each has its own.",
        ),
    ] = None,
    errors: Errors = None,
    accept_model_change: AcceptModelChange = False,
    json: Json = False,
) -> None:
    """Import memories of mem0, with their histories where the export has them.

    A memory is a claim about its user; an update replaces its text, a deletion denies it. Importing twice
    changes nothing. Exit code 4 where something could not be used.
    """
    with opened(file) as (_, stream, _size):
        found = _judged(importing.from_mem0(stream, predicate=predicate), namespace)
    _deliver(found, data, errors, accept_model_change=accept_model_change, json=json)


@typer_app.command("graphiti")
def graphiti(
    file: File,
    nodes: Annotated[
        str | None, typer.Option("--nodes", help="File with the nodes, where they are not in the export.")
    ] = None,
    data: Data = None,
    namespace: Namespace = None,
    errors: Errors = None,
    accept_model_change: AcceptModelChange = False,
    json: Json = False,
) -> None:
    """Import edges of Graphiti or Zep: who relates to whom, since when, until when, and who says so.

    Each episode of an edge is one statement; that it ended is another, made when Graphiti noticed. The group
    is the namespace. Importing twice changes nothing. Exit code 4 where something could not be used.
    """
    with contextlib.ExitStack() as stack:
        _, stream, _size = stack.enter_context(opened(file))
        named = None if nodes is None else stack.enter_context(opened(nodes))[1]
        found = _judged(importing.from_graphiti(stream, named), namespace)
    _deliver(found, data, errors, accept_model_change=accept_model_change, json=json)


@typer_app.command("csv")
def csv(
    file: File,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", help="FIELD=COLUMN: which column is a field, repeatable; source.id is one too."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="FIELD=VALUE: the same in every row, repeatable.")
    ] = None,
    delimiter: Annotated[str, typer.Option("--delimiter", help="One character between cells.")] = ",",
    data: Data = None,
    namespace: Namespace = None,
    errors: Errors = None,
    accept_model_change: AcceptModelChange = False,
    json: Json = False,
) -> None:
    """Import a table in UTF-8 whose first row names the columns; each further row is one observation.

    Columns that are called as fields of an observation need no --column. A row without observation_id is
    known by its content. Exit code 4 where something could not be used.
    """
    if len(delimiter) != 1:
        raise typer.BadParameter("--delimiter must be one character")
    columns, constants = _pairs(column, "--column"), _pairs(set_, "--set")
    with opened(file) as (_, stream, _size):
        found = _judged(importing.from_csv(stream, columns, constants, delimiter=delimiter), namespace)
    _deliver(found, data, errors, accept_model_change=accept_model_change, json=json)


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    found = {}
    for pair in given or []:
        name, is_pair, value = pair.partition("=")
        if not is_pair or not name or not value:
            raise typer.BadParameter(f"{option} {pair!r} is no FIELD=…")
        if name in found:
            raise typer.BadParameter(f"{option} names the field {name} twice")
        found[name] = value
    return found


def _judged(items: Iterator[Item], namespace: str | None) -> Import:
    from agents.composition import wall_clock  # loads the agents, which --help does not need

    return importing.judged(items, now=wall_clock(), namespace=namespace)


def _deliver(
    found: Import, data: Path | None, errors: Path | None, *, accept_model_change: bool, json: bool
) -> None:
    """Print the observations or put them into a log, and account for every item."""
    n_dead = 0
    if data is None:
        sys.stdout.buffer.writelines(line + b"\n" for line in found.lines)
        sys.stdout.buffer.flush()
    else:
        n_dead = _replayed(found, data, accept_model_change=accept_model_change)
    _tell_refusals(found, errors)
    summary = {
        "items": found.n_items,
        "used": found.n_used,
        "refused": len(found.refused),
        "observations": len(found.lines),
        "dead_letters": n_dead,
    }
    told = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in summary.items())
    if data is None:
        err.print(Text(f"{told}."))
    elif for_programs(json):
        write_json(summary)
    else:
        out.print(f"{told}.")
    if found.refused or n_dead:
        raise typer.Exit(4)


def _replayed(found: Import, data: Path, *, accept_model_change: bool) -> int:
    """Put the observations into the log of a folder; returns how many it could not use."""
    from agents import composition
    from agents.replay import replay

    settings = Settings()
    host = composition.embedded(settings, data)
    try:
        host.start(accept_model_change=accept_model_change)
        with tempfile.TemporaryFile() as lines:
            lines.writelines(line + b"\n" for line in found.lines)
            lines.seek(0)
            return replay(host, None, lines, batch_max=settings.batch_max).n_dead
    finally:
        host.store.close()


def _tell_refusals(found: Import, errors: Path | None) -> None:
    if errors is not None:
        lines = [
            to_json({"item": one.item, "code": one.code, "message": one.message}) for one in found.refused
        ]
        try:
            errors.write_bytes(b"".join(line + b"\n" for line in lines))
        except OSError as error:
            raise UnreadableFile(f"{errors} cannot be written: {error.strerror}.") from error
        return
    for one in found.refused[:SHOWN_MAX]:
        err.print(Text(f"Item {one.item} [{one.code}]: {one.message}"), style="red")
    if len(found.refused) > SHOWN_MAX:
        err.print(Text(f"… and {len(found.refused) - SHOWN_MAX} more; --errors FILE takes all of them."))
