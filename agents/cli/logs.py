"""`factdrift publish`, `watch` and `dlq`: writing to a log and reading from it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from agents import composition
from agents.cli.output import Json, bytes_progress, err, for_programs, listed, out, table, write_json
from agents.cli.replay import opened
from agents.logs import Log, open_log
from state.names import normalise, normalise_predicate
from streams.events import DeadLetter
from streams.settings import Settings
from streams.topics import CHANGE_FEED, Topic

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of an embedded log. Without it: the Kafka cluster of FACTDRIFT_KAFKA_…."
    ),
]
_decode = msgspec.json.Decoder().decode


@contextlib.contextmanager
def opened_log(data: Path | None, *, create: bool = False) -> Iterator[Log]:
    """The log in a folder, or the Kafka cluster of the settings; closed afterwards."""
    log = open_log(Settings(), data, create=create)
    try:
        yield log
    finally:
        log.close()


def publish(
    file: Annotated[str, typer.Argument(help="JSON-lines file of observations; - is standard input.")] = "-",
    data: Data = None,
    json: Json = False,
) -> None:
    """Publish observations and corrections, a line each, and return when they are durable.

    Lines are not judged here: what cannot be used becomes a dead letter with its reason, see
    `factdrift dlq list`.
    """
    batch_max = Settings().intake_batch_max
    n_lines = 0
    with (
        opened_log(data, create=True) as log,
        opened(file) as (_, stream, size),
        bytes_progress() as progress,
    ):
        task = progress.add_task(f"Publishing {file}", total=size or None)
        batch: list[bytes] = []
        for line in stream:
            batch.append(line.rstrip(b"\r\n"))
            progress.update(task, advance=len(line))
            if len(batch) == batch_max:
                log.publish(Topic.OBSERVATIONS, batch)
                n_lines += len(batch)
                batch = []
        if batch:
            log.publish(Topic.OBSERVATIONS, batch)
            n_lines += len(batch)
    if for_programs(json):
        write_json({"published": n_lines})
    else:
        out.print(f"{n_lines} lines published.")


def watch(
    data: Data = None,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", help="Topic to follow, repeatable; by default the change feed."),
    ] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", help="Only this subject, in any spelling.")
    ] = None,
    predicate: Annotated[
        str | None, typer.Option("--predicate", help="Only this predicate, in any spelling.")
    ] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only this namespace.")] = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Begin with the oldest record kept.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Stop at the present end instead of waiting.")] = False,
    json: Json = False,
) -> None:
    """Follow the change feed: every fact created, reinforced, invalidated or revised, as it happens."""
    topics = [_topic(name) for name in topic] if topic else list(CHANGE_FEED)
    plain = for_programs(json)
    if predicate is not None:
        aliases = composition.registry(Settings().predicates).aliases
        predicate = aliases.get(normalise_predicate(predicate), predicate)
    with opened_log(data) as log, contextlib.suppress(KeyboardInterrupt):
        for record in log.read(topics, from_start=from_start, follow=not once):
            body = _decode(record.value)
            if not _wanted(body, subject, predicate, namespace):
                continue
            if plain:
                write_json(body)
            else:
                out.print(_as_line(record.topic, body))


def _topic(name: str) -> Topic:
    try:
        return Topic(name)
    except ValueError:
        raise typer.BadParameter(f"no topic {name!r}; known are {', '.join(Topic)}") from None


def _wanted(body: dict[str, Any], subject: str | None, predicate: str | None, namespace: str | None) -> bool:
    if namespace is not None and body.get("namespace") != namespace:
        return False
    if subject is not None and normalise(str(body.get("subject", ""))) != normalise(subject):
        return False
    wanted = None if predicate is None else normalise_predicate(predicate)
    return wanted is None or normalise_predicate(str(body.get("predicate", ""))) == wanted


def _as_line(topic: Topic, body: dict[str, Any]) -> Text:
    if topic not in CHANGE_FEED:
        return Text(f"{topic.value}  {msgspec.json.encode(body).decode()}")
    what = body["revision"] or body["event"].removeprefix("fact-")
    text = Text(f"{body['recorded_at'][:19]}  {what:<12}", style="red" if what == "invalidated" else "")
    text.append(f"  {body['subject']} / {body['predicate']} = {body['object']}")
    text.append(f"  support {body['support']}, dissent {body['dissent']}", style="dim")
    if body["votes"]:
        text.append(f"  {body['votes']}")
    return text


# -- dead letters ---------------------------------------------------------------------------

dlq = typer.Typer(no_args_is_help=True, help="Dead letters: what could not be used, and why.")


def _letters(log: Log, code: str | None) -> Iterable[dict[str, Any]]:
    for record in log.read([Topic.DEAD_LETTERS], from_start=True, follow=False):
        letter = _decode(record.value)
        if code is None or letter["code"] == code:
            yield letter


Code = Annotated[str | None, typer.Option("--code", help="Only dead letters with this code.")]


@dlq.command("list")
def dlq_list(data: Data = None, code: Code = None, json: Json = False) -> None:
    """List the dead letters, oldest first."""
    with opened_log(data) as log:
        letters = list(_letters(log, code))
    if for_programs(json):
        for letter in letters:
            write_json(letter)
        return
    rows = [(d["dead_letter_id"], d["code"], d["message"], d["recorded_at"]) for d in letters]
    out.print(listed("dead letter", ("id", "code", "why", "recorded"), rows))


@dlq.command("show")
def dlq_show(
    dead_letter_id: Annotated[str, typer.Argument(help="Id of a dead letter, or the start of one.")],
    data: Data = None,
    json: Json = False,
) -> None:
    """Show one dead letter with its original bytes."""
    with opened_log(data) as log:
        found = [d for d in _letters(log, None) if d["dead_letter_id"].startswith(dead_letter_id)]
    if not found:
        err.print(Text(f"No dead letter has an id that starts with {dead_letter_id}."), style="red")
        raise typer.Exit(4)
    for letter in found:
        if for_programs(json):
            write_json(letter)
        else:
            out.print(table("Dead letter", ("field", "value"), list(letter.items())))


@dlq.command("replay")
def dlq_replay(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids to send again; all when left out.")] = None,
    data: Data = None,
    code: Code = None,
    json: Json = False,
) -> None:
    """Send the original bytes of dead letters to `observations` again, after their cause was mended.

    What still cannot be used becomes a dead letter once more; nothing is deleted. Each record is sent once,
    however many letters it has. Letters with the code `duplicate_id` are left out unless they are asked for:
    sending the loser of an id again would only contradict the winner again.
    """
    with opened_log(data) as log:
        wanted = [
            d for d in _letters(log, code) if not ids or any(d["dead_letter_id"].startswith(i) for i in ids)
        ]
        if not ids and code is None:
            wanted = [d for d in wanted if d["code"] != "duplicate_id"]
        values = list(dict.fromkeys(DeadLetter.model_validate(d).original() for d in wanted))
        if values:
            log.publish(Topic.OBSERVATIONS, values)
    if for_programs(json):
        write_json({"replayed": len(values)})
    else:
        out.print(f"{len(values)} dead letters sent again.")
