"""`factdrift correct` and `factdrift links`: deciding what the votes cannot, and seeing who said what."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from agents.cli.output import Json, err, for_programs, listed, out, table, write_json
from state.errors import Refused
from state.facts import as_text
from streams.settings import Settings

if TYPE_CHECKING:
    from agents.desk import Desk

NOTHING_FOUND = 4
REFUSED = 3

Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the embedded log, instead of FACTDRIFT_DATA.")
]
Url = Annotated[str | None, typer.Option("--url", help="A running API, instead of a folder.")]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="File whose first token the API at --url is asked with.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why, for people. Kept for ever.")]
Identity = Annotated[
    str | None,
    typer.Option("--id", help="Id of the correction: the same twice is one. By default a hash of it."),
]
About = Annotated[
    str | None,
    typer.Option("--subject", help="Its subject; may be left out where the target is the id of a fact."),
]
Said = Annotated[str | None, typer.Option("--predicate", help="Its predicate; as with --subject.")]
Namespace = Annotated[str | None, typer.Option("--namespace", help="Its namespace.")]
TargetId = Annotated[str | None, typer.Argument(help="Id of the fact or the assertion.", show_default=False)]
Value = Annotated[
    str | None, typer.Option("--object", help="The value that is meant, beside the id or instead.")
]
At = Annotated[str | None, typer.Option("--at", help="An instant at which that value holds.")]
ValidAt = Annotated[str | None, typer.Option("--valid-at", help="From when on; by default from now on.")]
DecidedAt = Annotated[str | None, typer.Option("--decided-at", help="When it was decided; by default now.")]
Confidence = Annotated[
    float | None, typer.Option("--confidence", help="How sure that is, from 0 to 1; by default 1.")
]

correct = typer.Typer(
    no_args_is_help=True, help="Correct what is believed. Every correction needs a reason, and is kept."
)


@contextlib.contextmanager
def desk_of(data: Path | None, url: str | None, token_file: Path | None) -> Iterator[Desk]:
    """The log in a folder or an API that runs; closed afterwards."""
    from agents.desk import open_desk  # takes a fifth of a second that other commands need not wait

    desk = open_desk(Settings(), data=data, url=url, token_file=token_file)
    try:
        yield desk
    finally:
        desk.close()


@correct.command("supersede")
def supersede(
    target: TargetId = None,
    by: Annotated[
        str | None, typer.Option("--by", help="The value that takes its place; without it none is named.")
    ] = None,
    reason: Reason = "",
    subject: About = None,
    predicate: Said = None,
    namespace: Namespace = None,
    value: Value = None,
    at: At = None,
    valid_at: ValidAt = None,
    decided_at: DecidedAt = None,
    confidence: Confidence = None,
    identity: Identity = None,
    data: Data = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Close a fact, or an assertion, and put another value in its place."""
    fields = _decision("supersede", target, value, at, reason, subject, predicate, namespace, identity)
    fields |= {"object": by, "valid_at": valid_at, "decided_at": decided_at, "confidence": confidence}
    _send(fields, data, url, token_file, json=json)


