"""The engine on stock Faust: one event per record, Faust's own tables, Faust's own producer.

    python -m benchmarks.kafka.host_faust stock|tuned

`stock` leaves every setting of Faust at its default that has nothing to do with where things are; `tuned`
sets what Faust itself offers to go faster. Both keep their tables in memory, Faust's default and its fastest.
Run as a process by the benchmark, with the settings of a worker in the environment.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

import faust
from faust.types import TableT

from benchmarks.kafka.in_one_step import OUTPUTS, OneStep, settings_from_environment, state_folder
from state.instants import Instant
from streams.host import Record
from streams.kafka import group_name, topic_name
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import Topic

_RAW: Final[dict[str, Any]] = {
    "key_type": bytes, "value_type": bytes, "key_serializer": "raw", "value_serializer": "raw",
}  # fmt: skip
_TUNED: Final[dict[str, Any]] = {
    "producer_linger": 0.005,
    "producer_max_batch_size": 256 * 1024,
    "producer_acks": -1,
    "consumer_max_fetch_size": 4 * 1024 * 1024,
    "stream_buffer_maxsize": 16_384,
    "stream_wait_empty": False,
    "stream_recovery_delay": 0.0,
    "broker_max_poll_records": 1_000,
}


class _TableState:
    """Faust's tables, as the agents read them: in the partition of the event under way."""

    def __init__(self, tables: Mapping[str, TableT[bytes, bytes]], n_partitions: int) -> None:
        self.n_partitions = n_partitions
        self._tables = tables

    def get(self, table: str, key: bytes) -> bytes | None:
        found: bytes | None = self._tables[table].get(key)
        return found

    def applied(self, _table: str, _key: bytes, _record: Record) -> bool:
        return False  # nothing tells: that is what stock tables lack


def application(settings: Settings, *, tuned: bool) -> faust.App:
    """The whole application."""
    kafka = settings.kafka
    app = faust.App(
        group_name(kafka),
        broker=f"kafka://{kafka.bootstrap}",
        datadir=str(state_folder(settings)),
        topic_partitions=kafka.partitions,
        broker_session_timeout=kafka.session_timeout_s,
        broker_request_timeout=max(90.0, kafka.session_timeout_s),
        broker_commit_interval=kafka.commit_interval_s,
        web_enabled=False,
        **(_TUNED if tuned else {}),
    )
    engine = OneStep(settings)
    tables = {
        name: app.Table(name, key_type=bytes, value_type=bytes, partitions=kafka.partitions)
        for name in engine.tables
    }
    state = _TableState(tables, kafka.partitions)
    outputs = {topic: app.topic(topic_name(kafka, topic), **_RAW) for topic in OUTPUTS}

    @app.agent(app.topic(topic_name(kafka, Topic.OBSERVATIONS), **_RAW))
    async def take_in(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            message = event.message
            record = Record(
                Topic.OBSERVATIONS, Partition(message.partition), Offset(message.offset),
                message.key, message.value, Instant(round(message.timestamp * 1000)),
            )  # fmt: skip
            effects = engine.apply(state, record)
            for output in effects.outputs:
                await outputs[output.topic].send(
                    key=output.key, value=output.value, partition=output.partition
                )
            for write in effects.writes:
                if write.value is not None:
                    tables[write.table][write.key] = write.value
                elif write.key in tables[write.table]:
                    del tables[write.table][write.key]

    return app


def main() -> None:
    """Run until a signal ends it."""
    tuned = sys.argv[1] == "tuned"
    app = application(settings_from_environment(), tuned=tuned)
    if tuned:
        from mode.loop import use

        use("uvloop")
    faust.Worker(app, loglevel="WARNING", redirect_stdouts=False).execute_from_commandline()


if __name__ == "__main__":
    main()
