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
    CLOCK = "clock"
    CYCLE_PARTS = "cycle-parts"
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
    WEBHOOK_LETTERS = "webhooks-dlq"


CHANGE_FEED: Final = (Topic.FACT_CREATED, Topic.FACT_REINFORCED, Topic.FACT_INVALIDATED, Topic.FACT_REVISED)
"""The four topics on which every change of a fact is published."""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What a topic must be. `retention_ms` is -1 where records are kept without limit.

    `key` says in words what the record key is. `stateful` topics have the partition of their subject
    and must all have one number of partitions. `is_single` topics have one partition: their records have
    one order.
    """

    topic: Topic
    key: str
    carries: str
    compacted: bool = False
    retention_ms: int = 40 * DAY_MS
    stateful: bool = True
    is_single: bool = False


TOPICS: Final[tuple[TopicSpec, ...]] = (
    TopicSpec(
        Topic.OBSERVATIONS, "anything", "public input: observations as JSON, from any producer",
        retention_ms=7 * DAY_MS, stateful=False,
    ),
    TopicSpec(
        Topic.BY_CLAIM, "explicit partition", "internal, the record of truth: batches of validated input",
        retention_ms=KEPT_FOR_EVER,
    ),
    TopicSpec(
        Topic.CORRECTIONS, "subject", "public input: supersede, invalidate, link, retract, forget",
        retention_ms=7 * DAY_MS, stateful=False,
    ),
    TopicSpec(Topic.FACT_CREATED, "subject", "a fact that did not exist before"),
    TopicSpec(Topic.FACT_REINFORCED, "subject", "a fact that gained support"),
    TopicSpec(Topic.FACT_INVALIDATED, "subject", "a fact that was outvoted, denied or withdrawn"),
    TopicSpec(Topic.FACT_REVISED, "subject", "every other change of a fact"),
    TopicSpec(
        Topic.FACTS, "fact id", "the latest state of each fact", compacted=True, retention_ms=KEPT_FOR_EVER
    ),
    TopicSpec(
        Topic.FACT_LINKS, "link id", "a relation between two assertions of a claim; never changed",
        compacted=True, retention_ms=KEPT_FOR_EVER,
    ),
    TopicSpec(Topic.DRIFT_ALERTS, "subject", "a subject became unstable or churning, or no longer is"),
    TopicSpec(
        Topic.RULES, "rule id", "public input: rules added, matched, validated, removed", stateful=False,
        retention_ms=7 * DAY_MS,
    ),
    TopicSpec(
        Topic.CLOCK, "none", "internal: one record closes one cycle, the first is number 1",
        retention_ms=KEPT_FOR_EVER, stateful=False, is_single=True,
    ),
    TopicSpec(
        Topic.CYCLE_PARTS, "partition", "internal: what each partition did in a cycle, and rule commands",
        stateful=False, is_single=True,
    ),
    TopicSpec(Topic.RULE_EVENTS, "rule id", "every step in the life of a rule", stateful=False),
    TopicSpec(
        Topic.CYCLES, "cycle", "one audit record for each cycle, of all namespaces together", stateful=False
    ),
    TopicSpec(Topic.DEAD_LETTERS, "original key", "what could not be used, and why", stateful=False),
    TopicSpec(
        Topic.WEBHOOK_LETTERS, "event id", "what a webhook's receiver did not take, and why", stateful=False
    ),
)  # fmt: skip
"""The topics that exist in this release, in the order in which data flows."""

SPEC_OF: Final = {spec.topic: spec for spec in TOPICS}
