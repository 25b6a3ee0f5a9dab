"""`factdrift extract`: plain dated messages in, observations out, by a language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from agents.cli.output import bytes_progress, err, write_json
from agents.cli.replay import opened
from streams.settings import Settings

if TYPE_CHECKING:
    from agents.extracting import Report

INCOMPLETE: Final = 4


def command(
    file: Annotated[
        str, typer.Argument(help="File of messages, a line each; - is standard input.", show_default=False)
    ],
    namespace: Annotated[
        str, typer.Option("--namespace", help="Namespace of messages that name none.")
    ] = "default",
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            help="Keep the model's answers in this file: a run that was broken off, or is repeated, asks "
            "only for what is missing. It holds words of the messages.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Say nothing of single lines, only the summary.")
    ] = False,
) -> None:
    """Take observations out of messages with a language model, as JSON lines on standard output.

    A message is a JSON object with said_at and text, and perhaps speaker, id, document and namespace; or a
    line of text: a time, perhaps a name with a colon, and the words. Which model is asked is set by
    FACTDRIFT_LLM_…. To publish what comes out: factdrift extract FILE | factdrift publish

    A statement has the same id in every run, so publishing twice doubles nothing. The summary on standard
    error accounts for every line; exit code 4 where a line could not be read or a message has no answer.
    """
    from agents.extracting import KeptAnswers, Report, extract  # nobody else needs the client
    from streams.language_model import language_model_of

    settings = Settings().llm
    model = language_model_of(settings)
    report = Report()

    def tell(number: int, why: str) -> None:
        if not quiet:
            err.print(Text(f"{file}:{number}: {why}"), soft_wrap=True)

    with opened(file) as (_, stream, size), bytes_progress() as progress:
        task = progress.add_task(f"Reading {file}", total=size or None)
        for observation in extract(
            stream,
            model,
            settings,
            namespace=namespace,
            answers=KeptAnswers(answers),
            report=report,
            told=tell,
            progressed=lambda n: progress.update(task, advance=n),
        ):
            write_json(observation)
    err.print(Text(_summary(report, model.n_calls)), soft_wrap=True)
    if not report.is_complete:
        raise typer.Exit(INCOMPLETE)


def _summary(report: Report, n_calls: int) -> str:
    """One line that accounts for every message and line."""
    outcomes = ", ".join(f"{n} {outcome.value}" for outcome, n in sorted(report.outcomes.items()))
    return (
        f"{report.n_messages} messages ({outcomes or 'none'}), {report.n_unreadable} lines unreadable; "
        f"{report.n_observations} observations, {report.n_refused} refused; {n_calls} requests."
    )
