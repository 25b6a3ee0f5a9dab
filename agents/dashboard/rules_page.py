"""Rules: what each is worth, and the curve of how that came about. Drawn anew when something changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents import listings
from agents.answers import Asked, Fields
from agents.dashboard.curve import curve
from agents.dashboard.frame import Frame
from agents.dashboard.live import follow
from agents.dashboard.markup import Html, address, join, plain, said, tag
from agents.dashboard.questions import Questions
from agents.dashboard.regions import Region
from agents.dashboard.words import count
from state.rules import DEMOTE_BELOW, PROMOTE_FROM

PAGE: Final = 20
POINTS_MAX: Final = 200
"""Steps in the life of one rule that its curve shows, the newest ones."""
_STANDINGS: Final = {"active": "chip good", "demoted": "chip warn", "pruned": "chip bad"}


async def page(questions: Questions, _frame: Frame, query: Mapping[str, str]) -> None:
    """Build the page, from a cursor on."""
    region = Region("rules")
    cursor = query.get("cursor") or None

    async def draw() -> None:
        found, following = await questions.ask(lambda asked: read(asked, cursor))
        region.show(view(found, cursor=cursor, following=following))

    await follow(questions.service.bell, draw)


def read(asked: Asked, cursor: str | None) -> tuple[list[tuple[Fields, list[Fields]]], str | None]:
    """A page of rules, each with its newest steps, and the cursor of the next. Raises ReadModelError."""
    found = listings.rules(asked, limit=PAGE, cursor=cursor)
    with_steps = [
        (rule, listings.rule_events(asked, rule_id=rule["rule_id"], limit=POINTS_MAX)["items"])
        for rule in found["items"]
    ]
    return with_steps, found["next"]


def view(rules: Sequence[tuple[Fields, list[Fields]]], *, cursor: str | None, following: str | None) -> Html:
    """The page below its name."""
    lead = "A rule gains when it matches and fades when it does not. "
    lead += f"It is active from {PROMOTE_FROM:.2f} on and demoted below {DEMOTE_BELOW:.2f}: the two lines."
    if not rules:
        empty = tag(
            "div", tag("p", "No rule was added, and none of the packaged ones was matched yet."),
            tag("p", "Add one with: ", tag("code", "factdrift rules add"), class_="quiet"),
            class_="card empty",
        )  # fmt: skip
        return join([tag("p", lead, class_="lead"), empty])
    first = tag("a", "First page", href=address("rules"), class_="button")
    further = tag("a", "Next page", href=address("rules", cursor=following), class_="button", rel="next")
    return join(
        [
            tag("p", lead, class_="lead"),
            tag("ul", *[card(rule, steps) for rule, steps in rules], class_="cards"),
            tag("div", first if cursor else None, further if following else None, class_="more"),
        ]
    )


def card(rule: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> Html:
    """One rule: what it says, what it is worth, and its curve."""
    oldest_first = list(reversed(events))
    points = [(event["cycle"], event["confidence"]) for event in oldest_first]
    cycles = f"cycle {points[0][0]:,}", f"cycle {points[-1][0]:,}"
    name = plain(rule["name"], shown_max=60)
    label = f"Confidence of {name} from {cycles[0]} to {cycles[1]}, now {rule['confidence']:.2f}"
    standing = "packaged" if rule["standard"] else rule["standing"]
    return tag(
        "li",
        tag(
            "div", tag("h2", said(rule["name"], shown_max=80)),
            tag("span", standing, class_=_STANDINGS.get(standing, "chip")), class_="row",
        ),
        tag("p", said(rule["description"], shown_max=300)) if rule["description"] else None,
        tag("p", tag("span", f"{rule['confidence']:.2f}", class_="big"), " ",
            tag("span", f"{count(rule['matches'], 'match', 'matches')}, "
                        f"{count(rule['missed'], 'cycle')} missed since", class_="quiet")),
        curve(points, label=label),
        tag("p", tag("span", cycles[0]), tag("span", cycles[1]), class_="ends quiet"),
        tag("ul", *[tag("li", said(when)) for when in rule["when"][:5]], class_="causes quiet"),
        class_="card",
    )  # fmt: skip
