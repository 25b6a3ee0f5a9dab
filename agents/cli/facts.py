"""`factdrift facts`, `factdrift history`, `factdrift rebuild`: what is, and was, believed and published.

They ask the read model beside an embedded log, after bringing it up to date.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
import typer
from rich.text import Text

from agents.cli.output import Json, err, for_programs, listed, out, write_json
from agents.composition import wall_clock
from agents.logs import EmbeddedLog, open_log
from agents.replay import now_of
from state.errors import FactdriftError
from state.facts import State, as_text
from state.instants import Instant
from state.statements import Spelling
from streams.settings import Settings

if TYPE_CHECKING:  # the read model and its database take a tenth of a second, which no other command needs
    from sqlalchemy import Connection

    from agents.read_model import FactRead, FactVersion, Page

NOTHING_FOUND = 4  # the exit code of a question that has no answer
_PAGE = 200

Item = TypeVar("Item")


class NeedsData(FactdriftError):
    """A command that reads the read model of an embedded log was given no folder."""


Data = Annotated[Path | None, typer.Option("--data", help="Folder of the embedded log.")]
Namespace = Annotated[str | None, typer.Option("--namespace", help="Only this namespace.")]
KnownAt = Annotated[
    str | None,
    typer.Option(
        "--known-at",
        help='What was known then, and nothing learnt later: an instant, or words such as "last week", which '
        "mean the end of that stretch.",
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, help="How many at most.")]


def facts_command(
    subject: Annotated[
        str | None, typer.Argument(help="Only this subject, in any spelling.", show_default=False)
    ] = None,
    predicate: Annotated[
        str | None, typer.Argument(help="Only this predicate, in any spelling.", show_default=False)
    ] = None,
    data: Data = None,
    namespace: Namespace = None,
    value: Annotated[str | None, typer.Option("--object", help="Only facts with this value.")] = None,
    state: Annotated[
        State | None, typer.Option("--state", help="Only facts in this state, at the instant asked about.")
    ] = None,
    valid_at: Annotated[
        str | None,
        typer.Option(
            "--valid-at",
            help="What holds then: an instant, or words, which mean the beginning of that stretch.",
        ),
    ] = None,
    overlaps: Annotated[
        str | None,
        typer.Option(
            "--overlaps", help='What holds at some time within: "last May", "2020/2022", "since March 2023".'
        ),
    ] = None,
    known_at: KnownAt = None,
    limit: Limit = 100,
    json: Json = False,
) -> None:
    """What is believed, or was believed by --known-at, about what is true, or was at --valid-at.

    "What did we believe last week about what was true in January?" is
    factdrift facts --known-at "last week" --overlaps January. Exit code 4 where there is no such fact.
    """
    from agents.read_model import FactFilter, facts, folding_of
    from agents.read_model.asking import known_at_of, overlaps_of, valid_at_of

    with _question(data) as (connection, settings, now):
        folding = folding_of(settings)
        wanted = FactFilter(
            namespace=namespace,
            subject=subject,
            predicate=folding.meant(predicate),
            object=None if value is None else _spelling(value),
            state=state,
            overlaps=None if overlaps is None else overlaps_of(overlaps, now=now),
        )
        clocks = {
            "valid_at": None if valid_at is None else valid_at_of(valid_at, now=now),
            "known_at": None if known_at is None else known_at_of(known_at, now=now),
        }

        def page(cursor: str | None, n_wanted: int) -> Page[FactRead]:
            return facts(connection, folding, wanted, now=now, limit=n_wanted, cursor=cursor, **clocks)

        found, more, incomplete = _collect(page, limit)
    _tell([msgspec.to_builtins(item) for item in found], more, incomplete, json, _facts_table)
    if not found:
        raise typer.Exit(NOTHING_FOUND)


def history_command(
    subject: Annotated[
        str | None, typer.Argument(help="What the facts are about, in any spelling.", show_default=False)
    ] = None,
    predicate: Annotated[
        str | None, typer.Argument(help="What is said about it, in any spelling.", show_default=False)
    ] = None,
    data: Data = None,
    fact_id: Annotated[str | None, typer.Option("--fact", help="Only the fact with this id.")] = None,
    namespace: Namespace = None,
    known_at: KnownAt = None,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """Every version of the facts about a subject, as it was published: what changed, when, and why.

    Exit code 4 where nothing was published.
    """
    if subject is None and fact_id is None:
        raise typer.BadParameter("give a subject, or a fact with --fact ID")
    from agents.read_model import folding_of, history
    from agents.read_model.asking import known_at_of

    with _question(data) as (connection, settings, now):
        meant = folding_of(settings).meant(predicate)
        by = None if known_at is None else known_at_of(known_at, now=now)
        found: list[FactVersion] = []
        more = incomplete = False
        for claim_id in _claim_ids(connection, subject, meant, namespace, fact_id):

            def page(cursor: str | None, n_wanted: int, about: str | None = claim_id) -> Page[FactVersion]:
                return history(
                    connection, claim_id=about, fact_id=fact_id, known_at=by, limit=n_wanted, cursor=cursor
                )

            if len(found) == limit:
                more = True
                break
            versions, is_more, is_incomplete = _collect(page, limit - len(found))
            found += versions
            more, incomplete = more or is_more, incomplete or is_incomplete
    _tell([msgspec.to_builtins(item) for item in found], more, incomplete, json, _history_table)
    if not found:
        raise typer.Exit(NOTHING_FOUND)


rebuild = typer.Typer(no_args_is_help=True, help="Building anew what follows from the log.")


@rebuild.command("read-model")
def rebuild_read_model(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Folder of an embedded log. Without it: the cluster of FACTDRIFT_KAFKA_…."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Empty the read model and build it again from the log: of the embedded log in --data, or of Kafka.

    Where Kafka has removed events of the change feed by now, they are derived again from the internal topic.
    """
    from agents.read_model import open_read_model, rebuild_embedded, rebuild_kafka

    settings = Settings()
    if data is None:
        with contextlib.closing(open_read_model(settings, settings.data)) as model:
            n_records = asyncio.run(rebuild_kafka(model, settings))
    else:
        with _embedded(settings, data) as log, contextlib.closing(open_read_model(settings, data)) as model:
            n_records = rebuild_embedded(model, log.host.store)
    if for_programs(json):
        write_json({"records": n_records})
    else:
        out.print(f"{n_records} records applied.")


