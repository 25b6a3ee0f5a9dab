"""What is known of a predicate: how many values it can have at once, whether they can change.

Read from TOML: a packaged registry of common predicates, extended or overridden by a user's file. An
undeclared predicate folds as single and says so; nothing is ever guessed from the data. Parsing is
here, reading files is not (the packaged registry excepted, which is part of the program).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from state.errors import BadPredicates
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


@dataclass(frozen=True, slots=True)
class Registry:
    """The declared predicates by normalised name."""

    declared: Mapping[str, Predicate]

    def get(self, name: str) -> Predicate:
        """The predicate of a normalised name; an undeclared one is single and says so."""
        found = self.declared.get(name)
        return found if found is not None else Predicate(name, declared=False)

    def extended(self, toml: str, *, origin: str) -> Registry:
        """The registry with the entries of a TOML text over its own; `origin` names the text in errors."""
        return Registry({**self.declared, **parse(toml, origin=origin)})


def parse(toml: str, *, origin: str) -> dict[str, Predicate]:
    """The predicates of a registry text, by normalised name.

    Entries look like `[predicates.uses]` with `cardinality`, `change` and `arbitration`, each
    optional. Raises BadPredicates naming the file, the entry and what is allowed.
    """
    try:
        document = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise BadPredicates(f"{origin} is not TOML: {error}.") from error
    entries = document.pop("predicates", {})
    if document:
        raise BadPredicates(
            f"{origin} has an unknown table [{next(iter(document))}]: entries look like [predicates.uses]."
        )
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
