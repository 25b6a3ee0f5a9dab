"""What an explanation of a claim consists of: its facts with all that made them, each statement placed.

Records only; `state.why` fills them in, `state.why_not` asks them about a value.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from state.episodes import Episode, Role
from state.fold_state import Cluster
from state.instants import Instant
from state.policy import Policy
from state.predicates import Predicate
from state.statements import ObservationId, Statement
from state.trace import Choice, Weighing


class How(enum.StrEnum):
    """What opened a fact."""

    SAID = "said"
    WON = "won"
    AFTER_DENIAL = "after_denial"
    AFTER_END = "after_end"
    SCHEDULED = "scheduled"
    REPORTED = "reported"
    MAJORITY = "majority"
    DECIDED = "decided"


class Apart(enum.StrEnum):
    """Why a statement is neither for nor against any fact (DESIGN 4.9)."""

    FED_BACK = "fed_back"
    DECISION = "decision"
    VOID = "void"
    REPLACED = "replaced"
    DENIAL = "denial"
    FITS_SEVERAL = "fits_several"
    LATE_REPORT = "late_report"
    NOTHING_TO_DENY = "nothing_to_deny"
    NO_FACT_THEN = "no_fact_then"


@dataclass(frozen=True, slots=True)
class Opening:
    """How a fact came to be: the statements that opened it, newest first, and what was counted for it.

    `decision` is the weighing that the fact won, `choice` what it was chosen from; each is None where
    nothing of the kind took place.
    """

    how: How
    votes: tuple[Statement, ...]
    decision: Weighing | None
    choice: Choice | None


@dataclass(frozen=True, slots=True)
class Explained:
    """One fact with everything that made it, statements in the order of evidence.

    `lo_set_by` and `hi_set_by` are the statements that date its bounds. `decision` is the weighing that
    ended it, None where none did. `standing` is the weighing of the open fact at the end of the evidence.
    `follower` is the index of the fact that took its place. `closed_by` and `opened_by` are the decisions
    of people that ended and began it, `against` one that had closed its value before.
    """

    episode: Episode
    horizon: Instant
    support: tuple[Statement, ...]
    dissent: tuple[Statement, ...]
    closing: tuple[Statement, ...]
    opening: Opening
    lo_set_by: tuple[Statement, ...]
    hi_set_by: tuple[Statement, ...]
    decision: Weighing | None
    standing: Weighing | None
    follower: int | None
    closed_by: Statement | None = None
    opened_by: Statement | None = None
    against: Statement | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """What one statement is to its claim: its role towards the fact of that index.

    `why` is set for what stands aside, `repeats` for a duplicate: the id of the statement that counts.
    """

    statement: Statement
    role: Role
    fact: int | None
    why: Apart | None
    repeats: ObservationId | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A claim explained. `facts` are in order of time, `placed` holds every statement once, in order.

    `weighings` and `choices` are all that the fold counted on its way. `horizon` is the greatest observed_at.
    """

    predicate: Predicate
    policy: Policy
    facts: tuple[Explained, ...]
    placed: tuple[Placed, ...]
    cluster_of: Mapping[str, Cluster]
    weighings: tuple[Weighing, ...]
    choices: tuple[Choice, ...]
    horizon: Instant

    def cluster(self, form: str) -> Cluster:
        """The cluster of a form, which is the form's own unless it joined another."""
        return self.cluster_of.get(form, form)

    def aside(self) -> list[Placed]:
        """What is neither for nor against any fact, duplicates left out."""
        return [placed for placed in self.placed if placed.role is Role.ASIDE]

    def duplicates(self) -> list[Placed]:
        """What repeats another statement under another id."""
        return [placed for placed in self.placed if placed.role is Role.DUPLICATE]
