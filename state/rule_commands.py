"""From the fields of a record on `rules` to a typed command, or to one dead-letter code.

Decides what can be refused without knowing any rule. That a rule is unknown, or that its name is taken, is
found by the owner of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from state.errors import BadInput
from state.fields import kind_of, not_blank, refuse_control_characters, require, text
from state.instants import shown
from state.patterns import Condition, checked, condition
from state.rules import rule_id

OPS: Final = ("added", "matched", "validated", "removed")
NAME_MAX: Final = 200  # characters; a name is read by people, in every listing

RULE_CODES: Final[Mapping[str, str]] = {
    "blank_condition": "A condition of a rule names no subject, predicate or object.",
    "several_subjects": "The conditions of a rule name several subjects, so that nothing can meet them.",
    "duplicate_rule": "A rule of this name is there already.",
    "standard_rule": "The rule is packaged with factdrift, and never changes.",
    "unknown_rule": "No rule has this name or id.",
}
"""The dead-letter codes of rule commands, beside those that they share with observations."""


class RuleCommand(msgspec.Struct, frozen=True, kw_only=True, tag="rule-command", omit_defaults=True):
    """What somebody says of a rule: one of `OPS`. `name` is empty where only the id was given."""

    op: str
    rule_id: str
    namespace: str
    name: str = ""
    conditions: tuple[Condition, ...] = ()
    description: str | None = None


def read_command(fields: Mapping[str, Any]) -> RuleCommand:
    """The command in the fields of a record. Raises BadInput with a dead-letter code."""
    require(fields, "op")
    op = text(fields, "op")
    if op not in OPS:
        raise BadInput("wrong_type", f"op is {shown(op)}, expected {', '.join(OPS)}.")
    if op == "added" or fields.get("rule_id") is None:
        require(fields, "name")
    namespace = not_blank(text(fields, "namespace"), "namespace") or "default"
    name = not_blank(text(fields, "name"), "name") or ""
    given_id, description = text(fields, "rule_id"), text(fields, "description")
    refuse_control_characters(fields, ("namespace", "name", "rule_id", "description"))
    name = " ".join(name.split())
    if len(name) > NAME_MAX:
        raise BadInput("wrong_type", f"name has {len(name)} characters, at most {NAME_MAX} are allowed.")
    identity = given_id if given_id is not None and op != "added" else rule_id(namespace, name)
    return RuleCommand(
        op=op,
        rule_id=identity,
        namespace=namespace,
        name=name,
        conditions=_conditions(fields) if op == "added" else (),
        description=description if op == "added" else None,
    )


def _conditions(fields: Mapping[str, Any]) -> tuple[Condition, ...]:
    given = fields.get("when")
    if given is None:
        return ()
    if not isinstance(given, list):
        raise BadInput("wrong_type", f"when is {kind_of(given)}, expected a list of conditions.")
    return checked([_condition(entry, f"when[{number}].") for number, entry in enumerate(given)])


def _condition(entry: Any, where: str) -> Condition:
    if not isinstance(entry, dict):
        raise BadInput("wrong_type", f"{where[:-1]} is {kind_of(entry)}, expected an object with fields.")
    subject, predicate = text(entry, "subject", where=where), text(entry, "predicate", where=where)
    value = entry.get("object")
    if isinstance(value, dict | list):
        raise BadInput(
            "wrong_type", f"{where}object is {kind_of(value)}, expected text, a number, true or false."
        )
    refuse_control_characters(entry, ("subject", "predicate", "object"), where=where)
    return condition(subject, predicate, value, where=where)
