"""Building the read model anew, from the log alone.

Embedded, the log holds every event that was ever published. On Kafka the change feed is kept for 40 days;
where its beginning is gone, the events are derived again from the internal topic, which is kept for ever, by
the same agents that made them: the same ids and versions, as long as registry, policy and model are those of
then. What other agents publish (cycles, rules) is as far back there as its topics are kept.

Readers see an empty model at first, then a growing one. A rebuild that was interrupted goes on, or begins
again, with the next one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy import Connection

from agents import composition
from agents.read_model import migrations, projection
from agents.read_model.database import ReadModel
from agents.read_model.following import catch_up, follow_kafka
from streams.embedded import EmbeddedStore
from streams.host import Agent, Record, Write
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import CHANGE_FEED, Topic


def rebuild_embedded(model: ReadModel, store: EmbeddedStore) -> int:
    """Empty the read model and apply an embedded log from its beginning; returns how many records."""
    with model.writing() as connection:
        migrations.empty(connection)
    return catch_up(model, store)


async def rebuild_kafka(model: ReadModel, settings: Settings, *, derive: bool | None = None) -> int:
    """Empty the read model and apply the topics on Kafka; returns how many records.

    `derive` says whether events are derived again; by default only where the change feed is not complete.
    Raises ReadModelError, BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    from streams.kafka.tailing import bounds, tail

    reached = await bounds(settings, projection.TOPICS)
    derive = is_cut(reached) if derive is None else derive
    with model.writing() as connection:
        migrations.empty(connection)
        migrations.note_unfinished(connection, unfinished=derive)
    n_records = 0
    if derive:
        with tempfile.TemporaryDirectory(prefix="factdrift-rebuild-") as folder:
            deriving = Deriving(settings, Path(folder), n_partitions=_n_partitions(reached))
            async for records in tail(settings, [Topic.BY_CLAIM], {}, follow=False):
                with model.writing() as connection:
                    n_records += deriving.apply(connection, records)
            deriving.close()
        # Whatever these records caused is applied, published by now or not; what came later follows below,
        # and so does what other agents publish, as far as it is kept.
        ends = {place: end for place, (_, end) in reached.items() if place[0] in CHANGE_FEED}
        with model.writing() as connection:
            projection.set_offsets(connection, {(t.value, p): end for (t, p), end in ends.items()})
            migrations.note_unfinished(connection, unfinished=False)
    return n_records + await follow_kafka(model, settings, to_end=True)


def is_cut(reached: dict[tuple[Topic, Partition], tuple[Offset, Offset]]) -> bool:
    """Whether retention has removed events of the change feed."""
    return any(first > 0 for (topic, _), (first, _) in reached.items() if topic in CHANGE_FEED)


def _n_partitions(reached: dict[tuple[Topic, Partition], tuple[Offset, Offset]]) -> int:
    return sum(topic is Topic.BY_CLAIM for topic, _ in reached)


class Deriving:
    """Consolidation on tables of its own, whose outputs go into the read model and nowhere else."""

    def __init__(self, settings: Settings, folder: Path, *, n_partitions: int) -> None:
        self._store = EmbeddedStore(folder)
        self._consolidation: Agent = composition.agents(settings, keeps_index=False)[-1]
        self._states = {Partition(p): _Tables(self._store, p, n_partitions) for p in range(n_partitions)}

    def apply(self, connection: Connection, records: Sequence[Record]) -> int:
        """Apply records of the internal topic with all that follows from them; returns how many."""
        n_records = projection.project(connection, records)
        for record in records:
            with self._store.transaction():
                effects = self._consolidation.apply(self._states[record.partition], [record])
                self._states[record.partition].write(effects.writes)
            projection.keep(
                connection,
                [
                    Record(o.topic, record.partition, Offset(0), o.key, o.value, record.recorded_at)
                    for o in effects.outputs
                    if o.topic in projection.TOPICS
                ],
            )
        return n_records

    def close(self) -> None:
        """Close the tables; the folder is the caller's."""
        self._store.close()


class _Tables:
    """The tables of one partition, in a store that several share. Nothing is ever delivered twice here."""

    def __init__(self, store: EmbeddedStore, partition: int, n_partitions: int) -> None:
        self._store = store
        self._partition = partition
        self.n_partitions = n_partitions

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._store.get(self._name(table), key)

    def scan(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._store.items(self._name(table), prefix)

    def applied(self, _table: str, _key: bytes, _record: Record) -> bool:
        return False

    def write(self, writes: Sequence[Write]) -> None:
        self._store.write(Write(self._name(w.table), w.key, w.value) for w in writes)

    def _name(self, table: str) -> str:
        return f"{self._partition}/{table}"
