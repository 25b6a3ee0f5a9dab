"""The generated part of the docs: the reference, and beside it the schemas for programs.

Everything comes from what the code itself reads: the event models, the topics, the dead-letter codes, the
settings, the commands. What a machine has set, and when it runs, never reaches a file: the same code gives
the same bytes. `make docs` writes the files; a test fails where they are stale.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from agents import main as command_line
from agents.api.app import document
from agents.asyncapi import asyncapi, environment_variable, sentence, yaml
from state.changes import INVALIDATIONS, Revision
from state.episodes import Reason
from state.rule_commands import RULE_CODES
from state.validation import CODES
from streams.events import PUBLIC_MODELS, Input, Model, json_schemas
from streams.settings import Settings
from streams.topics import DAY_MS, KEPT_FOR_EVER, TOPICS, Topic, TopicSpec

MARK: Final = "Generated from the code by `make docs` (python -m agents.reference docs): edits are lost."

REASONS: Final[Mapping[Reason, str]] = {
    Reason.OUTVOTED: "Another value won the vote.",
    Reason.DENIED: "A denial of the value won the vote.",
    Reason.ENDED: "A statement says until when it holds, and nobody says that it goes on.",
    Reason.SUPERSEDED: "A correction put another value in its place, or a newer document no longer says it.",
    Reason.INVALIDATED: "A correction closed it.",
    Reason.WITHDRAWN: "No evidence carries it any more: retracted, or told otherwise by late evidence.",
}
"""Why a fact ends or ended, for a reader of events."""

REVISIONS: Final[Mapping[Revision, str]] = {
    Revision.ENDED: "It is over as stated. Ending is no invalidation.",
    Revision.REDATED: "Its start or its end moved, or is given more or less finely.",
    Revision.REWORDED: "Its object, subject or predicate is spelled otherwise; it means the same.",
    Revision.CONTESTED: "It stays open, but too many of the newest votes are against it.",
    Revision.SETTLED: "It is no longer contested.",
    Revision.REINSTATED: "What had ended it is gone: it is open again.",
    Revision.SCHEDULED: "Its end is known and lies after everything observed of its claim.",
    Revision.RECLUSTERED: "The texts of its claim were compared anew, with vectors that had been missing or "
    "by another model; nothing else of it changed.",
    Revision.RECOUNTED: "Its counts changed in another way: dissent, or support that was taken back.",
}
"""What a `fact-revised` is about."""

_CORRECTION_BEHIND: Final = {Reason.SUPERSEDED: "supersede", Reason.INVALIDATED: "invalidate"}

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

Row = Sequence[str]


def generated() -> dict[str, str]:
    """The text of every generated file, by its path within the folder of the docs."""
    files = {
        "reference.md": reference(),
        "asyncapi.yaml": f"# {MARK}\n{yaml(asyncapi())}\n",
        "openapi.yaml": f"# {MARK}\n{yaml(document())}\n",
    }
    for topic, schema in json_schemas().items():
        text = json.dumps({"$comment": MARK, "$schema": DIALECT, **schema}, indent=2, ensure_ascii=False)
        # JSON knows no comments: the mark is the first member, on the line of the opening brace.
        files[f"schemas/{topic}.json"] = "{ " + text.removeprefix("{").lstrip() + "\n"
    return files | {"schemas/index.md": schema_index()}


def write(folder: Path) -> None:
    """Write the generated files into a folder, and remove the schemas of topics that are no more."""
    files = generated()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    for path in (folder / "schemas").glob("*.json"):
        if f"schemas/{path.name}" not in files and MARK in path.read_text(encoding="utf-8"):
            path.unlink()


# -- the reference --------------------------------------------------------------------------


def reference() -> str:
    """The page docs/reference.md."""
    on = {topic: [m for m in PUBLIC_MODELS if m.topic is topic] for topic in Topic}
    events = [m for m in PUBLIC_MODELS if not issubclass(m, Input)]
    parts = [
        f"<!-- {MARK} -->",
        "# Reference",
        "The same shapes for programs: [JSON Schemas](schemas/), one for each public topic, an [AsyncAPI "
        "document](asyncapi.yaml) of the topics, and an [OpenAPI document](openapi.yaml) of the API.",
        "## Observations",
        "JSON objects in UTF-8. A null is a field left out; fields that are not listed here are ignored.",
        *_models(on[Topic.OBSERVATIONS]),
        "## Corrections",
        "Read from `corrections` and, as lines among observations, from `observations`.",
        *_models(on[Topic.CORRECTIONS]),
        "## Rule commands",
        "Read from `rules`; one record says one thing of one rule.",
        *_models(on[Topic.RULES]),
        "## Topics",
        _table(("topic", "key", "carries", "kept", "partitioned", "schema"), map(_topic_row, TOPICS)),
        "## Events",
        "Times are ISO 8601 in UTC. Within a `schema_version` fields are only ever added.",
        *_models(events),
        "## Reasons and revisions",
        "`reason`: why a fact ends or ended; null while nothing ends it.",
        _table(("reason", "meaning", "announced by"), map(_reason_row, Reason)),
        "`revision`: what a `fact-revised` is about; null on the other events.",
        _table(("revision", "meaning"), ((_code(r), REVISIONS[r]) for r in Revision)),
        "## Dead-letter codes",
        "In order of precedence: where several apply, the first is given.",
        _table(("", "code", "meaning"), ((str(n), _code(c), CODES[c]) for n, c in enumerate(CODES, 1))),
        "Of rule commands, beside these:",
        _table(("code", "meaning"), ((_code(code), meaning) for code, meaning in RULE_CODES.items())),
        "## Settings",
        "Environment variables; the defaults of secrets are not shown.",
        *_settings(Settings),
        "## Commands",
        *_commands(),
        "## Exit codes",
        _table(("code", "meaning"), ((_code(code), meaning) for code, meaning in exit_codes().items())),
    ]
    return "\n\n".join(parts) + "\n"


def exit_codes() -> dict[str, str]:
    """The exit codes of every command, as the docstring of `agents.main` lists them."""
    listed = re.search(r"Exit codes: (.+?)\.", command_line.__doc__ or "", re.DOTALL)
    assert listed is not None, "the docstring of agents/main.py lists the exit codes: `Exit codes: 0 done; …`"
    codes = (" ".join(item.split()).split(" ", 1) for item in listed[1].split(";"))
    return {code: sentence(meaning) for code, meaning in codes}


def _topic_row(spec: TopicSpec) -> Row:
    kept = "for ever" if spec.retention_ms == KEPT_FOR_EVER else f"{spec.retention_ms // DAY_MS} days"
    public = any(model.topic is spec.topic for model in PUBLIC_MODELS)
    return (
        _code(spec.topic),
        spec.key,
        spec.carries,
        "the latest of each key" if spec.compacted else kept,
        "by subject" if spec.stateful else "not: one order" if spec.is_single else "by key",
        f"[{spec.topic}.json](schemas/{spec.topic}.json)" if public else "",
    )


def _reason_row(reason: Reason) -> Row:
    correction = _CORRECTION_BEHIND.get(reason)
    known = {op for model in PUBLIC_MODELS if "op" in model.model_fields for op in _ops(model)}
    reserved = "" if correction is None or correction in known else " Reserved: this release never gives it."
    by = "`fact-invalidated`" if reason in INVALIDATIONS else "`fact-revised`"
    return _code(reason), REASONS[reason] + reserved, by


def _ops(model: type[Model]) -> tuple[str, ...]:
    return get_args(model.model_fields["op"].annotation)


def schema_index() -> str:
    """The page docs/schemas/index.md."""
    parts = [
        f"<!-- {MARK} -->",
        "# Schemas",
        "One for each public topic, as in [the reference](../reference.md), and an "
        "[AsyncAPI document](../asyncapi.yaml) of all. `factdrift schema` prints the same.",
        _table(
            ("topic", "schema"), ((_code(topic), f"[{topic}.json]({topic}.json)") for topic in json_schemas())
        ),
    ]
    return "\n\n".join(parts) + "\n"


# -- models ---------------------------------------------------------------------------------


def _models(models: Iterable[type[Model]]) -> Iterator[str]:
    """Headings, docstrings and tables of the models, of what they extend and of what they hold."""
    found: dict[type[Model], None] = {}
    for model in models:
        _collect(model, found)
    for model in found:
        yield f"### {model.__name__}"
        said = [inspect.getdoc(model) or ""]
        if model in PUBLIC_MODELS:
            said.append(f"On the topic {_code(model.topic)}.")
        if bases := _documented_bases(model):
            said.append(f"All fields of {_either([_link(base.__name__) for base in bases])}, and:")
        yield " ".join(said)
        yield _field_table(model)


def _collect(model: type[Model], found: dict[type[Model], None]) -> None:
    for base in _documented_bases(model):
        _collect(base, found)
    if model in found:
        return
    found[model] = None
    for field in model.model_fields.values():
        for held in _held(field.annotation):
            _collect(held, found)


def _documented_bases(model: type[Model]) -> list[type[Model]]:
    return [base for base in model.__bases__ if issubclass(base, Model) and base.model_fields]


def _held(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for part in get_args(annotation):
        yield from _held(part)


def _field_table(model: type[Model]) -> str:
    """The model's own fields. What a producer may leave out has a default; an event has all its fields."""
    schema = model.model_json_schema()["properties"]
    own = inspect.get_annotations(model)
    fields = {name: field for name, field in model.model_fields.items() if name in own}
    if issubclass(model, Input):
        return _table(
            ("field", "type", "default", "meaning"),
            (
                (_code(name), kind_of(schema[name], null=False), _field_default(field), _meaning(field))
                for name, field in fields.items()
            ),
        )
    return _table(
        ("field", "type", "meaning"),
        ((_code(name), kind_of(schema[name]), _meaning(field)) for name, field in fields.items()),
    )


