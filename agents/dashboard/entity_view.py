"""What an entity's page reads, and how it is drawn; what a hand does to it is `entity_page`'s.

The read functions call `agents.answers` and `agents.listings`; the rest is pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agents import answers, listings
from agents.answers import Asked, Fields
from agents.dashboard.axis import Axis, spanning
from agents.dashboard.markup import Html, join, tag
from agents.dashboard.questions import NotThere
from agents.dashboard.tables import row, table
from agents.dashboard.timeline import axis_of, rows
from agents.dashboard.timeline_picture import legend, picture
from agents.dashboard.why import state_chip
from agents.dashboard.words import count, moment_of, predicate, span, value
from state.instants import Instant, format_instant, parse_instant

FACTS_PAGE: Final = 150
"""Facts of one picture; the next ones are a button away."""
CLAIMS_READ: Final = 200
HOLDING_MAX: Final = 100
STEPS: Final = 1_000
"""Of a slider: a press of an arrow key moves it by a thousandth of its stretch."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Who the page is about, and the stretches of its two clocks, as they were when it was opened."""

    namespace: str
    subject: str
    spelled: str
    valid: Axis
    known: Axis
    now: Instant


@dataclass(frozen=True, slots=True)
class Shown:
    """What one drawing shows. None is now, for either clock."""

    valid_at: Instant | None = None
    known_at: Instant | None = None
    cursor: str | None = None
    fact: str | None = None


# -- reading ----------------------------------------------------------------------------------


def find(asked: Asked, query: Mapping[str, str]) -> tuple[Entity, Shown]:
    """The entity that an address names, by its subject or by a claim or a fact of it, and what to show.

    Raises NotThere, ReadModelError, BadInstant.
    """
    namespace, subject = _named(asked, query)
    found = listings.claims(asked, namespace=namespace, subject=subject, limit=CLAIMS_READ)
    claims = found["items"]
    if not claims:
        raise NotThere(f"Nothing was heard about {subject[:80]!r}.")
    facts = answers.facts(asked, namespace=namespace, subject=subject, limit=FACTS_PAGE)["items"]
    known = [parse_instant(at) for one in claims if (at := one["first_recorded_at"])]
    newest = [parse_instant(at) for one in claims if (at := one["last_recorded_at"])]
    entity = Entity(
        namespace=claims[0]["namespace"],
        subject=claims[0]["subject"],
        spelled=claims[0]["spelled_subject"],
        valid=axis_of(facts, now=asked.now),
        known=spanning([*known, *newest] or [asked.now]),
        now=asked.now,
    )
    shown = Shown(
        asked.valid_at(query.get("valid_at") or None),
        asked.known_at(query.get("known_at") or None),
        fact=query.get("why") or None,
    )
    return entity, shown


def _named(asked: Asked, query: Mapping[str, str]) -> tuple[str | None, str]:
    if query.get("claim"):
        claim = listings.claim(asked, query["claim"])
        return claim["namespace"], claim["subject"]
    if query.get("fact"):
        fact = answers.fact(asked, query["fact"])
        claim = listings.claim(asked, fact["claim_id"])
        return claim["namespace"], claim["subject"]
    if not query.get("subject"):
        raise NotThere("The address names no entity; search for one.")
    return query.get("namespace") or None, query["subject"]


def read(asked: Asked, entity: Entity, shown: Shown) -> tuple[Fields, list[Fields]]:
    """A page of the facts as they were known, and those that held at `valid_at`. Raises ReadModelError."""
    known_at = written(shown.known_at)
    facts = answers.facts(
        asked, namespace=entity.namespace, subject=entity.subject, known_at=known_at, limit=FACTS_PAGE,
        cursor=shown.cursor,
    )  # fmt: skip
    holding = answers.facts(
        asked, namespace=entity.namespace, subject=entity.subject, known_at=known_at,
        valid_at=format_instant(valid_at_of(entity, shown)), limit=HOLDING_MAX,
    )  # fmt: skip
    return facts, holding["items"]


def valid_at_of(entity: Entity, shown: Shown) -> Instant:
    """The instant of the world that is marked."""
    return entity.now if shown.valid_at is None else shown.valid_at


def written(at: Instant | None) -> str | None:
    """An instant as questions take it."""
    return None if at is None else format_instant(at)


# -- the clocks -------------------------------------------------------------------------------


