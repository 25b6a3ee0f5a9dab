"""`factdrift worker` and `factdrift topics`: running on Kafka."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.text import Text

from agents.cli.models import AcceptModelChange
from agents.cli.output import Json, err, for_programs, out, table, write_json
from streams.settings import Settings


def worker(
    health_port: Annotated[
        int | None,
        typer.Option(
            "--health-port", help="Port of /healthz, /readyz and /metrics, instead of FACTDRIFT_HEALTH_PORT."
        ),
    ] = None,
    accept_model_change: AcceptModelChange = False,
) -> None:
    """Run a worker on Kafka until it is told to stop.

    SIGTERM or Ctrl-C finishes the batch at hand, commits and leaves; a second one stops at once. Run as
    many as there are partitions; everything is configured by FACTDRIFT_….
    """
    from agents.worker import main

    raise typer.Exit(main(health_port=health_port, accept_model_change=accept_model_change))


topics = typer.Typer(no_args_is_help=True, help="The topics on the Kafka cluster.")


@topics.command("create")
def create(json: Json = False) -> None:
    """Create every topic that is missing, as factdrift needs it; existing ones are left alone."""
    from streams.kafka import create_topics

    made = asyncio.run(create_topics(Settings()))
    if for_programs(json):
        write_json({"created": made})
    else:
        out.print(table(f"{len(made)} topics created", ("topic",), [(name,) for name in made]))


@topics.command("check")
def check(json: Json = False) -> None:
    """Compare every topic with what factdrift needs; exit code 4 where one differs."""
    from streams.kafka import check_topics

    problems = asyncio.run(check_topics(Settings()))
    if for_programs(json):
        write_json({"problems": [str(problem) for problem in problems]})
    elif problems:
        for problem in problems:
            err.print(Text(str(problem)), style="red")
    else:
        out.print("All topics are as they should be.")
    if problems:
        raise typer.Exit(4)
