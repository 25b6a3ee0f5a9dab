"""What things are called on a cluster: topics, groups and changelogs, with the prefix in front.

The only place that puts a prefix before a name, or takes it off again.
"""

from __future__ import annotations

from typing import Final

from streams.settings import KafkaSettings
from streams.topics import Topic

TABLES: Final = ("claims", "claim-pieces", "subjects")
"""The tables that have a changelog. A worker refuses an agent with any other."""


def topic_name(kafka: KafkaSettings, topic: Topic) -> str:
    """The topic's name on the cluster."""
    return f"{kafka.prefix}{topic.value}"


def group_name(kafka: KafkaSettings) -> str:
    """The consumer group in which the workers share the partitions of the claims."""
    return f"{kafka.prefix}{kafka.group}"


def intake_group_name(kafka: KafkaSettings) -> str:
    """The consumer group in which the workers share public input."""
    return f"{kafka.prefix}{kafka.group}-intake"


def changelog_name(kafka: KafkaSettings, table: str) -> str:
    """The topic that holds the changes of a table."""
    return f"{kafka.prefix}{kafka.group}-{table}-changelog"
