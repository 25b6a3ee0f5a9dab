"""Published records that are kept as they are: links, cycles, drift alerts, what happened to rules.

For each topic one entry of `KEPT` says which table holds it and by which keys it is found; adding a topic is
adding an entry. What a record says beside its keys is nobody's business here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import Table

from agents.read_model import schema
from state.errors import BadInstant
from state.instants import parse_instant
from state.names import normalise
from streams.host import Record
from streams.topics import Topic

_decode: Final = msgspec.json.Decoder().decode
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """How the records of a topic are kept: `ids` are fields that name one, the first that is there counts.

    `keys` gives the further columns. Where `ids` names no field that is there, the place in the log does.
    """

    table: Table
    ids: tuple[str, ...]
    keys: Callable[[Fields], Fields]


def _text(body: Fields, *names: str) -> str:
    for name in names:
        value = body.get(name)
        if value is not None:
            return str(value)
    return ""


def _whole(body: Fields, *names: str) -> int:
    for name in names:
        value = body.get(name)
        if type(value) is int:
            return value
    return 0


KEPT: Final[Mapping[Topic, Kept]] = {
    Topic.FACT_LINKS: Kept(
        schema.links,
        ("link_id", "id"),
        lambda body: {
            "kind": _text(body, "kind"),
            "claim_id": _text(body, "claim_id", "claim"),
            "from_id": _text(body, "from", "source"),
            "to_id": _text(body, "to", "target"),
        },
    ),
    Topic.DRIFT_ALERTS: Kept(
        schema.drift_alerts,
        ("event_id", "id"),
        lambda body: {"state": _text(body, "signal", "state"), "cycle": _whole(body, "cycle")},
    ),
    Topic.CYCLES: Kept(
        schema.cycles,
        ("audit_id", "id"),
        lambda body: {"cycle": _whole(body, "cycle")},
    ),
    Topic.RULE_EVENTS: Kept(
        schema.rule_events,
        ("event_id", "id"),
        lambda body: {
            "rule_id": _text(body, "rule_id"),
            "event": _text(body, "event"),
            "state": _text(body, "standing", "state"),
        },
    ),
}


def row_of(record: Record) -> tuple[Table, Fields] | None:
    """The table and the row of a record of one of these topics; None for what is no JSON object.

    Its own writer makes it one; but it stands on a topic that others may write to.
    """
    kept = KEPT[record.topic]
    try:
        body = _decode(record.value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not isinstance(body, dict):
        return None
    found = _text(body, *kept.ids) or record.position
    return kept.table, {
        "id": found,
        "namespace": _text(body, "namespace"),
        "subject": normalise(_text(body, "subject")),
        "recorded_at": _recorded_at(body, record),
        **kept.keys(body),
        "body": record.value,
    }


def _recorded_at(body: Fields, record: Record) -> int:
    for name in ("recorded_at", "closed_at"):
        try:
            return parse_instant(body[name])
        except (KeyError, BadInstant):
            continue
    return record.recorded_at
