"""The curve of a rule's confidence over the cycles, and the thresholds that decide its standing. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agents.dashboard.markup import Html, tag
from state.rules import CONFIDENCE_MAX, DEMOTE_BELOW, PROMOTE_FROM

Point = tuple[int, float]
"""A cycle, and what the rule was worth after it."""


def steps(points: Sequence[Point]) -> list[Point]:
    """The points in order, the last of each cycle only; between two of them nothing changed."""
    return sorted(dict(points).items())


def path(points: Sequence[Point], *, width: float, height: float) -> str:
    """The drawing of a curve of at least one point, as the `d` of a path: right, then up or down."""
    found = steps(points)
    first, last = found[0][0], found[-1][0]
    spread = max(last - first, 1)

    def place(point: Point) -> tuple[float, float]:
        left = (point[0] - first) / spread * width if last > first else 0.0
        return round(left, 2), round((1 - point[1] / CONFIDENCE_MAX) * height, 2)

    x, y = place(found[0])
    drawn = [f"M{x},{y}"]
    for point in found[1:]:
        x, y = place(point)
        drawn.append(f"H{x}V{y}")
    if last == first:
        drawn.append(f"H{width}")
    return "".join(drawn)


def curve(points: Sequence[Point], *, label: str, height: int = 88) -> Html:
    """The picture. It is stretched to the width that there is."""
    kept = {"vector_effect": "non-scaling-stroke"}
    heights = [round((1 - at) * height, 2) for at in (DEMOTE_BELOW, PROMOTE_FROM)]
    thresholds = [tag("line", x1=0, x2=100, y1=y, y2=y, class_="threshold", **kept) for y in heights]
    drawn = path(points, width=100, height=height) if points else ""
    line = tag("path", d=drawn, class_="line", **kept) if drawn else None
    return tag(
        "svg", tag("title", label), *thresholds, line, viewBox=f"0 0 100 {height}", width="100%",
        height=height, preserveAspectRatio="none", role="img", class_="curve",
    )  # fmt: skip