@correct.command("invalidate")
def invalidate(
    target: TargetId = None,
    reason: Reason = "",
    subject: About = None,
    predicate: Said = None,
    namespace: Namespace = None,
    value: Value = None,
    at: At = None,
    valid_at: ValidAt = None,
    decided_at: DecidedAt = None,
    confidence: Confidence = None,
    identity: Identity = None,
    data: Data = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Close a fact, or an assertion; nothing takes its place."""
    fields = _decision("invalidate", target, value, at, reason, subject, predicate, namespace, identity)
    fields |= {"valid_at": valid_at, "decided_at": decided_at, "confidence": confidence}
    _send(fields, data, url, token_file, json=json)


@correct.command("link")
def link(
    kind: Annotated[str, typer.Argument(help="confirms, contradicts or refines.")],
    source: Annotated[str, typer.Argument(help="Id of the assertion that the link starts from.")],
    target: Annotated[str, typer.Argument(help="Id of the assertion that it leads to.")],
    reason: Reason = "",
    subject: About = None,
    predicate: Said = None,
    namespace: Namespace = None,
    decided_at: DecidedAt = None,
    confidence: Confidence = None,
    identity: Identity = None,
    data: Data = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Say how two assertions of one claim relate; `confirms` and `refines` end a conflict of the two."""
    fields = _decision("link", target, None, None, reason, subject, predicate, namespace, identity)
    fields |= {"kind": kind, "source": {"id": source}, "decided_at": decided_at, "confidence": confidence}
    _send(fields, data, url, token_file, json=json)


@correct.command("retract")
def retract(
    observation_id: Annotated[str, typer.Argument(help="Id of the observation.")],
    reason: Reason = "",
    subject: Annotated[
        str | None, typer.Option("--subject", help="Its subject; needed only where several have such an id.")
    ] = None,
    namespace: Namespace = None,
    data: Data = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Count an observation as never made. It stays so, in whatever order things arrive."""
    fields: dict[str, Any] = {
        "op": "retract", "observation_id": observation_id, "reason": reason, "subject": subject,
        "namespace": namespace,
    }  # fmt: skip
    _send(fields, data, url, token_file, json=json)


@correct.command("forget")
def forget(
    scope: Annotated[str, typer.Argument(help="observation, source or subject.")],
    reason: Reason = "",
    observation_id: Annotated[
        str | None, typer.Option("--observation", help="Id of the observation, with --subject.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", help="Id of the source.")] = None,
    subject: Annotated[str | None, typer.Option("--subject", help="The subject.")] = None,
    namespace: Namespace = None,
    identity: Identity = None,
    data: Data = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Erase what an observation, a source or a subject said, wherever it is held."""
    fields: dict[str, Any] = {
        "op": "forget", "scope": scope, "reason": reason, "observation_id": observation_id,
        "source": source, "subject": subject, "namespace": namespace, "correction_id": identity,
    }  # fmt: skip
    _send(fields, data, url, token_file, json=json)


def _decision(
    op: str,
    target: str | None,
    value: str | None,
    at: str | None,
    reason: str,
    subject: str | None,
    predicate: str | None,
    namespace: str | None,
    identity: str | None,
) -> dict[str, Any]:
    named = {"id": target, "object": value, "at": at}
    return {
        "op": op,
        "target": {name: part for name, part in named.items() if part is not None},
        "reason": reason,
        "subject": subject,
        "predicate": predicate,
        "namespace": namespace,
        "correction_id": identity,
    }


def _send(
    fields: dict[str, Any], data: Path | None, url: str | None, token_file: Path | None, *, json: bool
) -> None:
    from agents.desk import Answered

    given = {name: value for name, value in fields.items() if value is not None}
    with desk_of(data, url, token_file) as desk:
        try:
            answer = desk.correct(given)
        except (Refused, Answered) as error:
            err.print(Text(f"{error.code}: {error}"), style="red")
            raise typer.Exit(REFUSED) from None
    if for_programs(json):
        write_json(answer)
        return
    out.print(Text(f"{answer['op']} {answer['correction_id']}: {answer['outcome']}."))
    rows = [
        (event["event"], event["revision"], event["predicate"], as_text(event["object"]), event["reason"])
        for event in answer["events"]
    ]
    if rows:
        out.print(table("What followed", ("event", "revision", "predicate", "value", "why"), rows))


def links(
    subject: Annotated[
        str | None, typer.Argument(help="What the claim is about.", show_default=False)
    ] = None,
    predicate: Annotated[
        str | None, typer.Argument(help="What is said about it.", show_default=False)
    ] = None,
    assertions: Annotated[
        bool,
        typer.Option(
            "--assertions", help="Instead of the links, who says what, and what that is at --valid-at."
        ),
    ] = False,
    kind: Annotated[str | None, typer.Option("--kind", help="Only links of this kind.")] = None,
    namespace: Namespace = None,
    valid_at: Annotated[
        str | None, typer.Option("--valid-at", help="With --assertions: what holds then, in words.")
    ] = None,
    known_at: Annotated[
        str | None, typer.Option("--known-at", help="What was known then, and nothing learnt later.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many at most.")] = 100,
    data: Data = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Links between what documents say, or with --assertions what each of them says, and its state.

    Exit code 4 where there is none.
    """
    if assertions and (subject is None or predicate is None):
        raise typer.BadParameter("--assertions needs a subject and a predicate")
    if valid_at is not None and not assertions:
        raise typer.BadParameter("--valid-at needs --assertions: a link holds always")
    with desk_of(data, url, token_file) as desk:
        named = {"subject": subject, "predicate": predicate, "namespace": namespace, "known_at": known_at}
        if assertions:
            answer = desk.ask("assertions", **named, valid_at=valid_at)
        else:
            answer = desk.ask("links", **named, kind=kind, limit=limit)
    items = answer["items"]
    if for_programs(json):
        for item in items:
            write_json(item)
    elif assertions:
        _tell_assertions(items)
    else:
        columns = ("kind", "origin", "from", "to", "reason", "recorded_at")
        rows = [
            tuple(item.get(column, item.get(_ALSO.get(column, ""))) for column in columns) for item in items
        ]
        out.print(listed("link", columns, rows))
    if answer.get("next"):
        err.print(Text("There is more: raise --limit, or ask for less."), style="yellow")
    if not items:
        raise typer.Exit(NOTHING_FOUND)


_ALSO = {"from": "source", "to": "target"}


def _tell_assertions(items: list[dict[str, Any]]) -> None:
    rows = [
        (
            as_text(item["object"]) if item["affirmed"] else f"not {as_text(item['object'])}",
            item["document"] or item["source"],
            item["valid_from"][:10],
            (item["valid_to"] or "")[:10],
            item["state"],
            item["reason"] or item["basis"] or item["ended_by"],
            item["assertion_id"],
        )
        for item in items
    ]
    columns = ("value", "document", "from", "until", "state", "why", "assertion")
    out.print(listed("assertion", columns, rows))
