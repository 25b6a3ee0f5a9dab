"""A worker whose consolidation waits at a gate: a batch that takes as long as a test wants it to.

The gate is the lock of the file that `GATE` names; a test that holds the lock keeps the gate shut. While the
agent waits, the event loop of the worker stands still, as it does while a batch is computed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agents import composition
from streams.host import Effects, Record, State
from streams.kafka import run_worker
from streams.settings import Settings


def main() -> None:
    """Run it, with settings from the environment."""
    settings = Settings()
    intake, consolidation = composition.agents(settings, keeps_index=False)
    gate = Path(os.environ["GATE"])

    def apply(state: State, records: Sequence[Record]) -> Effects:
        with gate.open() as held:
            fcntl.flock(held, fcntl.LOCK_SH)
        return consolidation.apply(state, records)

    run_worker(settings, intake, replace(consolidation, apply=apply))


if __name__ == "__main__":
    main()
