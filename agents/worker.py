"""One worker on Kafka, from settings: what `factdrift worker` does, also as `python -m agents.worker`."""

from __future__ import annotations

import sys

from agents import composition
from state.errors import FactdriftError
from streams.kafka import run_worker
from streams.settings import Settings

EXIT_REFUSED = 3  # as every command: something needed is missing or refused, and the message says what to do


def work(settings: Settings) -> None:
    """Run a worker until it is told to stop. Raises FactdriftError when it had to stop by itself."""
    intake, consolidation = composition.agents(settings, keeps_index=False)
    run_worker(settings, intake, consolidation)


def main() -> int:
    """Run a worker with settings from the environment; returns the exit code."""
    composition.collect_rarely()
    try:
        work(Settings())
    except FactdriftError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
