"""How far the read model is behind its log, in records of each topic that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from agents.read_model import projection
from streams.embedded import PARTITION, EmbeddedStore
from streams.topics import SPEC_OF, Topic

Places = Mapping[tuple[str, int], int]
"""An offset for each topic and partition."""


@runtime_checkable
class TellsLag(Protocol):
    """A service that knows how far behind what it answers is."""

    async def lag(self) -> dict[str, int]:
        """Records that are in the log and not in the answers yet, by topic. Raises FactdriftError."""
        ...


def behind(ends: Places, reached: Places) -> dict[str, int]:
    """Records between where reading has got to and the ends, by topic; those of all partitions together."""
    found: dict[str, int] = {}
    for (topic, partition), end in ends.items():
        found[topic] = found.get(topic, 0) + max(end - reached.get((topic, partition), 0), 0)
    return found


def ends_of_embedded(store: EmbeddedStore) -> dict[tuple[str, int], int]:
    """The ends of what the read model reads of an embedded log; compacted topics have none."""
    topics: list[Topic] = [topic for topic in projection.TOPICS if not SPEC_OF[topic].compacted]
    return {(topic.value, PARTITION): store.end(topic, PARTITION) for topic in topics}