def _meaning(field: FieldInfo) -> str:
    return field.description or ""


def _field_default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "" if field.default is None else _code(field.default)


def kind_of(schema: Mapping[str, Any], *, null: bool = True) -> str:
    """What a value is, in words, from its JSON Schema; `null` says whether to mention null."""
    kinds = list(dict.fromkeys(_kinds(schema)))
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    return _either([kind for kind in kinds if null or kind != "null"])


def _kinds(schema: Mapping[str, Any]) -> Iterator[str]:
    if "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from _kinds(one)
    elif "$ref" in schema:
        yield _link(schema["$ref"].rsplit("/", 1)[1])
    elif "enum" in schema or "const" in schema:
        yield from (_code(value) for value in schema.get("enum", [schema.get("const")]))
    elif schema.get("type") == "array":
        yield f"list of {kind_of(schema.get('items', {}))}"
    else:
        yield _plain_kind(schema)


def _plain_kind(schema: Mapping[str, Any]) -> str:
    kind: str = schema.get("type", "anything")
    if kind == "string":
        return {"date-time": "time", "path": "path"}.get(schema.get("format", ""), "text")
    lowest, highest, above = (schema.get(key) for key in ("minimum", "maximum", "exclusiveMinimum"))
    if lowest is not None and highest is not None:
        return f"{kind}, {lowest} to {highest}"
    if lowest is not None:
        return f"{kind}, at least {lowest}"
    return kind if above is None else f"{kind}, above {above}"


