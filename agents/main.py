"""The command `factdrift`: its commands, and how errors become sentences and exit codes.

Exit codes: 0 done; 1 a fault of ours; 2 wrong usage; 3 something needed is missing or refused, and the
message says what to do; 4 a check found problems; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import structlog
import typer
from pydantic import ValidationError
from rich.text import Text

from agents.cli import (
    calibrate,
    correct,
    cycles,
    demo,
    doctor,
    drift,
    extract,
    facts,
    forget,
    importing,
    logs,
    predicates,
    recluster,
    replay,
    reset,
    rules,
    schema,
    serving,
    webhooks,
    why,
    workers,
)
from agents.cli.output import err, out
from agents.composition import collect_rarely
from state.errors import FactdriftError
from streams.stderr_log import tell_refusal

app = typer.Typer(
    name="factdrift",
    help="Turns noisy observations into durable, bitemporal, explained facts, and publishes every change.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command("demo")(demo.command)
app.command("replay")(replay.command)
app.command("publish")(logs.publish)
app.command("extract")(extract.command)
app.command("watch")(logs.watch)
app.command("facts")(facts.facts_command)
app.command("history")(facts.history_command)
app.command("why")(why.command)
app.command("links")(correct.links)
app.command("serve")(serving.serve)
app.command("api")(serving.api)
app.command("mcp")(serving.mcp)
app.command("calibrate")(calibrate.command)
app.command("recluster")(recluster.command)
app.command("worker")(workers.worker)
app.command("reset")(reset.command)
app.command("doctor")(doctor.command)
app.command("schema")(schema.command)
app.add_typer(workers.topics, name="topics")
app.add_typer(facts.rebuild, name="rebuild")
app.add_typer(correct.correct, name="correct")
app.add_typer(logs.dlq, name="dlq")
app.add_typer(drift.typer_app, name="drift")
app.add_typer(forget.typer_app, name="forget")
app.add_typer(cycles.cycle, name="cycle")
app.add_typer(cycles.cycles, name="cycles")
app.add_typer(rules.rules, name="rules")
app.add_typer(webhooks.typer_app, name="webhooks")
app.add_typer(importing.typer_app, name="import")
app.add_typer(predicates.typer_app, name="predicates")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        out.out(f"factdrift {version('factdrift')}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; every expected error is one sentence on standard error."""
    collect_rarely()
    # Standard output is for what was asked: a program may be reading it.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        app()
    except ValidationError as error:
        for fault in error.errors():
            name = "FACTDRIFT_" + "_".join(str(part) for part in fault["loc"]).upper()
            err.print(Text(f"The setting {name} is {fault['input']!r}: {fault['msg']}."), style="red")
        sys.exit(3)
    except FactdriftError as error:
        tell_refusal(error)
        err.print(Text(str(error)), style="red")
        sys.exit(3)
    except BrokenPipeError:
        # The reader went away (`| head`): not an error. Standard output is replaced, because the
        # interpreter would complain when it flushes the broken one at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


if __name__ == "__main__":
    main()
