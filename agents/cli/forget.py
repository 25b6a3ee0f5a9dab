"""`factdrift forget`: erase what an observation, a source or a subject said, and prove that it is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from agents import composition
from agents.cli.output import Json, for_programs, out, table, write_json
from agents.logs import EmbeddedLog, open_log
from agents.proving import Proof, Words
from state.instants import format_instant
from streams.settings import Settings

NOT_CLEAN = 4

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of an embedded log. Without it: the Kafka cluster of FACTDRIFT_KAFKA_…."
    ),
]
Reason = Annotated[str, typer.Option("--reason", help="Why. It is kept: name nobody in it.")]
Namespace = Annotated[str, typer.Option("--namespace", help="Where it was said.")]
Verify = Annotated[
    bool, typer.Option("--verify", help="Forget nothing; look whether anything is left, and where.")
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", help="Words that must be found nowhere, repeatable: a value, a sentence."),
]
Files = Annotated[
    list[Path] | None,
    typer.Option("--files", help="On Kafka: folders of workers and read models to be searched, repeatable."),
]

typer_app = typer.Typer(
    no_args_is_help=True,
    help="Erase what was said, wherever it is held, and prove it. Cannot be undone.",
)


@typer_app.command("observation")
def observation(
    observation_id: Annotated[str, typer.Argument(help="The observation.")],
    subject: Annotated[str, typer.Option("--subject", help="Its subject, in any spelling.")],
    reason: Reason = "",
    namespace: Namespace = "default",
    verify: Verify = False,
    text: Text = None,
    files: Files = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Erase one observation. Its id stays, so that it counts as never made for ever.

    Give --text what it said: only that can be looked for.
    """
    fields = {
        "scope": "observation", "observation_id": observation_id, "subject": subject, "namespace": namespace,
        "reason": reason,
    }  # fmt: skip
    _run(fields, text or [], files, data, verify=verify, json=json)


@typer_app.command("source")
def source(
    name: Annotated[str, typer.Argument(help="The source: the id that its observations name.")],
    subject: Annotated[
        str | None, typer.Option("--subject", help="Only what it said about this subject.")
    ] = None,
    reason: Reason = "",
    namespace: Namespace = "default",
    verify: Verify = False,
    text: Text = None,
    files: Files = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Erase all that a source has said. Reads every claim, so it may take a while."""
    fields = {
        "scope": "source", "source": name, "subject": subject, "namespace": namespace, "reason": reason
    }  # fmt: skip
    _run(fields, text or [], files, data, verify=verify, json=json)


@typer_app.command("subject")
def subject_command(
    name: Annotated[str, typer.Argument(help="The subject, in any spelling.")],
    reason: Reason = "",
    namespace: Namespace = "default",
    verify: Verify = False,
    text: Text = None,
    files: Files = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Erase everything about a subject. What is said about it later begins anew.

    Its name is looked for as well; where others speak of it, it is found there.
    """
    fields = {"scope": "subject", "subject": name, "namespace": namespace, "reason": reason}
    _run(fields, [name, *(text or [])], files, data, verify=verify, json=json)


def _run(
    fields: dict[str, Any],
    texts: list[str],
    files: list[Path] | None,
    data: Path | None,
    *,
    verify: bool,
    json: bool,
) -> None:
    """Forget, unless only to verify, and look for the words where there are any to look for."""
    from agents import forget as forgetting  # brings the read model along, which other commands do not need

    settings = Settings()
    words = Words(texts) if texts or verify else None
    proof, told = None, None
    if data is not None:
        log = open_log(settings, data, create=False)
        assert isinstance(log, EmbeddedLog)
        try:
            if not verify:
                told = forgetting.forget_embedded(log.host, settings, data, fields)
            if words is not None:
                proof = forgetting.verify_embedded(log.host.store, data, words)
        finally:
            log.close()
    elif verify:
        assert words is not None
        proof = asyncio.run(forgetting.verify_kafka(settings, words, files or []))
    else:
        told = asyncio.run(forgetting.forget_kafka(settings, fields, now=composition.wall_clock()))
    _tell(told, proof, on_kafka=data is None, json=json)


def _tell(told: dict[str, Any] | None, proof: Proof | None, *, on_kafka: bool, json: bool) -> None:
    if for_programs(json):
        write_json({**({} if told is None else told), **({} if proof is None else {"proof": proof.fields()})})
    else:
        _show(told, proof, on_kafka=on_kafka)
    if proof is not None and not proof.is_clean:
        raise typer.Exit(NOT_CLEAN)


def _show(told: dict[str, Any] | None, proof: Proof | None, *, on_kafka: bool) -> None:
    if told is not None and on_kafka:
        out.print(
            f"Asked for; {told['letters']} dead letters erased. Workers do the rest as they read it. "
            "Compacted topics are clean once they were compacted; then: factdrift forget … --verify"
        )
    elif told is not None:
        n_rows = sum(told["erased"].values())
        out.print(f"{told['withdrawn']} facts withdrawn, {n_rows} records of the log erased.")
    if proof is None:
        return
    if proof.left:
        rows = [(found.where, found.n) for found in proof.left]
        out.print(table("Left where nothing may be left", ("where", "found"), rows))
    else:
        out.print(f"Nothing is left in {len(proof.looked_in)} places that were searched.")
    if proof.append_only:
        kept = [
            (
                found.where,
                found.n,
                "without limit" if found.until is None else format_instant(found.until),
            )
            for found in proof.append_only
        ]
        out.print(table("Append-only topics still hold", ("where", "records", "until"), kept))
