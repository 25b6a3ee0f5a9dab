"""The rules that are packaged: read from `state/standard_rules.toml`, the same in every namespace."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from state.patterns import checked, condition
from state.rules import CONFIDENCE_MAX, Rule, Standing, rule_id

EVERYWHERE: Final = "*"  # the namespace of a packaged rule


@cache
def standard_rules() -> tuple[Rule, ...]:
    """The packaged rules, in order of their names."""
    text = resources.files("state").joinpath("standard_rules.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["rules"]
    return tuple(_rule(name, entries[name]) for name in sorted(entries))


@cache
def standard_ids() -> dict[str, Rule]:
    """The packaged rules by their ids."""
    return {rule.rule_id: rule for rule in standard_rules()}


def is_taken(name: str) -> bool:
    """Whether a packaged rule has this name."""
    return any(rule.name == name for rule in standard_rules())


def _rule(name: str, entry: dict[str, object]) -> Rule:
    given = msgspec.convert(entry["when"], list[dict[str, str]])
    conditions = [condition(c.get("subject"), c.get("predicate"), c.get("object")) for c in given]
    return Rule(
        rule_id=rule_id(EVERYWHERE, name),
        namespace=EVERYWHERE,
        name=name,
        conditions=checked(conditions),
        description=str(entry["description"]),
        is_standard=True,
        standing=Standing.ACTIVE,
        base=CONFIDENCE_MAX,
    )
