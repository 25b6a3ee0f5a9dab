"""Places where a test may let a worker die, as `kill -9` would, or stand still, as a frozen machine does.

Off unless `FACTDRIFT_FAILPOINT` says `<step>:<n>` or `<step>:<n>:pause`: then the process kills, or stops,
itself when it reaches the step for the n-th time. The steps are those of docs/kafka-host.md.
"""

from __future__ import annotations

import os
import signal
from typing import Final

INTAKE_APPLIED: Final = "intake-applied"
INTAKE_SENT: Final = "intake-sent"
INTAKE_ACKNOWLEDGED: Final = "intake-acknowledged"
INTAKE_COMMITTED: Final = "intake-committed"
APPLIED: Final = "applied"
OUTPUTS_SENT: Final = "outputs-sent"
OUTPUTS_ACKNOWLEDGED: Final = "outputs-acknowledged"
CHANGELOG_SENT: Final = "changelog-sent"
CHANGELOG_ACKNOWLEDGED: Final = "changelog-acknowledged"
TABLE_WRITTEN: Final = "table-written"
DONE: Final = "done"
STEPS: Final = (
    INTAKE_APPLIED, INTAKE_SENT, INTAKE_ACKNOWLEDGED, INTAKE_COMMITTED,
    APPLIED, OUTPUTS_SENT, OUTPUTS_ACKNOWLEDGED, CHANGELOG_SENT,
    CHANGELOG_ACKNOWLEDGED, TABLE_WRITTEN, DONE,
)  # fmt: skip
"""Every step, in the order in which data passes them."""

CYCLES_APPLIED: Final = "cycles-applied"
CYCLES_SENT: Final = "cycles-sent"
CYCLES_STAGE_WRITTEN: Final = "cycles-stage-written"
CYCLES_WRITTEN: Final = "cycles-written"
CYCLES_STEPS: Final = (CYCLES_APPLIED, CYCLES_SENT, CYCLES_STAGE_WRITTEN, CYCLES_WRITTEN)
"""The steps of the clock and the audit, which only one worker passes, in their order."""

_step, _times, _how = (*os.environ.get("FACTDRIFT_FAILPOINT", "").split(":"), "", "")[:3]
_left = int(_times or 1)
_signal: Final = signal.SIGSTOP if _how == "pause" else signal.SIGKILL


def reach(step: str) -> None:
    """Die or stand still here, if this is where a test wants it. Called at every step of every batch."""
    global _left  # noqa: PLW0603 one process, one failpoint
    if step != _step:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), _signal)
