"""`factdrift calibrate`: how well a model tells one value from two, and from which cosine on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from agents.calibrating import SHOWN_WRONG_MAX, Measured, as_json, measure
from agents.calibration_plot import svg, terminal
from agents.cli.output import Json, for_programs, out, table, write_json
from state import calibration
from state.calibration import Tally
from state.errors import FactdriftError
from state.pairs import BadPairs, Pair, from_json_lines, from_toml, packaged
from streams.settings import Settings
from streams.vectors import ANY_THRESHOLD, SOURCES, vectors_of

COLUMNS: Final = (
    "kind", "one value", "joined", "recall", "two values", "false", "precision",
    "no guards: joined", "false", "precision",
)  # fmt: skip


class Unwritable(FactdriftError):
    """A plot that cannot be written where it was asked for."""


def command(
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="packaged, sentence-transformers[:NAME or FOLDER] or openai[:NAME]; by default what "
            "FACTDRIFT_VECTORS… name.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            help="Labelled pairs instead of the packaged ones: JSON lines with kind, a, b, same, or TOML.",
        ),
    ] = None,
    target_false_merge: Annotated[
        float,
        typer.Option(
            "--target-false-merge", min=0, max=1, help="Share of the pairs of two values that may join."
        ),
    ] = 0.01,
    plot: Annotated[Path | None, typer.Option("--plot", help="Write the plot to this file, as SVG.")] = None,
    json: Json = False,
) -> None:
    """Measure a model of vectors on labelled pairs, and propose its threshold.

    Counts for each kind of pair what joins rightly and what joins wrongly, with the guards that no cosine
    overrules and without them. Exit code 4 where no threshold reaches the target. Changes nothing.
    """
    settings = _settings(model)
    source = vectors_of(settings, to_measure=True)
    if source is None:
        raise typer.BadParameter("FACTDRIFT_VECTORS=none makes no vectors; give --model")
    today = None if source.model.threshold == ANY_THRESHOLD else source.model.threshold
    found = measure(source, _pairs(pairs), false_max=target_false_merge, threshold=today)
    if plot is not None:
        _write(plot, svg(found))
    if for_programs(json):
        write_json(as_json(found))
    else:
        _tell(found)
    if found.proposed is None:
        raise typer.Exit(4)


def _settings(model: str | None) -> Settings:
    """The settings with another model. What is set for the model of today is not asked of another one."""
    settings = Settings()
    if model is None:
        return settings
    source, _, name = model.partition(":")
    if source not in SOURCES:
        raise typer.BadParameter(
            f"no source {source!r}; known are {', '.join(SOURCES)}", param_hint="--model"
        )
    changes: dict[str, Any] = {"model": name or None}
    if (source, name or None) != (settings.vectors, settings.vector.model):
        changes |= {"threshold": None, "revision": None}
    return settings.model_copy(
        update={"vectors": source, "vector": settings.vector.model_copy(update=changes)}
    )


def _pairs(file: Path | None) -> tuple[Pair, ...]:
    if file is None:
        return packaged()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadPairs(f"{file} cannot be read: {error}.") from error
    found = (from_toml if file.suffix == ".toml" else from_json_lines)(text, origin=str(file))
    if all(pair.same for pair in found):
        raise BadPairs(f'{file} has no pair with "same": false; without one every threshold is good enough.')
    return found


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unwritable(f"{file} cannot be written: {error.strerror}.") from error


def _tell(found: Measured) -> None:
    for threshold in dict.fromkeys(t for t in (found.threshold, found.proposed) if t is not None):
        what = "set today" if threshold == found.threshold else "proposed"
        tallies = table(
            f"{found.model.space} at {threshold:g} ({what})",
            COLUMNS,
            [_row(ours, bare) for ours, bare in found.rows(threshold)],
        )
        tallies.columns[0].no_wrap = True  # in 80 columns it is the headings that give way
        out.print(tallies)
        out.print()
        _tell_wrong(found, threshold)
    out.print(
        table(
            "Each kind at the threshold that the other kinds give",
            ("kind", "threshold", "recall", "false merges"),
            [
                (one.kind, one.threshold, _percent(tally.recall), f"{tally.n_false} of {tally.n_different}")
                for one in calibration.held_out(found.scores, false_max=found.false_max)
                if (tally := one.tally) is not None
            ],
        )
    )  # fmt: skip
    out.print()
    for line in terminal(found):
        out.print(line, highlight=False, markup=False)
    out.print()
    out.print(_verdict(found), highlight=False, markup=False)


def _row(ours: Tally, bare: Tally) -> tuple[object, ...]:
    return (
        ours.kind, ours.n_same, ours.n_joined, _percent(ours.recall), ours.n_different, ours.n_false,
        _percent(ours.precision), bare.n_joined, bare.n_false, _percent(bare.precision),
    )  # fmt: skip


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _tell_wrong(found: Measured, threshold: float) -> None:
    false = [one for one in calibration.wrong(found.scores, threshold) if not one.pair.same]
    if false:
        out.print(
            table(
                f"Joins, and is two values: the nearest {min(SHOWN_WRONG_MAX, len(false))} of {len(false)}",
                ("kind", "one", "other", "cosine"),
                [(one.pair.kind, one.pair.a, one.pair.b, one.cosine) for one in false[:SHOWN_WRONG_MAX]],
            )
        )
        out.print()


def _verdict(found: Measured) -> str:
    target = f"{found.false_max:.1%} of the pairs of two values"
    if found.proposed is None:
        return f"No threshold keeps false merges within {target}: some pairs are nearer than 1.00."
    whole = calibration.tally("all", found.scores, found.proposed)
    recall, most = whole.recall or 0.0, whole.false_rate_at_most or 0.0
    return (
        f"Proposed: FACTDRIFT_VECTORS_THRESHOLD={found.proposed:g}. It joins {recall:.0%} of the pairs of "
        f"one value and {whole.n_false} of {whole.n_different} of two, within {target}; "
        f"from so few pairs, the rate may be up to {most:.1%}."
    )
