"""Exports of other systems as observations: files read, each item judged, all of it accounted for.

An item is a memory, an edge or a row. It becomes observations, all of them or none: each is judged by the
code that judges it in the log, so that what comes out is taken there. What an item says is decided in
`state.mem0_export`, `state.graphiti_export` and `state.table_export`.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import msgspec

from state import graphiti_export, mem0_export, table_export
from state.errors import BadInput, FactdriftError
from state.instants import Instant
from state.table_export import BadMapping
from state.validation import read, recorded_at_of
from streams.wire import to_json

_decode: Final = msgspec.json.Decoder().decode
CELL_CHARACTERS_MAX: Final = 1024 * 1024  # a longer one could not become a record anyway

Fields = dict[str, Any]
Item = tuple[int, Callable[[], list[Fields]]]
"""The number of an item in its file, from 1, and what makes observations of it; that may raise BadInput."""


class BadExport(FactdriftError):
    """A file that is no export of the kind that it is said to be."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An item that became no observation: its number in the file, a dead-letter code and a sentence."""

    item: int
    code: str
    message: str


@dataclass(slots=True)
class Import:
    """What became of a file: `n_used` + the refusals = `n_items`, always. `lines` are JSON, oldest first."""

    n_items: int = 0
    lines: list[bytes] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    @property
    def n_used(self) -> int:
        """Items that became observations, be it none because they say nothing."""
        return self.n_items - len(self.refused)


def judged(items: Iterable[Item], *, now: Instant, namespace: str | None) -> Import:
    """Make observations of items. `namespace` is for all of them, where it is given.

    `now` is when a record is written that brings no time of its own along.
    """
    found = Import()
    dated: list[tuple[Instant, int, bytes]] = []
    for number, made in items:
        found.n_items += 1
        try:
            dated += [(at, number, line) for at, line in _lines(made(), now, namespace)]
        except BadInput as bad:
            found.refused.append(Refusal(number, bad.code, bad.message))
    dated.sort(key=lambda one: one[:2])
    found.lines = [line for _, _, line in dated]
    return found


def _lines(all_fields: list[Fields], now: Instant, namespace: str | None) -> list[tuple[Instant, bytes]]:
    found = []
    for fields in all_fields:
        try:
            line = to_json({**fields, "namespace": namespace} if namespace is not None else fields)
        except UnicodeEncodeError as error:
            raise BadInput(
                "not_utf8", "A text holds bytes that are no UTF-8, or half a character."
            ) from error
        at = recorded_at_of(line)
        if fields.get("recorded_at") is not None and at is None:
            raise BadInput("bad_instant", f"{fields['recorded_at']!r} is no time.")
        read(line, recorded_at=now if at is None else at)
        found.append((now if at is None else at, line))
    return found


# -- files ----------------------------------------------------------------------------------


def from_mem0(stream: BinaryIO, *, predicate: str | None = None) -> Iterator[Item]:
    """The memories of an export of mem0: a list, an object with `results` or `memories`, or JSON lines.

    Rows of histories may stand in `history` of a memory, in `history` of the whole, or among the items.
    """
    memories: dict[str, Fields] = {}
    rows: dict[str, list[Fields]] = defaultdict(list)
    numbers: dict[str, int] = {}
    for number, item in _items(stream, ("results", "memories", "history")):
        if not isinstance(item, dict):
            yield number, _refuse("not_an_object", "The memory is no JSON object.")
            continue
        is_row = "memory_id" in item
        memory_id = item.get("memory_id" if is_row else "id")
        key = memory_id if isinstance(memory_id, str) else f"item {number}"
        numbers.setdefault(key, number)
        if is_row:
            rows[key].append(item)
        elif key in memories:
            yield number, _refuse("duplicate_id", f"The memory {key} is there twice.")
        else:
            memories[key] = item
            rows[key] += _history(item.get("history"))
    for key, number in numbers.items():
        memory, history = memories.get(key, {}), rows[key]
        yield number, lambda m=memory, h=history: mem0_export.observations(m, h, predicate=predicate)  # type: ignore[misc]


def _history(found: object) -> list[Fields]:
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def from_graphiti(stream: BinaryIO, nodes: BinaryIO | None = None) -> Iterator[Item]:
    """The edges of an export of Graphiti: a list, an object with `edges`, `nodes`, `episodes`, or JSON lines.

    `nodes` is a file of nodes, where they are apart from their edges.
    """
    edges: list[tuple[int, object]] = []
    names: dict[str, str] = {}
    episodes_at: dict[str, Any] = {}
    others = [] if nodes is None else [item for _, item in _items(nodes, ("nodes", "episodes"))]
    for number, item in _items(stream, ("edges", "nodes", "episodes")):
        if isinstance(item, dict) and not _is_edge(item):
            others.append(item)
        else:
            edges.append((number, item))
    for item in others:
        if isinstance(item, dict) and isinstance(uuid := item.get("uuid"), str):
            if item.get("valid_at") is not None:  # an episode
                episodes_at[uuid] = item["valid_at"]
            elif isinstance(name := item.get("name"), str):
                names[uuid] = name
    for number, edge in edges:
        if isinstance(edge, dict):
            yield number, lambda e=edge: graphiti_export.observations(e, names, episodes_at)  # type: ignore[misc]
        else:
            yield number, _refuse("not_an_object", "The edge is no JSON object.")


def _is_edge(item: Fields) -> bool:
    return any(name in item for name in ("source_node_uuid", "fact", "source_node", "source_node_name"))


def from_csv(
    stream: BinaryIO, columns: Mapping[str, str], constants: Mapping[str, str], *, delimiter: str = ","
) -> Iterator[Item]:
    """The rows of a table in UTF-8, each with the number of the line on which it ends. Raises BadMapping."""
    csv.field_size_limit(CELL_CHARACTERS_MAX)
    # What is no UTF-8 comes through as halves of pairs, and is refused row by row.
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        header = [cell.strip() for cell in next(reader, [])]
        if not header:
            raise BadMapping("The file is empty: its first row must name the columns.")
        index_of = table_export.mapping(header, columns, constants)
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                yield reader.line_num, _refuse("wrong_type", f"The row is no CSV: {error}.")
                continue
            if row is None:
                return
            if row:
                yield reader.line_num, lambda r=row: [table_export.observation(r, index_of, constants)]  # type: ignore[misc]
    finally:
        text.detach()


def _refuse(code: str, message: str) -> Callable[[], list[Fields]]:
    def refuse() -> list[Fields]:
        raise BadInput(code, message)

    return refuse


def _items(stream: BinaryIO, lists: tuple[str, ...]) -> Iterator[tuple[int, Any]]:
    """The items of a JSON file with their numbers: those of a list, of named lists, or of lines."""
    body = stream.read()
    try:
        document = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        yield from _lines_of(body)
        return
    found: list[Any] = document if isinstance(document, list) else [document]
    if isinstance(document, dict) and any(isinstance(document.get(name), list) for name in lists):
        named = [document[name] for name in lists if isinstance(document.get(name), list)]
        found = [item for items in named for item in items]
    elif not isinstance(document, list | dict):
        raise BadExport(
            f"The file is no export: expected a list, an object with {' or '.join(lists)}, or lines."
        )
    yield from enumerate(found, start=1)


def _lines_of(body: bytes) -> Iterator[tuple[int, Any]]:
    n_good, found = 0, []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            try:
                found.append((number, _decode(line)))
                n_good += 1
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                found.append((number, None))  # told as an item that is no object
    if not n_good:
        raise BadExport("The file is neither JSON nor JSON lines.")
    yield from found
