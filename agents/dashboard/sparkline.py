"""Small pictures of how often something happened: bars over equal stretches of time. Pure.

Drawn in per cent of whatever width there is, so one picture fits a phone and a wide screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from agents.dashboard.markup import Html, tag
from state.instants import Instant

HEIGHT: Final = 36
"""Pixels, as all heights here."""
_SHORTEST: Final = 3
"""What happened once is seen, however often something else did."""


def bins(instants: Iterable[Instant], *, lo: Instant, hi: Instant, n_bins: int) -> list[int]:
    """How many instants lie in each of `n_bins` equal stretches of (lo, hi]; those outside are left out.

    As the window of drift: open below, closed above.
    """
    assert lo < hi
    assert n_bins > 0
    counts = [0] * n_bins
    for at in instants:
        if lo < at <= hi:
            counts[min((at - lo) * n_bins // (hi - lo), n_bins - 1)] += 1
    return counts


def bars(counts: Sequence[float], *, label: str, height: int = HEIGHT) -> Html:
    """Bars of these heights, the greatest as high as the picture. `label` says in words what is seen."""
    greatest = max(counts, default=0)
    step = 100 / max(len(counts), 1)
    drawn = []
    for place, count in enumerate(counts):
        if count > 0:
            high = max(round((height - 1) * count / greatest, 2), _SHORTEST)
            left, wide = f"{place * step:.3f}%", f"{step * 0.72:.3f}%"
            drawn.append(tag("rect", x=left, width=wide, y=height - high, height=high, rx=1, class_="bar"))
    line = tag("line", x1="0", x2="100%", y1=height - 0.5, y2=height - 0.5, class_="base")
    return tag(
        "svg", tag("title", label), line, *drawn, class_="sparkline", role="img", width="100%", height=height
    )
