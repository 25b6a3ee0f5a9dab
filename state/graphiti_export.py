"""Edges of Graphiti as observations: who relates to whom, in which episodes that was said, when it ended.

An edge is a fact with its own two clocks. What it said from `valid_at` on is one observation for each
episode; that it ended is another, made when Graphiti noticed it (`expired_at`), so that both clocks survive.
Reads no file, invents no name and no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from state.errors import BadInput, BadInstant
from state.fields import kind_of, text
from state.instants import parse_instant

Fields = dict[str, Any]

SYSTEM: Final = "graphiti"
_NAMES: Final = {
    "source": ("source_node_name", "source_name", "source_node", "source"),
    "target": ("target_node_name", "target_name", "target_node", "target"),
}
"""Where an export that has looked the names up may have put them."""


def observations(
    edge: Mapping[str, Any], names: Mapping[str, str], episodes_at: Mapping[str, Any] = {}
) -> list[Fields]:
    """What an edge says, each with `recorded_at`: when Graphiti wrote it down.

    `names` are those of nodes by uuid, `episodes_at` when an episode was said, by uuid, where that is known.
    Raises BadInput.
    """
    uuid, predicate = text(edge, "uuid"), text(edge, "name")
    if uuid is None or predicate is None:
        raise BadInput("missing_field", f"The edge has no {'uuid' if uuid is None else 'name'}.")
    created_at = edge.get("created_at")
    said_at = _first(edge, "reference_time", "created_at", "valid_at")
    if said_at is None:
        raise BadInput("missing_field", "The edge has no created_at, so that nobody knows when it was said.")
    base = {
        "namespace": text(edge, "group_id") or None,
        "subject": _name(edge, "source", names),
        "predicate": predicate,
        "object": _name(edge, "target", names),
        "content": text(edge, "fact"),
    }
    ended_at, noticed_at = edge.get("invalid_at"), edge.get("expired_at")
    found: list[Fields] = []
    episodes: list[str | None] = [*_episodes(edge)]
    for episode in episodes or [None]:
        at = said_at if episode is None else episodes_at.get(episode, said_at)
        found.append(
            {
                "observation_id": f"{SYSTEM}/{uuid}/{episode or 'edge'}",
                **base,
                "observed_at": at,
                "recorded_at": _later(at, created_at),
                "valid_from": edge.get("valid_at"),
                "valid_to": ended_at if noticed_at is None else None,
                "source": {"id": SYSTEM, "document": episode, "category": "extracted"},
            }
        )
    if noticed_at is not None:
        found.append(_end(uuid, base, ended_at, noticed_at))
    return [{name: value for name, value in one.items() if value is not None} for one in found]


def _end(uuid: str, base: Mapping[str, Any], ended_at: Any, noticed_at: Any) -> Fields:
    """That it is over: from when on, where that is known; otherwise a denial."""
    return {
        "observation_id": f"{SYSTEM}/{uuid}/end",
        **base,
        "observed_at": noticed_at,
        "recorded_at": noticed_at,
        "valid_to": ended_at,
        "polarity": "denied" if ended_at is None else None,
        "source": {"id": SYSTEM, "category": "extracted"},
    }


def _name(edge: Mapping[str, Any], end: str, names: Mapping[str, str]) -> str:
    for field in _NAMES[end]:
        value = edge.get(field)
        if isinstance(value, Mapping):  # the whole node
            value = value.get("name")
        if isinstance(value, str):
            return value
    uuid = text(edge, f"{end}_node_uuid")
    if uuid is None:
        raise BadInput("missing_field", f"The edge has no {end}_node_uuid.")
    if uuid not in names:
        raise BadInput(
            "missing_field", f"No node of the export has the uuid {uuid}: its {end} has no name. See --nodes."
        )
    return names[uuid]


def _episodes(edge: Mapping[str, Any]) -> list[str]:
    found = _first(edge, "episodes", "episode_uuids") or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise BadInput("wrong_type", f"episodes is {kind_of(found)}, expected a list of uuids.")
    return list(dict.fromkeys(found))


def _later(said_at: Any, written_at: Any) -> Any:
    """Nothing is written down before it is said; what cannot be read is for validation to tell."""
    if written_at is None:
        return said_at
    try:
        return max(said_at, written_at, key=parse_instant)
    except BadInstant:
        return written_at


def _first(fields: Mapping[str, Any], *names: str) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)
