"""The shape of an explanation (`agents.explaining`), for the OpenAPI document."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from agents.api.shapes import Answer, Statement
from streams.events import Spelling, Valid


class Placed(Statement):
    """A statement with the instant from which it takes effect."""

    effective_at: AwareDatetime


class Aside(Placed):
    """A statement that takes no side, and why."""

    why: str | None


class Duplicate(Placed):
    """A statement that says again what its document had said."""

    repeats: str | None


class Tally(Answer):
    """The votes of one side."""

    object: Spelling | None
    denied: bool
    votes: list[str]
    n_of_newest: int


class Duel(Tally):
    """A rival against what was held."""

    n_for: int
    n_held: int
    counted: list[str]
    all_later: bool
    clean_switch_by: str | None
    enough: bool
    n_needed: int | None


class Weighing(Answer):
    """A count of votes at an instant."""

    at: AwareDatetime
    held: Tally
    rivals: list[Duel]
    newest: list[str]


class Taken(Answer):
    """A decision of a person."""

    correction_id: str
    reason: str | None
    decided_at: AwareDatetime
    valid_at: AwareDatetime


class DecidedBy(Answer):
    """Which decisions closed, opened and contradict a fact."""

    closed: Taken | None
    opened: Taken | None
    against: Taken | None


class Opened(Answer):
    """What opened a fact."""

    how: str
    votes: list[str]
    decision: Weighing | None


class ExplainedFact(Answer):
    """A fact, and why it is what it is."""

    index: int
    fact_id: str
    object: Spelling | None
    valid: Valid
    state: Literal["open", "contested", "retired"]
    reason: str | None
    contested: bool
    rivals: list[str]
    support: int
    dissent: int
    confidence: float
    probability: float | None
    supported_by: list[Placed]
    dissented_by: list[Placed]
    closed_by: list[Placed]
    opened: Opened
    lo_set_by: list[str]
    hi_set_by: list[str]
    votes: str | None
    decision: Weighing | None
    standing: Weighing | None
    followed_by: int | None
    decided_by: DecidedBy


class Kin(Answer):
    """Another value, and how near it is."""

    object: Spelling | None
    cosine: float | None
    guard: str | None = None


class Heard(Answer):
    """A value that was heard."""

    object: Spelling | None
    statements: int


class Role(Answer):
    """What one statement about a value was."""

    observation_id: str
    role: str
    fact: int | None
    why: str | None
    repeats: str | None


class Strongest(Answer):
    """When a value was nearest to being a fact."""

    at: AwareDatetime
    fact: int | None
    n_for: int
    n_held: int
    counted: list[str]
    n_needed: int | None


class Verdict(Answer):
    """What became of a value."""

    object: Spelling | None
    heard: bool
    facts: list[int]
    statements: list[Role]
    denied_by: list[str]
    same_as: list[Kin]
    kept_apart_from: list[Kin]
    strongest: Strongest | None
    fact_now: int | None
    n_needed_now: int | None
    all_heard: list[Heard]


class Weights(Answer):
    """By what the votes of a claim were weighed: the cycle of the snapshot, and what each source weighs."""

    snapshot: int
    weights: dict[str, float]


class Explanation(Answer):
    """Why the facts of a claim are what they are."""

    claim_id: str
    namespace: str
    subject: str
    predicate: str
    declared: bool
    cardinality: str
    change: str
    policy_version: str
    model: str | None
    degraded: list[str]
    now: AwareDatetime
    during: Valid | None
    facts: list[ExplainedFact]
    aside: list[Aside]
    duplicates: list[Duplicate]
    retracted: list[str]
    value: Verdict | None
    trust: Weights | None = Field(None, description="Only where votes were weighed by learnt trust.")
