"""Draws what a threshold does: recall and false merges over every threshold, on a terminal and as SVG.

Draws numbers that `state.calibration` counted, and decides none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape

from agents.calibrating import Measured
from state.calibration import Score, joins

FIRST: Final = 0.40
STEPS_PER_UNIT: Final = 100
BAR_WIDTH: Final = 40  # characters for 100 %
TERMINAL_STEP: Final = 4  # hundredths between two lines


def shares(scores: Sequence[Score], threshold: float, *, guarded: bool = True) -> tuple[float, float]:
    """The share of pairs of one value that join, and of pairs of two values that do; 0 where none are."""
    found = []
    for same in (True, False):
        mine = [one for one in scores if one.pair.same is same]
        n_joined = sum(joins(one, threshold, guarded=guarded) for one in mine)
        found.append(n_joined / len(mine) if mine else 0.0)
    return found[0], found[1]


def _thresholds(step: int) -> list[float]:
    first = round(FIRST * STEPS_PER_UNIT)
    return [n / STEPS_PER_UNIT for n in range(first, STEPS_PER_UNIT + 1, step)]


def terminal(measured: Measured) -> Iterator[str]:
    """Lines of text: at each threshold a bar of what joins rightly, and one of what joins wrongly."""
    yield f"threshold  {'joined of one value':<{BAR_WIDTH + 6}} joined of two values"
    marked = {measured.proposed: "proposed", measured.threshold: "set today"}
    thresholds = {*_thresholds(TERMINAL_STEP), *(t for t in marked if t is not None and t >= FIRST)}
    for threshold in sorted(thresholds):
        right, false = shares(measured.scores, threshold)
        note = f"  ← {marked[threshold]}" if threshold in marked else ""
        yield (f"{threshold:>9.2f}  {_bar(right, '█')} {right:>4.0%}  {_bar(false, '▒')} {false:>5.1%}{note}")


def _bar(share: float, mark: str) -> str:
    n_marks = round(share * BAR_WIDTH)
    return (mark * max(n_marks, 1 if share else 0)).ljust(BAR_WIDTH)


# -- SVG ------------------------------------------------------------------------------------

_WIDTH: Final = 760
_HEIGHT: Final = 420
_LEFT: Final = 60
_RIGHT: Final = 230
_TOP: Final = 50
_BOTTOM: Final = 50
_LINES: Final = (
    ("one value, guards on", "#1a7f37", True, 0, ""),
    ("one value, guards off", "#1a7f37", False, 0, "5 4"),
    ("two values, guards on", "#cf222e", True, 1, ""),
    ("two values, guards off", "#cf222e", False, 1, "5 4"),
)


def svg(measured: Measured) -> str:
    """A picture of both shares over the threshold, with guards and without. Text is plain SVG text."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="24" font-size="14">Pairs that join: {escape(measured.model.space)}</text>',
        *_axes(),
        *(_line(measured, n, *spec) for n, spec in enumerate(_LINES)),
        *_marks(measured),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _x(threshold: float) -> float:
    return _LEFT + (threshold - FIRST) / (1 - FIRST) * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _axes() -> Iterator[str]:
    for percent in range(0, 101, 20):
        y = _y(percent / 100)
        yield f'<line x1="{_x(FIRST):.1f}" y1="{y:.1f}" x2="{_x(1):.1f}" y2="{y:.1f}" stroke="#d0d7de"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>'
    for threshold in _thresholds(10):
        yield (
            f'<text x="{_x(threshold):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
            f"{threshold:.1f}</text>"
        )
    middle = (_x(FIRST) + _x(1)) / 2
    yield f'<text x="{middle:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">threshold (cosine)</text>'


def _line(
    measured: Measured, place: int, name: str, colour: str, guarded: bool, which: int, dash: str
) -> str:
    points = " ".join(
        f"{_x(t):.1f},{_y(shares(measured.scores, t, guarded=guarded)[which]):.1f}" for t in _thresholds(1)
    )
    y = _TOP + 10 + 22 * place
    left = _WIDTH - _RIGHT + 20
    style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
    return (
        f'<polyline points="{points}" fill="none" {style}/>'
        f'<line x1="{left}" y1="{y}" x2="{left + 30}" y2="{y}" {style}/>'
        f'<text x="{left + 38}" y="{y + 4}">{name}</text>'
    )


def _marks(measured: Measured) -> Iterator[str]:
    for name, threshold, y in (("proposed", measured.proposed, 44), ("set today", measured.threshold, 34)):
        if threshold is not None and threshold >= FIRST:
            x = _x(threshold)
            yield f'<line x1="{x:.1f}" y1="{_y(1):.1f}" x2="{x:.1f}" y2="{_y(0):.1f}" stroke="#57606a"/>'
            yield (
                f'<text x="{x:.1f}" y="{y}" text-anchor="middle" font-size="10">{name} {threshold:g}</text>'
            )
