"""`factdrift replay`: files of observations in, facts and events out, no server."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from agents import composition
from agents.cli.models import AcceptModelChange
from agents.cli.output import Json, bytes_progress, for_programs, out, table, write_json
from agents.replay import Report, UnreadableFile, events, fact_lines, now_of, replay
from streams.embedded import EmbeddedHost
from streams.settings import Settings
from streams.wire import to_json

Files = Annotated[
    list[str],
    typer.Argument(help="JSON-lines files of observations; - is standard input.", show_default=False),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of the embedded log. Without it a temporary one is used and removed."
    ),
]
Predicates = Annotated[Path | None, typer.Option("--predicates", help="TOML file that declares predicates.")]


def command(
    files: Files,
    data: Data = None,
    facts: Annotated[
        Path | None, typer.Option("--facts", help="Write all facts to this file; - is standard output.")
    ] = None,
    events_to: Annotated[
        Path | None, typer.Option("--events", help="Write all events to this file; - is standard output.")
    ] = None,
    predicates: Predicates = None,
    batch: Annotated[int | None, typer.Option("--batch", min=1, help="Observations in one batch.")] = None,
    accept_model_change: AcceptModelChange = False,
    json: Json = False,
) -> None:
    """Replay files of observations into an embedded log and write the facts that follow.

    With --data a killed replay goes on where its last batch ended, and a file that was replayed before
    changes nothing. Lines that cannot be used become dead letters: see `factdrift dlq list --data DIR`.
    """
    settings = _settings(predicates, batch)
    _check_files(files, [path for path in (facts, events_to) if path is not None])
    with data_folder(data) as folder:
        host = composition.embedded(settings, folder)
        try:
            host.start(accept_model_change=accept_model_change)
            reports = [_replay_one(host, name, settings.intake_batch_max) for name in files]
            now = now_of(host.store, composition.wall_clock())
            lines = fact_lines(host.store, now=now)
            if facts is not None:
                _write_lines(facts, lines)
            if events_to is not None:
                _write_lines(events_to, events(host.store))
        finally:
            host.store.close()
    quiet = facts == Path("-") or events_to == Path("-")
    _summarise(
        reports, Counter(line["state"] for line in lines), for_people=not for_programs(json), quiet=quiet
    )


def _check_files(inputs: list[str], outputs: list[Path]) -> None:
    """Before any work: every input can be read, every output written, and no file is used twice."""
    for name in inputs:
        if name != "-":
            with opened(name):
                pass
    taken = {Path(name).resolve() for name in inputs if name != "-"}
    for path in outputs:
        where = path if path == Path("-") else path.resolve()
        if where in taken:
            raise UnreadableFile(f"{path} is given twice: it would be written over.")
        taken.add(where)
        if path != Path("-") and (not path.resolve().parent.is_dir() or path.is_dir()):
            raise UnreadableFile(f"{path} cannot be written: there is no such folder, or it is one itself.")


def _settings(predicates: Path | None, batch: int | None) -> Settings:
    settings = Settings()
    changed: dict[str, Any] = {}
    if predicates is not None:
        changed["predicates"] = predicates
    if batch is not None:
        changed["batch_max"] = batch
    return settings.model_copy(update=changed)


@contextlib.contextmanager
def data_folder(data: Path | None) -> Iterator[Path]:
    """The given folder, or a temporary one that is gone afterwards."""
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="factdrift-") as folder:
        yield Path(folder)


@contextlib.contextmanager
def opened(name: str) -> Iterator[tuple[Path | None, BinaryIO, int]]:
    """A file or standard input: its path, its stream, its size (0 where unknown)."""
    if name == "-":
        yield None, sys.stdin.buffer, 0
        return
    path = Path(name)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise UnreadableFile(f"{name} cannot be read: {error.strerror}.") from error
    with stream:
        if stream.seekable():
            yield path, stream, path.stat().st_size
        else:
            yield None, stream, 0  # a pipe: like standard input, it cannot be resumed


def _replay_one(host: EmbeddedHost, name: str, batch_max: int) -> Report:
    with opened(name) as (path, stream, size), bytes_progress() as progress:
        task = progress.add_task(f"Replaying {name}", total=size or None)
        return replay(
            host, path, stream, batch_max=batch_max, progressed=lambda n: progress.update(task, advance=n)
        )


def _write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    body = b"".join(to_json(line) + b"\n" for line in lines)
    if path == Path("-"):
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    try:
        path.write_bytes(body)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be written: {error.strerror}.") from error


def _summarise(reports: list[Report], states: Counter[str], *, for_people: bool, quiet: bool) -> None:
    dead = sum((report.dead for report in reports), Counter[str]())
    found = sum((report.events for report in reports), Counter[str]())
    if quiet:
        return
    if not for_people:
        write_json(
            {
                "lines": sum(report.n_lines for report in reports),
                "applied": sum(report.n_applied for report in reports),
                "dead_letters": sum(report.n_dead for report in reports),
                "dead_letters_by_code": dict(sorted(dead.items())),
                "resumed_at_line": sum(report.resumed_at for report in reports),
                "facts": {state: states[state] for state in ("open", "contested", "retired")},
                "events": dict(sorted(found.items())),
            }
        )
        return
    out.print(
        table(
            "Lines",
            ("file", "lines", "applied", "dead letters", "resumed at"),
            [(r.name, r.n_lines, r.n_applied, r.n_dead, r.resumed_at) for r in reports],
        )
    )
    out.print(table("Facts", ("state", "facts"), [(s, states[s]) for s in ("open", "contested", "retired")]))
    if dead:
        out.print(table("Dead letters of this run", ("code", "lines"), sorted(dead.items())))