# -- asking -----------------------------------------------------------------------------------


@contextlib.contextmanager
def _embedded(settings: Settings, data: Path) -> Iterator[EmbeddedLog]:
    log = open_log(settings, data, create=False)
    assert isinstance(log, EmbeddedLog)
    try:
        yield log
    finally:
        log.close()


@contextlib.contextmanager
def _question(data: Path | None) -> Iterator[tuple[Connection, Settings, Instant]]:
    """A connection to the read model of an embedded log, up to date, and what now means in it."""
    if data is None:
        raise NeedsData(
            "This command reads an embedded log: give its folder with --data DIR. "
            "Make one with: factdrift replay FILE --data DIR"
        )
    from agents.read_model import catch_up, open_read_model

    settings = Settings()
    with _embedded(settings, data) as log, contextlib.closing(open_read_model(settings, data)) as model:
        now = now_of(log.host.store, wall_clock())
        catch_up(model, log.host.store)
        with model.reading() as connection:
            yield connection, settings, now


def _collect(page: Callable[[str | None, int], Page[Item]], limit: int) -> tuple[list[Item], bool, bool]:
    """Items from as many pages as it takes; whether there are more, and whether one is incomplete."""
    found: list[Item] = []
    cursor: str | None = None
    incomplete = False
    while True:
        got = page(cursor, min(_PAGE, limit - len(found)))
        found += got.items
        incomplete = incomplete or got.incomplete
        cursor = got.next
        if cursor is None or len(found) == limit:
            return found, cursor is not None, incomplete


def _claim_ids(
    connection: Connection,
    subject: str | None,
    predicate: str | None,
    namespace: str | None,
    fact_id: str | None,
) -> Iterator[str | None]:
    """The claims whose history is wanted; None where it is that of one fact."""
    from agents.read_model import claims

    if fact_id is not None:
        yield None
        return
    cursor: str | None = None
    while True:
        page = claims(
            connection, subject=subject, predicate=predicate, namespace=namespace, limit=_PAGE, cursor=cursor
        )
        yield from (claim.claim_id for claim in page.items)
        cursor = page.next
        if cursor is None:
            return


def _spelling(text: str) -> Spelling:
    """A value as it stands on a command line: true, false and null are no text."""
    return {"true": True, "false": False}.get(text, text)


# -- answering --------------------------------------------------------------------------------

Fields = dict[str, object]


def _tell(
    found: list[Fields], more: bool, incomplete: bool, json: bool, as_table: Callable[[list[Fields]], None]
) -> None:
    if for_programs(json):
        for fields in found:
            write_json(fields)
    else:
        as_table(found)
    if incomplete:
        err.print(Text("Text of that past was forgotten, so this answer is incomplete."), style="yellow")
    if more:
        err.print(Text("There is more: raise --limit, or ask for less."), style="yellow")


def _facts_table(found: list[Fields]) -> None:
    rows = [
        (
            fact["subject"],
            fact["predicate"],
            as_text(fact["object"]),  # type: ignore[arg-type]
            _bound(fact, "lo", "unknown"),
            _bound(fact, "hi", ""),
            fact["state"],
            fact["reason"] if fact["state"] == State.RETIRED else None,
            fact["support"],
            fact["dissent"],
        )
        for fact in found
    ]
    columns = ("subject", "predicate", "value", "from", "until", "state", "why", "for", "against")
    out.print(listed("fact", columns, rows))


def _history_table(found: list[Fields]) -> None:
    rows = [
        (
            str(version["recorded_at"])[:19],
            version["predicate"],
            as_text(version["object"]),  # type: ignore[arg-type]
            version["version"],
            version["revision"] or str(version["event"]).removeprefix("fact-"),
            _bound(version, "lo", "unknown"),
            _bound(version, "hi", ""),
            version["support"],
            version["dissent"],
            version["votes"],
        )
        for version in found
    ]
    columns = (
        "recorded", "predicate", "value", "version", "what", "from", "until", "for", "against", "votes"
    )  # fmt: skip
    out.print(listed("version", columns, rows))


def _bound(fields: Fields, side: str, unknown: str) -> str:
    valid = fields["valid"]
    assert isinstance(valid, dict)
    at = valid[side]
    return unknown if at is None else str(at).removesuffix("Z").removesuffix("T00:00:00")
