"""The items of the work queue: contested facts with both sides, and what a person decides about one.

Reads with `agents.answers` and `agents.listings`. A decision is made of the same fields that
`POST /v1/corrections` takes, and judged by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agents import answers, listings
from agents.answers import Asked, Fields
from agents.dashboard.words import value_text

PAGE: Final = 10
EVIDENCE_READ: Final = 50
PAIRS_MAX: Final = 25
"""Links of one decision that one value refines the other: one for each two documents that disagree."""
REASON_MAX: Final = 2_000


@dataclass(frozen=True, slots=True)
class Item:
    """A contested fact with both sides.

    `reconciled`: a person has said how the two relate, so that their documents conflict no longer; the votes
    still do. Only of declared predicates it is known which documents conflict.
    """

    fact: Fields
    support: list[Fields]
    dissent: list[Fields]
    reconciled: bool


# -- reading ----------------------------------------------------------------------------------


def read(asked: Asked, cursor: str | None) -> tuple[list[Item], str | None]:
    """A page of contested facts with their evidence, and the cursor of the next. Raises ReadModelError."""
    found = answers.facts(asked, state="contested", limit=PAGE, cursor=cursor)
    return [_item(asked, fact) for fact in found["items"]], found["next"]


def _item(asked: Asked, fact: Fields) -> Item:
    evidence = answers.fact_evidence(asked, fact["fact_id"], limit=EVIDENCE_READ)
    support, dissent = _observations(evidence["support"]), _observations(evidence["dissent"])
    standing = _standing(asked, fact) if fact["declared"] else []
    both = _saying(standing, support) and _saying(standing, dissent)
    reconciled = bool(both) and not any(one["state"] == "conflicting" for one in standing)
    return Item(fact, support, dissent, reconciled)


def _standing(asked: Asked, fact: Fields) -> list[Fields]:
    """The assertions of the fact's claim that hold now."""
    found = listings.assertions(
        asked, subject=fact["subject"], predicate=fact["predicate"], namespace=fact["namespace"]
    )
    return [one for one in found["items"] if one["holds"] and one["affirmed"]]


def _saying(standing: Sequence[Fields], said_by: Sequence[Fields]) -> list[str]:
    """The ids of the assertions that one of these observations is behind."""
    ids = {one["observation_id"] for one in said_by}
    return [one["assertion_id"] for one in standing if ids & set(one["observation_ids"])]


def _observations(found: Sequence[Fields]) -> list[Fields]:
    newest = sorted(found, key=lambda one: one["observation"]["observed_at"], reverse=True)
    return [one["observation"] for one in newest]


def pairs(asked: Asked, item: Item, *, rival: str, rival_refines: bool) -> list[tuple[str, str]]:
    """The assertions to be linked, each (source, target), where one value refines the other.

    Those that hold now: what supports the fact on one side, what says `rival` on the other.
    Raises NoSuchClaim, ReadModelError.
    """
    standing = _standing(asked, item.fact)
    against = [one for one in item.dissent if value_text(one.get("object")) == rival]
    held, other = _saying(standing, item.support), _saying(standing, against)
    both = [(b, a) if rival_refines else (a, b) for a in held for b in other if a != b]
    return both[:PAIRS_MAX]


# -- deciding ---------------------------------------------------------------------------------


def decision(event: Mapping[str, str]) -> Fields:
    """The correction that a form asks for. A blank reason is refused by whoever takes it, with its code."""
    fields: Fields = {
        "op": event["op"],
        "target": {"id": event["fact"]},
        "reason": event.get("reason", "").strip()[:REASON_MAX],
    }
    if event["op"] == "supersede":
        fields["object"] = event.get("object", "").strip() or None
    if event.get("valid_at", "").strip():
        fields["valid_at"] = event["valid_at"].strip()
    return fields


def relation(item: Item, pair: tuple[str, str], reason: str) -> Fields:
    """The link that says that one assertion refines another."""
    fact = item.fact
    return {
        "op": "link",
        "kind": "refines",
        "namespace": fact["namespace"],
        "subject": fact["subject"],
        "predicate": fact["predicate"],
        "source": {"id": pair[0]},
        "target": {"id": pair[1]},
        "reason": reason.strip()[:REASON_MAX],
    }


def rivals(item: Item) -> list[str]:
    """The values that stand against the fact, strongest first; denials are none."""
    heard = {value_text(one.get("object")) for one in item.dissent if one["polarity"] == "affirmed"}
    named = [rival for rival in item.fact["rivals"] if rival in heard]
    return named or sorted(heard)
