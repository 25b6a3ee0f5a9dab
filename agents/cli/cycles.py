"""`factdrift cycle` and `factdrift cycles`: closing a cycle, and what happened in one."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from agents import auditing
from agents.cli.logs import Data, opened_log
from agents.cli.output import Json, for_programs, out, table, write_json
from agents.clock import tick_request
from state.cycles import COUNTERS
from state.instants import Instant, parse_instant
from streams.topics import Topic

cycle = typer.Typer(no_args_is_help=True, help="Close the cycle under way.")
cycles = typer.Typer(no_args_is_help=True, help="Cycles: what happened between two ticks.")

SHOWN: dict[str, str] = {
    "observations_processed": "observations",
    "facts_created": "created",
    "facts_reinforced": "reinforced",
    "facts_invalidated": "invalidated",
    "drift_alerts": "alerts",
}


@cycle.command("run")
def run(
    data: Data = None,
    now: Annotated[
        str | None,
        typer.Option(
            "--now",
            help="What counts as now: an instant. By default the newest observation of an embedded log, on "
            "Kafka the broker's time.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Close the cycle under way, as the clock does every minute while there is input."""
    at = None if now is None else _instant(now)
    with opened_log(data) as log:
        before = log.n_ticks()
        log.publish(Topic.CLOCK, [tick_request(log.now() if at is None else at)])
        number = before + 1
    if for_programs(json):
        write_json({"cycle": number})
    else:
        out.print(f"Cycle {number} is closed by this tick: factdrift cycles show {number}")


def _instant(text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


@cycles.command("list")
def list_(
    data: Data = None,
    last: Annotated[int, typer.Option("--last", min=1, help="Only so many, the newest.")] = 20,
    json: Json = False,
) -> None:
    """List closed cycles with what they did, and the open ones with the partitions they wait for."""
    with opened_log(data) as log:
        closed, waiting = auditing.closed_cycles(log), auditing.open_cycles(log)
    if for_programs(json):
        for body in closed[-last:]:
            write_json({"state": "closed", **body})
        for found in waiting:
            write_json({"state": "open", "cycle": found.cycle, "missing_partitions": found.missing})
        return
    rows: list[list[object]] = [
        [body["cycle"], body["now"][:19], *(body[name] for name in COUNTERS), len(body["rules_matched"])]
        for body in closed[-last:]
    ]
    columns = ("cycle", "now", *(SHOWN[name] for name in COUNTERS), "rules matched")
    out.print(table(f"{len(closed)} closed cycles", columns, rows))
    for found in waiting:
        missing = ", ".join(map(str, found.missing))
        out.print(Text(f"Cycle {found.cycle} is open: it waits for the partitions {missing}."))


@cycles.command("show")
def show(
    number: Annotated[int | None, typer.Argument(help="The cycle; by default the newest closed one.")] = None,
    data: Data = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many changes to show.")] = 50,
    json: Json = False,
) -> None:
    """Show what happened in a cycle: numbers, every change of a fact with what is behind it, rules."""
    with opened_log(data) as log:
        body = auditing.cycle(log, number)
        facts = auditing.events_of(log, body["cycle"])
        steps = auditing.events_of(log, body["cycle"], [Topic.RULE_EVENTS])
    if for_programs(json):
        write_json({**body, "events": facts, "rule_events": steps})
        return
    _show_numbers(body)
    rows = [_change(event) for event in facts[:limit]]
    title = f"{len(facts)} changes of facts" + (f", the first {limit}" if len(facts) > limit else "")
    out.print(table(title, ("what", "fact", "support", "because of"), rows))
    if facts:
        out.print("Why in full: factdrift why SUBJECT PREDICATE")
    if steps:
        told = [(s["name"], s["event"], f"{s['confidence']:.3f}", s["standing"]) for s in steps]
        out.print(table("Rules", ("rule", "what", "confidence", "standing"), told))


def _show_numbers(body: dict[str, Any]) -> None:
    idle = ", closed only because entities are in flux" if body["idle"] else ""
    out.print(Text(f"Cycle {body['cycle']}, closed at {body['now']}{idle}.", style="bold"))
    rows = [[found["namespace"], *(found[name] for name in COUNTERS)] for found in body["namespaces"]]
    if len(rows) != 1:
        rows.append(["all", *(body[name] for name in COUNTERS)])
    out.print(table("Numbers", ("namespace", *(SHOWN[name] for name in COUNTERS)), rows))
    reached = ", ".join(f"{o['partition']}: {o['first']} to {o['reached']}" for o in body["offsets"])
    out.print(Text(f"Records of observations-by-claim, by partition: {reached}."))
    if body["rules_matched"]:
        matched = ", ".join(f"{m['name'] or m['rule_id']} ({m['matches']})" for m in body["rules_matched"])
        out.print(Text(f"Rules matched: {matched}."))
    out.print()


def _change(event: dict[str, Any]) -> tuple[str, str, int, str]:
    what = event["revision"] or event["event"].removeprefix("fact-")
    fact = f"{event['subject']} / {event['predicate']} = {event['object']}"
    behind = ", ".join(event["supported_by"])
    if event["votes"]:
        behind = f"{event['votes']}; against it {', '.join(event['dissented_by']) or 'what came later'}"
    return what, fact, event["support"], behind
