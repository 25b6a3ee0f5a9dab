"""What the fold yields: episodes, and the one role that each statement plays.

An episode is a span of time in which one cluster holds for one claim. It becomes a fact when it
gets its id and its spelling (`state.facts`). Nothing here decides anything.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from state.instants import Granularity, Instant
from state.votes import Cluster


class Reason(enum.StrEnum):
    """Why a fact is no longer open."""

    OUTVOTED = "outvoted"
    DENIED = "denied"
    ENDED = "ended"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"
    WITHDRAWN = "withdrawn"


class Role(enum.StrEnum):
    """What one statement is to its claim: exactly one of these (DESIGN 4.9)."""

    SUPPORT = "support"
    DISSENT = "dissent"
    CLOSING = "closing"
    ASIDE = "aside"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Edge:
    """One finite bound of an episode: the instant, and how finely the evidence gave it."""

    at: Instant
    granularity: Granularity


@dataclass(frozen=True, slots=True)
class Ballot:
    """The count that ended an episode: `n_for` the rival against `n_held`, of the newest votes.

    `rival` is the winning cluster; the fact's own where a denial of it won (`denial`). `decided_at` is the effective time at
    which the decision fell (the boundary that it set lies at or before it), `observed_at` when the
    deciding statement was made: what drift counts by.
    """

    rival: Cluster
    denial: bool
    n_for: int
    n_held: int
    clean_switch: bool
    decided_at: Instant
    observed_at: Instant


@dataclass(slots=True)
class Episode:
    """One span in which `cluster` holds. Open while `reason` is None.

    `lo` is None where the start is unknown. `hi` may lie in the future: whether the fact is open is
    a question with an instant in it, answered on read (`state.facts.state_at`). `opened_by` are the
    statements from before `lo` that opened it, `closed_by` the denials that closed it (indexes).
    """

    cluster: Cluster
    lo: Edge | None
    hi: Edge | None = None
    reason: Reason | None = None
    ballot: Ballot | None = None
    contested: bool = False
    rivals: tuple[tuple[Cluster, bool], ...] = ()
    opened_by: frozenset[int] = frozenset()
    closed_by: frozenset[int] = frozenset()


@dataclass(slots=True)
class Folded:
    """The outcome of a fold.

    `roles[i]` is (role, index of the episode in `episodes` or None) of statement i of the evidence.
    """

    episodes: list[Episode] = field(default_factory=list)
    roles: list[tuple[Role, int | None]] = field(default_factory=list)
