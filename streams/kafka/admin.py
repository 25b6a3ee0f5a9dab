"""The topics on a broker: made as they must be, and looked at before anything relies on them.

A topic that is not what it must be loses data quietly (old facts deleted, the record of truth expired,
subjects on the wrong worker), so a worker refuses to start on one. Changes no topic that exists.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, for_code

from streams.kafka.connection import client_options, reach, translated
from streams.kafka.deadline import Deadline
from streams.kafka.errors import BrokerFailed, TopicMismatch, TopicProblem
from streams.kafka.naming import (
    RESET,
    SINGLE_TABLES,
    TABLES,
    changelog_name,
    group_name,
    newest_state,
    read_note,
    single_changelog_name,
    topic_name,
)
from streams.kafka.offsets import committed_offsets
from streams.settings import KafkaSettings, Settings
from streams.topics import DAY_MS, KEPT_FOR_EVER, TOPICS, Topic, TopicSpec

COMPACTION_LAG_MS: Final = DAY_MS
"""How long compaction leaves records alone: a paused worker that wakes and writes an old value over a
newer one must be found out before the newer one is gone."""

KIB: Final = 1024
OBSERVATION_BYTES_MAX: Final = 1024 * KIB
"""Above the 256 KiB that are read, so that a record that is too large arrives and becomes a dead letter."""
BATCH_BYTES_MAX: Final = 2048 * KIB  # of 512 KiB batches, and of one maximal observation alone
DEAD_LETTER_BYTES_MAX: Final = 16 * 1024 * KIB  # JSON may write each byte of an observation as six or more
RECORD_BYTES_MAX: Final = 16 * 1024 * KIB  # events and claims hold up to 16 ids and spellings of any size

_LOOK_AGAIN_S: Final = 0.05

_BYTES_MAX: Final = {
    Topic.OBSERVATIONS: OBSERVATION_BYTES_MAX,
    Topic.CORRECTIONS: OBSERVATION_BYTES_MAX,
    Topic.BY_CLAIM: BATCH_BYTES_MAX,
    Topic.DEAD_LETTERS: DEAD_LETTER_BYTES_MAX,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What one setting of a topic must be. `at_least` lets a number be larger; -1 is without limit."""

    setting: str
    expected: str
    why: str
    at_least: bool = False

    def holds(self, found: str) -> bool:
        """Whether a setting of this value does no harm."""
        if not self.at_least:
            return set(found.split(",")) == set(self.expected.split(","))
        have, need = int(found), int(self.expected)
        if have == KEPT_FOR_EVER:
            return self.setting.startswith("retention.")
        return need != KEPT_FOR_EVER and have >= need


@dataclass(frozen=True, slots=True)
class Wanted:
    """One topic as it must be on the cluster. `partitions` is None where any number does."""

    name: str
    rules: tuple[Rule, ...]
    partitions: int | None


def wanted_topics(kafka: KafkaSettings) -> list[Wanted]:
    """Every topic of this release, and the changelog of every table."""
    found = [
        Wanted(
            topic_name(kafka, spec.topic),
            _rules(spec),
            1 if spec.is_single else kafka.partitions if spec.stateful else None,
        )
        for spec in TOPICS
    ]
    changelog = (*_compacted("a table could not be restored"), *_COMMON, _BYTES)
    found.extend(Wanted(changelog_name(kafka, table), changelog, kafka.partitions) for table in TABLES)
    found.extend(Wanted(single_changelog_name(kafka, table), changelog, 1) for table in SINGLE_TABLES)
    return found


_COMMON: Final = (
    Rule("message.timestamp.type", "LogAppendTime", "the recorded time would be the producer's word for it"),
)
_BYTES: Final = Rule("max.message.bytes", str(RECORD_BYTES_MAX), "a large record would stop the worker", True)


