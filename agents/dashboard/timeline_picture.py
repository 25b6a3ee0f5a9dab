"""The picture of a timeline: its axis, its rows, its bars, as SVG that fits any width. Pure.

What a bar shows: where it lies is when the fact holds; how it is filled, what it is (open, contested,
retired); how its ends are drawn, how sure they are; how far they fade, how finely they were given. Each bar
is a link, so that it is reached by the keyboard, and says all of it in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agents.dashboard.axis import Axis, Mark
from agents.dashboard.markup import Html, plain, tag
from agents.dashboard.timeline import Bar, Edge, Row
from agents.dashboard.words import predicate

LANE: Final = 34
BAR: Final = 26
AXIS: Final = 22
_LETTER: Final = 0.72
"""Per cent of a wide page that a letter takes: a value that does not fit is shown behind its bar, or cut."""


def picture(rows: Sequence[Row], axis: Axis, *, valid_at: float, chosen: str | None) -> Html:
    """All rows under one axis. `valid_at` is a place in per cent, `chosen` the fact that is explained."""
    marks = axis.marks()
    return tag(
        "div", _patterns(), _axis(marks), *[_row(row, marks, valid_at, chosen) for row in rows],
        class_="timeline",
    )  # fmt: skip


def legend() -> Html:
    """What the bars mean."""
    kinds = (
        ("open", "open"), ("contested", "contested"), ("retired", "retired"),
        ("sure", "sure bound"), ("about", "about then"), ("faded", "given roughly: anywhere within"),
    )  # fmt: skip
    items = [tag("li", tag("span", class_=f"key {kind}", aria_hidden="true"), words) for kind, words in kinds]
    return tag("ul", *items, class_="legend quiet", aria_label="What the bars mean")


def _patterns() -> Html:
    """What the bars are filled with, once for the page."""
    hatch = tag(
        "pattern", tag("path", d="M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4", class_="hatching"),
        id="hatch", width=8, height=8, patternUnits="userSpaceOnUse",
    )  # fmt: skip
    fades = [
        tag(
            "linearGradient", tag("stop", offset="0", class_="fade-out" if first else "fade-in"),
            tag("stop", offset="1", class_="fade-in" if first else "fade-out"), id=name,
        )
        for name, first in (("fade-from", True), ("fade-to", False))
    ]  # fmt: skip
    return tag("svg", tag("defs", hatch, *fades), width=0, height=0, class_="patterns", aria_hidden="true")


def _axis(marks: Sequence[Mark]) -> Html:
    drawn = [
        tag("text", mark.label, x=f"{mark.place}%", y=14, text_anchor="middle", class_="mark-label")
        for mark in marks
    ]
    return tag("svg", *drawn, width="100%", height=AXIS, class_="axis", aria_hidden="true")


def _row(row: Row, marks: Sequence[Mark], valid_at: float, chosen: str | None) -> Html:
    high = row.n_lanes * LANE
    lines = [
        tag("line", x1=f"{mark.place}%", x2=f"{mark.place}%", y1=0, y2=high, class_="grid") for mark in marks
    ]
    at = tag("line", x1=f"{valid_at}%", x2=f"{valid_at}%", y1=-4, y2=high, class_="valid-at")
    name = tag("h2", predicate(row.predicate), id=f"row-{row.claim_id}")
    bars = [_bar(bar, _room(bar, row), chosen) for bar in row.bars]
    drawn = tag("svg", *lines, *bars, at, width="100%", height=high, role="list",
                aria_labelledby=f"row-{row.claim_id}")  # fmt: skip
    return tag("section", name, drawn, class_="claim")


def _room(bar: Bar, row: Row) -> float:
    """How much is free behind a bar in its lane, in per cent."""
    following = [other.left for other in row.bars if other.lane == bar.lane and other.left >= bar.right]
    return min(following, default=100.0) - bar.right


def _bar(bar: Bar, room: float, chosen: str | None) -> Html:
    width = max(bar.right - bar.left, 0.0)
    inside = len(bar.value) * _LETTER + 1.5 <= width or room < width
    kind = f"bar {bar.state}" + (" holds" if bar.holds else "") + (" chosen" if bar.fact_id == chosen else "")
    top = bar.lane * LANE + (LANE - BAR) / 2
    shape = [
        tag("rect", width="100%", height="100%", rx=3, class_="shape"),
        tag("rect", width="100%", height="100%", rx=3, class_="hatched")
        if bar.state == "contested"
        else None,
        *_fades(bar, width),
        *_edges(bar),
    ]
    body = tag("svg", *shape, x=f"{bar.left}%", y=top, height=BAR, width=f"{width:.4f}%",
               style=f"width:max(6px,{width:.4f}%)")  # fmt: skip
    label = _label(bar, top, width, room, inside=inside)
    told = f"{plain(bar.value)}: {bar.told}"
    link = tag(
        "a", tag("title", told), body, label, href=f"?fact={bar.fact_id}", data_do="why",
        data_fact=bar.fact_id, id=f"bar-{bar.fact_id}", class_=kind, aria_label=told,
        aria_current="true" if bar.fact_id == chosen else None,
    )  # fmt: skip
    return tag("g", link, role="listitem")


def _label(bar: Bar, top: float, width: float, room: float, *, inside: bool) -> Html | None:
    """The value, within its bar or behind it, cut off where the room ends."""
    free, start = (width, bar.left) if inside else (room, bar.right)
    if free < 2:
        return None
    return tag(
        "svg", tag("text", said_text(bar.value), x=8, y=BAR / 2 + 4.5),
        x=f"{start}%", y=top, width=f"{free:.4f}%", height=BAR, class_="label", aria_hidden="true",
    )  # fmt: skip


def said_text(value: str) -> Html:
    """A value within a picture: isolated, and short."""
    return tag("tspan", plain(value, shown_max=60), class_="said")


def _fades(bar: Bar, width: float) -> list[Html]:
    """The periods that the bounds were given as, fading outwards."""
    if width <= 0:
        return []
    found = []
    if bar.blur_from:
        share = min(bar.blur_from / width, 1.0) * 100
        found.append(tag("rect", width=f"{share:.3f}%", height="100%", fill="url(#fade-from)"))
    if bar.blur_to:
        share = min(bar.blur_to / width, 1.0) * 100
        found.append(
            tag("rect", x=f"{100 - share:.3f}%", width=f"{share:.3f}%", height="100%", fill="url(#fade-to)")
        )
    return found


_EDGE: Final[dict[Edge, str]] = {
    "definite": "edge sure", "approximate": "edge about", "unknown": "edge unsure", "open": "",
}  # fmt: skip


def _edges(bar: Bar) -> list[Html]:
    return [
        tag("line", x1=x, x2=x, y1=0, y2="100%", class_=_EDGE[edge])
        for x, edge in (("0", bar.begins), ("100%", bar.ends))
        if edge != "open"
    ]
