"""Public events as pydantic models: what consumers may rely on, and the source of the JSON Schemas.

Every model carries `schema_version`; fields are only ever added within a version. Events are written by
`streams.wire`, which is faster and held to these models by tests.
"""

from __future__ import annotations

import base64
from typing import Any, ClassVar, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

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


class Target(Input):
    """What a correction speaks about: at least one of id, object and observation_ids."""

    topic = Topic.CORRECTIONS
    id: str | None = Field(None, description="The fact or assertion, as the decider saw it.")
    object: Spelling | None = Field(None, description="Its value.")
    at: str | float | None = Field(None, description="An instant at which it held.")
    observation_ids: list[str] | None = Field(None, description="Observations that say it, at most 64.")


class Decision(Input):
    """What supersede, invalidate and link share."""

    topic = Topic.CORRECTIONS
    schema_version: Literal[1] | None = 1
    correction_id: str | None = Field(None, description="Unique within its claim; by default a hash.")
    namespace: str | None = Field("default", description="The namespace of the claim.")
    subject: str = Field(description="The subject of the claim, in any spelling.")
    predicate: str = Field(description="The predicate of the claim, in any spelling.")
    target: Target = Field(description="What it is about.")
    reason: str = Field(description="Why; it is kept and shown.")
    decided_at: str | float | None = Field(None, description="When it was decided; by default now.")
    confidence: float | None = Field(1.0, ge=0, le=1, description="How sure the decider is.")


class Supersede(Decision):
    """A decision: the target no longer holds from `valid_at` on, and the object does instead."""

    op: Literal["supersede"]
    object: Spelling | None = Field(None, description="What holds instead.")
    valid_at: str | float | None = Field(None, description="From when on; by default when it was decided.")


class Invalidate(Decision):
    """A decision: the target no longer holds from `valid_at` on, and nothing takes its place."""

    op: Literal["invalidate"]
    valid_at: str | float | None = Field(None, description="From when on; by default when it was decided.")


class Relate(Decision):
    """A decision: how two assertions of one claim relate. It closes nothing."""

    op: Literal["link"]
    kind: Literal["confirms", "contradicts", "refines"] = Field(description="What `source` is to `target`.")
    source: Target = Field(description="The assertion from which the link starts.")


class Forget(Input):
    """An erasure: what an observation, a source or a subject said is erased wherever it is held."""

    topic = Topic.CORRECTIONS
    schema_version: Literal[1] | None = 1
    op: Literal["forget"]
    correction_id: str | None = Field(None, description="Unique; by default a hash.")
    scope: Literal["observation", "source", "subject"] = Field(description="What is forgotten.")
    namespace: str | None = Field("default", description="Where it was said.")
    subject: str | None = Field(None, description="The subject; for a source it may be left out.")
    observation_id: str | None = Field(None, description="The observation, where the scope is one.")
    source: str | None = Field(None, description="The source, where the scope is one.")
    reason: str = Field(description="Why; it is kept.")


class RuleCondition(Input):
    """What a fact must be like; what is left out may be anything."""

    subject: str | None = Field(None, description="Its subject, in any spelling.")
    predicate: str | None = Field(None, description="Its predicate, in any spelling.")
    object: Spelling | None = Field(None, description="Its value; what means the same counts as the same.")


class RuleCommand(Input):
    """What is said of a rule: there is one, it matched, a person vouches for it, it goes."""

    topic = Topic.RULES
    schema_version: Literal[1] | None = 1
    op: Literal["added", "matched", "validated", "removed"] = Field(description="What happened to the rule.")
    name: str | None = Field(
        None, description="Unique within the namespace. Required with added, else instead of rule_id."
    )
    rule_id: str | None = Field(None, description="The rule, instead of its name; not with added.")
    namespace: str | None = Field("default", description="The rule is about the facts of this namespace.")
    when: list[RuleCondition] | None = Field(
        None,
        description="With added: what facts of one subject must be like together. Without it the rule is "
        "matched by matched records alone.",
    )
    description: str | None = Field(None, description="With added: what the rule says, for people.")


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
    closed_by: str | None = Field(description="The correction by which a person ended it.")
    opened_by: str | None = Field(description="The correction by which a person began it.")
    against: str | None = Field(
        description="A correction that had closed this value before; it was said again since."
    )
    recorded_at: AwareDatetime = Field(description="When the log learnt what caused this.")
    cycle: int = Field(ge=1, description="The cycle in which this was decided; the first is 1.")
    policy_version: str = Field(
        description="The rules that decided, and the settings that differ from the default."
    )
    model: str | None = Field(
        description="What texts of its claim were compared by: name@revision/dimension/pooling/threshold."
    )
    degraded: bool = Field(description="Whether vectors were missing, so that only equal texts count as one.")


