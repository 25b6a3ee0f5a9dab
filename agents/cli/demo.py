"""`factdrift demo`: the main job on real input, told as a person would want to read it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from agents import composition
from agents.cli.output import Json, bytes_progress, out, table, write_json
from agents.cli.replay import Data, data_folder
from agents.replay import UnreadableFile, events, fact_lines, now_of, records, replay
from state.instants import format_instant
from streams.settings import Settings
from streams.topics import Topic

CHANGED_SHOWN = 6
RETIRED_SHOWN = 12
Line = dict[str, Any]


def command(
    data: Data = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Observations to show instead of the packaged ones.")
    ] = None,
    json: Json = False,
) -> None:
    """Replay real observations of the world into a fresh embedded log and tell what became of them."""
    with data_folder(data) as folder:
        host = composition.embedded(Settings(), folder)
        try:
            with _example(file) as stream, bytes_progress() as progress:
                task = progress.add_task("Replaying the world", total=None)
                report = replay(
                    host, None, stream, batch_max=Settings().intake_batch_max,
                    progressed=lambda n: progress.update(task, advance=n),
                )  # fmt: skip
            now = now_of(host.store, composition.wall_clock())
            lines = fact_lines(host.store, now=now)
            log = events(host.store)
            alerts = [msgspec.json.decode(r.value) for r in records(host.store, Topic.DRIFT_ALERTS)]
            letters = [msgspec.json.decode(r.value) for r in records(host.store, Topic.DEAD_LETTERS)]
        finally:
            host.store.close()
    story = {
        "lines": report.n_lines,
        "applied": report.n_applied,
        "now": format_instant(now),
        "changed_most": changed_most(lines),
        "drift": drift_of(alerts),
        "contested": [line for line in lines if line["state"] == "contested"],
        "retired": [e for e in log if e["event"] == "fact-invalidated" and e["reason"] != "withdrawn"],
        "dead_letters": letters,
    }
    if json:
        write_json(story)
    else:
        tell(story)


def _example(file: Path | None) -> Any:
    if file is not None:
        try:
            return file.open("rb")
        except OSError as error:
            raise UnreadableFile(f"{file} cannot be read: {error.strerror}.") from error
    beside = Path(__file__).resolve().parents[2] / "examples" / "world.jsonl"  # a checkout
    if beside.is_file():
        return beside.open("rb")
    return resources.files("agents.examples").joinpath("world.jsonl").open("rb")


# -- what is worth telling ------------------------------------------------------------------


def changed_most(lines: Sequence[Line]) -> list[list[Line]]:
    """The claims with most facts, each with all of them in order of time."""
    by_claim: dict[tuple[str, str, str], list[Line]] = defaultdict(list)
    for line in lines:
        by_claim[(line["namespace"], line["subject"], line["predicate"])].append(line)
    ranked = sorted(
        by_claim.values(), key=lambda facts: (-len(facts), facts[0]["subject"], facts[0]["predicate"])
    )
    single = [facts for facts in ranked if sum(f["valid"]["hi"] is None for f in facts) <= 1]
    kept = single[:CHANGED_SHOWN]
    capital = [f for f in single if (f[0]["subject"], f[0]["predicate"]) == ("Kazakhstan", "capital")]
    return capital + [facts for facts in kept if facts not in capital]


def drift_of(alerts: Iterable[Line]) -> list[list[Line]]:
    """The alerts of each subject that was once unstable, in the order in which they were given."""
    by_subject: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for alert in alerts:
        by_subject[(alert["namespace"], alert["subject"])].append(alert)
    return [given for _, given in sorted(by_subject.items()) if any(a["signal"] == "unstable" for a in given)]


# -- telling it -----------------------------------------------------------------------------


def span(line: Line) -> str:
    """An interval as people write it: as fine as it was given, ~ where few voices give it."""
    valid = line["valid"]
    return f"{_bound(valid, 'lo', '…')} → {_bound(valid, 'hi', 'now')}"


def _bound(valid: Line, side: str, infinite: str) -> str:
    at: str | None = valid[side]
    if at is None:
        return infinite
    cut = {"decade": 4, "year": 4, "quarter": 7, "month": 7}.get(valid[f"{side}_granularity"], 10)
    return ("~" if valid[f"{side}_certainty"] == "approximate" else "") + at[:cut]


def _heading(text: str) -> None:
    out.print()
    out.print(Text(text, style="bold"))


def tell(story: dict[str, Any]) -> None:
    """Print the story for a person."""
    out.print(
        Text(
            f"{story['lines']} lines read, {story['applied']} applied, "
            f"{len(story['dead_letters'])} dead letters. The world as known at {story['now'][:10]}."
        )
    )
    _heading("What changed most")
    for facts in story["changed_most"]:
        first = facts[0]
        out.print(
            table(
                f"{first['subject']} / {first['predicate']}: {len(facts)} facts",
                ("value", "valid", "state", "why", "support", "dissent"),
                [(f["object"], span(f), f["state"], f["reason"], f["support"], f["dissent"]) for f in facts],
            )
        )
    for alerts in story["drift"]:
        _tell_drift(alerts)
    _heading("Contested: open, but over 40 % of the newest votes say otherwise")
    out.print(
        table(
            f"{len(story['contested'])} facts",
            ("subject", "predicate", "value", "since", "support", "dissent", "rivals"),
            [
                (f["subject"], f["predicate"], f["object"], _bound(f["valid"], "lo", "…"), f["support"],
                 f["dissent"], ", ".join(f["rivals"]))
                for f in story["contested"]
            ],
        )
    )  # fmt: skip
    _heading("Retired, and why")
    retired = sorted(story["retired"], key=lambda e: e["decided_observed_at"] or "", reverse=True)
    out.print(
        table(
            f"the newest {min(RETIRED_SHOWN, len(retired))} of {len(retired)}",
            ("subject", "predicate", "value", "valid", "reason", "votes"),
            [
                (e["subject"], e["predicate"], e["object"], span(e), e["reason"], e["votes"])
                for e in retired[:RETIRED_SHOWN]
            ],
        )
    )
    _heading("Dead letters: nothing is dropped silently")
    out.print(
        table(
            f"{len(story['dead_letters'])} records",
            ("code", "record", "why"),
            [(d["code"], d["raw"][:44] + "…", d["message"]) for d in story["dead_letters"]],
        )
    )


def _tell_drift(alerts: list[Line]) -> None:
    """What was said of one subject while it was in flux, and its causes."""
    unstable = next(alert for alert in alerts if alert["signal"] == "unstable")
    looks = f", which looks like a {unstable['looks_like']}" if unstable["looks_like"] else ""
    _heading(
        f"Unstable: {unstable['subject']} from {unstable['since'][:10]} on, with {unstable['count']} facts "
        f"retired within 30 days{looks}"
    )
    out.print(
        table(
            "Its retirements by then",
            ("decided", "predicate", "value", "reason", "votes"),
            [
                (c["decided_observed_at"][:10], c["predicate"], c["object"], c["reason"], c["votes"])
                for c in unstable["causes"]
            ],
        )
    )
    later = [f"{alert['signal']} on {alert['now'][:10]}" for alert in alerts if alert is not unstable]
    if later:
        out.print(Text(f"Then {', '.join(later)}."))
