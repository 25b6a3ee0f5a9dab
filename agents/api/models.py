"""The shapes of requests and answers, for the OpenAPI document; tests hold the answers to them.

Answers are written with msgspec from plain values, since pages of facts are many; what is described here is
what they look like. Queries are read by these models, and an unknown parameter is refused: a misspelt filter
would otherwise answer about everything.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from streams.events import (
    Certainty,
    Cycle,
    DriftAlert,
    Fact,
    FactEvent,
    GranularityName,
    Observation,
    RuleEvent,
    Spelling,
    Valid,
)

# -- queries ----------------------------------------------------------------------------------

Limit = Annotated[int, Field(ge=1, le=1000, description="Items on a page at most.")]
Cursor = Annotated[
    str | None, Field(max_length=4096, description="`next` of the page before, for the one after it.")
]
Name = Annotated[str | None, Field(max_length=4096)]
KnownAt = Annotated[
    str | None,
    Field(
        max_length=200,
        description="What was known then, and nothing learnt later: an instant, or words, which mean the "
        "end of that stretch.",
        examples=["last week", "2024-03-01T12:00:00Z"],
    ),
]
ValidAt = Annotated[
    str | None,
    Field(
        max_length=200,
        description="What holds then: an instant, or words, which mean the beginning of that stretch.",
        examples=["2023-05", "yesterday"],
    ),
]


class Query(BaseModel):
    """Base of all queries: what is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class Paged(Query):
    """A question that is answered a page at a time."""

    limit: Limit = 50
    cursor: Cursor = None


class KnownQuery(Query):
    """A question about one thing, as it was known."""

    known_at: KnownAt = None


class FactQuery(KnownQuery):
    """A question about one fact."""

    valid_at: ValidAt = None


class FactsQuery(Paged):
    """Which facts."""

    namespace: Name = None
    subject: Name = Field(None, description="In any spelling.")
    predicate: Name = Field(None, description="In any spelling.")
    object: Name = Field(None, description="A value as anyone writes it.")
    claim_id: Name = None
    state: Literal["open", "contested", "retired"] | None = Field(
        None, description="In this state at the instant asked about."
    )
    contested: bool | None = None
    withdrawn: bool = Field(False, description="Also facts that no evidence carries any more.")
    valid_at: ValidAt = None
    known_at: KnownAt = None
    overlaps: str | None = Field(
        None,
        max_length=200,
        description="What holds at some time within: a window in words or as an interval.",
        examples=["last May", "2020/2022"],
    )


class HistoryQuery(Paged):
    """Of what the history is wanted."""

    namespace: Name = None
    subject: str = Field(max_length=4096, description="In any spelling.")
    predicate: Name = Field(None, description="In any spelling; without it all claims of the subject.")
    known_at: KnownAt = None


class KnownPaged(Paged):
    """A page of what was known."""

    known_at: KnownAt = None


class FactEvidenceQuery(KnownQuery):
    """How much of the evidence of a fact."""

    limit: Limit = 100


class ClaimsQuery(KnownPaged):
    """Which claims."""

    namespace: Name = None
    subject: Name = None
    predicate: Name = None


class SubjectsQuery(Paged):
    """Which subjects."""

    text: str = Field("", max_length=4096, description="As someone types: what begins so comes first.")
    namespace: Name = None


class WhyQuery(KnownQuery):
    """What is to be explained."""

    subject: str = Field(max_length=4096, description="In any spelling.")
    predicate: str = Field(max_length=4096, description="In any spelling.")
    namespace: Name = Field(None, description="By default the one that has such a claim.")
    object: Name = Field(None, description="Also what became of this value.")
    at: str | None = Field(None, max_length=200, description="Only the facts that hold then, in words.")


class WhyNotQuery(WhyQuery):
    """Which value is asked about."""

    object: str = Field(max_length=4096, description="The value.")


class LinksQuery(KnownPaged):
    """Which links; without a claim and an assertion all of them."""

    namespace: Name = None
    subject: Name = Field(None, description="With `predicate`: the links of that claim.")
    predicate: Name = None
    claim_id: Name = None
    assertion_id: Name = Field(None, description="Links from or to it.")
    kind: Literal["confirms", "contradicts", "refines", "supersedes", "invalidates"] | None = None


class AssertionsQuery(KnownQuery):
    """Whose assertions, and when."""

    subject: str = Field(max_length=4096)
    predicate: str = Field(max_length=4096)
    namespace: Name = None
    valid_at: ValidAt = None


