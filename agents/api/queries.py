"""What can be asked, parameter by parameter. An unknown one is refused.

A misspelt filter would otherwise answer about everything.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

NAME_MAX: Final = 1_000  # characters; twelve bytes each at worst, as an address writes them

Limit = Annotated[int, Field(ge=1, le=1000, description="Items on a page at most.")]
Cursor = Annotated[
    str | None, Field(max_length=4096, description="`next` of the page before, for the one after it.")
]
Name = Annotated[str | None, Field(max_length=NAME_MAX)]
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
    subject: str = Field(max_length=NAME_MAX, description="In any spelling.")
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

    text: str = Field("", max_length=NAME_MAX, description="As someone types: what begins so comes first.")
    namespace: Name = None


class WhyQuery(KnownQuery):
    """What is to be explained."""

    subject: str = Field(max_length=NAME_MAX, description="In any spelling.")
    predicate: str = Field(max_length=NAME_MAX, description="In any spelling.")
    namespace: Name = Field(None, description="By default the one that has such a claim.")
    object: Name = Field(None, description="Also what became of this value.")
    at: str | None = Field(None, max_length=200, description="Only the facts that hold then, in words.")


class WhyNotQuery(WhyQuery):
    """Which value is asked about."""

    object: str = Field(max_length=NAME_MAX, description="The value.")


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

    subject: str = Field(max_length=NAME_MAX)
    predicate: str = Field(max_length=NAME_MAX)
    namespace: Name = None
    valid_at: ValidAt = None


class UnstableQuery(Query):
    """Of whom it is asked."""

    names: list[Annotated[str, Field(max_length=NAME_MAX)]] | None = Field(
        None, max_length=100, description="Subjects in any spelling; without them all that are unstable."
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