# -- settings -------------------------------------------------------------------------------


def _settings(model: type[BaseSettings]) -> Iterator[str]:
    """A table of the model's settings, then one for each group of settings inside it."""
    groups: list[type[BaseSettings]] = []
    rows = []
    schema = model.model_json_schema(by_alias=False)["properties"]
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings):
            groups.append(field.annotation)
        else:
            variable, kind = environment_variable(model, name), kind_of(schema[name], null=False)
            rows.append((_code(variable), kind, _setting_default(field), _meaning(field)))
    yield inspect.getdoc(model) or ""
    yield _table(("variable", "type", "default", "meaning"), rows)
    for group in groups:
        yield from _settings(group)


def _setting_default(field: FieldInfo) -> str:
    default = field.default
    if default is None:
        return "not set"
    if isinstance(default, SecretStr):
        return "not shown"
    return _code(default) if str(default) else "empty"


# -- commands -------------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    root = typer.main.get_command(command_line.app)
    yield from _command(root, root.context_class(root, info_name=command_line.app.info.name))


def _command(command: Any, context: Any) -> Iterator[str]:
    """A command as its own --help tells it, then its subcommands."""
    yield f"### {context.command_path}"
    yield inspect.cleandoc(command.help or "")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```\n{usage}\n```"
    rows = []
    for parameter in command.params:
        shown = parameter.get_help_record(context)
        if shown is not None:
            rows.append((_code(shown[0]), shown[1].strip()))
    if rows:
        yield _table(("argument or option", "meaning"), rows)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _command(inner, inner.context_class(inner, info_name=name, parent=context))


# -- Markdown -------------------------------------------------------------------------------


def _table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: object) -> str:
    return f"`{text}`"


def _link(name: str) -> str:
    return f"[{name}](#{name.casefold()})"


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


# -- the command --------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Write the generated files into the folder that is named."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m agents.reference FOLDER\n")
        return 2
    write(Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
