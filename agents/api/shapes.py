"""The shapes of answers, for the OpenAPI document; tests hold the answers to them.

Answers are written with msgspec from plain values, since pages of facts are many; what is described here is
what they look like.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from streams.events import Cycle, DriftAlert, Fact, FactEvent, RuleEvent, Spelling


class Answer(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="Leads to the list of all codes.")
    title: str = Field(description="What the code means.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong with this request, and what to do.")
    code: str = Field(description="Stable: what a program decides by.")


class LineResult(Answer):
    """What became of one observation of a request."""

    line: int = Field(ge=1, description="Its place among the records of the request, from 1.")
    accepted: bool
    observation_id: str | None = Field(None, description="Its id, where it was accepted.")
    claim_id: str | None = Field(None, description="The claim that it speaks about.")
    code: str | None = Field(None, description="One of the dead-letter codes, where it was refused.")
    message: str | None = Field(None, description="The same in a sentence.")


class Accepted(Answer):
    """What became of a request with observations."""

    accepted: int = Field(ge=0, description="How many are durable.")
    rejected: int = Field(ge=0, description="How many cannot be used; they are not kept.")
    results: list[LineResult] = Field(description="One for each, in their order.")


class FactRead(Fact):
    """A fact, and what it is at the instant that was asked about.

    `version`, `recorded_at` and `cycle` are null for a fact of the past that was never published.
    """

    schema_version: Literal[1] = 1
    version: int | None = Field(ge=1)  # type: ignore[assignment]
    recorded_at: AwareDatetime | None  # type: ignore[assignment]
    cycle: int | None = Field(ge=1)  # type: ignore[assignment]
    state: Literal["open", "contested", "retired"]
    probability: float | None = Field(
        ge=0,
        le=1,
        description="How often values with such votes were true on generated streams "
        "(docs/benchmarks.md); null where the fact has an end, no vote, or is no matter of votes.",
    )


class Version(FactEvent):
    """One event of the change feed."""

    cursor: str = Field(description="Where the stream of changes goes on after it.")


class PageOf(Answer):
    """A page. It may be short, or empty, and still have a next one: what an answer costs is bounded."""

    next: str | None = Field(description="The cursor of the next page; null at the end.")
    incomplete: bool = Field(description="Text of the past asked about was forgotten.")


class FactPage(PageOf):
    """Facts, in order of namespace, subject, predicate, start and id."""

    items: list[FactRead]


class VersionPage(PageOf):
    """Versions of facts, in the order of what caused them."""

    items: list[Version]


class Subject(Answer):
    """A subject."""

    namespace: str
    subject: str = Field(description="Its normal form.")
    spelled: str = Field(description="As its newest statement spells it.")
    n_claims: int


class SubjectPage(PageOf):
    """Subjects."""

    items: list[Subject]


class Claim(Answer):
    """A claim: a slot that statements speak about."""

    claim_id: str
    namespace: str
    subject: str
    predicate: str
    spelled_subject: str
    spelled_predicate: str
    n_statements: int = Field(description="Every statement that arrived, those retracted since among them.")
    first_recorded_at: str
    last_recorded_at: str


class ClaimPage(PageOf):
    """Claims, by name."""

    items: list[Claim]


class SourceRead(Answer):
    """Who said it."""

    id: str | None
    document: str | None
    supersedes: str | None
    category: Literal["direct", "extracted"]


class Statement(Answer):
    """An observation as it was published."""

    observation_id: str
    namespace: str
    subject: str
    predicate: str
    object: Spelling | None
    observed_at: AwareDatetime
    polarity: Literal["affirmed", "denied"]
    confidence: float
    source: SourceRead
    content: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    origin: str | None = None


class Evidence(Answer):
    """One statement of a claim."""

    observation: Statement
    effective_at: AwareDatetime = Field(description="From when it takes effect.")
    recorded_at: AwareDatetime = Field(description="When the log learnt it.")
    position: str
    content_hash: str
    counts: bool = Field(description="False: retracted, or another has its id.")


class EvidencePage(PageOf):
    """Evidence, as it was recorded."""

    items: list[Evidence]


class FactEvidence(Answer):
    """The newest statements behind a fact, and how many there are."""

    support: list[Evidence]
    n_support: int
    dissent: list[Evidence]
    n_dissent: int
    closing: list[Evidence]
    n_closing: int


class LinkPage(PageOf):
    """Links as they were published, newest first."""

    items: list[dict[str, Any]]


class Assertion(Answer):
    """What one document says about a claim, and what that is at an instant."""

    assertion_id: str
    state: Literal["historical", "superseded", "invalidated", "conflicting", "current"]
    has_begun: bool
    holds: bool
    valid_from: AwareDatetime
    valid_to: AwareDatetime | None
    object: Spelling | None
    form: str
    affirmed: bool
    source: str | None
    document: str | None
    confidence: float
    extracted: bool
    decided_by: str | None = Field(description="The correction that opened it.")
    ended_by: str | None = Field(description="The correction, the document or the reason that ended it.")
    reason: str | None = Field(description="The decider's words.")
    preferred: str | None = Field(description="What is shown first of its dispute.")
    basis: str | None = Field(description="Why that one.")
    dispute: list[str] = Field(description="All members of the dispute, by rank.")
    observation_ids: list[str]


class Assertions(Answer):
    """Who says what about a claim."""

    claim_id: str
    namespace: str
    subject: str
    predicate: str
    valid_at: AwareDatetime
    known_at: AwareDatetime | None
    items: list[Assertion]


class Stability(Answer):
    """Whether facts of a subject keep being retired."""

    name: str = Field(description="As it was asked for.")
    unstable: bool
    alerts: list[DriftAlert] = Field(description="The newest alert of each namespace that says so.")


class Unstable(Answer):
    """Who is unstable: treat what is known of them with care."""

    now: AwareDatetime
    items: list[Stability]


class DriftPage(PageOf):
    """Alerts, newest first."""

    items: list[DriftAlert]


class CyclePage(PageOf):
    """Audit records of cycles, newest first."""

    items: list[Cycle]


class RulePage(PageOf):
    """Events of rules."""

    items: list[RuleEvent]


class CorrectionResult(Answer):
    """What became of a correction."""

    correction_id: str
    op: Literal["supersede", "invalidate", "link", "retract", "forget"]
    outcome: Literal["applied", "unchanged", "pending"] = Field(
        description="applied: with these events; unchanged: nothing followed from it, or it had been applied "
        "before; pending: not projected yet, ask for it by its id."
    )
    events: list[FactEvent]
    links: list[dict[str, Any]]
    erased: dict[str, int] | None = Field(
        None, description="Of a forget that was carried out now: how many records were erased, by topic."
    )


class CheckRead(Answer):
    """One thing that readiness depends on."""

    ok: bool
    why: str


class Health(Answer):
    """Whether the service is well."""

    ok: bool
    why: list[str]
    checks: dict[str, CheckRead]


class ProblemKind(Answer):
    """A code that problems carry."""

    code: str
    status: int
    title: str
