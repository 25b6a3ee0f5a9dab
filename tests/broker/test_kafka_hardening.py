"""What Faust 0.15.3 loses or repeats, shown on its own classes, and that ours do not: one switch, `kind`.

Each test runs the same scenario on real Kafka with `stock` and with `ours`. For `stock` it asserts that the
fault is there, so that a release of Faust that mends it is noticed, and our class can go.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import BrokerMetadata
from faust.transport.drivers.aiokafka import Consumer
from faust.types import TP
from faust.types.tuples import ConsumerMessage

from streams.kafka import DeliveryFailed, changelog_name, group_name, read_topic, topic_name
from streams.kafka.admin import admin_client
from streams.kafka.connection import client_options
from streams.kafka.consolidation_app import ConsolidationApp
from streams.kafka.consumer import OrderedConsumer
from streams.kafka.deadline import Deadline
from streams.kafka.metrics import Metrics
from streams.kafka.offsets import committed_offsets
from streams.kafka.producer import Producer
from streams.kafka.store import memory_stores
from streams.kafka.tables import stamp
from streams.settings import KafkaSettings, Settings
from streams.topics import Topic
from tests.broker import counting
from tests.broker.cluster import Cluster, silence
from tests.broker.logs import configure_topic
from tests.parts.cut import CutConnection
from tests.parts.processes import Process, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]
KINDS = pytest.mark.parametrize("kind", ["stock", "ours"])
LONG_S = 60.0  # a bound that only a hang reaches


# -- the producer ------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def stock_producer(found: Cluster) -> AsyncIterator[tuple[Any, Any]]:
    """Faust's producer, and a topic to send to."""
    app = counting.stock_app(found.settings)
    producer: Any = await app.maybe_start_producer()
    try:
        yield producer, app.topic(topic_name(found.kafka, Topic.FACT_CREATED), **counting.RAW)
    finally:
        await app.stop()


@contextlib.asynccontextmanager
async def our_producer(kafka: KafkaSettings) -> AsyncIterator[Producer]:
    """Our producer."""
    producer = Producer(kafka)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop(Deadline(LONG_S))


