"""What is known of a predicate: how many values it can have at once, whether they can change, what it means.

Read from TOML: a packaged registry of common predicates, extended or overridden by a user's file, which may
also say which names are aliases (`state.aliases`). An undeclared predicate folds as single and says so;
nothing is ever guessed from the data. Parsing is here, reading files is not (the packaged registry excepted,
which is part of the program).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

from state.aliases import Aliases, parse_aliases, refuse_chains
from state.errors import BadAliases, BadPredicates
from state.names import normalise_predicate

CARDINALITIES: Final = ("single", "multi")
CHANGES: Final = ("any", "never")
ARBITRATIONS: Final = ("vote", "explicit")
_FIELDS: Final = {"cardinality": CARDINALITIES, "change": CHANGES, "arbitration": ARBITRATIONS}


@dataclass(frozen=True, slots=True)
class Predicate:
    """One predicate. `name` is normalised; `declared` is False where no registry knows it."""

    name: str
    cardinality: str = "single"
    change: str = "any"
    arbitration: str = "vote"
    declared: bool = True

    @property
    def is_multi(self) -> bool:
        """Whether several values hold side by side without contradicting each other."""
        return self.cardinality == "multi"

    @property
    def never_changes(self) -> bool:
        """Whether all statements speak about one value for all time."""
        return self.change == "never"

    @property
    def is_explicit(self) -> bool:
        """Whether each assertion is a fact of its own, which decisions alone and no votes end."""
        return self.arbitration == "explicit"

    def folds_as(self, other: Predicate) -> bool:
        """Whether values of another predicate would fold as those of this one."""
        mine, its = ((one.cardinality, one.change, one.arbitration, one.declared) for one in (self, other))
        return mine == its


@dataclass(frozen=True, slots=True)
class Registry:
    """The declared predicates by normalised name, and the aliases of a user's file."""

    declared: Mapping[str, Predicate]
    aliases: Aliases = field(default_factory=dict)

    def get(self, name: str) -> Predicate:
        """The predicate of a normalised name; an undeclared one is single and says so.

        An alias has what is declared of itself: claims that were folded under it stay what they are.
        """
        found = self.declared.get(name)
        return found if found is not None else Predicate(name, declared=False)

    def extended(self, toml: str, *, origin: str) -> Registry:
        """The registry with what a TOML text says over its own; `origin` names the text in errors.

        Raises BadPredicates as `parse`, and BadAliases for aliases that cannot be true.
        """
        tables = _tables(toml, origin)
        mine, aliases = (
            _parse_entries(tables, origin),
            parse_aliases(tables.get("aliases", {}), origin=origin),
        )
        found = Registry({**self.declared, **mine}, {**self.aliases, **aliases})
        refuse_chains(found.aliases, origin=origin)
        for alias, meant in aliases.items():
            if alias in mine:
                raise BadAliases(
                    "alias_declared",
                    f"{origin}: {alias} is an alias of {meant}, and [predicates.{alias}] declares it: "
                    f"declare [predicates.{meant}] instead.",
                )
            if (known := found.declared.get(alias)) is not None and not known.folds_as(found.get(meant)):
                raise BadAliases(
                    "alias_of_another_kind",
                    f"{origin}: {alias} is declared to fold otherwise than {meant}, which it is an alias of: "
                    f"declare [predicates.{meant}] as is meant for both.",
                )
        return found


def parse(toml: str, *, origin: str) -> dict[str, Predicate]:
    """The predicates of a registry text, by normalised name.

    Entries look like `[predicates.uses]` with `cardinality`, `change` and `arbitration`, each
    optional. Raises BadPredicates naming the file, the entry and what is allowed.
    """
    return _parse_entries(_tables(toml, origin), origin)


def _tables(toml: str, origin: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise BadPredicates(f"{origin} is not TOML: {error}.") from error
    unknown = document.keys() - {"predicates", "aliases"}
    if unknown:
        raise BadPredicates(
            f"{origin} has an unknown table [{min(unknown)}]: entries look like [predicates.uses], and "
            "aliases stand under [aliases]."
        )
    return document


def _parse_entries(tables: Mapping[str, Any], origin: str) -> dict[str, Predicate]:
    entries = tables.get("predicates", {})
    if not isinstance(entries, dict):
        raise BadPredicates(f"{origin}: predicates must be a table of tables, such as [predicates.uses].")
    found: dict[str, Predicate] = {}
    for name, entry in entries.items():
        predicate = _parse_entry(name, entry, origin)
        if predicate.name in found:
            raise BadPredicates(f"{origin}: [predicates.{name}] declares {predicate.name} a second time.")
        found[predicate.name] = predicate
    return found


def _parse_entry(name: str, entry: object, origin: str) -> Predicate:
    where = f"{origin}: [predicates.{name}]"
    if not isinstance(entry, dict):
        raise BadPredicates(f"{where} must be a table.")
    for key, value in entry.items():
        allowed = _FIELDS.get(key)
        if allowed is None:
            raise BadPredicates(f"{where} has an unknown key {key!r}; known are {', '.join(_FIELDS)}.")
        if value not in allowed:
            raise BadPredicates(f"{where} {key} = {value!r}, expected one of {', '.join(allowed)}.")
    if entry.get("cardinality") == "multi" and entry.get("change") == "never":
        raise BadPredicates(f"{where} cannot be multi and never-changing: a majority needs one value.")
    normal = normalise_predicate(name)
    if not normal:
        raise BadPredicates(f"{where} has a name without a letter or digit.")
    return Predicate(normal, **entry)


@cache
def packaged() -> Registry:
    """The registry that ships with factdrift (`state/predicates.toml`)."""
    text = resources.files("state").joinpath("predicates.toml").read_text(encoding="utf-8")
    return Registry(parse(text, origin="state/predicates.toml"))
