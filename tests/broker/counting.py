"""A worker that counts the records of each key, on Faust's own classes or on ours: `python -m … stock|ours`.

The same application twice, so that a test can show what a class of Faust loses and ours does not. It tells
each count on `fact-created` as `<key> <count>`, and keeps it in the table `claims`. Two values are orders:
`raise` lets the handler raise, `large` stores a value of `LARGE` bytes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import struct
import sys
from collections.abc import Sequence
from typing import Any

import faust

from agents.worker import EXIT_REFUSED
from state.errors import FactdriftError
from streams.host import Agent, Effects, Output, Record, State, Write
from streams.kafka import changelog_name, group_name, topic_name
from streams.kafka.worker import run_worker
from streams.settings import Settings
from streams.topics import Topic

TABLE = "claims"
LARGE = 5_000
RAW: dict[str, Any] = {
    "key_type": bytes,
    "value_type": bytes,
    "key_serializer": "raw",
    "value_serializer": "raw",
}
_COUNT = struct.Struct(">I")


def count_in(payload: bytes | None) -> int:
    """The count that a table's value holds; 0 without one."""
    return 0 if payload is None else int(_COUNT.unpack_from(payload)[0])


def payload_of(count: int, value: bytes) -> bytes:
    """What the table holds for a count."""
    return _COUNT.pack(count) + (b"x" * LARGE if value == b"large" else b"")


def told(key: bytes, count: int) -> bytes:
    """What is published for a count."""
    return b"%s %d" % (key, count)


def count(state: State, records: Sequence[Record]) -> Effects:
    """Ours: count each record, once."""
    effects = Effects()
    for record in records:
        if record.value == b"raise":
            raise ValueError("told to raise")
        assert record.key is not None
        found = count_in(state.get(TABLE, record.key))
        if not state.applied(TABLE, record.key, record):
            found += 1
            effects.writes.append(Write(TABLE, record.key, payload_of(found, record.value)))
        effects.outputs.append(
            Output(Topic.FACT_CREATED, record.key, told(record.key, found), record.partition)
        )
    return effects


COUNT = Agent("count", (Topic.BY_CLAIM,), ((TABLE,),), count)


def nothing(_state: State, _records: Sequence[Record]) -> Effects:
    """Intake that makes nothing of nothing."""
    return Effects()


def run_ours(settings: Settings) -> None:
    """The application on our consumer, producer, tables and recovery."""
    run_worker(
        settings,
        Agent("intake", (Topic.OBSERVATIONS,), (), nothing),
        COUNT,
    )


def stock_app(settings: Settings) -> faust.App:
    """The application as one writes it on Faust 0.15.3; nothing of ours is in it."""
    kafka = settings.kafka
    app = faust.App(
        group_name(kafka),
        broker=f"kafka://{kafka.bootstrap}",
        store="memory://",
        processing_guarantee="at_least_once",
        broker_commit_interval=kafka.commit_interval_s,
        broker_session_timeout=kafka.session_timeout_s,
        broker_heartbeat_interval=kafka.session_timeout_s / 10,
        topic_partitions=kafka.partitions,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        autodiscover=False,
        datadir=str(settings.data / f"stock-{os.getpid()}"),
    )
    changelog = app.topic(changelog_name(kafka, TABLE), **RAW, internal=True, acks=False, allow_empty=True)
    table = app.Table(
        TABLE, changelog_topic=changelog, partitions=kafka.partitions, key_type=bytes, value_type=bytes
    )
    output = app.topic(topic_name(kafka, Topic.FACT_CREATED), **RAW)

    async def agent(stream: faust.StreamT[bytes]) -> None:
        async for key, value in stream.items():
            if value == b"raise":
                raise ValueError("told to raise")
            found = count_in(table.get(key)) + 1
            table[key] = payload_of(found, value)
            await output.send(key=key, value=told(key, found))

    app.agent(app.topic(topic_name(kafka, Topic.BY_CLAIM), **RAW), name="count")(agent)
    return app


async def run_stock(settings: Settings) -> None:
    """Until it is killed."""
    settings.data.mkdir(parents=True, exist_ok=True)
    app = stock_app(settings)
    await app.start()
    await asyncio.Event().wait()


def log_fetches() -> None:
    """Log which partitions each client asks for, and in which thread: our recovery runs in the main one."""
    fetches = logging.getLogger("aiokafka.consumer.fetcher")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("in %(threadName)s: %(message)s"))
    fetches.addHandler(handler)
    fetches.setLevel("DEBUG")
    fetches.propagate = False


def main() -> None:
    """Run one of the two with settings from the environment."""
    logging.basicConfig(level="INFO", stream=sys.stderr)
    log_fetches()
    if sys.argv[1] == "ours":
        try:
            run_ours(Settings())
        except FactdriftError as error:
            sys.stderr.write(f"{error}\n")
            sys.exit(EXIT_REFUSED)
    else:
        asyncio.run(run_stock(Settings()))


if __name__ == "__main__":
    main()