class UnstableQuery(Query):
    """Of whom it is asked."""

    names: list[Annotated[str, Field(max_length=4096)]] | None = Field(
        None, max_length=1000, description="Subjects in any spelling; without them all that are unstable."
    )
    namespace: Name = None


class DriftQuery(KnownPaged):
    """Which alerts."""

    namespace: Name = None
    subject: Name = None


class RulesQuery(KnownPaged):
    """Which rules."""

    namespace: Name = None
    standing: Literal["candidate", "active", "demoted", "pruned"] | None = None


class RuleEventsQuery(KnownPaged):
    """Which steps in the life of rules."""

    rule_id: Name = None
    namespace: Name = None


class ChangesQuery(Query):
    """Which changes, and from where on."""

    after: Cursor = Field(None, description="As the header Last-Event-ID, which counts before it.")
    from_start: bool = Field(False, description="Begin with the oldest change instead of the present end.")
    namespace: Name = None
    subject: Name = None
    predicate: Name = None
    event: Literal["fact-created", "fact-reinforced", "fact-invalidated", "fact-revised"] | None = None


# -- answers ----------------------------------------------------------------------------------


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


# -- explanations -----------------------------------------------------------------------------


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


class Bounds(Answer):
    """A window of time."""

    lo: AwareDatetime | None
    hi: AwareDatetime | None
    lo_granularity: GranularityName | None = None
    hi_granularity: GranularityName | None = None
    lo_certainty: Certainty | None = None
    hi_certainty: Certainty | None = None


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
    during: dict[str, Any] | None
    facts: list[ExplainedFact]
    aside: list[Aside]
    duplicates: list[Duplicate]
    retracted: list[str]
    value: Verdict | None


# -- corrections ------------------------------------------------------------------------------


class Target(Query):
    """What a correction speaks about: at least one of `id`, `object` and `observation_ids`."""

    id: str | None = Field(None, description="Of a fact or an assertion.")
    object: Spelling | None = Field(None, description="The value; finds it where the id is known no more.")
    at: str | float | None = Field(None, description="An instant at which it holds.")
    observation_ids: list[str] | None = Field(None, max_length=64)


class Decision(Query):
    """What supersede, invalidate and link have in common."""

    schema_version: Literal[1] | None = None
    correction_id: str | None = Field(
        None, description="The same command twice is one; by default a hash of the content."
    )
    namespace: str | None = None
    subject: str | None = Field(None, description="Left out: that of the fact that target.id names.")
    predicate: str | None = Field(None, description="Left out: that of the fact that target.id names.")
    target: Target
    reason: str = Field(min_length=1, description="Why, for people. Kept for ever.")
    decided_at: str | float | None = Field(None, description="When it was decided; by default now.")
    confidence: float | None = Field(None, ge=0, le=1)


class Supersede(Decision):
    """Close the target, and open another value in its place."""

    op: Literal["supersede"]
    object: Spelling | None = Field(None, description="The value that takes its place.")
    valid_at: str | float | None = Field(None, description="From when on; by default decided_at.")


class Invalidate(Decision):
    """Close the target; nothing takes its place."""

    op: Literal["invalidate"]
    valid_at: str | float | None = Field(None, description="From when on; by default decided_at.")


class Link(Decision):
    """Say how two assertions of one claim relate."""

    op: Literal["link"]
    kind: str = Field(description="confirms, contradicts or refines.")
    source: Target


class Retract(Query):
    """Count an observation as never made."""

    op: Literal["retract"]
    schema_version: Literal[1] | None = None
    observation_id: str
    namespace: str | None = None
    subject: str | None = Field(None, description="Left out: whoever said it, where that is one.")
    reason: str = Field(min_length=1)


class Forget(Query):
    """Erase what an observation, a source or a subject said, wherever it is held."""

    op: Literal["forget"]
    schema_version: Literal[1] | None = None
    correction_id: str | None = None
    scope: Literal["observation", "source", "subject"]
    namespace: str | None = None
    subject: str | None = None
    observation_id: str | None = None
    source: str | None = None
    reason: str = Field(min_length=1)


Correction = Annotated[
    Supersede | Invalidate | Link | Retract | Forget, Field(discriminator="op")
]

__all__ = [name for name in dir() if not name.startswith("_")]
_ = Observation
