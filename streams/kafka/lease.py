"""Whether this worker may still write, after it may have stood still.

A process that was stopped (SIGSTOP, a frozen container, a laptop's lid) for longer than its session has lost
its partitions without knowing. When it wakes it is in the middle of some step. So a beat runs in the thread
that also sends the heartbeats to Kafka, and before a batch writes anything it asks how long ago the beat
was. Both use the clock that goes on while the process does not.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from streams.kafka.errors import OwnershipLost

_BEATS_PER_SESSION: Final = 20
_SAFE_SHARE: Final = (
    0.8  # of the session; the broker counts from the last heartbeat, which is older than a beat
)


class Lease:
    """Good as long as the beat never stood still for longer than most of a session."""

    def __init__(self, session_timeout_s: float) -> None:
        self._limit_s = session_timeout_s * _SAFE_SHARE
        self._interval_s = session_timeout_s / _BEATS_PER_SESSION
        self._beat_at: float | None = None
        self._longest_s = 0.0

    async def beat(self) -> None:
        """Beat until cancelled. Runs in the thread of the heartbeats."""
        while True:
            now = time.monotonic()
            if self._beat_at is not None:
                self._longest_s = max(self._longest_s, now - self._beat_at)
            self._beat_at = now
            await asyncio.sleep(self._interval_s)

    @property
    def beat_age_s(self) -> float | None:
        """Seconds since the last beat; None before the first. Read from any thread."""
        return None if self._beat_at is None else max(0.0, time.monotonic() - self._beat_at)

    def renew(self) -> None:
        """Start afresh: Kafka has just given this worker partitions, whatever was before."""
        self._longest_s = 0.0

    def check(self) -> None:
        """Return when this worker may write. Raises OwnershipLost once it stood still too long."""
        if self._beat_at is None:
            return
        stood_still_s = max(self._longest_s, time.monotonic() - self._beat_at)
        if stood_still_s > self._limit_s:
            raise OwnershipLost(
                f"This worker stood still for {stood_still_s:.1f} s, so long that Kafka may have given its "
                "partitions to another. It wrote nothing since. Start it again."
            )
