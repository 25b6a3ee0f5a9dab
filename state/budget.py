"""How much may be asked of a paid endpoint in a span of time, and whether one more question fits.

Decides nothing else. Time comes in as an argument; whoever asks keeps what is spent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

NOTHING_SPENT_AT: Final = float("-inf")


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be spent in `span_s` seconds; None is without limit."""

    calls_max: int | None
    tokens_max: int | None
    span_s: float


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent, or is reserved for questions under way, since `began_at` (seconds of any clock)."""

    calls: int = 0
    tokens: int = 0
    began_at: float = NOTHING_SPENT_AT


def reserve(budget: Budget, spent: Spent, *, tokens: int, now: float) -> Spent | None:
    """What is spent with one more question of at most `tokens`, or None where that is over the budget.

    A span begins with the first question after the one before it is over.
    """
    if now - spent.began_at >= budget.span_s:
        spent = Spent(began_at=now)
    found = replace(spent, calls=spent.calls + 1, tokens=spent.tokens + tokens)
    if budget.calls_max is not None and found.calls > budget.calls_max:
        return None
    if budget.tokens_max is not None and found.tokens > budget.tokens_max:
        return None
    return found


def settle(spent: Spent, *, began_at: float, reserved: int, used: int) -> Spent:
    """What is spent when a question that had `reserved` tokens has cost `used`.

    `began_at` is that of the span in which it was asked; in a later one it counts no more.
    """
    if spent.began_at != began_at:
        return spent
    return replace(spent, tokens=max(0, spent.tokens - reserved + used))
