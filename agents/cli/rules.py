"""`factdrift rules`: formal knowledge, what it is worth, and how that came about."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agents import auditing
from agents.audit_wire import rule_fields
from agents.cli.logs import Data, opened_log
from agents.cli.output import Json, for_programs, listed, out, table, write_json
from agents.logs import Log
from state.errors import BadInput, FactdriftError
from state.patterns import parse, shown
from state.rule_commands import RULE_CODES, read_command
from state.rules import Rule, Standing
from streams.keys import key
from streams.topics import Topic
from streams.wire import to_json

rules = typer.Typer(
    no_args_is_help=True, help="Rules: named knowledge whose confidence decays unless it matches."
)

Name = Annotated[str, typer.Argument(help="Name of the rule, or its id.")]
Namespace = Annotated[str, typer.Option("--namespace", help="Namespace of the rule.")]


class RuleRefused(FactdriftError):
    """A command about a rule that cannot be carried out; the message says why."""


@rules.command("list")
def list_(
    data: Data = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only this namespace.")] = None,
    json: Json = False,
) -> None:
    """List the rules with what they are worth, the packaged ones last."""
    with opened_log(data) as log:
        found = auditing.rules(log, namespace)
    if for_programs(json):
        for rule in found:
            write_json(rule_fields(rule))
        return
    rows = [
        (
            rule.name,
            "packaged" if rule.is_standard else rule.namespace,
            rule.standing.value,
            f"{rule.confidence:.3f}",
            "" if rule.is_standard else rule.missed,
            "; ".join(shown(condition) for condition in rule.conditions),
        )
        for rule in found
    ]
    columns = ("rule", "namespace", "standing", "confidence", "missed cycles", "when")
    out.print(listed("rule", columns, rows))


@rules.command("show")
def show(name: Name, data: Data = None, namespace: Namespace = "default", json: Json = False) -> None:
    """Show one rule, and how its confidence came about."""
    with opened_log(data) as log:
        found = auditing.rule(log, name, namespace)
    points = list(auditing.history(found))
    if for_programs(json):
        write_json({**rule_fields(found), "history": points})
        return
    fields = {**rule_fields(found), "when": "; ".join(rule_fields(found)["when"])}
    out.print(table(f"Rule {found.name}", ("field", "value"), list(fields.items())))
    if points:
        rows = [(p["cycle"], p["event"], f"{p['confidence']:.5f}", p["standing"]) for p in points]
        out.print(table("History", ("cycle", "what", "confidence", "standing"), rows))


@rules.command("add")
def add(
    name: Annotated[str, typer.Argument(help="A name that no other rule of the namespace has.")],
    data: Data = None,
    when: Annotated[
        list[str] | None,
        typer.Option(
            "--when",
            help="What a fact is like: 'SUBJECT / PREDICATE = OBJECT', each part may be left out. "
            "Repeatable: facts of one subject meet all of them. Without it a rule is matched by "
            "`factdrift rules match` alone.",
        ),
    ] = None,
    description: Annotated[
        str | None, typer.Option("--description", help="What the rule says, for people.")
    ] = None,
    namespace: Namespace = "default",
    json: Json = False,
) -> None:
    """Add a rule. It starts as a candidate with a confidence of 0.5."""
    fields: dict[str, Any] = {"op": "added", "name": name, "namespace": namespace, "description": description}
    if when:
        fields["when"] = [_condition(text) for text in when]
    with opened_log(data) as log:
        there = [rule for rule in auditing.rules(log) if rule.standing is not Standing.PRUNED]
        if any(rule.name == name and (rule.is_standard or rule.namespace == namespace) for rule in there):
            raise RuleRefused(f"There is a rule {name} already: remove it first, or choose another name.")
        identity = _publish(log, fields)
    _said(
        json,
        {"op": "added", "rule_id": identity, "name": name, "namespace": namespace},
        f"Rule {name} added.",
    )


@rules.command("match")
def match(name: Name, data: Data = None, namespace: Namespace = "default", json: Json = False) -> None:
    """Say that a rule matched: the first match of a cycle adds 0.05 to its confidence."""
    _about(name, "matched", data, namespace, json=json)


@rules.command("validate")
def validate(name: Name, data: Data = None, namespace: Namespace = "default", json: Json = False) -> None:
    """Vouch for a rule: a candidate becomes active."""
    _about(name, "validated", data, namespace, json=json)


@rules.command("remove")
def remove(name: Name, data: Data = None, namespace: Namespace = "default", json: Json = False) -> None:
    """Take a rule away. Its events stay."""
    _about(name, "removed", data, namespace, json=json)


def _about(name: str, op: str, data: Data, namespace: str, *, json: bool) -> None:
    with opened_log(data) as log:
        found: Rule = auditing.rule(log, name, namespace)
        if found.is_standard:
            raise RuleRefused(f"{found.name} stays as it is. {RULE_CODES['standard_rule']}")
        _publish(log, {"op": op, "rule_id": found.rule_id, "name": found.name, "namespace": found.namespace})
    body = {"op": op, "rule_id": found.rule_id, "name": found.name, "namespace": found.namespace}
    _said(json, body, f"Rule {found.name} {op}.")


def _condition(text: str) -> dict[str, Any]:
    try:
        found = parse(text)
    except BadInput as bad:
        raise RuleRefused(f"--when {text!r}: {bad.message}") from bad
    return {"subject": found.subject, "predicate": found.predicate, "object": found.object}


def _publish(log: Log, fields: dict[str, Any]) -> str:
    """Publish a command that is known to be readable; returns the rule's id."""
    try:
        command = read_command(fields)
    except BadInput as bad:
        raise RuleRefused(bad.message) from bad
    log.publish(Topic.RULES, [to_json(fields)], key=key(command.rule_id))
    return command.rule_id


def _said(json: bool, body: dict[str, Any], text: str) -> None:
    if for_programs(json):
        write_json(body)
    else:
        out.print(text)
