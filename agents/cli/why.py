"""`factdrift why`: why a fact is what it is, and why a value is none."""

from __future__ import annotations

import contextlib
import textwrap
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from agents.claims import ClaimRead, NoSuchClaim, read_claim
from agents.cli.output import Json, err, for_programs, out, write_json
from agents.composition import wall_clock
from agents.explaining import as_json
from agents.logs import EmbeddedLog, open_log
from agents.replay import now_of
from agents.telling_values import ValueTelling
from state.errors import FactdriftError
from state.explanation import Explanation
from state.instants import Instant
from state.interval import Interval
from state.why import explain
from state.why_not import Verdict, facts_within, why_not
from state.windows import window
from streams.settings import Settings

WIDTH_MAX = 100  # columns; longer lines of prose are hard to read


class NeedsData(FactdriftError):
    """A command that reads tables was given no embedded log."""


def command(
    subject: Annotated[str, typer.Argument(help="What the claim is about, in any spelling.")],
    predicate: Annotated[str, typer.Argument(help="What is said about it, in any spelling.")],
    value: Annotated[
        str | None,
        typer.Argument(help="Ask about this value: why it holds, or why not.", show_default=False),
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Folder of the embedded log.")] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", help="Its namespace; by default the one that has such a claim."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help='Only what holds then: an instant, or words such as "last May".'),
    ] = None,
    known_at: Annotated[
        str | None,
        typer.Option(
            "--known-at",
            help='What was known then, and nothing learnt later: an instant, or words such as "last week", '
            "which mean the end of that stretch.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Explain the facts of a claim: what opened and ended each, who is for it and who is not.

    With a value it says what became of that one. Exit code 4 where no such claim is known.
    """
    if data is None:
        raise NeedsData(
            "factdrift why reads the tables of an embedded log: give its folder with --data DIR. "
            "Make one with: factdrift replay FILE --data DIR"
        )
    settings = Settings()
    log = open_log(settings, data, create=False)
    assert isinstance(log, EmbeddedLog)
    try:
        store = log.host.store
        now = now_of(store, wall_clock())
        if known_at is None:
            read = read_claim(store, settings, subject=subject, predicate=predicate, namespace=namespace)
        else:
            read = _read_then(log, settings, data, subject, predicate, namespace, known_at=known_at, now=now)
    except NoSuchClaim as error:
        err.print(Text(str(error)), style="red")
        raise typer.Exit(4) from None
    finally:
        log.close()
    explanation = explain(read.statements, read.predicate, read.policy, read.cluster_of)
    verdict = None
    if value is not None:
        verdict = why_not(explanation, value, forms=read.forms, threshold=read.threshold)
    during = None if at is None else window(at, now=now)
    if for_programs(json):
        write_json(as_json(read, explanation, verdict, now=now, during=during))
        return
    for line in told(read, explanation, verdict, now=now, during=during):
        _print(line)


def _read_then(
    log: EmbeddedLog,
    settings: Settings,
    data: Path,
    subject: str,
    predicate: str,
    namespace: str | None,
    *,
    known_at: str,
    now: Instant,
) -> ClaimRead:
    """The claim as it was known at an instant, from the read model beside the log. Raises NoSuchClaim."""
    from agents.answers import Asked, explained  # the tables hold only what is known now
    from agents.read_model import catch_up, folding_of, open_read_model

    with contextlib.closing(open_read_model(settings, data)) as model:
        catch_up(model, log.host.store)
        with model.reading() as connection:
            asked = Asked(connection, folding_of(settings), now)
            return explained(
                asked, subject=subject, predicate=predicate, namespace=namespace, known_at=known_at
            )[0]


def told(
    read: ClaimRead,
    explanation: Explanation,
    verdict: Verdict | None,
    *,
    now: Instant,
    during: Interval | None,
) -> list[str]:
    """The explanation in words, a paragraph or an item of a list on each line."""
    newest = max(read.statements, key=lambda s: s.place)
    name = f"{newest.subject} / {newest.predicate.replace('_', ' ')}"
    telling = ValueTelling(explanation, name, now=now, retracted=read.claim.retracted)
    if during is None:
        return telling.claim() if verdict is None else telling.verdict(verdict)
    lines = [] if verdict is None else [*telling.verdict(verdict), ""]
    facts = facts_within(explanation, during)
    if not facts:
        return [*lines, f"No fact of {telling.name} holds then."]
    return [*lines, "What holds then:", "", *telling.claim(facts)]


def _print(line: str) -> None:
    """One line, broken where the terminal ends; items of a list hang."""
    item = line.startswith("- ")
    width = min(out.width, WIDTH_MAX)
    broken = textwrap.wrap(
        line, width, initial_indent="  " if item else "", subsequent_indent="    " if item else "",
        break_long_words=False, break_on_hyphens=False, replace_whitespace=False, drop_whitespace=True,
    )  # fmt: skip
    for part in broken or [""]:
        out.out(part, highlight=False)
