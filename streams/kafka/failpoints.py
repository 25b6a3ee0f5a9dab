"""Places where a test may let a worker die, as `kill -9` would.

Off unless `FACTDRIFT_FAILPOINT` says `<step>:<n>`: then the process kills itself when it reaches the step
for the n-th time. The steps are those of docs/kafka-host.md.
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
CHANGELOG_ACKNOWLEDGED: Final = "changelog-acknowledged"
TABLE_WRITTEN: Final = "table-written"
DONE: Final = "done"
STEPS: Final = (
    INTAKE_APPLIED, INTAKE_SENT, INTAKE_ACKNOWLEDGED, INTAKE_COMMITTED,
    APPLIED, OUTPUTS_SENT, OUTPUTS_ACKNOWLEDGED, CHANGELOG_ACKNOWLEDGED, TABLE_WRITTEN, DONE,
)  # fmt: skip
"""Every step, in the order in which data passes them."""

_step, _, _times = os.environ.get("FACTDRIFT_FAILPOINT", "").partition(":")
_left = int(_times or 1)


def reach(step: str) -> None:
    """Die here, if this is where a test wants it. Called at every step of every batch."""
    global _left  # noqa: PLW0603 one process, one failpoint
    if step != _step:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
