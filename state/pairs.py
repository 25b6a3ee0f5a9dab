"""Labelled pairs of objects: what a model of vectors is measured on.

Decides how a set of pairs is written and read, and what is wrong with one. Never compares the two sides:
that is `state.calibration`. The packaged set is `pairs.toml`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from state.errors import BadInput, FactdriftError
from state.objects import type_object

PAIRS_MAX: Final = 100_000  # more would be held in memory for no better measure
_MEND: Final = 'expected {"kind": "name", "a": "Ann", "b": "Anne", "same": false}'


@dataclass(frozen=True, slots=True)
class Pair:
    """Two objects, as a producer writes them. `same` says whether a reader calls them one value.

    `kind` is what sets the two apart, in a word: pairs are counted by it.
    """

    kind: str
    a: str
    b: str
    same: bool


class BadPairs(FactdriftError):
    """A set of pairs that cannot be used; the message names the place and what is expected there."""


@cache
def packaged() -> tuple[Pair, ...]:
    """The packaged pairs, in the order of their file."""
    text = resources.files("state").joinpath("pairs.toml").read_text(encoding="utf-8")
    return from_toml(text, origin="state/pairs.toml")


def from_toml(text: str, *, origin: str) -> tuple[Pair, ...]:
    """The pairs of a file with a table for each kind: `same = [["a", "b"], …]`, `different = […]`.

    Raises BadPairs. `origin` names the file in messages.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadPairs(f"{origin} is no TOML: {error}.") from error
    return _checked(list(_pairs_of_tables(found, origin)), origin)


def from_json_lines(text: str, *, origin: str) -> tuple[Pair, ...]:
    """The pairs of a file with one JSON object on each line: kind, a, b, same. Raises BadPairs."""
    pairs = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            pairs.append(_decode(line))
        except (msgspec.DecodeError, UnicodeError) as error:
            raise BadPairs(f"{origin}, line {number}: {error}; {_MEND}.") from error
    return _checked(pairs, origin)


_decode: Final = msgspec.json.Decoder(Pair).decode


def _pairs_of_tables(tables: Mapping[str, Any], origin: str) -> Iterator[Pair]:
    for kind, table in tables.items():
        if not isinstance(table, dict) or table.keys() - {"same", "different"}:
            raise BadPairs(f'{origin}, [{kind}]: expected a table with the lists "same" and "different".')
        for label, listed in table.items():
            for place, entry in enumerate(listed if isinstance(listed, list) else [None], start=1):
                match entry:
                    case [str(a), str(b)]:
                        yield Pair(kind, a, b, label == "same")
                    case _:
                        raise BadPairs(
                            f"{origin}, [{kind}] {label}: entry {place} is no list of two texts, "
                            'as in ["a teacher", "teacher"].'
                        )


def _checked(pairs: list[Pair], origin: str) -> tuple[Pair, ...]:
    """The pairs, none of them blank or twice there, so that every count is of different pairs."""
    if not pairs:
        raise BadPairs(f"{origin} holds no pair; {_MEND}.")
    if len(pairs) > PAIRS_MAX:
        raise BadPairs(f"{origin} holds {len(pairs)} pairs; at most {PAIRS_MAX} are measured.")
    seen: dict[frozenset[str], Pair] = {}
    for pair in pairs:
        for side in (pair.a, pair.b):
            try:
                type_object(side)
            except BadInput as bad:
                raise BadPairs(f"{origin}: {bad} It stands in the pair {pair.a!r}, {pair.b!r}.") from bad
        if not pair.kind.strip():
            raise BadPairs(f"{origin}: the pair {pair.a!r}, {pair.b!r} has a blank kind.")
        if seen.setdefault(frozenset((pair.a, pair.b)), pair) is not pair:
            raise BadPairs(f"{origin}: the pair {pair.a!r}, {pair.b!r} stands there twice.")
    return tuple(pairs)
