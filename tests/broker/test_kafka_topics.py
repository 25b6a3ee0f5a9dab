"""The topics on a real broker: made as they must be, and a worker that will not start on anything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from agents import composition
from streams.kafka import (
    BrokerRefused,
    BrokerUnreachable,
    TopicMismatch,
    check_topics,
    create_topics,
    publish,
    topic_name,
)
from streams.kafka.admin import Rule, admin_client
from streams.kafka.naming import SINGLE_TABLES, TABLES
from streams.settings import KafkaSettings, Settings
from streams.topics import TOPICS, Topic
from tests.broker.cluster import Cluster
from tests.parts.processes import free_ports, wait_until

pytestmark = pytest.mark.broker


def test_every_topic_and_changelog_is_made_once_and_then_found_good(cluster: Callable[..., Cluster]) -> None:
    settings = cluster(topics=False).settings
    kafka = settings.kafka

    made = asyncio.run(create_topics(settings))

    expected = [topic_name(kafka, spec.topic) for spec in TOPICS]
    expected += [f"{kafka.prefix}factdrift-{table}-changelog" for table in (*TABLES, *SINGLE_TABLES)]
    assert made == expected
    assert asyncio.run(create_topics(settings)) == []
    assert asyncio.run(check_topics(settings)) == []


@pytest.mark.parametrize(
    ("topic", "setting", "bad", "expected"),
    [
        (Topic.FACTS, "cleanup.policy", "delete", "compact"),
        (Topic.FACTS, "min.compaction.lag.ms", "0", "86400000 or more"),
        (Topic.BY_CLAIM, "retention.ms", "3600000", "-1"),
        (Topic.BY_CLAIM, "retention.bytes", "1000000", "-1"),
        (Topic.FACT_CREATED, "retention.ms", "1000", "3456000000 or more"),
        (Topic.OBSERVATIONS, "message.timestamp.type", "CreateTime", "LogAppendTime"),
        (Topic.BY_CLAIM, "max.message.bytes", "1000000", "2097152 or more"),
    ],
)
def test_a_setting_that_would_do_harm_is_named_with_the_command_that_mends_it(
    cluster: Callable[..., Cluster], topic: Topic, setting: str, bad: str, expected: str
) -> None:
    settings = cluster().settings
    kafka = settings.kafka
    name = topic_name(kafka, topic)
    asyncio.run(_alter(kafka, name, setting, bad))

    (problem,) = wait_until(
        lambda: asyncio.run(check_topics(settings)), timeout_s=30, what="the broker to show the change"
    )

    assert (problem.topic, problem.setting, problem.expected, problem.found) == (name, setting, expected, bad)
    assert problem.mend == (
        f"kafka-configs.sh --bootstrap-server {kafka.bootstrap} --alter --entity-type topics "
        f"--entity-name {name} --add-config {setting}={expected.split(maxsplit=1)[0]}"
    )
    with pytest.raises(TopicMismatch, match=f'Topic "{name}" has {setting}={bad}, expected {expected}'):
        asyncio.run(create_topics(settings))


def test_the_changelogs_that_are_made_are_those_of_the_agents() -> None:
    learning = Settings(trust="learned")  # has every table that there is
    tables = [table for agent in composition.agents(learning, keeps_index=False) for table in agent.tables]

    assert set(tables) == set(TABLES)
    assert len(tables) == len(TABLES)


def test_keeping_records_for_longer_is_no_mismatch(cluster: Callable[..., Cluster]) -> None:
    settings = cluster().settings
    kafka = settings.kafka
    asyncio.run(_alter(kafka, topic_name(kafka, Topic.FACT_CREATED), "retention.ms", "-1"))

    assert asyncio.run(check_topics(settings)) == []


def test_another_number_of_partitions_is_a_mismatch_where_there_is_state(
    cluster: Callable[..., Cluster],
) -> None:
    settings = cluster(topics=False).settings
    kafka = settings.kafka

    async def make() -> None:
        async with admin_client(kafka) as admin:
            names = [topic_name(kafka, topic) for topic in (Topic.OBSERVATIONS, Topic.BY_CLAIM)]
            await admin.create_topics([NewTopic(name, 3, 1) for name in names])

    asyncio.run(make())
    (counted,) = wait_until(
        lambda: [p for p in asyncio.run(check_topics(settings)) if p.setting == "partitions"],
        timeout_s=30,
        what="the broker to show the topics",
    )

    assert (counted.topic, counted.expected, counted.found) == (topic_name(kafka, Topic.BY_CLAIM), "4", "3")
    assert "FACTDRIFT_KAFKA_PARTITIONS=3" in counted.mend


def test_a_worker_refuses_to_start_without_its_topics(cluster: Callable[..., Cluster]) -> None:
    found = cluster(topics=False)

    worker = found.start_worker(wait=False)

    assert worker.wait_for_exit(60) == 3
    assert "factdrift topics create" in worker.log_tail()
    assert "Traceback" not in worker.log_tail()


def test_a_worker_without_a_broker_says_what_to_do(cluster: Callable[..., Cluster]) -> None:
    found = cluster()
    silent = f"127.0.0.1:{free_ports(1)[0]}"

    worker = found.start_worker(wait=False, FACTDRIFT_KAFKA_BOOTSTRAP=silent)

    assert worker.wait_for_exit(60) == 3
    said = worker.log_tail()
    assert f"Kafka at {silent} (PLAINTEXT) does not answer" in said
    assert "set FACTDRIFT_KAFKA_BOOTSTRAP" in said
    assert "Traceback" not in said


def test_a_publisher_without_a_broker_gets_the_same_sentence() -> None:
    settings = Settings(kafka=KafkaSettings(bootstrap=f"127.0.0.1:{free_ports(1)[0]}"))

    with pytest.raises(BrokerUnreachable, match="does not answer"):
        asyncio.run(publish(settings, Topic.OBSERVATIONS, [(None, b"{}")]))


def test_a_broker_that_speaks_no_tls_is_told_from_one_that_is_silent(cluster: Callable[..., Cluster]) -> None:
    found = cluster(topics=False)
    settings = Settings(kafka=found.kafka.model_copy(update={"security_protocol": "SSL"}))

    with pytest.raises(
        BrokerRefused, match=r"something else than SSL\. Set FACTDRIFT_KAFKA_SECURITY_PROTOCOL"
    ):
        asyncio.run(publish(settings, Topic.OBSERVATIONS, [(None, b"{}")]))


def test_sasl_without_a_password_says_what_to_set() -> None:
    settings = Settings(kafka=KafkaSettings(security_protocol="SASL_SSL", username="kim"))

    with pytest.raises(BrokerRefused, match="FACTDRIFT_KAFKA_PASSWORD"):
        asyncio.run(publish(settings, Topic.OBSERVATIONS, [(None, b"{}")]))


@pytest.mark.parametrize(
    ("rule", "found", "holds"),
    [
        (Rule("cleanup.policy", "compact", ""), "compact", True),
        (Rule("cleanup.policy", "compact", ""), "compact,delete", False),
        (Rule("retention.ms", "1000", "", True), "1000", True),
        (Rule("retention.ms", "1000", "", True), "999", False),
        (Rule("retention.ms", "1000", "", True), "-1", True),
        (Rule("retention.ms", "-1", "", True), "-1", True),
        (Rule("retention.ms", "-1", "", True), "999999999999", False),
        (Rule("max.message.bytes", "1000", "", True), "2000", True),
    ],
)
def test_a_rule_knows_more_from_less(rule: Rule, found: str, holds: bool) -> None:
    assert rule.holds(found) is holds


async def _alter(kafka: KafkaSettings, topic: str, setting: str, value: str) -> None:
    """Set one setting; the protocol's call replaces all, so the others are given again."""
    async with admin_client(kafka) as admin:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (response,) = await admin.describe_configs([resource])
        ((_code, _message, _kind, _name, entries),) = response.resources
        kept = {entry[0]: entry[1] for entry in entries if entry[3] == 1}  # set on the topic itself
        (answer,) = await admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, {**kept, setting: value})]
        )
        assert [code for code, *_ in answer.resources] == [0]
