"""`factdrift recluster`: compare texts again that want it, and weigh votes again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agents import composition
from agents.cli.models import AcceptModelChange
from agents.cli.output import Json, for_programs, out, write_json
from agents.logs import EmbeddedLog, open_log
from agents.models import identity_of
from agents.reclustering import due, request
from streams.settings import Settings


def command(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Folder of an embedded log. Without it: the Kafka cluster of FACTDRIFT_KAFKA_…."
        ),
    ] = None,
    accept_model_change: AcceptModelChange = False,
    json: Json = False,
) -> None:
    """Compare the texts of claims again that were folded without vectors, or by another model; and, in an
    embedded log with FACTDRIFT_TRUST=learned, weigh disputed votes again by what is known of sources now.

    Every fact of such a claim gets an event: what became of it, or `reclustered` where nothing did. Exit
    code 4 where vectors are still missing afterwards; run it again when they are back. On Kafka it only
    asks: the workers do it, and their events tell.
    """
    settings = Settings()
    log = open_log(settings, data, create=False)
    try:
        if isinstance(log, EmbeddedLog):
            log.host.start(accept_model_change=accept_model_change)
        identity = identity_of(composition.vectors(settings))
        found = due(log, identity)
        for _ in request(log, found, batch_max=settings.batch_max):
            pass
        left = due(log, identity) if isinstance(log, EmbeddedLog) else []
    finally:
        log.close()
    told = {
        "asked": len(found),
        "degraded": sum(one.degraded for one in found),
        "other_model": sum(not one.degraded and not one.outweighed for one in found),
        "left": len(left),
        "model": identity,
    }
    if n_outweighed := sum(one.outweighed for one in found):
        told["outweighed"] = n_outweighed
    if for_programs(json):
        write_json(told)
    else:
        outcome = _outcome(len(left), asked_only=data is None)
        out.print(
            f"{len(found)} claims asked for: {told['degraded']} without vectors, {told['other_model']} "
            f"compared by another model{_weighed(n_outweighed)}. {outcome}"
        )
    if left:
        raise typer.Exit(4)


def _weighed(n_outweighed: int) -> str:
    return f", {n_outweighed} decided by what was known of their sources before" if n_outweighed else ""


def _outcome(n_left: int, *, asked_only: bool) -> str:
    if asked_only:
        return "The workers compare them now; follow it with: factdrift watch"
    if n_left:
        return f"{n_left} still wait for vectors: the log says why. Run this again when they are back."
    return "All of them are compared."
