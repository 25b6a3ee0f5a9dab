"""One point in time that several steps share, so that their waits cannot add up."""

from __future__ import annotations

import time


class Deadline:
    """A point in time, `after_s` from now. Made once, handed to every step that must fit before it."""

    def __init__(self, after_s: float) -> None:
        self.after_s = after_s
        self._at = time.monotonic() + after_s

    @property
    def left_s(self) -> float:
        """Seconds that are left, never negative."""
        return max(0.0, self._at - time.monotonic())

    def within(self, after_s: float) -> Deadline:
        """A deadline `after_s` from now, but not after this one."""
        return Deadline(min(after_s, self.left_s))
