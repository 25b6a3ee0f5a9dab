"""The engines that are compared: how each is started, and what it is called."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kafka.cluster import Cluster
from tests.parts.processes import Process, start_process

REPOSITORY = Path(__file__).resolve().parents[2]
QUIX_VARIABLE = "FACTDRIFT_BENCH_QUIX"
_START_S = 90


@dataclass(frozen=True, slots=True)
class Engine:
    """One way to do the work. `slow` ones get a fifth of the load, so that a run ends this hour."""

    name: str
    command: tuple[str, ...]
    two_steps: bool = False
    slow: bool = False
    makes_facts: bool = True

    def start(
        self, cluster: Cluster, number: int = 0, environment: Mapping[str, str] | None = None
    ) -> Process:
        """Start one process of it."""
        return start_process(
            self.command,
            name=f"{self.name} {number}",
            log=cluster.folder / f"{self.name}-{number}.log",
            environment={**cluster.environment, **(environment or {})},
            folder=REPOSITORY,
        )


FACTDRIFT = Engine("factdrift", (sys.executable, "-m", "agents.worker"), two_steps=True)


def host(name: str, module: str, *arguments: str, python: str = sys.executable, **more: bool) -> Engine:
    """An engine that is a module beside this one."""
    return Engine(name, (python, "-m", f"benchmarks.kafka.{module}", *arguments), **more)


def faust_engines() -> list[Engine]:
    """Stock Faust, as it comes and with its own settings for speed."""
    return [host(f"faust-{kind}", "host_faust", kind, slow=True) for kind in ("stock", "tuned")]


def quix_engine() -> Engine | str:
    """QuixStreams in its own Python, or why there is none."""
    python = os.environ.get(QUIX_VARIABLE, sys.executable)
    asked = subprocess.run([python, "-c", "import quixstreams"], capture_output=True, check=False)
    if asked.returncode:
        return (
            f"quixstreams is skipped: {QUIX_VARIABLE} names no Python that has it (benchmarks/README.md says "
            "how to make one)."
        )
    return host("quixstreams", "host_quix", python=python)


def raw_engine(name: str, *what: str) -> Engine:
    """Raw aiokafka: `what` is "echo", or a file of records to write, and "send" to write one by one."""
    return host(name, "host_raw", *what, makes_facts=False)


def wait_ready(worker: Process) -> None:
    """Return when a factdrift worker says that it is ready."""
    worker.wait_for_line(r"^factdrift worker ready", _START_S)
