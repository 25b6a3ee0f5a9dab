"""Memories of mem0 as observations: what each one said, from when to when, and that it was deleted.

A memory is a text about a user, and has no predicate. Its id names the slot: all texts that a memory had are
values of one claim, so that an update retires what it replaces. Or one predicate is given for all memories;
then an update denies the old text. Reads no file, and invents no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from state.errors import BadInput, BadInstant
from state.fields import text
from state.identity import content_hash
from state.instants import INSTANT_MIN, parse_instant

Fields = dict[str, Any]

SYSTEM: Final = "mem0"
_OWNERS: Final = ("user_id", "agent_id", "run_id")
_EVENTS: Final = ("ADD", "UPDATE", "DELETE")
_SILENT: Final = frozenset(("NONE", "NOOP", "GET"))


def observations(
    memory: Mapping[str, Any], history: Sequence[Mapping[str, Any]], *, predicate: str | None = None
) -> list[Fields]:
    """What a memory said and says, oldest first, each with `recorded_at`: when mem0 wrote it down.

    `history` are the rows of its history in any order. Either may be empty: a memory that was deleted has its
    history only, and one whose history was not exported its present text. Raises BadInput.
    """
    memory_id = text(memory, "id") or next((i for row in history if (i := text(row, "memory_id"))), None)
    if memory_id is None:
        raise BadInput("missing_field", "The memory has no id.")
    said = _Said(memory_id, _owner([memory, *history]), predicate, memory)
    rows = sorted(history, key=_order)
    now: str | None = None
    for row in rows:
        now = _follow(said, row, now)
    present = text(memory, "memory") or text(memory, "data")
    if present is not None and present != now:
        at = memory.get("updated_at") or memory.get("created_at")
        said.replace(now, present, at, content_hash(present, at))
    if not rows and present is None:
        raise BadInput("missing_field", "The memory has neither a text (memory) nor a history.")
    return said.found


def _follow(said: _Said, row: Mapping[str, Any], now: str | None) -> str | None:
    """Take one row of a history in; returns the text that holds after it."""
    event = (text(row, "event") or "").upper()
    old, new, at = text(row, "old_memory"), text(row, "new_memory"), _at(row)
    row_id = text(row, "id") or content_hash(event, old, new, at)
    if event in _SILENT:
        return now
    if event == "DELETE" or row.get("is_deleted"):
        gone = now or old or new
        if gone is None:
            raise BadInput("missing_field", "A DELETE in the history names no text.")
        said.deny(gone, at, row_id)
        return None
    if event not in ("ADD", "UPDATE") or new is None:
        raise BadInput("wrong_type", "A row of the history is no ADD, UPDATE or DELETE with its text.")
    created_at = row.get("created_at")
    if event == "UPDATE" and now is None and old is not None and created_at not in (None, at):
        said.affirm(old, created_at, f"{row_id}/before")  # its ADD was not exported
        now = old
    said.replace(now, new, at, row_id)
    return new


def _at(row: Mapping[str, Any]) -> Any:
    """When a row was written: in `created_at` for the first one, in `updated_at` for what came after it."""
    names = ("updated_at", "created_at") if row.get("event") != "ADD" else ("created_at", "updated_at")
    return next((row[name] for name in names if row.get(name) is not None), None)


def _order(row: Mapping[str, Any]) -> tuple[int, int, str]:
    """Rows by time; of one instant the beginning first and the end last."""
    try:
        at = parse_instant(_at(row))
    except BadInstant:
        at = INSTANT_MIN  # told when it is validated
    event = str(row.get("event")).upper()
    return at, _EVENTS.index(event) if event in _EVENTS else 0, str(row.get("id"))


def _owner(all_fields: Iterable[Mapping[str, Any]]) -> str:
    for fields in all_fields:
        for name in _OWNERS:
            if (found := text(fields, name)) is not None:
                return found
    raise BadInput("missing_field", "The memory has no user_id, agent_id or run_id: whose is it?")


class _Said:
    """The observations of one memory as they are found."""

    def __init__(
        self, memory_id: str, subject: str, predicate: str | None, memory: Mapping[str, Any]
    ) -> None:
        self._memory_id = memory_id
        self._subject = subject
        self._predicate = predicate
        self._source = text(memory, "actor_id") or text(memory, "agent_id") or SYSTEM
        self.found: list[Fields] = []

    def affirm(self, said: str, at: Any, part: str) -> None:
        self._add(said, at, part, "affirmed")

    def deny(self, said: str, at: Any, part: str) -> None:
        self._add(said, at, f"{part}/gone", "denied")

    def replace(self, old: str | None, new: str, at: Any, part: str) -> None:
        """In a claim of its own a new text retires the old one by itself."""
        if self._predicate is not None and old is not None and old != new:
            self.deny(old, at, part)
        self.affirm(new, at, part)

    def _add(self, said: str, at: Any, part: str, polarity: str) -> None:
        if at is None:
            raise BadInput("missing_field", "The memory, or a row of its history, has no time.")
        self.found.append(
            {
                "observation_id": f"{SYSTEM}/{self._memory_id}/{part}",
                "subject": self._subject,
                "predicate": self._predicate or f"memory {self._memory_id}",
                "object": said,
                "observed_at": at,
                "recorded_at": at,
                "polarity": polarity,
                "source": {"id": self._source, "category": "extracted"},
                "content": said,
            }
        )