@KINDS
def test_flush_returns_when_everything_handed_over_is_acknowledged(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    name = topic_name(found.kafka, Topic.FACT_CREATED)

    async def scenario() -> int:
        """How many of three records are acknowledged when `flush` returns."""
        async with stock_producer(found) as (stock, topic), our_producer(found.kafka) as ours:

            async def with_stock() -> int:
                handed = [topic.send_soon(key=b"k", value=b"v", partition=0) for _ in range(3)]
                await stock.flush()
                return sum(future.done() for future in handed)

            async def with_ours() -> int:
                handed = [await ours.send(name, key=b"k", value=b"v", partition=0) for _ in range(3)]
                await ours.flush()
                return sum(future.done() for future in handed)

            with silence(found.broker):
                runs = {"stock": asyncio.create_task(with_stock()), "ours": asyncio.create_task(with_ours())}
                # The broker is silent until the first of the two says that it is done with its flush.
                await asyncio.wait(runs.values(), timeout=LONG_S, return_when=asyncio.FIRST_COMPLETED)
            return await asyncio.wait_for(runs[kind], LONG_S)

    assert asyncio.run(scenario()) == {"stock": 0, "ours": 3}[kind]


@KINDS
def test_a_record_that_the_broker_refuses_is_an_error_and_no_line_in_the_log(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    name = topic_name(found.kafka, Topic.FACT_CREATED)
    configure_topic(found.kafka, name, {"max.message.bytes": "100"})

    async def scenario() -> bool:
        """Whether `flush` says that a record was refused."""
        if kind == "stock":
            async with stock_producer(found) as (stock, topic):
                future = topic.send_soon(key=b"k", value=b"v" * 1000, partition=0)
                await stock.flush()
                await asyncio.wait({future}, timeout=LONG_S)
                assert future.exception() is not None  # which nobody looks at
                await stock.flush()
                return False
        async with our_producer(found.kafka) as ours:
            await ours.send(name, key=b"k", value=b"v" * 1000, partition=0)
            try:
                await ours.flush()
            except DeliveryFailed:
                return True
        return False

    assert asyncio.run(scenario()) is {"stock": False, "ours": True}[kind]


@KINDS
def test_a_record_whose_acknowledgement_was_lost_is_there_once(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    name = topic_name(found.kafka, Topic.FACT_CREATED)
    host, _, port = found.kafka.bootstrap.partition(":")
    # A broker that does not lead a new partition yet answers with a refusal, and cutting that shows nothing.
    asyncio.run(produce(found.kafka, name, [(b"k", b"first")]))

    async def scenario() -> None:
        async with CutConnection(host, int(port)) as proxy:
            there = BrokerMetadata(1, "127.0.0.1", proxy.port, None)
            if kind == "stock":
                async with stock_producer(found) as (stock, topic):
                    redirect(stock._producer.client, there)
                    await (await topic.send(key=b"k", value=b"v", partition=0))
            else:
                async with our_producer(found.kafka) as ours:
                    assert ours._client is not None
                    redirect(ours._client.client, there)
                    await ours.send(name, key=b"k", value=b"v", partition=0)
                    await ours.flush()
            assert proxy.n_cut == 1

    asyncio.run(scenario())

    assert told(found) == [b"first", *([b"v"] * {"stock": 2, "ours": 1}[kind])]


@KINDS
def test_a_request_to_a_silent_broker_ends_within_the_request_timeout(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    kafka = found.kafka.model_copy(update={"request_timeout_s": 1.0})
    name = topic_name(kafka, Topic.FACT_CREATED)

    async def scenario() -> bool:
        """Whether the wait has ended when the other has lost patience."""
        async with stock_producer(found) as (stock, _), our_producer(kafka) as ours:
            await stock.send_and_wait(name, b"k", b"known", 0, None, None)
            await ours.send(name, key=b"k", value=b"known", partition=0)
            await ours.flush()

            async def with_ours() -> None:
                await ours.send(name, key=b"k", value=b"v", partition=0)
                with pytest.raises(DeliveryFailed, match="no acknowledgement within 1 s"):
                    await ours.flush()

            with silence(found.broker):
                waiting = stock.send_and_wait(name, b"k", b"v", 0, None, None)
                runs = {"stock": asyncio.create_task(waiting), "ours": asyncio.create_task(with_ours())}
                await asyncio.wait(runs.values(), timeout=LONG_S, return_when=asyncio.FIRST_COMPLETED)
                ended = runs[kind].done()
                if kind == "stock":
                    assert stock.request_timeout == 1200  # seconds, which nobody will wait for here
            await asyncio.gather(*runs.values())
            return ended

    assert asyncio.run(scenario()) is {"stock": False, "ours": True}[kind]


# -- the consumer ------------------------------------------------------------------------------


@KINDS
def test_a_record_that_is_not_done_is_not_committed_because_later_ones_are(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    tp: Any = TP("source", 0)

    async def committable() -> dict[Any, int]:
        """What would be committed when offset 0 is under way and 1 and 2 are done."""
        app = counting.stock_app(found.settings)
        make: Any = OrderedConsumer if kind == "ours" else Consumer
        consumer = make(
            app.transport, callback=_never, on_partitions_revoked=_never, on_partitions_assigned=_never
        )
        messages = [
            ConsumerMessage("source", 0, offset, 0.0, 0, [], b"k", b"v", None, 1, 1, tp)
            for offset in range(3)
        ]
        app.topics._acking_topics.add("source")
        for message in messages:
            consumer.track_message(message)
        for message in messages[1:]:
            consumer.ack(message)
        return dict(consumer._filter_committable_offsets(consumer._filter_tps_with_pending_acks()))

    found_offsets = asyncio.run(committable())

    assert found_offsets == {"stock": {tp: 3}, "ours": {}}[kind]


@KINDS
def test_what_a_read_took_before_the_places_were_set_is_read_again(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    name = topic_name(found.kafka, Topic.BY_CLAIM)
    send(found, [(b"a", b""), (b"b", b""), (b"c", b"")])  # nothing of it is committed

    async def scenario() -> int:
        """How many of three records come after the places were set, though they were read before."""
        app: Any = counting.stock_app(found.settings) if kind == "stock" else our_app(found.settings)
        given = asyncio.Event()

        async def assigned(*_: Any) -> None:
            given.set()

        consumer = app.transport.create_consumer(
            callback=_never, on_partitions_revoked=_nothing, on_partitions_assigned=assigned
        )
        await consumer.start()
        try:
            await consumer.subscribe([name])
            await asyncio.wait_for(given.wait(), LONG_S)
            consumer.resume_flow()

            async def read(seconds: float) -> int:
                records = await consumer._getmany(active_partitions={TP(name, 0)}, timeout=seconds)
                return sum(map(len, records.values()))

            n_before = 0
            while n_before < 3:
                n_before += await read(1.0)
            await consumer.perform_seek()
            return await read(5.0)
        finally:
            await asyncio.wait_for(consumer.stop(), LONG_S)

    assert asyncio.run(scenario()) == {"stock": 0, "ours": 3}[kind]


def our_app(settings: Settings) -> ConsolidationApp:
    """The application that counts, on our classes, not started."""
    return ConsolidationApp(
        settings.kafka,
        counting.COUNT,
        metrics=Metrics(),
        open_store=memory_stores(),
        services=[],
        halt=_raise,
        ready=print,
        data=str(settings.data),
    )


def _raise(error: BaseException) -> None:
    raise error


async def _nothing(*_: Any) -> None:
    pass


def redirect(client: Any, there: BrokerMetadata) -> None:
    """Let a client go to another address for every node from now on."""
    client.cluster.broker_metadata = lambda _node: there
    for connection in list(client._conns.values()):
        connection.close()
    client._conns.clear()


async def _never(*_: Any) -> None:
    raise AssertionError("no record is read here")


@KINDS
def test_a_record_whose_handler_raised_is_never_passed_over(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    worker = start(found, kind)

    send(found, [(b"a", b""), (b"b", b"raise"), (b"c", b"")])

    if kind == "stock":
        worker.wait_for(lambda: committed(found) == 3, LONG_S, what="all three to be committed")
        assert told(found) == [b"a 1", b"c 1"]
    else:
        assert worker.wait_for_exit(LONG_S) == 3
        assert committed(found) <= 1
        assert told(found) == [b"a 1"]


@KINDS
def test_what_is_done_is_committed_before_partitions_move(cluster: Callable[..., Cluster], kind: str) -> None:
    found = cluster(partitions=2, FACTDRIFT_KAFKA_COMMIT_INTERVAL_S="3600")
    worker = start(found, kind)
    items = [(b"%d" % number, b"") for number in range(40)]
    send(found, items, partitions=2)
    worker.wait_for(lambda: len(told(found)) == len(items), LONG_S, what="all of them to be counted")

    second = start(found, kind)
    last = [(b"last 0", b""), (b"last 1", b"")]
    if kind == "ours":
        second.wait_for_line("^factdrift worker ready", LONG_S)
        assert committed(found) == len(items)
        send(found, last, partitions=2)
        wait_until(lambda: len(told(found)) >= len(items) + 2, timeout_s=LONG_S, what="the last two")
        assert set(Counter(told(found)).values()) == {1}
    else:
        wait_until(lambda: len(told(found)) > len(items), timeout_s=LONG_S, what="some to be counted again")
        assert committed(found) < len(items)
        assert max(int(line.split()[-1]) for line in told(found)) == 2  # counted twice


# -- the table ---------------------------------------------------------------------------------


@KINDS
def test_nothing_is_committed_whose_changelog_was_not_acknowledged(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    changelog = changelog_name(found.kafka, counting.TABLE)
    worker = start(found, kind)
    configure_topic(found.kafka, changelog, {"max.message.bytes": "1000"})  # ours would not start with that

    send(found, [(b"a", b"large")])

    if kind == "stock":
        worker.wait_for(lambda: committed(found) == 1, LONG_S, what="it to be committed")
        assert asyncio.run(values_of(found.kafka, changelog)) == []  # the count is lost with the worker
    else:
        assert worker.wait_for_exit(LONG_S) == 3
        assert "[delivery_failed]" in worker.log_tail()
        assert committed(found) == 0


@KINDS
def test_recovery_never_takes_an_older_value_for_a_newer_one(
    cluster: Callable[..., Cluster], kind: str
) -> None:
    found = cluster(partitions=1)
    changelog = changelog_name(found.kafka, counting.TABLE)
    # The second is what a worker wrote that was paused for longer than its session.
    for offset, n in ((7, 8), (3, 4)):
        payload = counting.payload_of(n, b"")
        asyncio.run(
            produce(found.kafka, changelog, [(b"a", payload if kind == "stock" else stamp(offset, payload))])
        )
    send(found, [(b"-", b"")] * 8)  # so that offsets are those that the values say they hold

    worker = start(found, kind)
    send(found, [(b"a", b"")])
    worker.wait_for(
        lambda: any(line.startswith(b"a ") for line in told(found)), LONG_S, what="a to be counted"
    )

    assert [line for line in told(found) if line.startswith(b"a ")] == {"stock": [b"a 5"], "ours": [b"a 9"]}[
        kind
    ]


@KINDS
def test_the_consumer_of_records_does_not_hold_changelogs(cluster: Callable[..., Cluster], kind: str) -> None:
    found = cluster(partitions=1)
    worker = start(found, kind)
    send(found, [(b"a", b""), (b"b", b"")])

    worker.wait_for(lambda: len(told(found)) == 2, LONG_S, what="both to be counted")

    def fetched(topic: str) -> bool:
        """Whether the client that runs beside the main thread asked for it."""
        lines = worker.log.read_text().splitlines()
        asked = f"fetch request for partition TopicPartition(topic='{topic}'"
        return any(asked in line and "in MainThread:" not in line for line in lines)

    assert fetched(topic_name(found.kafka, Topic.BY_CLAIM))
    assert fetched(changelog_name(found.kafka, counting.TABLE)) is {"stock": True, "ours": False}[kind]


# -- helpers -----------------------------------------------------------------------------------


def start(found: Cluster, kind: str) -> Process:
    """One more worker that counts."""
    worker = found.start_worker(wait=False, module="tests.broker.counting", arguments=(kind,))
    if kind == "ours":
        worker.wait_for_line("^factdrift worker ready", LONG_S)
    return worker


def send(found: Cluster, items: list[tuple[bytes, bytes]], *, partitions: int = 1) -> None:
    """Give the workers something to count, key by key over the partitions."""
    name = topic_name(found.kafka, Topic.BY_CLAIM)
    for number in range(partitions):
        asyncio.run(produce(found.kafka, name, items[number::partitions], partition=number))


async def produce(
    kafka: KafkaSettings, topic: str, items: list[tuple[bytes, bytes]], *, partition: int = 0
) -> None:
    """Write records to a partition, in their order."""
    producer = AIOKafkaProducer(**client_options(kafka), acks="all", enable_idempotence=True)
    await producer.start()
    try:
        for key, value in items:
            await producer.send_and_wait(topic, value, key=key, partition=partition)
    finally:
        await producer.stop()


def told(found: Cluster) -> list[bytes]:
    """Everything that was told, in the order of the partitions."""

    async def read() -> list[bytes]:
        return [record.value async for record in read_topic(found.settings, Topic.FACT_CREATED)]

    return asyncio.run(read())


def committed(found: Cluster) -> int:
    """How many records the group has committed."""

    async def ask() -> int:
        async with admin_client(found.kafka) as admin:
            held = await committed_offsets(admin, found.kafka, group_name(found.kafka))
        source = topic_name(found.kafka, Topic.BY_CLAIM)
        return sum(max(0, at.offset) for tp, at in held.items() if tp.topic == source)

    return asyncio.run(ask())


async def values_of(kafka: KafkaSettings, topic: str) -> list[bytes]:
    """Every value in partition 0 of a topic."""
    consumer = AIOKafkaConsumer(**client_options(kafka), enable_auto_commit=False)
    await consumer.start()
    try:
        tp = TopicPartition(topic, 0)
        consumer.assign([tp])
        await consumer.seek_to_beginning(tp)
        end = (await consumer.end_offsets([tp]))[tp]
        found: list[bytes] = []
        while await consumer.position(tp) < end:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                found.extend(record.value for record in records)
        return found
    finally:
        await consumer.stop()
