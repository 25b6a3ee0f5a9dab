"""The Kafka host: declared agents on a real broker, scaled by partitions and processes."""

from streams.kafka.admin import broker_version, check_topics, create_topics
from streams.kafka.connection import reach
from streams.kafka.cycles_service import Cycles
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
from streams.kafka.naming import (
    changelog_name,
    group_name,
    intake_group_name,
    single_changelog_name,
    topic_name,
)
from streams.kafka.progress import Progress, progress
from streams.kafka.reading import (
    ends_of,
    latest_facts,
    latest_values,
    publish,
    read_topic,
    read_topics,
)
from streams.kafka.worker import run_worker

__all__ = [
    "BrokerFailed",
    "BrokerRefused",
    "BrokerUnreachable",
    "Cycles",
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
    "ends_of",
    "group_name",
    "intake_group_name",
    "latest_facts",
    "latest_values",
    "progress",
    "publish",
    "reach",
    "read_topic",
    "read_topics",
    "run_worker",
    "single_changelog_name",
    "topic_name",
]
