"""Every topic: what its key is, what it carries, how long it keeps it, and how it is partitioned.

One list, read by the embedded host, the Kafka admin, the docs and the AsyncAPI document. Names are used
with a prefix where a cluster is shared (`FACTDRIFT_KAFKA_PREFIX`).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

DAY_MS: Final = 86_400_000
KEPT_FOR_EVER: Final = -1


class Topic(enum.StrEnum):
    """The name of a topic."""

    OBSERVATIONS = "observations"
    BY_CLAIM = "observations-by-claim"
    CORRECTIONS = "corrections"
    FACT_CREATED = "fact-created"
    FACT_REINFORCED = "fact-reinforced"
    FACT_INVALIDATED = "fact-invalidated"
    FACT_REVISED = "fact-revised"
    FACTS = "facts"
    FACT_LINKS = "fact-links"
    DRIFT_ALERTS = "drift-alerts"
    RULES = "rules"
    RULE_EVENTS = "rule-events"
    CYCLES = "consolidation-cycles"
    DEAD_LETTERS = "observations-dlq"


CHANGE_FEED: Final = (Topic.FACT_CREATED, Topic.FACT_REINFORCED, Topic.FACT_INVALIDATED, Topic.FACT_REVISED)
"""The four topics on which every change of a fact is published."""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What a topic must be. `retention_ms` is -1 where records are kept without limit.

    `key` says in words what the record key is. `stateful` topics have the partition of their subject
    and must all have one number of partitions.
    """

    topic: Topic
    key: str
    carries: str
    compacted: bool = False
    retention_ms: int = 40 * DAY_MS
    stateful: bool = True


TOPICS: Final[tuple[TopicSpec, ...]] = (
    TopicSpec(
        Topic.OBSERVATIONS, "anything", "public input: observations as JSON, from any producer",
        retention_ms=7 * DAY_MS, stateful=False,
    ),
    TopicSpec(
        Topic.BY_CLAIM, "explicit partition", "internal, the record of truth: batches of validated input",
        retention_ms=KEPT_FOR_EVER,
    ),
    TopicSpec(Topic.CORRECTIONS, "subject", "public input: retract", False, 7 * DAY_MS, False),
    TopicSpec(Topic.FACT_CREATED, "subject", "a fact that did not exist before"),
    TopicSpec(Topic.FACT_REINFORCED, "subject", "a fact that gained support"),
    TopicSpec(Topic.FACT_INVALIDATED, "subject", "a fact that was outvoted, denied or withdrawn"),
    TopicSpec(Topic.FACT_REVISED, "subject", "every other change of a fact"),
    TopicSpec(
        Topic.FACTS, "fact id", "the latest state of each fact", compacted=True, retention_ms=KEPT_FOR_EVER
    ),
    TopicSpec(Topic.DEAD_LETTERS, "original key", "what could not be used, and why", stateful=False),
)  # fmt: skip
"""The topics that exist in this release, in the order in which data flows."""

SPEC_OF: Final = {spec.topic: spec for spec in TOPICS}
