"""Rows of a table as observations: which column is which field, and what is the same in every row.

Decides how a cell becomes a field; reads no file. An empty cell is a field left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from state.errors import BadInput, FactdriftError

Fields = dict[str, Any]

FIELDS: Final = (
    "observation_id", "namespace", "subject", "predicate", "object", "observed_at", "recorded_at", "polarity",
    "valid_from", "valid_to", "confidence", "content", "source.id", "source.document", "source.supersedes",
    "source.category",
)  # fmt: skip
REQUIRED: Final = ("subject", "predicate", "observed_at")


class BadMapping(FactdriftError):
    """A mapping of columns that cannot be used; the message names the column or field, and what there is."""


def mapping(
    header: Sequence[str], columns: Mapping[str, str], constants: Mapping[str, str]
) -> dict[str, int]:
    """The index of the column of each field.

    `columns` are given by field; a column that has the name of a field is that field without being told.
    Raises BadMapping.
    """
    for name in (*columns, *constants):
        if name not in FIELDS:
            raise BadMapping(f"There is no field {name}; known are {', '.join(FIELDS)}.")
    twice = sorted(set(columns) & set(constants))
    if twice:
        raise BadMapping(f"The field {twice[0]} is given as a column and as a value.")
    found = {}
    for name in FIELDS:
        column = columns.get(name, name)
        if header.count(column) > 1:
            raise BadMapping(f"The file has the column {column} more than once.")
        if column in header and name not in constants:
            found[name] = header.index(column)
        elif name in columns:
            raise BadMapping(f"The file has no column {column}; it has {', '.join(header)}.")
    lacking = [name for name in REQUIRED if name not in found and name not in constants]
    if lacking:
        raise BadMapping(
            f"No column is {lacking[0]}. Name it with --column {lacking[0]}=COLUMN, or give all rows the "
            f"same with --set {lacking[0]}=VALUE; the file has {', '.join(header)}."
        )
    return found


def observation(row: Sequence[str], index_of: Mapping[str, int], constants: Mapping[str, str]) -> Fields:
    """The observation of one row. Raises BadInput."""
    found: Fields = {}
    source: Fields = {}
    for name in FIELDS:
        if name in index_of:
            index = index_of[name]
            if index >= len(row):
                raise BadInput(
                    "missing_field", f"The row has {len(row)} cells, and {name} is in cell {index + 1}."
                )
            value: Any = row[index].strip()
        else:
            value = constants.get(name, "")
        if not value:
            continue
        if name == "confidence":
            value = _number(value)
        if name.startswith("source."):
            source[name.removeprefix("source.")] = value
        else:
            found[name] = value
    return {**found, "source": source} if source else found


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise BadInput("wrong_type", f"confidence is {written!r}, expected a number.") from None