def moved(entity: Entity, shown: Shown, name: str, place: str) -> Shown:
    """What is shown after a slider was moved; whatever a browser sends for its place, it is one."""
    step = min(max(int(place), 0), STEPS) if place.isascii() and place.isdigit() else STEPS
    if name == "known_at":
        at = None if step == STEPS else _at(entity.known, step)
        return dataclasses.replace(shown, known_at=at, cursor=None)
    if name == "valid_at":
        return dataclasses.replace(shown, valid_at=_at(entity.valid, step))
    return shown


def _at(axis: Axis, step: int) -> Instant:
    return Instant(axis.lo + (axis.hi - axis.lo) * step // STEPS)


def _step(axis: Axis, at: Instant) -> int:
    return round(axis.place(at) / 100 * STEPS)


def clocks(entity: Entity, shown: Shown) -> Html:
    """The two sliders, where the page says that they are."""
    known = STEPS if shown.known_at is None else _step(entity.known, shown.known_at)
    now = tag("button", "Both to now", type="button", data_do="now", id="to-now", class_="button small")
    return tag(
        "div",
        _clock("valid_at", "What held at", _step(entity.valid, valid_at_of(entity, shown))),
        _clock("known_at", "as it was known at", known),
        now, class_="clocks card",
    )  # fmt: skip


def _clock(name: str, label: str, step: int) -> Html:
    return tag(
        "div",
        tag("label", label, for_=f"clock-{name}"), " ", tag("code", name, class_="quiet"),
        tag(
            "input", type="range", id=f"clock-{name}", name=name, min=0, max=STEPS, step=1, value=step,
            data_do="clock", data_told=f"told-{name}",
        ),
        class_="clock",
    )  # fmt: skip


def times(entity: Entity, shown: Shown) -> Html:
    """What the two clocks show, in words."""
    known = "now" if shown.known_at is None else moment_of(shown.known_at)
    valid = valid_at_of(entity, shown)
    at = moment_of(valid) + (", now" if valid == entity.now else "")
    return tag(
        "p", "What held at ", tag("strong", at, id="told-valid_at"), ", as it was known at ",
        tag("strong", known, id="told-known_at"), ".", class_="times",
    )  # fmt: skip


# -- the facts --------------------------------------------------------------------------------


def timeline(facts: Fields, entity: Entity, shown: Shown) -> Html:
    """The picture, with a way to the facts that it has no room for."""
    items: Sequence[Fields] = facts["items"]
    if not items:
        return tag("p", "Nothing was known then.", class_="card empty")
    valid_at = valid_at_of(entity, shown)
    drawn = picture(
        rows(items, entity.valid, valid_at=valid_at), entity.valid, valid_at=entity.valid.place(valid_at),
        chosen=shown.fact,
    )  # fmt: skip
    ways = [
        tag("button", "First facts", type="button", data_do="page", data_cursor="", id="first-page",
            class_="button small") if shown.cursor else None,
        tag("button", "More facts", type="button", data_do="page", data_cursor=facts["next"], id="next-page",
            class_="button small") if facts["next"] else None,
    ]  # fmt: skip
    told = None
    if facts["incomplete"]:
        told = tag("p", "Text of that past was forgotten; what is shown is incomplete.", class_="notice bad")
    return tag("div", told, drawn, legend(), tag("div", *ways, class_="more"), class_="card")


def held(facts: Sequence[Mapping[str, Any]], entity: Entity, shown: Shown) -> Html:
    """The facts that held then, as a table."""
    at = moment_of(valid_at_of(entity, shown))
    if not facts:
        return join([tag("h2", f"What held at {at}"), tag("p", "Nothing.", class_="quiet")])
    rows_ = [_held(fact) for fact in facts]
    return join(
        [tag("h2", f"What held at {at}"), table(_COLUMNS, rows_, label=f"{count(len(facts), 'fact')} held")]
    )


_COLUMNS: Final = ("claim", "value", "valid", "state", "#for", "#against")


def _held(fact: Mapping[str, Any]) -> Html:
    link = tag(
        "a", value(fact["object"]), href=f"?fact={fact['fact_id']}", data_do="why",
        data_fact=fact["fact_id"], id=f"row-{fact['fact_id']}",
    )  # fmt: skip
    return row(
        _COLUMNS,
        (predicate(fact["predicate"]), link, span(fact["valid"]), state_chip(fact), fact["support"],
         fact["dissent"]),
    )  # fmt: skip
