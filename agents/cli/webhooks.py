"""`factdrift webhooks`: telling receivers of alerts over HTTP, so that nobody has to write a consumer."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from agents.cli.logs import opened_log
from agents.cli.output import Json, for_programs, listed, out, table, write_json
from streams.settings import Settings

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of an embedded log. Without it: the Kafka cluster of FACTDRIFT_KAFKA_…."
    ),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file of webhooks, instead of FACTDRIFT_WEBHOOKS."),
]
Webhook = Annotated[str | None, typer.Option("--webhook", help="Only this webhook.")]
HealthPort = Annotated[
    int | None,
    typer.Option(
        "--health-port", help="Port of /healthz and /metrics, instead of FACTDRIFT_HEALTH_PORT; 0 is any."
    ),
]

typer_app = typer.Typer(
    no_args_is_help=True, help="Webhooks: drift alerts and invalidated facts, posted to receivers."
)


@typer_app.command("run")
def run(data: Data = None, config: Config = None, health_port: HealthPort = None) -> None:
    """Post drift alerts and invalidated facts to the receivers of a file, until told to stop.

    Every event is posted until its receiver has acknowledged it, with the same id each time. SIGTERM or
    Ctrl-C takes in the answers that are awaited, and leaves.
    """
    from agents import webhooks

    settings = Settings()
    found = webhooks.receivers(settings, config)
    port = settings.health_port if health_port is None else health_port
    health = None if port is None else (settings.health_host, port)
    asyncio.run(webhooks.run(settings, data, found, health=health, ready=_say))


@typer_app.command("check")
def check(config: Config = None, json: Json = False) -> None:
    """Read a file of webhooks, with its secrets, and list its receivers; nothing is sent."""
    from agents import webhooks

    found = webhooks.receivers(Settings(), config)
    if for_programs(json):
        for one in found:
            write_json({"webhook": one.name, "topics": sorted(one.wanted.topics), "secrets": len(one.keys)})
        return
    rows = [(one.name, ", ".join(sorted(one.wanted.topics)), len(one.keys)) for one in found]
    out.print(listed("webhook", ("webhook", "topics", "secrets"), rows))


@typer_app.command("secret")
def secret() -> None:
    """Print a new secret: put it into the file that secret_file names, and tell the receiver."""
    from state.webhooks import written_secret

    sys.stdout.write(f"{written_secret(secrets.token_bytes(32))}\n")


@typer_app.command("list")
def list_letters(data: Data = None, webhook: Webhook = None, json: Json = False) -> None:
    """List the events that receivers did not take, oldest first."""
    from agents import webhook_letters

    with opened_log(data) as log:
        found = webhook_letters.letters(log, webhook=webhook)
    if for_programs(json):
        for letter in found:
            write_json(webhook_letters.as_fields(letter))
        return
    rows = [
        (one.dead_letter_id, one.webhook, one.code, one.message, one.event_topic, one.event_id)
        for one in found
    ]
    columns = ("id", "webhook", "code", "why", "topic", "event")
    out.print(listed("dead letter of webhooks", columns, rows))


@typer_app.command("replay")
def replay(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of dead letters to send again; all when left out.")
    ] = None,
    data: Data = None,
    config: Config = None,
    webhook: Webhook = None,
    json: Json = False,
) -> None:
    """Send the events of dead letters once more, now; exit code 4 where one is not taken again.

    The id is the same as before, so a receiver that has an event already knows it. Nothing is deleted.
    """
    from agents import webhook_letters, webhooks

    settings = Settings()
    receivers = webhooks.receivers(settings, config)
    with opened_log(data) as log:
        wanted = webhook_letters.letters(log, webhook=webhook, ids=ids or ())
        resent = webhook_letters.resend(settings, log, wanted, receivers)
    failed = [one for one in resent if not one.ok]
    if for_programs(json):
        for one in failed:
            write_json({**webhook_letters.as_fields(one.letter), "message": one.why})
        write_json({"sent": len(resent) - len(failed), "failed": len(failed)})
    else:
        out.print(f"{len(resent) - len(failed)} events sent again, {len(failed)} not taken.")
        rows = [(one.letter.dead_letter_id, one.letter.webhook, one.why) for one in failed]
        if rows:
            out.print(table("Not taken", ("id", "webhook", "why"), rows))
    if failed:
        raise typer.Exit(4)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
