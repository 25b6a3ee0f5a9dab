"""`factdrift schema`: the JSON Schemas of every public topic."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from agents.cli.output import out
from streams.events import json_schemas


def command(
    topic: Annotated[str | None, typer.Argument(help="Only this topic.", show_default=False)] = None,
    to: Annotated[
        Path | None, typer.Option("--out", help="Write one file for each topic into this folder.")
    ] = None,
) -> None:
    """Print the JSON Schema of the records on a topic, or of all topics."""
    schemas = json_schemas()
    if topic is not None:
        if topic not in schemas:
            raise typer.BadParameter(f"no topic {topic!r}; known are {', '.join(schemas)}")
        schemas = {topic: schemas[topic]}
    if to is None:
        body = schemas[topic] if topic is not None else schemas
        out.out(jsonlib.dumps(body, indent=2, ensure_ascii=False), highlight=False)
        return
    to.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas.items():
        text = jsonlib.dumps(schema, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        (to / f"{name}.json").write_text(text, encoding="utf-8")
        out.out(str(to / f"{name}.json"), highlight=False)
