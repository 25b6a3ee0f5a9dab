"""`factdrift reset`: derive the tables of the workers again from the log."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from agents.cli.output import Json, for_programs, out, write_json
from state.errors import BadInstant
from state.instants import parse_instant
from streams.settings import Settings


def command(
    from_offset: Annotated[
        int | None,
        typer.Option(min=0, help="Begin at this offset of each partition of observations-by-claim."),
    ] = None,
    from_time: Annotated[
        str | None, typer.Option(help="Begin at the first record of this time or later (ISO 8601).")
    ] = None,
    confirm: Annotated[bool, typer.Option("--confirm", help="Delete the old state for good.")] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Delete the new state and go back to the old one.")
    ] = False,
    json: Json = False,
) -> None:
    """Derive the workers' tables again from the log, into new state; the old is kept until --confirm.

    Stop all workers first. They use the new state as soon as they start again, and publish the same events
    with the same ids. What was said before --from-offset or --from-time is unknown to the new state.
    """
    from streams.kafka.reset import begin_reset, cancel_reset, confirm_reset

    if sum((from_offset is not None, from_time is not None, confirm, cancel)) > 1:
        raise typer.BadParameter("give one of --from-offset, --from-time, --confirm and --cancel")
    settings = Settings()
    if confirm or cancel:
        gone = asyncio.run((confirm_reset if confirm else cancel_reset)(settings))
        _say(json, {"deleted": gone}, f"{len(gone)} changelogs deleted.")
        return
    try:
        at = None if from_time is None else parse_instant(from_time)
    except BadInstant as error:
        raise typer.BadParameter(str(error), param_hint="--from-time") from error
    made = asyncio.run(begin_reset(settings, offset=from_offset, at=at))
    _say(
        json,
        {"state": made.state, "starts": made.starts, "records": made.n_records},
        f"State {made.state} begins, with {made.n_records} records to replay. Start the workers; when "
        "factdrift doctor shows no lag, run factdrift reset --confirm, or --cancel to go back.",
    )


def _say(json: bool, value: object, sentence: str) -> None:
    if for_programs(json):
        write_json(value)
    else:
        out.print(sentence)
