"""What the fold yields: episodes, and the roles that statements play.

An episode is a span of time in which one cluster holds for one claim, with its counts. It becomes a fact
when it gets its id (`state.facts`). Nothing here decides anything.
"""

from __future__ import annotations

import enum

import msgspec

from state.fold_state import Cluster, OpenFact, Side, SpellingCount
from state.instants import Instant
from state.statements import ObservationId, Spelling


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


class Edge(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One finite bound of an episode: the instant, and how finely the evidence gave it."""

    at: Instant
    granularity: str


class Ballot(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The count that ended an episode: `n_for` the rival against `n_held`, of the newest votes.

    `rival` is the winning cluster, `spelling` how it was last spelled; where `denial` a denial of the
    fact itself won. `decided_at` is the effective time at which the decision fell (the boundary that it
    set lies at or before it), `observed_at` when the deciding statement was made: drift counts by it.
    """

    rival: Cluster
    spelling: Spelling | None
    denial: bool
    n_for: int
    n_held: int
    clean_switch: bool
    decided_at: Instant
    observed_at: Instant


class Episode(msgspec.Struct, array_like=True, gc=False):
    """One span in which `cluster` holds. Open while `reason` is None.

    `lo` is None where the start is unknown. `hi` may lie in the future: whether the fact is open is a
    question with an instant in it, answered on read. `form` is the cluster's first form and `ordinal`
    the number of the episode among the cluster's, from 0. `since` is the start of the fact that ended
    when this one opened with the votes cast during it, else None. `follower` names, by first form and
    ordinal, the episode that took this one's place. `rivals` are (side, spelling), strongest first.
    `closed_by` is the decision that closed it and when that was taken, `opened_by` the one that opened
    it, `against` one that had closed the same value before. `name` is that of the assertion where each is a
    fact of its own (`state.own_facts`), and then names the episode in the place of `form`. `replaced_by` is
    the statement of a newer document that ended it, and when that was made (`state.replacing`).
    """

    cluster: Cluster
    form: str
    ordinal: int
    lo: Edge | None
    hi: Edge | None = None
    reason: Reason | None = None
    ballot: Ballot | None = None
    since: Instant | None = None
    follower: tuple[str, int] | None = None
    contested: bool = False
    rivals: list[tuple[Side, Spelling | None]] = []
    support: int = 0
    dissent: int = 0
    observations: int = 0
    spellings: list[SpellingCount] = []
    subject: str = ""
    predicate: str = ""
    supported_by: list[ObservationId] = []
    dissented_by: list[ObservationId] = []
    closed_by: tuple[ObservationId, Instant] | None = None
    opened_by: ObservationId | None = None
    against: ObservationId | None = None
    name: str = ""
    replaced_by: tuple[ObservationId, Instant] | None = None


def open_episode(held: OpenFact, form: str) -> Episode:
    """The open fact of a fold as an episode without an end; `form` is the first form of its cluster."""
    return Episode(
        cluster=held.cluster,
        form=form,
        ordinal=held.ordinal,
        lo=Edge(held.lo, held.lo_granularity),
        since=held.since,
        support=held.support,
        dissent=held.dissent,
        observations=held.observations,
        spellings=list(held.spellings),
        subject=held.subject,
        predicate=held.predicate,
        supported_by=list(held.supported_by),
        dissented_by=list(held.dissented_by),
        opened_by=held.opened_by,
        against=held.against,
    )
