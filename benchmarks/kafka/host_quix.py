"""The engine inside a QuixStreams application: RocksDB state with a changelog, at least once.

    python -m benchmarks.kafka.host_quix

QuixStreams keeps state by record key, so it reads the same records, which are keyed by their subject, and
needs no second topic. Run as a process by the benchmark, in a Python that has quixstreams and what factdrift
needs (benchmarks/README.md), with the settings of a worker in the environment.
"""

from __future__ import annotations

from typing import Any, Final

from quixstreams import Application, State, message_context  # type: ignore[import-not-found]  # in a venv
from quixstreams.models import BytesSerializer  # type: ignore[import-not-found]

from benchmarks.kafka.in_one_step import OUTPUTS, OneStep, settings_from_environment, state_folder
from state.instants import Instant
from streams.host import Effects, Output, Record
from streams.kafka import group_name, topic_name
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import Topic

_PRODUCER: Final = {"linger.ms": 5, "batch.size": 256 * 1024}  # of 5, 20, 100 ms the best


class _KeyState:
    """QuixStreams' state of the key under way, as the agents read it."""

    def __init__(self, n_partitions: int) -> None:
        self.n_partitions = n_partitions
        self.under_way: State | None = None

    def get(self, table: str, key: bytes) -> bytes | None:
        assert self.under_way is not None
        found: bytes | None = self.under_way.get_bytes(_name(table, key))
        return found

    def applied(self, _table: str, _key: bytes, _record: Record) -> bool:
        return False

    def take(self, effects: Effects) -> None:
        assert self.under_way is not None
        for write in effects.writes:
            if write.value is None:
                self.under_way.delete(_name(write.table, write.key))
            else:
                self.under_way.set_bytes(_name(write.table, write.key), write.value)


class _ValueOfOutput(BytesSerializer):  # type: ignore[misc]  # for the same reason
    """Outputs travel whole through the dataframe; their value is what is written."""

    def __call__(self, value: Any, ctx: Any) -> Any:
        return super().__call__(value.value, ctx)


def _name(table: str, key: bytes) -> str:
    return f"{table}/{key.decode('latin-1')}"


def application(settings: Settings) -> Application:
    """The whole application."""
    kafka = settings.kafka
    app = Application(
        broker_address=kafka.bootstrap,
        consumer_group=group_name(kafka),
        auto_offset_reset="earliest",
        commit_interval=kafka.commit_interval_s,
        state_dir=state_folder(settings),
        loglevel="WARNING",
        producer_extra_config=_PRODUCER,
        consumer_extra_config={"session.timeout.ms": round(kafka.session_timeout_s * 1000)},
    )
    engine = OneStep(settings)
    state = _KeyState(kafka.partitions)
    outputs = {
        topic: app.topic(topic_name(kafka, topic), key_serializer="bytes", value_serializer=_ValueOfOutput())
        for topic in OUTPUTS
    }

    def step(value: bytes, key: bytes, timestamp: int, _headers: Any, of_key: State) -> list[Output]:
        context = message_context()
        record = Record(
            Topic.OBSERVATIONS, Partition(context.partition), Offset(context.offset), key, value,
            Instant(timestamp),
        )  # fmt: skip
        state.under_way = of_key
        effects = engine.apply(state, record)
        state.take(effects)
        return effects.outputs

    frame = app.dataframe(
        app.topic(topic_name(kafka, Topic.OBSERVATIONS), key_deserializer="bytes", value_deserializer="bytes")
    )
    frame = frame.apply(step, stateful=True, expand=True, metadata=True)
    frame.to_topic(
        lambda output, _key, _timestamp, _headers: outputs[output.topic], key=lambda output: output.key
    )
    return app


def main() -> None:
    """Run until a signal ends it."""
    application(settings_from_environment()).run()


if __name__ == "__main__":
    main()
