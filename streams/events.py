"""Public events as pydantic models: what consumers may rely on, and the source of the JSON Schemas.

Every model carries `schema_version`; fields are only ever added within a version. Events are written by
`streams.wire`, which is faster and held to these models by tests.
"""

from __future__ import annotations

import base64
from typing import Any, ClassVar, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from streams.topics import Topic

SCHEMA_VERSION = 1

GranularityName = Literal[
    "decade", "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"
]
Certainty = Literal["definite", "approximate", "unknown"]
Spelling = str | bool | int | float


class Model(BaseModel):
    """Base of all public models: unknown fields are ignored, so that older readers read newer events."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    topic: ClassVar[Topic]


class Input(Model):
    """Base of what producers write: nothing is converted, and null means absent, as at the door."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Source(Input):
    """Where a statement comes from. A document is known by (id, document)."""

    id: str | None = Field(None, description="Who says so.")
    document: str | None = Field(None, description="In which document. Each document has one vote.")
    supersedes: str | None = Field(
        None, description="The document of the same source that this one replaces."
    )
    category: Literal["direct", "extracted"] | None = Field(
        "direct", description="Said so, or read out of a text."
    )


class Observation(Input):
    """One statement perceived from one source: what producers publish."""

    topic = Topic.OBSERVATIONS
    schema_version: Literal[1] | None = 1
    observation_id: str | None = Field(
        None, description="Unique within its claim; by default a hash of the rest."
    )
    namespace: str | None = Field(
        "default", description="Separate worlds: nothing is ever shared between two."
    )
    subject: str = Field(description="What the statement is about.")
    predicate: str = Field(description="What is said about it. Spaces, hyphens and _ are the same.")
    object: Spelling | None = Field(None, description="The value; absent where there is none.")
    observed_at: str | float = Field(description="When it was said: ISO 8601 (naive is UTC) or Unix time.")
    polarity: Literal["affirmed", "denied"] | None = Field(
        "affirmed", description="denied: does not, or no longer."
    )
    valid_from: str | float | None = Field(
        None, description="When it starts to hold; may be partial: 2023-05."
    )
    valid_to: str | float | None = Field(
        None, description="When it stops to hold, exclusive; may be partial."
    )
    confidence: float | None = Field(1.0, ge=0, le=1, description="How sure the source is.")
    source: Source | None = Field(None, description="Who says so, and in which document.")
    content: str | None = Field(None, description="The verbatim text, for people.")
    origin: str | dict[str, Any] | None = Field(
        None, description="Set on what came out of factdrift; such a statement never votes."
    )


class Retract(Input):
    """A correction: the observation shall count as never made. Permanent, and in any order."""

    topic = Topic.CORRECTIONS
    schema_version: Literal[1] | None = 1
    op: Literal["retract"]
    observation_id: str = Field(description="The observation that is taken back.")
    namespace: str | None = Field(None, description="Its namespace. On Kafka required; embedded: any.")
    subject: str | None = Field(None, description="Its subject. On Kafka required; embedded: any.")
    reason: str | None = Field(None, description="Why, for people.")


class Valid(Model):
    """The half-open span [lo, hi) in which a fact holds. An infinite bound is null, with all it has."""

    lo: AwareDatetime | None = Field(description="The first instant at which it holds; null: not known.")
    hi: AwareDatetime | None = Field(description="The first at which it no longer does; null: no end known.")
    lo_granularity: GranularityName | None = Field(description="How finely lo was given.")
    hi_granularity: GranularityName | None = Field(description="How finely hi was given.")
    lo_certainty: Certainty | None = Field(description="Of lo: definite from ten supporting votes on.")
    hi_certainty: Certainty | None = Field(description="Of hi: definite from ten supporting votes on.")


