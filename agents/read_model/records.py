"""What questions are answered with: plain typed records, ready to be written as JSON.

The fields of a fact are those of `streams.events.Fact`, held to it by a test; here they are msgspec structs,
since a page of facts is decoded from what was published.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec

from state.errors import BadInput
from state.facts import State
from state.instants import Instant
from state.interval import Interval
from state.objects import type_object
from state.statements import Spelling


class Valid(msgspec.Struct, frozen=True):
    """When a fact holds, as published (`streams.events.Valid`)."""

    lo: str | None
    hi: str | None
    lo_granularity: str | None
    hi_granularity: str | None
    lo_certainty: str | None
    hi_certainty: str | None


class FactBody(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a fact as they are published.

    `version`, `recorded_at` and `cycle` are those of its newest event; None for a fact of the past that was
    derived again and had no event by then.
    """

    fact_id: str
    version: int | None
    claim_id: str
    namespace: str
    subject: str
    predicate: str
    object: Spelling | None
    declared: bool
    valid: Valid
    reason: str | None
    contested: bool
    rivals: list[str]
    support: int
    dissent: int
    observations: int
    confidence: float
    votes: str | None
    closed_by: str | None = None
    opened_by: str | None = None
    against: str | None = None
    form: str
    ordinal: int
    previous_fact_id: str | None
    invalidated_by: str | None
    supported_by: list[str]
    dissented_by: list[str]
    recorded_at: str | None
    cycle: int | None
    policy_version: str
    model: str | None
    degraded: bool


class FactRead(FactBody, frozen=True, kw_only=True):
    """A fact, and what it is at the instant that was asked about.

    `probability` is how likely its value is true now, or at the instant by which it was known; None where
    nothing says so (`state.probability`).
    """

    state: State
    probability: float | None


class FactVersion(FactBody, frozen=True, kw_only=True):
    """One event of the change feed. `cursor` says where to go on after it."""

    event_id: str
    event: str
    revision: str | None
    position: str
    decided_observed_at: str | None
    cursor: str = ""


class SubjectRow(msgspec.Struct, frozen=True, kw_only=True):
    """A subject: its normal form, and how its newest statement spells it."""

    namespace: str
    subject: str
    spelled: str
    n_claims: int


class ClaimRow(msgspec.Struct, frozen=True, kw_only=True):
    """A claim: its normal forms, how its newest statement spells it, and what was heard of it by then.

    `n_statements` counts every statement that arrived, those retracted later among them.
    """

    claim_id: str
    namespace: str
    subject: str
    predicate: str
    spelled_subject: str
    spelled_predicate: str
    n_statements: int
    first_recorded_at: str
    last_recorded_at: str


class EvidenceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a claim, as it was published, and when the log learnt it.

    `counts` is False where the statement was retracted by the time asked about, or lost its id to another.
    """

    observation: dict[str, Any]
    effective_at: str
    recorded_at: str
    position: str
    content_hash: str
    counts: bool


class FactEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The statements behind one fact by role: the newest of each, newest first, and how many there are."""

    support: list[EvidenceRow]
    n_support: int
    dissent: list[EvidenceRow]
    n_dissent: int
    closing: list[EvidenceRow]
    n_closing: int


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A published record that is kept as it is: a link, a cycle, an alert, what happened to a rule."""

    id: str
    recorded_at: str
    body: dict[str, Any]


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """Where the projection goes on reading a partition."""

    topic: str
    partition: int
    next_offset: int


Item = TypeVar("Item")
_NO_FORM: Final = "\0"


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items in a fixed order. `next` is the cursor of the page after it, None at the end.

    A page may hold fewer items than asked for, even none, and still have a next one: what one answer may cost
    is bounded. `incomplete` says that text of the past asked about was forgotten.
    """

    items: list[Item]
    next: str | None
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts are wanted; names in any spelling, None is any.

    `object` is a value as anyone writes it; it finds the facts that show it and those whose first form it is.
    `state` is taken at the instant asked about. `overlaps` keeps facts that hold at some instant inside.
    Withdrawn facts, which no evidence carries any more, are left out unless `with_withdrawn`.
    """

    namespace: str | None = None
    subject: str | None = None
    predicate: str | None = None
    object: Spelling | None = None
    claim_id: str | None = None
    state: State | None = None
    contested: bool | None = None
    overlaps: Interval | None = None
    with_withdrawn: bool = False

    @property
    def form(self) -> str | None:
        """The form of the value that is wanted, None for any; no fact has that of a blank one."""
        if self.object is None:
            return None
        try:
            return type_object(self.object).key
        except BadInput:
            return _NO_FORM


@dataclass(frozen=True, slots=True)
class Instants:
    """The two clocks of a question, and now.

    `valid_at` keeps what holds then; `known_at` is None for what is known now.
    """

    now: Instant
    valid_at: Instant | None = None
    known_at: Instant | None = None

    @property
    def at(self) -> Instant:
        """The instant at which states are taken: valid_at, else known_at, else now."""
        if self.valid_at is not None:
            return self.valid_at
        return self.now if self.known_at is None else self.known_at


@dataclass(frozen=True, slots=True)
class Scope:
    """What is forgotten: a subject (any spelling), one observation of it, or all that a source said.

    Exactly one of `subject`, `observation_id` and `source` says what; an `observation_id` may name its
    subject too.
    """

    namespace: str
    subject: str | None = None
    observation_id: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A record of the internal topic, by its partition and its offset."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Erased:
    """How much was deleted, by table."""

    claims: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