class FactEvent(Fact):
    """One change of a fact."""

    event_id: str = Field(description="The same on every delivery, whatever crashed in between.")
    event: Literal["fact-created", "fact-reinforced", "fact-invalidated", "fact-revised"] = Field(
        description="What happened; also the name of the topic."
    )
    revision: (
        Literal[
            "ended",
            "redated",
            "reworded",
            "contested",
            "settled",
            "reinstated",
            "scheduled",
            "reclustered",
            "recounted",
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


class DriftCause(Model):
    """A retired fact that is behind a drift alert."""

    fact_id: str = Field(description="The fact; fact-invalidated tells it in full.")
    predicate: str = Field(description="Its predicate, as spelled there.")
    object: Spelling | None = Field(description="Its value; null: there is no object.")
    reason: Literal["outvoted", "denied", "superseded", "invalidated"] = Field(description="Why it ended.")
    decided_observed_at: AwareDatetime = Field(description="When the deciding statement was made.")
    votes: str | None = Field(description="What ended it, in words.")


class FactLink(Model):
    """A relation between two assertions: what one document says of a claim, towards what another says."""

    topic = Topic.FACT_LINKS
    schema_version: Literal[1] = 1
    link_id: str = Field(description="Derived from its ends and its kind: a replay writes nothing new.")
    kind: Literal["confirms", "contradicts", "refines", "supersedes", "invalidates"] = Field(
        description="What `source` is to `target`."
    )
    origin: Literal["inferred", "explicit"] = Field(description="Noticed, or decided by a person.")
    claim_id: str = Field(description="The claim of both.")
    namespace: str = Field(description="The namespace of the claim.")
    subject: str = Field(description="The subject, as claims compare it.")
    predicate: str = Field(description="The predicate, as claims compare it.")
    source: str = Field(description="The assertion from which the link starts.")
    target: str = Field(description="The assertion at which it ends.")
    reason: str | None = Field(description="Why a person decided it; null where it was noticed.")
    confidence: float = Field(ge=0, le=1, description="How sure the decider was.")
    evidence_id: str = Field(description="The observation by which it was noticed, or the correction.")
    recorded_at: AwareDatetime = Field(description="When the log learnt of that.")
    policy_version: str = Field(description="The rules that were in force.")


class DriftAlert(Model):
    """A subject whose facts keep being retired, or that has come to rest. One for each transition."""

    topic = Topic.DRIFT_ALERTS
    schema_version: Literal[1] = 1
    event_id: str = Field(description="The same on every delivery.")
    signal: Literal["unstable", "stable", "churning", "settled"] = Field(
        description="unstable, and later stable: its declared predicates; churning, and later settled: the "
        "others."
    )
    namespace: str = Field(description="The namespace of the subject.")
    subject: str = Field(description="As the newest retired fact in its window spells it.")
    now: AwareDatetime = Field(description="The time of the tick at which this was seen.")
    since: AwareDatetime = Field(description="The time of the tick at which it became unstable or churning.")
    window_start: AwareDatetime = Field(description="30 days before now; what was decided after it counts.")
    count: int = Field(ge=0, description="Facts retired within the window, 256 at most; 0 where it clears.")
    limit: int = Field(ge=0, description="More than this many are too many.")
    lifetime: int = Field(ge=0, description="How often a fact of the subject was ever invalidated.")
    looks_like: Literal["flapping", "move", "disagreement"] | None = Field(
        description="What the causes have in common: values come back, were replaced undisputed, or were "
        "disputed while they held. Null where it clears."
    )
    advice: str | None = Field(description="What to do, in a sentence; null where it clears.")
    causes: list[DriftCause] = Field(description="The retired facts, oldest first; the newest 20 of them.")
    recorded_at: AwareDatetime = Field(description="The log's own timestamp of the tick.")
    cycle: int = Field(ge=1, description="The cycle that was under way at the tick.")
    position: str = Field(description="The internal record that holds the tick: topic/partition/offset.")


class Counters(Model):
    """What happened in a cycle, in numbers."""

    observations_processed: int = Field(ge=0, description="Observations that were not known before.")
    facts_created: int = Field(ge=0, description="Events on fact-created.")
    facts_reinforced: int = Field(ge=0, description="Events on fact-reinforced.")
    facts_invalidated: int = Field(ge=0, description="Events on fact-invalidated.")
    drift_alerts: int = Field(ge=0, description="Events on drift-alerts.")


class NamespaceCounters(Counters):
    """What happened in one namespace."""

    namespace: str = Field(description="The namespace.")


class CycleEdges(Model):
    """What a cycle is joined to: the first 100 of each kind in each partition, each once."""

    PROCESSED: list[str] = Field(description="Ids of observations.")
    CREATED: list[str] = Field(description="Ids of facts.")
    REINFORCED: list[str] = Field(description="Ids of facts.")
    INVALIDATED: list[str] = Field(description="Ids of facts.")


class RuleMatch(Model):
    """A rule that was matched in a cycle."""

    rule_id: str = Field(description="The rule.")
    name: str | None = Field(description="Its name; null where it was removed in the meantime.")
    matches: int = Field(ge=1, description="How many events of facts matched it.")


class CycleOffsets(Model):
    """Which internal records of one partition belong to a cycle."""

    partition: int = Field(ge=0, description="The partition of observations-by-claim.")
    first: int = Field(ge=0, description="The offset of the first record.")
    reached: int = Field(ge=0, description="The offset of the last one, the tick that closed the cycle.")


class Cycle(Counters):
    """The audit of one cycle, of all partitions and namespaces together."""

    topic = Topic.CYCLES
    schema_version: Literal[1] = 1
    audit_id: str = Field(description="The same on every delivery.")
    cycle: int = Field(ge=1, description="Its number; every event of a fact carries it.")
    now: AwareDatetime = Field(description="The time of the tick that closed it.")
    idle: bool = Field(description="Nothing was observed; it was closed because entities are in flux.")
    namespaces: list[NamespaceCounters] = Field(description="The same numbers for each namespace.")
    edges: CycleEdges = Field(description="What it is joined to.")
    edges_cut: bool = Field(
        description="There may be more edges than are listed; the events of the cycle have all."
    )
    rules_matched: list[RuleMatch] = Field(description="The rules that facts of the cycle matched.")
    in_flux: int = Field(ge=0, description="How many entities were unstable or churning at its end.")
    offsets: list[CycleOffsets] = Field(description="How far each partition was read.")
    closed_at: AwareDatetime = Field(description="When the last partition told its part.")


class RuleEvent(Model):
    """One step in the life of a rule, and what the rule was after it."""

    topic = Topic.RULE_EVENTS
    schema_version: Literal[1] = 1
    event_id: str = Field(description="The same on every delivery.")
    event: Literal["added", "matched", "promoted", "demoted", "decayed", "pruned", "removed"] = Field(
        description="What happened; matched at most once in a cycle."
    )
    rule_id: str = Field(description="The rule.")
    namespace: str = Field(description="Its namespace.")
    name: str = Field(description="Its name.")
    when: list[str] = Field(description="Its conditions, as SUBJECT / PREDICATE = OBJECT.")
    description: str | None = Field(description="What it says, for people.")
    standard: bool = Field(description="Whether it is packaged, and never changes.")
    confidence: float = Field(ge=0, le=1, description="What it was worth after this step.")
    standing: Literal["candidate", "active", "demoted", "pruned"] = Field(
        description="What it counted as after this step."
    )
    missed: int = Field(ge=0, description="Cycles since the last match.")
    matches: int = Field(ge=0, description="How often it was matched in all.")
    cycle: int = Field(ge=1, description="The cycle in which this happened.")
    recorded_at: AwareDatetime = Field(description="When the log learnt what caused this.")


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


class WebhookLetter(Model):
    """An event that a receiver of a webhook did not take. It names the event and repeats no word of it."""

    topic = Topic.WEBHOOK_LETTERS
    schema_version: Literal[1] = 1
    dead_letter_id: str = Field(description="Derived from webhook and event: the same on every delivery.")
    webhook: str = Field(description="The name of the webhook in its file.")
    event_id: str = Field(description="The event.")
    code: Literal["refused", "gone", "tries_used_up"] = Field(
        description="It answered that it will never take this event, or any; or the last try failed too."
    )
    message: str = Field(description="What came of the last try, in one sentence.")
    status: int | None = Field(description="The status of its last answer; null: there was none.")
    tries: int = Field(ge=1, description="How often it was tried by the process that gave it up.")
    event_topic: str = Field(description="The topic on which the event stands.")
    event_partition: int = Field(ge=0, description="Its partition.")
    event_offset: int = Field(ge=0, description="Its offset.")
    given_up_at: AwareDatetime = Field(description="When the last try began, by the clock of the sender.")


PUBLIC_MODELS: tuple[type[Model], ...] = (
    Observation, Retract, Supersede, Invalidate, Relate, Forget,
    FactCreated, FactReinforced, FactInvalidated, FactRevised, Fact, FactLink, DriftAlert,
    RuleCommand, RuleEvent, Cycle, DeadLetter, WebhookLetter,
)  # fmt: skip
"""One model per public topic, in the order in which data flows."""


def json_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of each public topic, by name; of several kinds on one topic, any of theirs."""
    return {topic.value: _schema([m for m in PUBLIC_MODELS if m.topic is topic]) for topic in _PUBLIC}


_PUBLIC = tuple(dict.fromkeys(model.topic for model in PUBLIC_MODELS))


def _schema(models: list[type[Model]]) -> dict[str, Any]:
    if len(models) == 1:
        return models[0].model_json_schema(mode="validation")
    kinds, schema = models_json_schema([(model, "validation") for model in models])
    return {
        "title": " or ".join(model.__name__ for model in models),
        "description": "One of these; the field op says which.",
        "oneOf": [kinds[model, "validation"] for model in models],
        **schema,
    }
