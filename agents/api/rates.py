"""How often somebody may ask: one bucket of tokens for each caller, filled at a steady rate.

Asks no clock: the time is given, in seconds of any steady clock. Keeps a bounded number of callers; whoever
has not asked for longest is forgotten, and starts with a full bucket again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

CALLERS_MAX: Final = 10_000


class Rates:
    """Buckets of `burst` tokens that fill by `per_s` a second. A rate of 0 limits nobody."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, caller: str, now_s: float) -> float:
        """0 where the caller may ask now, which is then counted; else after how many seconds it may."""
        if self._per_s <= 0:
            return 0.0
        left, since_s = self._buckets.pop(caller, (self._burst, now_s))
        left = min(self._burst, left + max(now_s - since_s, 0.0) * self._per_s)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed else left, now_s)
        if len(self._buckets) > CALLERS_MAX:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._per_s
