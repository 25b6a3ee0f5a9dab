"""What things are called on a cluster: topics, groups, changelogs and the notes of commits, prefix in front.

The only place that puts a prefix before a name, or takes it off again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, unquote

from streams.settings import KafkaSettings
from streams.topics import Topic

TABLES: Final = (
    "claims", "claim-pieces", "subjects", "cycles", "assertions", "assertion-pages", "drift", "cycle-parts",
    "cycle-alerts", "rule-patterns", "forgotten", "trust-counted", "trust-stands", "trust-snapshots",
)  # fmt: skip
"""The tables that have a changelog. A worker refuses an agent with any other."""

SINGLE_TABLES: Final = ("cycle-audit", "cycle-open", "rules", "trust-totals")
"""The tables of the audit, which runs once for all partitions: their changelogs have one partition."""

RESET: Final = "factdrift reset"
"""The command that derives the tables again from the internal topic."""


def topic_name(kafka: KafkaSettings, topic: Topic) -> str:
    """The topic's name on the cluster."""
    return f"{kafka.prefix}{topic.value}"


def group_name(kafka: KafkaSettings) -> str:
    """The consumer group in which the workers share the partitions of the claims. Each state has its own."""
    first = f"{kafka.prefix}{kafka.group}"
    return f"{first}-state-{kafka.state}" if kafka.state else first


def intake_group_name(kafka: KafkaSettings) -> str:
    """The consumer group in which the workers share public input."""
    return f"{kafka.prefix}{kafka.group}-intake"


def cycles_group_name(kafka: KafkaSettings) -> str:
    """The consumer group that decides which worker owns the clock and the audit of cycles."""
    return f"{kafka.prefix}{kafka.group}-cycles"


def single_changelog_name(kafka: KafkaSettings, table: str) -> str:
    """The topic that holds the changes of a table of the audit. One for all states: rules outlive a reset."""
    return f"{kafka.prefix}{kafka.group}-{table}-changelog"


def drift_group_name(kafka: KafkaSettings) -> str:
    """The consumer group in which the workers fill the projection of drift."""
    return f"{kafka.prefix}{kafka.group}-drift"


def webhook_group_name(kafka: KafkaSettings, webhook: str) -> str:
    """The consumer group that knows how far the receiver of a webhook is."""
    return f"{kafka.prefix}{kafka.group}-webhook-{webhook}"


def fencing_id(kafka: KafkaSettings, partition: int) -> str:
    """The transactional id that says who owns a partition: each owner takes its next epoch."""
    return f"{group_name(kafka)}-{partition}"


def changelog_name(kafka: KafkaSettings, table: str) -> str:
    """The topic that holds the changes of a table."""
    return f"{group_name(kafka)}-{table}-changelog"


def present_states(kafka: KafkaSettings, topics: Iterable[str]) -> list[int]:
    """The states of the tables that have a changelog among these topics, oldest first."""
    first = re.escape(group_name(kafka.with_state(0)))
    pattern = re.compile(rf"{first}(?:-state-(\d+))?-(?:{'|'.join(TABLES)})-changelog")
    found = (pattern.fullmatch(name) for name in topics)
    return sorted({int(match[1] or 0) for match in found if match})


def newest_state(kafka: KafkaSettings, topics: Iterable[str]) -> KafkaSettings:
    """The settings for the newest state that is there: the one that workers use."""
    return kafka.with_state(max(present_states(kafka, topics), default=0))


def note_of(reached: Mapping[str, int | None], marks: Mapping[str, str] = MappingProxyType({})) -> str:
    """The last offset of each table's changelog in one partition, as text for a commit.

    `marks` are what the tables are built with, by name. Every release reads the offsets of such a note.
    """
    found = [f"{table}={offset}" for table, offset in sorted(reached.items()) if offset is not None]
    found += [f"{name}={_MARKED}{quote(value, safe='')}" for name, value in sorted(marks.items())]
    return ",".join(found)


def read_note(note: str) -> dict[str, int]:
    """The offsets of a note of `note_of`. A commit of another tool says nothing, and is no error."""
    return {table: int(offset) for table, offset in _entries(note) if offset.isdecimal()}


def read_marks(note: str) -> dict[str, str]:
    """The marks of a note of `note_of`; none in one of another tool, or of a release without them."""
    return {name: unquote(value[1:]) for name, value in _entries(note) if value.startswith(_MARKED)}


_MARKED: Final = "~"  # before the value of a mark, so that none looks like an offset


def _entries(note: str) -> Iterator[tuple[str, str]]:
    for entry in note.split(","):
        name, _, value = entry.rpartition("=")
        if name:
            yield name, value
