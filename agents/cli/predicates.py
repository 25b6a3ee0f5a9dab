"""`factdrift predicates`: what is declared of predicates, and where the data says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from agents import composition
from agents.cli.output import Json, for_programs, out, table, write_json
from agents.consolidation import CLAIMS_TABLE, PIECES_TABLE
from agents.logs import EmbeddedLog, open_log
from agents.suggesting import suggestions
from state import stored_claim as claims
from state.alias_report import as_toml
from state.claim import LiveClaim
from state.names import normalise_predicate
from state.policy import Policy
from state.predicate_report import PredicateReport, Seen, look, report
from state.predicates import Predicate, Registry, packaged
from state.shelf import Shelf
from streams.embedded import EmbeddedStore
from streams.settings import Settings

typer_app = typer.Typer(
    no_args_is_help=True, help="Predicates: what is declared of them, and what the data says."
)
File = Annotated[
    Path | None,
    typer.Option("--predicates", help="TOML file that declares predicates, over the packaged ones."),
]


@typer_app.command("list")
def list_(
    text: Annotated[
        str | None, typer.Argument(help="Only predicates with this in their name.", show_default=False)
    ] = None,
    predicates: File = None,
    json: Json = False,
) -> None:
    """List what is declared of each predicate, and where, and its aliases. Others fold as single."""
    file = predicates or Settings().predicates
    registry = composition.registry(file)
    part = "" if text is None else normalise_predicate(text)
    found = [registry.declared[name] for name in sorted(registry.declared) if part in name]
    meant = set(registry.aliases.values()) - registry.declared.keys()
    found += [registry.get(name) for name in sorted(meant) if part in name]
    rows = [
        (p.name, p.cardinality, p.change, p.arbitration, _declared_in(p, file), _aliases_of(p, registry))
        for p in found
    ]
    columns = ("predicate", "cardinality", "change", "arbitration", "declared_in", "aliases")
    if for_programs(json):
        for row in rows:
            write_json(dict(zip(columns, row, strict=True)))
        return
    shown = [(*row[:-1], ", ".join(row[-1])) for row in rows]
    out.print(table(f"{len(rows)} predicates", (*columns[:-2], "declared in", "aliases"), shown))


def _aliases_of(predicate: Predicate, registry: Registry) -> list[str]:
    return sorted(alias for alias, meant in registry.aliases.items() if meant == predicate.name)


def _declared_in(predicate: Predicate, file: Path | None) -> str:
    """The user's file or "packaged". An entry of the file is its own object, even where it says the same.

    "nowhere" for a name that only has aliases.
    """
    if not predicate.declared:
        return "nowhere"
    if predicate is packaged().declared.get(predicate.name):
        return "packaged"
    return str(file)


@typer_app.command("report")
def report_(
    data: Annotated[Path, typer.Option("--data", help="Folder of an embedded log.")],
    predicates: File = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Only predicates with a suggestion.")
    ] = False,
    json: Json = False,
) -> None:
    """Say for each predicate of a log whether its data fits what is declared of it. Changes nothing.

    Subjects "in turn" have two values that were each said again after the other (A, B, A, B): the values
    hold side by side, or sources disagree. Subjects "at once" have two values that one document says at
    one instant. A suggestion is a question; what is true goes into the file of --predicates.
    """
    settings = Settings()
    if predicates is not None:
        settings = settings.model_copy(update={"predicates": predicates})
    registry = composition.registry(settings.predicates)
    log = open_log(settings, data, create=False)
    assert isinstance(log, EmbeddedLog)
    try:
        lines = report(_claims(log.host.store, registry), registry.get)
    finally:
        log.close()
    n_predicates, n_asked = len(lines), sum(bool(line.suggestion) for line in lines)
    if questions:
        lines = [line for line in lines if line.suggestion]
    if for_programs(json):
        for line in lines:
            write_json(_as_json(line))
        return
    columns = (
        "predicate", "declared", "subjects", "several", "in turn", "share", "at once", "suggestion", "why",
    )  # fmt: skip
    title = f"{n_predicates} predicates, {n_asked} with a suggestion"
    out.print(table(title, columns, map(_as_row, lines)))


@typer_app.command("suggest")
def suggest_(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Folder of an embedded log. Without it: the Kafka cluster of FACTDRIFT_KAFKA_…."
        ),
    ] = None,
    predicates: File = None,
    json: Annotated[bool, typer.Option("--json", help="Write the proposals as JSON lines.")] = False,
) -> None:
    """Propose aliases of predicates from a log, as a table to paste into the file of --predicates.

    Proposed are names with the same words, with the same values of the same subjects, and names that the
    model of vectors calls near. What is not sure stands behind a #. Changes nothing: an alias is what a
    person says is one.
    """
    settings = Settings()
    if predicates is not None:
        settings = settings.model_copy(update={"predicates": predicates})
    registry = composition.registry(settings.predicates)
    log = open_log(settings, data, create=False)
    try:
        n_names, found, not_compared = suggestions(log, registry, composition.vectors(settings))
    finally:
        log.close()
    if json:
        for one in found:
            write_json(asdict(one))
        return
    n_sure = sum(one.is_sure for one in found)
    heading = f"# {n_names} predicates; {n_sure} aliases proposed, {len(found) - n_sure} more behind a #."
    if not_compared:
        heading += f"\n# Names were not compared: {not_compared.rstrip('.')}."
    out.out(f"{heading}\n{as_toml(found, registry.aliases)}", highlight=False, end="")


def _claims(store: EmbeddedStore, registry: Registry) -> Iterator[tuple[str, Seen]]:
    """What each claim of the log shows; one claim is in memory at a time."""
    shelf = Shelf(lambda piece: store.get(PIECES_TABLE, piece))
    for _, stored in store.items(CLAIMS_TABLE):
        claim = claims.decode(stored)
        if claims.is_emptied(claim):
            continue
        # Reads evidence, folds nothing: predicate and policy have no say in it.
        live = LiveClaim(claim, predicate=registry.get(claim.predicate), policy=Policy())
        live.shelf = shelf
        yield claim.predicate, look(live.everything(), claim.forms.cluster)


def _as_json(line: PredicateReport) -> dict[str, Any]:
    predicate = line.predicate
    return {
        "predicate": predicate.name,
        "declared": predicate.declared,
        "cardinality": predicate.cardinality,
        "change": predicate.change,
        "arbitration": predicate.arbitration,
        "subjects": line.n_subjects,
        "subjects_with_several_values": line.n_several,
        "subjects_in_turn": line.n_in_turn,
        "subjects_at_once": line.n_at_once,
        "share_in_turn": round(line.share_in_turn, 4),
        "suggestion": line.suggestion or None,
        "why": line.why or None,
    }


def _as_row(line: PredicateReport) -> tuple[object, ...]:
    return (
        line.predicate.name, _declaration(line.predicate), line.n_subjects, line.n_several, line.n_in_turn,
        f"{line.share_in_turn:.0%}", line.n_at_once, line.suggestion, line.why,
    )  # fmt: skip


def _declaration(predicate: Predicate) -> str:
    """What is declared, in words: "multi", "single, never changes", or "no" where nothing is."""
    if not predicate.declared:
        return "no"
    words = [predicate.cardinality]
    if predicate.never_changes:
        words.append("never changes")
    if predicate.arbitration == "explicit":
        words.append("explicit")
    return ", ".join(words)
