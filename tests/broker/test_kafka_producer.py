"""Records handed over together: in order, each with its offset known, and none forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop
from aiokafka.conn import create_conn
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.metadata import MetadataRequest

from streams.host import Output
from streams.kafka import DeliveryFailed, read_topic, topic_name
from streams.kafka.deadline import Deadline
from streams.kafka.producer import BATCH_BYTES, Producer, Sent
from streams.keys import Partition
from streams.settings import Settings
from streams.topics import Topic
from tests.broker.cluster import Cluster
from tests.broker.logs import configure_topic

pytestmark = pytest.mark.broker
LONG_S = 60.0  # a bound that only a hang reaches


def send_all(settings: Settings, records: list[tuple[bytes | None, bytes | None]]) -> list[Sent]:
    """Hand records over to partition 0 of `fact-created`, and wait for them."""

    async def scenario() -> list[Sent]:
        producer = Producer(settings.kafka)
        await producer.start()
        try:
            name = topic_name(settings.kafka, Topic.FACT_CREATED)
            sent = await producer.send_all(name, records, partition=0)
            await producer.flush()
            return sent
        finally:
            await producer.stop(Deadline(LONG_S))

    return asyncio.run(scenario())


def written(settings: Settings) -> list[tuple[int, bytes | None, bytes]]:
    """Offset, key and value of what is on `fact-created`."""

    async def read() -> list[tuple[int, bytes | None, bytes]]:
        return [(r.offset, r.key, r.value) async for r in read_topic(settings, Topic.FACT_CREATED)]

    return asyncio.run(read())


def test_records_handed_over_together_keep_their_order_across_batches(
    cluster: Callable[..., Cluster],
) -> None:
    settings = cluster(partitions=1).settings
    records = [(b"k%d" % number, b"v" * (BATCH_BYTES // 10)) for number in range(25)]

    sent = send_all(settings, list(records))

    assert [key for _, key, _ in written(settings)] == [key for key, _ in records]
    assert 1 < len(sent) < len(records)


def test_the_last_offset_of_each_batch_is_that_of_its_last_record(cluster: Callable[..., Cluster]) -> None:
    settings = cluster(partitions=1).settings
    records = [(b"k%d" % number, b"v" * (BATCH_BYTES // 10)) for number in range(25)]

    sent = send_all(settings, list(records))

    counted, number = [], 0
    for batch in sent:
        number += batch.n_records
        counted.append(written(settings)[number - 1][0])
    assert [batch.last_offset for batch in sent] == counted
    assert number == len(records)


def test_a_record_larger_than_a_batch_travels_alone(cluster: Callable[..., Cluster]) -> None:
    settings = cluster(partitions=1).settings
    records = [(b"small", b"v"), (b"large", b"v" * (2 * BATCH_BYTES)), (b"small", b"v")]

    sent = send_all(settings, list(records))

    assert [batch.n_records for batch in sent] == [1, 1, 1]
    assert [(key, len(value)) for _, key, value in written(settings)] == [
        (key, len(value)) for key, value in records
    ]


def test_nothing_handed_over_is_nothing_sent(cluster: Callable[..., Cluster]) -> None:
    settings = cluster(partitions=1).settings

    assert send_all(settings, []) == []


def test_a_batch_that_the_broker_refuses_fails_the_flush_and_everything_after_it(
    cluster: Callable[..., Cluster],
) -> None:
    found = cluster(partitions=1)
    name = topic_name(found.kafka, Topic.FACT_CREATED)
    configure_topic(found.kafka, name, {"max.message.bytes": "100"})

    async def scenario() -> None:
        producer = Producer(found.kafka)
        await producer.start()
        try:
            await producer.send_all(name, [(b"k", b"v" * 1000)], partition=0)
            with pytest.raises(DeliveryFailed):
                await producer.flush()
            with pytest.raises(DeliveryFailed):
                await producer.send_all(name, [(b"k", b"v")], partition=0)
        finally:
            await producer.stop(Deadline(LONG_S))

    asyncio.run(scenario())


def test_outputs_go_where_they_say_and_without_a_partition_where_their_key_says(
    cluster: Callable[..., Cluster],
) -> None:
    found = cluster(partitions=4)
    outputs = [
        Output(Topic.FACT_CREATED, b"a", b"1", Partition(2)),
        Output(Topic.DEAD_LETTERS, b"a", b"2"),
        Output(Topic.FACT_CREATED, b"b", b"3", Partition(2)),
        Output(Topic.FACT_CREATED, b"a", b"4", Partition(1)),
        Output(Topic.DEAD_LETTERS, b"a", b"5"),
    ]

    async def scenario() -> dict[Topic, list[tuple[int, bytes]]]:
        producer = Producer(found.kafka)
        await producer.start()
        try:
            await producer.send_outputs(outputs)
            await producer.flush()
        finally:
            await producer.stop(Deadline(LONG_S))
        return {
            topic: [(r.partition, r.value) async for r in read_topic(found.settings, topic)]
            for topic in (Topic.FACT_CREATED, Topic.DEAD_LETTERS)
        }

    told = asyncio.run(scenario())

    assert sorted(told[Topic.FACT_CREATED]) == [(1, b"4"), (2, b"1"), (2, b"3")]
    assert [value for _, value in told[Topic.DEAD_LETTERS]] == [b"2", b"5"]


def test_a_connection_that_uvloop_has_closed_is_told_as_one(cluster: Callable[..., Cluster]) -> None:
    host, _, port = cluster(partitions=1).kafka.bootstrap.partition(":")

    async def scenario() -> None:
        connection = await create_conn(host, int(port))
        await connection.send(MetadataRequest([]))
        connection._writer.transport.abort()
        await asyncio.sleep(0)  # now it is closed, and the client hears of it a moment later
        with pytest.raises(KafkaConnectionError):
            await connection.send(MetadataRequest([]))
        assert not connection.connected()

    uvloop.run(scenario())
