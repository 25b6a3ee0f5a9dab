"""The timeline of an entity: which bars there are, how long, in which lane, and what they tell. Pure.

One row for each claim, and in it as many lanes as facts hold side by side. Draws nothing; that is
`timeline_picture`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agents.dashboard.axis import Axis, spanning
from agents.dashboard.words import span, value_text
from state.instants import Granularity, Instant, parse_instant, period_of

Edge = Literal["definite", "approximate", "unknown", "open"]
"""How sure a bound is; "open" is no bound at all."""
Fact = Mapping[str, Any]

LANES_MAX: Final = 40
"""Lanes of one row; what would need more is drawn over the last. A multi-valued claim has hundreds."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A fact as a bar. Places are in per cent of the width.

    `blur_from` and `blur_to` are the widths, inwards from each end, of the period that the bound was given
    as: a bound given as a year lies anywhere within it.
    """

    fact_id: str
    left: float
    right: float
    lane: int
    state: str
    begins: Edge
    ends: Edge
    blur_from: float
    blur_to: float
    value: str
    told: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Row:
    """The facts of one claim."""

    claim_id: str
    predicate: str
    n_lanes: int
    bars: list[Bar] = field(default_factory=list)


def axis_of(facts: Sequence[Fact], *, now: Instant, also: Sequence[Instant] = ()) -> Axis:
    """The axis on which all bounds of these facts are seen, and now."""
    bounds = [
        parse_instant(fact["valid"][side]) for fact in facts for side in ("lo", "hi") if fact["valid"][side]
    ]
    return spanning([*bounds, now, *also])


def rows(facts: Sequence[Fact], axis: Axis, *, valid_at: Instant) -> list[Row]:
    """The rows of these facts, in order of predicate; the bars of each in order of time."""
    by_claim: dict[str, list[Fact]] = {}
    for fact in facts:
        by_claim.setdefault(fact["claim_id"], []).append(fact)
    found = [_row(claim, held, axis, valid_at) for claim, held in by_claim.items()]
    return sorted(found, key=lambda row: (row.predicate, row.claim_id))


def _row(claim_id: str, facts: Sequence[Fact], axis: Axis, valid_at: Instant) -> Row:
    """Each fact in the first lane that is free when it begins."""
    ends: list[int] = []
    bars: list[Bar] = []
    for fact in sorted(facts, key=_start):
        begin, end = _start(fact), _end(fact)
        lane = next((n for n, until in enumerate(ends) if until <= begin), len(ends))
        lane = min(lane, LANES_MAX - 1)
        if lane == len(ends):
            ends.append(end)
        else:
            ends[lane] = max(ends[lane], end)
        bars.append(_bar(fact, axis, lane, valid_at))
    return Row(claim_id, facts[0]["predicate"], len(ends), bars)


_NEVER: Final = 2**62


def _start(fact: Fact) -> int:
    lo = fact["valid"]["lo"]
    return -_NEVER if lo is None else parse_instant(lo)


def _end(fact: Fact) -> int:
    hi = fact["valid"]["hi"]
    return _NEVER if hi is None else parse_instant(hi)


def _bar(fact: Fact, axis: Axis, lane: int, valid_at: Instant) -> Bar:
    valid = fact["valid"]
    begin, end = _start(fact), _end(fact)
    left = axis.place(Instant(max(begin, axis.lo)))
    right = axis.place(Instant(min(end, axis.hi)))
    begins: Edge = "open" if valid["lo"] is None else valid["lo_certainty"]
    ends: Edge = "open" if valid["hi"] is None else valid["hi_certainty"]
    return Bar(
        fact_id=fact["fact_id"],
        left=left,
        right=right,
        lane=lane,
        state=fact["state"],
        begins=begins,
        ends=ends,
        blur_from=_blur(valid, "lo", axis, right - left),
        blur_to=_blur(valid, "hi", axis, right - left),
        value=value_text(fact["object"]),
        told=_told(fact),
        holds=begin <= valid_at < end,
    )


def _blur(valid: Mapping[str, Any], side: str, axis: Axis, width: float) -> float:
    """How much of the bar its bound may lie in, by the period that it was given as; at most all of it."""
    if valid[side] is None:
        return 0.0
    at = parse_instant(valid[side])
    period = period_of(at, Granularity(valid[f"{side}_granularity"]))
    return round(min(axis.place(period.end) - axis.place(period.start), width), 4)


def _told(fact: Fact) -> str:
    """What the bar says to whoever cannot see it."""
    state = fact["state"]
    if state == "retired" and fact["reason"]:
        state = f"retired: {fact['reason']}"
    support, dissent = fact["support"], fact["dissent"]
    return f"{span(fact['valid'])}, {state}, {support:,} for it, {dissent:,} against"