def _rules(spec: TopicSpec) -> tuple[Rule, ...]:
    size = Rule(
        "max.message.bytes",
        str(_BYTES_MAX.get(spec.topic, RECORD_BYTES_MAX)),
        "a large record would be refused",
        True,
    )
    if spec.compacted:
        return (*_compacted("old facts would be deleted"), *_COMMON, size)
    kept = [
        Rule("cleanup.policy", "delete", "records that share a key would be dropped"),
        Rule("retention.ms", str(spec.retention_ms), "records would expire too early", True),
    ]
    if spec.retention_ms == KEPT_FOR_EVER:
        kept.append(Rule("retention.bytes", "-1", "the record of truth would be deleted by size", True))
    return (*kept, *_COMMON, size)


def _compacted(why: str) -> tuple[Rule, ...]:
    return (
        Rule("cleanup.policy", "compact", why),
        Rule(
            "min.compaction.lag.ms",
            str(COMPACTION_LAG_MS),
            "a worker that was paused could undo newer values",
            True,
        ),
    )


async def create_topics(settings: Settings, *, state: int | None = None) -> list[str]:
    """Make the topics that are missing and return their names; the changelogs are those of the newest state,
    or of this one.

    Raises TopicMismatch where one that is there is not what it must be, BrokerUnreachable, BrokerRefused.
    """
    async with admin_client(settings.kafka) as admin:
        present = set(await admin.list_topics())
        newest = newest_state(settings.kafka, present)
        kafka = newest if state is None else settings.kafka.with_state(state)
        wanted = wanted_topics(kafka)
        missing = [topic for topic in wanted if topic.name not in present]
        if missing:
            await _create(kafka, admin, missing)
        problems = await _problems(kafka, admin, [topic for topic in wanted if topic.name in present])
    if problems:
        raise TopicMismatch(kafka.bootstrap, problems)
    return [topic.name for topic in missing]


async def check_topics(settings: Settings) -> list[TopicProblem]:
    """Everything that is wrong with the topics; empty when a worker may start."""
    async with admin_client(settings.kafka) as admin:
        kafka = newest_state(settings.kafka, await admin.list_topics())
        return await _problems(kafka, admin, wanted_topics(kafka))


async def broker_version(settings: Settings) -> str:
    """What a person can recognise the cluster by: Kafka's protocol does not tell the version.

    Raises BrokerUnreachable, BrokerRefused.
    """
    async with admin_client(settings.kafka) as admin:
        cluster = await admin.describe_cluster()
    n_brokers = len(cluster["brokers"])
    return f"cluster {cluster['cluster_id']}, {n_brokers} {'broker' if n_brokers == 1 else 'brokers'}"


@contextlib.asynccontextmanager
async def admin_client(kafka: KafkaSettings) -> AsyncIterator[AIOKafkaAdminClient]:
    """A connected admin client; errors inside the block come out as ours."""
    await reach(kafka)
    with translated(kafka):
        admin = AIOKafkaAdminClient(**client_options(kafka))
        try:
            await admin.start()
            yield admin
        finally:
            await admin.close()


async def _create(kafka: KafkaSettings, admin: AIOKafkaAdminClient, missing: Sequence[Wanted]) -> None:
    new = [
        NewTopic(
            topic.name,
            topic.partitions or kafka.partitions,
            kafka.replication,
            topic_configs={rule.setting: rule.expected for rule in topic.rules},
        )
        for topic in missing
    ]
    response = await admin.create_topics(new)
    for name, code, message, *_ in response.topic_errors:
        error = for_code(code)
        # Somebody else may have made it in the meantime; it is looked at afterwards like any other.
        if code and error is not TopicAlreadyExistsError:
            raise BrokerFailed(
                f'Topic "{name}" could not be made on {kafka.bootstrap}: {message or error.__name__}. '
                "Check FACTDRIFT_KAFKA_PARTITIONS, FACTDRIFT_KAFKA_REPLICATION and the rights of the user."
            )
    await _await_visible(kafka, admin, {topic.name for topic in missing})


