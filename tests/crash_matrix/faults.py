"""What can happen in a run, as data: a case is a list of these, and a seed decides what is left open.

A step says what happens, not how; `tests.crash_matrix.run` does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from streams.topics import Topic


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish this share of the feed."""

    share: float


@dataclass(frozen=True, slots=True)
class SomeDone:
    """Go on when the workers have committed something more: how much, the seed decides."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill a worker (SIGKILL); which one, the seed decides. The supervisor starts it again."""


@dataclass(frozen=True, slots=True)
class Terminate:
    """Ask a worker to stop (SIGTERM), wait for it, and start it again."""


@dataclass(frozen=True, slots=True)
class Doomed:
    """Start a worker in place of another, that kills (or pauses) itself at a step of its n-th batch, and wait
    for that; n, the seed decides. Before it happens, the next share of the feed is published.
    """

    step: str
    share: float
    pause: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Stop a worker (SIGSTOP), and wait until the others own all partitions: its session is over."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Let every worker that stands still go on."""


@dataclass(frozen=True, slots=True)
class AddWorker:
    """One worker more."""


@dataclass(frozen=True, slots=True)
class RemoveWorker:
    """One worker less: asked to stop, and not started again."""


@dataclass(frozen=True, slots=True)
class BrokerDies:
    """Kill the broker; `disk_full` lets it die of a disk that takes no more. It stays away."""

    disk_full: bool = False


@dataclass(frozen=True, slots=True)
class BrokerReturns:
    """Start the broker again, on the same data."""


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """A topic, or the changelog of a table, takes no more records: for its broker, every one is too large."""

    topic: Topic | Literal["claims", "subjects"]


@dataclass(frozen=True, slots=True)
class Writable:
    """All topics take records again."""


@dataclass(frozen=True, slots=True)
class Poison:
    """Publish this many records that are no observations: random bytes, empty ones, JSON of other kinds."""

    n_records: int


@dataclass(frozen=True, slots=True)
class ClockJumps:
    """Publish this share with producer timestamps years ahead and years back, as from a machine whose clock
    jumped.
    """

    share: float


@dataclass(frozen=True, slots=True)
class ChangelogDeleted:
    """Delete the changelog of a table while the workers run."""

    table: str


@dataclass(frozen=True, slots=True)
class StoppedWith:
    """Wait until a worker has stopped with this code."""

    code: str


@dataclass(frozen=True, slots=True)
class Reset:
    """Stop all workers, and run `factdrift reset`."""


Step = (
    Publish | SomeDone | Kill | Terminate | Doomed | Pause | Resume | AddWorker | RemoveWorker | BrokerDies
    | BrokerReturns | ReadOnly | Writable | Poison | ClockJumps | ChangelogDeleted | StoppedWith | Reset
)  # fmt: skip

Outcome = Literal["goes on", "resumes when healed", "refuses"]


@dataclass(frozen=True, slots=True)
class Case:
    """One way to make trouble. `stops_with` are the codes with which workers may stop meanwhile."""

    name: str
    outcome: Outcome
    steps: tuple[Step, ...]
    n_workers: int = 2
    stops_with: frozenset[str] = field(default_factory=frozenset)
