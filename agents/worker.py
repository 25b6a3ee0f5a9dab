"""One worker on Kafka, from settings: what `factdrift worker` does, also as `python -m agents.worker`."""

from __future__ import annotations

import sys

from agents import composition
from agents.audit import due, ends_of_cycle
from state.errors import FactdriftError
from streams.kafka import Cycles, run_worker
from streams.settings import Settings
from streams.stderr_log import tell_refusal

EXIT_REFUSED = 3  # as every command: something needed is missing or refused, and the message says what to do


def work(settings: Settings, *, accept_model_change: bool = False) -> None:
    """Run a worker until it is told to stop. Raises FactdriftError when it had to stop by itself.

    Tables that another model of vectors built are gone on with only if `accept_model_change`.
    """
    (intake, consolidation), marks = composition.for_worker(settings, accept_model_change=accept_model_change)
    cycles = Cycles(composition.single_agents(settings), due=due, ends=ends_of_cycle)
    drift = composition.drift_store(settings, None)
    run_worker(settings, intake, consolidation, cycles, drift, marks=marks)


def main(*, health_port: int | None = None, accept_model_change: bool = False) -> int:
    """Run a worker with settings from the environment, and this port; returns the exit code."""
    composition.collect_rarely()
    try:
        settings = Settings() if health_port is None else Settings(health_port=health_port)
        work(settings, accept_model_change=accept_model_change)
    except FactdriftError as error:
        tell_refusal(error)
        sys.stderr.write(f"{error}\n")
        return EXIT_REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