async def _await_visible(kafka: KafkaSettings, admin: AIOKafkaAdminClient, names: set[str]) -> None:
    """Return when the broker shows these topics: the controller answers before brokers have heard of them."""
    deadline = Deadline(kafka.request_timeout_s)
    while True:
        visible = {topic["topic"] for topic in await admin.describe_topics() if _usable(topic)}
        if names <= visible:
            return
        if not deadline.left_s:
            raise BrokerFailed(
                f"Kafka at {kafka.bootstrap} made topics that it does not show after {deadline.after_s:g} s: "
                f"{', '.join(sorted(names - visible))}. Its log says more."
            )
        await asyncio.sleep(_LOOK_AGAIN_S)


def _usable(topic: Mapping[str, Any]) -> bool:
    """Whether a topic, as described, is there and every partition has a leader."""
    return not topic["error_code"] and all(not partition["error_code"] for partition in topic["partitions"])


async def _problems(
    kafka: KafkaSettings, admin: AIOKafkaAdminClient, wanted: Sequence[Wanted]
) -> list[TopicProblem]:
    present = {topic["topic"]: topic for topic in await admin.describe_topics() if not topic["error_code"]}
    there = [topic for topic in wanted if topic.name in present]
    settings = await _settings(admin, [topic.name for topic in there])
    missing = [topic for topic in wanted if topic.name not in present]
    lost = await _lost_changelogs(kafka, admin) if missing else set()
    problems = [_missing_problem(topic, lost=topic.name in lost) for topic in missing]
    for topic in there:
        n_partitions = len(present[topic.name]["partitions"])
        if topic.partitions not in (None, n_partitions):
            problems.append(_partitions_problem(kafka, topic, n_partitions))
        for rule in topic.rules:
            found = settings[topic.name].get(rule.setting, "nothing")
            if found == "nothing" or not rule.holds(found):
                problems.append(_setting_problem(kafka, topic, rule, found))
    return problems


async def _lost_changelogs(kafka: KafkaSettings, admin: AIOKafkaAdminClient) -> set[str]:
    """The changelogs, present or not, that must hold something, because the group has committed."""
    committed = await committed_offsets(admin, kafka, group_name(kafka))
    if all(held.offset <= 0 for held in committed.values()):
        return set()
    return {changelog_name(kafka, table) for held in committed.values() for table in read_note(held.metadata)}


def _missing_problem(topic: Wanted, *, lost: bool) -> TopicProblem:
    if lost:
        why, mend = "what its table held is gone and must be derived again from the log", RESET
    else:
        why, mend = "nothing can be read from or written to it", "factdrift topics create"
    return TopicProblem(topic.name, "existence", "a topic", "none", why, mend)


async def _settings(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Every setting of these topics, as text."""
    found: dict[str, dict[str, str]] = {}
    if not names:
        return found
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    for response in await admin.describe_configs(resources):
        for code, message, _kind, name, entries in response.resources:
            if code:
                raise for_code(code)(message)
            found[name] = {entry[0]: entry[1] for entry in entries}
    return found


def _partitions_problem(kafka: KafkaSettings, topic: Wanted, found: int) -> TopicProblem:
    return TopicProblem(
        topic.name,
        "partitions",
        str(topic.partitions),
        str(found),
        "a subject's partition is derived from this number, and every topic with state must have the same",
        f"export FACTDRIFT_KAFKA_PARTITIONS={found}  (where all topics with state have {found}; otherwise "
        f"kafka-topics.sh --bootstrap-server {kafka.bootstrap} --delete --topic {topic.name}  and "
        "factdrift topics create, which loses what this topic holds)",
    )


def _setting_problem(kafka: KafkaSettings, topic: Wanted, rule: Rule, found: Any) -> TopicProblem:
    value = f"[{rule.expected}]" if "," in rule.expected else rule.expected
    return TopicProblem(
        topic.name,
        rule.setting,
        f"{rule.expected} or more" if rule.at_least and rule.expected != "-1" else rule.expected,
        str(found),
        rule.why,
        f"kafka-configs.sh --bootstrap-server {kafka.bootstrap} --alter --entity-type topics "
        f"--entity-name {topic.name} --add-config {rule.setting}={value}",
    )