class Fact(Model):
    """The latest state of a fact, on `facts`; the body of every fact event."""

    topic = Topic.FACTS
    schema_version: Literal[1] = 1
    fact_id: str = Field(
        description="Derived from claim, form and ordinal: the same in every order of arrival."
    )
    version: int = Field(ge=1, description="Rises with every event of this fact; keep the greatest.")
    claim_id: str = Field(description="Derived from namespace, subject and predicate.")
    namespace: str = Field(description="The namespace of its observations.")
    subject: str = Field(description="As most of its claim's evidence spells it.")
    predicate: str = Field(description="As most of its claim's evidence spells it.")
    object: Spelling | None = Field(description="The most frequent spelling; null: there is no object.")
    declared: bool = Field(description="Whether a registry declares the predicate.")
    valid: Valid = Field(description="When it holds.")
    reason: Literal["outvoted", "denied", "ended", "superseded", "invalidated", "withdrawn"] | None = Field(
        description="Why it ends or ended; null while nothing ends it."
    )
    contested: bool = Field(description="Open, but too many of the newest votes are against it.")
    rivals: list[str] = Field(description="Spellings, strongest first; a denial reads “not …”.")
    support: int = Field(ge=0, description="Votes for it: documents, or statements without document.")
    dissent: int = Field(ge=0, description="Votes against it that did not retire it.")
    observations: int = Field(ge=0, description="Supporting statements.")
    confidence: float = Field(ge=0, le=1, description="(support + 1) / (support + dissent + 2).")
    votes: str | None = Field(description="What ended it, in words.")
    form: str = Field(description="First form of its cluster; names the fact within its claim.")
    ordinal: int = Field(ge=0, description="Which episode of that cluster it is, from 0.")
    previous_fact_id: str | None = Field(description="The episode before, where the same value held once.")
    invalidated_by: str | None = Field(description="The fact that took its place.")
    supported_by: list[str] = Field(description="The newest supporting observation ids, at most 8.")
    dissented_by: list[str] = Field(description="The newest dissenting observation ids, at most 8.")
    recorded_at: AwareDatetime = Field(description="When the log learnt what caused this.")
    cycle: int = Field(ge=1, description="The cycle in which this was decided; the first is 1.")
    policy_version: str = Field(
        description="The rules that decided, and the settings that differ from the default."
    )
    model: str | None = Field(description="The vectors that texts of its claim were compared with.")
    degraded: bool = Field(description="Whether vectors were missing, so that only equal texts count as one.")


class FactEvent(Fact):
    """One change of a fact."""

    event_id: str = Field(description="The same on every delivery, whatever crashed in between.")
    event: Literal["fact-created", "fact-reinforced", "fact-invalidated", "fact-revised"] = Field(
        description="What happened; also the name of the topic."
    )
    revision: (
        Literal[
            "ended", "redated", "reworded", "contested", "settled", "reinstated", "scheduled", "recounted"
        ]
        | None
    ) = Field(description="What a fact-revised is about; null on the other events.")
    position: str = Field(description="The internal record that caused it: topic/partition/offset.")
    decided_observed_at: AwareDatetime | None = Field(
        description="When the deciding statement was made; drift counts by it."
    )


class FactCreated(FactEvent):
    """A fact that did not exist before."""

    topic = Topic.FACT_CREATED
    event: Literal["fact-created"]


class FactReinforced(FactEvent):
    """A fact that gained support. One event per fact and batch."""

    topic = Topic.FACT_REINFORCED
    event: Literal["fact-reinforced"]


class FactInvalidated(FactEvent):
    """A fact that was outvoted, denied or withdrawn."""

    topic = Topic.FACT_INVALIDATED
    event: Literal["fact-invalidated"]


class FactRevised(FactEvent):
    """Every other change of a fact; `revision` says which."""

    topic = Topic.FACT_REVISED
    event: Literal["fact-revised"]


class DeadLetter(Model):
    """A record that could not be used, with its bytes, so that it can be mended and sent again."""

    topic = Topic.DEAD_LETTERS
    schema_version: Literal[1] = 1
    dead_letter_id: str = Field(description="The same on every delivery.")
    code: str = Field(description="Why it could not be used: one of the dead-letter codes.")
    message: str = Field(description="The same in one sentence, with the value at fault.")
    origin_topic: str = Field(description="The topic of the record that could not be used.")
    origin_partition: int = Field(description="Its partition.")
    origin_offset: int = Field(description="Its offset.")
    origin_key: str | None = Field(description="Its key, as text; as base64 where it is not UTF-8.")
    recorded_at: AwareDatetime = Field(description="The log's own timestamp of the record.")
    raw: str = Field(description="The original bytes, as text or as base64.")
    raw_encoding: Literal["utf-8", "base64"] = Field(description="How raw is written.")

    def original(self) -> bytes:
        """The bytes of the record that could not be used."""
        return base64.b64decode(self.raw) if self.raw_encoding == "base64" else self.raw.encode("utf-8")


PUBLIC_MODELS: tuple[type[Model], ...] = (
    Observation, Retract, FactCreated, FactReinforced, FactInvalidated, FactRevised, Fact, DeadLetter,
)  # fmt: skip
"""One model per public topic, in the order in which data flows."""


def json_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of every public topic, by the topic's name."""
    return {model.topic.value: model.model_json_schema(mode="validation") for model in PUBLIC_MODELS}
