"""Entities: everybody, a page at a time, by name; and what is typed narrows it down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents.dashboard.frame import TYPED_MAX, Frame
from agents.dashboard.live import follow
from agents.dashboard.markup import Html, address, join, plain, said, tag
from agents.dashboard.questions import Questions
from agents.dashboard.regions import Region
from agents.dashboard.subjects import ADDRESS_MAX, entity_address, search
from agents.dashboard.tables import row, table

PAGE: Final = 50


async def page(questions: Questions, frame: Frame, query: Mapping[str, str]) -> None:
    """Build the page: those that match `text`, from `cursor` on."""
    text = query.get("text", "")[:TYPED_MAX]
    cursor = query.get("cursor") or None
    region = Region("entities")

    async def draw() -> None:
        found = await questions.ask(lambda asked: search(asked, text, limit=PAGE, cursor=cursor))
        region.show(view(found["items"], text, cursor=cursor, following=found["next"]))

    await follow(questions.service.bell, draw)


def view(items: Sequence[Mapping[str, Any]], text: str, *, cursor: str | None, following: str | None) -> Html:
    """A table of links, and the way to the next page."""
    form = tag(
        "form",
        tag("label", "Name, or part of it", for_="text"), " ",
        tag("input", type="text", id="text", name="text", value=text[:ADDRESS_MAX], maxlength=ADDRESS_MAX),
        " ", tag("button", "Show", type="submit", class_="button"),
        method="get", action=address("entities"), class_="filter",
    )  # fmt: skip
    if not items:
        told = join(["No name matches ", said(text), "."]) if text else "Nothing was observed yet."
        return join([form, tag("p", told, class_="card empty")])
    rows = [_row(item) for item in items]
    of_text = text or None
    first = tag("a", "First page", href=address("entities", text=of_text), class_="button")
    further = tag(
        "a",
        "Next page",
        href=address("entities", text=of_text, cursor=following),
        class_="button",
        rel="next",
    )
    return join(
        [
            form,
            table(_COLUMNS, rows, label=f"Entities, {len(items):,} of them"),
            tag("div", first if cursor else None, further if following else None, class_="more"),
        ]
    )


_COLUMNS: Final = ("entity", "namespace", "#claims")


def _row(item: Mapping[str, Any]) -> Html:
    where = entity_address(item["namespace"], item["subject"], claim=item.get("claim_id"))
    link = tag("a", said(item["spelled"]), href=where)
    return row(_COLUMNS, (link, plain(item["namespace"], shown_max=40), item["n_claims"]))
