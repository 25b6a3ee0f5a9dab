"""The Kafka host: declared agents on a real broker, scaled by partitions and processes."""

from streams.kafka.admin import broker_version, check_topics, create_topics
from streams.kafka.connection import reach
from streams.kafka.errors import (
    BrokerFailed,
    BrokerRefused,
    BrokerUnreachable,
    DeliveryFailed,
    KafkaTrouble,
    OwnershipLost,
    RecordFailed,
    TopicMismatch,
    TopicProblem,
)
from streams.kafka.naming import changelog_name, group_name, intake_group_name, topic_name
from streams.kafka.progress import Progress, progress
from streams.kafka.reading import latest_facts, publish, read_topic, read_topics
from streams.kafka.worker import run_worker

__all__ = [
    "BrokerFailed",
    "BrokerRefused",
    "BrokerUnreachable",
    "DeliveryFailed",
    "KafkaTrouble",
    "OwnershipLost",
    "Progress",
    "RecordFailed",
    "TopicMismatch",
    "TopicProblem",
    "broker_version",
    "changelog_name",
    "check_topics",
    "create_topics",
    "group_name",
    "intake_group_name",
    "latest_facts",
    "progress",
    "publish",
    "reach",
    "read_topic",
    "read_topics",
    "run_worker",
    "topic_name",
]
