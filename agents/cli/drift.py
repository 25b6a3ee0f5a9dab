"""`factdrift drift`: whose facts keep being retired, why, and the projection that answers it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.text import Text

from agents import composition
from agents.cli.logs import Data
from agents.cli.output import Json, err, for_programs, out, table, write_json
from agents.drift_projection import Retired, Standing, catch_up, in_flux, rebuild, unstable
from agents.logs import EmbeddedLog, Log, open_log
from state.drift_causes import AlertKind, advice
from state.instants import Instant, format_instant
from streams.drift import DriftStore, inputs
from streams.settings import Settings

CAUSES_SHOWN = 3  # of each subject in the list; `show` has all
NOTHING_KNOWN = 4

typer_app = typer.Typer(
    no_args_is_help=True, help="Drift: the subjects whose facts keep being retired, and why."
)


@contextlib.contextmanager
def _opened(data: Data) -> Iterator[tuple[DriftStore, Log]]:
    """The projection and the log that it is made of; an embedded one is caught up first."""
    settings = Settings()
    log = open_log(settings, data, create=False)
    store = composition.drift_store(settings, data)
    try:
        if isinstance(log, EmbeddedLog):
            catch_up(store, log.host.store)
        yield store, log
    finally:
        store.close()
        log.close()


def _now(store: DriftStore) -> Instant:
    """The newest tick's, by which alerts are given; before the first, this machine's."""
    now = store.begin().now
    return composition.wall_clock() if now is None else now


@typer_app.command("list")
def drift_list(
    data: Data = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only this namespace.")] = None,
    json: Json = False,
) -> None:
    """List who is unstable or churning now, and who has facts retired within the last 30 days."""
    with _opened(data) as (store, _):
        now = _now(store)
        found = in_flux(store, namespace, now)
    if for_programs(json):
        for one in found:
            write_json(as_json(one, now))
        return
    n_unstable = sum(one.is_unstable for one in found)
    rows = [
        (one.subject, one.namespace, _state(one), len(one.retired), len(one.churned), one.lifetime,
         one.looks_like, _in_short(one.retired or one.churned))
        for one in found
    ]  # fmt: skip
    columns = ("subject", "namespace", "state", "retired", "undeclared", "ever", "looks like", "the newest")
    out.print(table(f"{n_unstable} unstable, as of {format_instant(now)}", columns, rows))


@typer_app.command("show")
def drift_show(
    name: Annotated[str, typer.Argument(help="A subject, in any spelling.")],
    data: Data = None,
    namespace: Annotated[str, typer.Option("--namespace", help="Its namespace.")] = "default",
    json: Json = False,
) -> None:
    """Show one subject: its state, every fact retired within the last 30 days, and what to do."""
    with _opened(data) as (store, _):
        now = _now(store)
        answers = unstable(store, [name], namespace, now)
    one = answers.standings[name]
    if one is None:
        err.print(Text(answers.why or ""), style="red")
        raise typer.Exit(3)
    if for_programs(json):
        write_json(as_json(one, now))
    elif not (one.lifetime or one.is_unstable or one.is_churning):
        err.print(Text(f"No fact about {name} in the namespace {namespace} was ever retired."), style="red")
        raise typer.Exit(NOTHING_KNOWN)
    else:
        _tell(one, now)


@typer_app.command("rebuild")
def drift_rebuild(data: Data = None, json: Json = False) -> None:
    """Empty the projection and make it again from the log. Workers that fill it notice, and join in.

    On Kafka what is older than the topics keep is gone; no window reaches that far, only the count of
    retirements ever made starts later.
    """
    settings = Settings()
    log = open_log(settings, data, create=False)
    store = composition.drift_store(settings, data)
    try:
        n_records = rebuild(store, log.read(inputs(), from_start=True, follow=False))
    finally:
        store.close()
        log.close()
    if for_programs(json):
        write_json({"records": n_records})
    else:
        out.print(f"Made again from {n_records} records.")


def as_json(one: Standing, now: Instant) -> dict[str, Any]:
    """A standing as it is written for programs, here and over HTTP."""
    return {
        "namespace": one.namespace,
        "subject": one.subject,
        "unstable": one.is_unstable,
        "unstable_since": _written(one.unstable_since),
        "churning": one.is_churning,
        "churning_since": _written(one.churning_since),
        "now": format_instant(now),
        "count": len(one.retired),
        "undeclared_count": len(one.churned),
        "lifetime": one.lifetime,
        "looks_like": one.looks_like,
        "advice": advised(one),
        "causes": [_cause(retired) for retired in one.retired],
        "undeclared_causes": [_cause(retired) for retired in one.churned],
    }


def advised(one: Standing) -> str | None:
    """What to do about it, in a sentence; None where it is calm."""
    if one.is_unstable:
        return advice(AlertKind.UNSTABLE, [cause for _, _, cause in one.retired])
    return (
        advice(AlertKind.CHURNING, [c for _, _, c in one.churned])
        if one.churned and one.is_churning
        else None
    )


def _cause(retired: Retired) -> dict[str, Any]:
    at, fact_id, cause = retired
    return {
        "fact_id": fact_id,
        "predicate": cause.predicate,
        "object": cause.object,
        "reason": cause.reason,
        "decided_observed_at": format_instant(at),
        "votes": cause.votes,
    }


def _written(at: Instant | None) -> str | None:
    return None if at is None else format_instant(at)


def _state(one: Standing) -> str:
    named = [("unstable", one.is_unstable), ("churning", one.is_churning)]
    return ", ".join(name for name, is_so in named if is_so) or "calm"


def _in_short(retired: list[Retired]) -> str:
    return "; ".join(f"{cause.predicate}: {cause.object}" for _, _, cause in retired[::-1][:CAUSES_SHOWN])


def _tell(one: Standing, now: Instant) -> None:
    since = one.unstable_since or one.churning_since
    head = f"{one.subject} ({one.namespace}) is {_state(one)}"
    out.print(Text(head + (f" since {format_instant(since)}." if since else "."), style="bold"))
    out.print(
        Text(f"As of {format_instant(now)}: {len(one.retired)} facts retired within 30 days, "
             f"{len(one.churned)} of undeclared predicates; {one.lifetime} ever.")
    )  # fmt: skip
    if one.looks_like is not None:
        out.print(Text(f"Looks like: {one.looks_like}."))
    if (told := advised(one)) is not None:
        out.print(Text(told))
    for title, found in (("Retired", one.retired), ("Retired, of undeclared predicates", one.churned)):
        if found:
            rows = [
                (format_instant(at)[:10], cause.predicate, cause.object, cause.reason, cause.votes)
                for at, _, cause in found
            ]
            out.print(table(title, ("decided", "predicate", "value", "reason", "by"), rows))
