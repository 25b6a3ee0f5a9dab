"""The producer: records go into the accumulator at once, and every one of them is accounted for.

`send` does not wait for an acknowledgement; `flush` waits for all of them. A record that is not
acknowledged is never forgotten: from then on every call raises, so that nothing is committed that
depends on it. Decides nothing about what is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, ProducerFenced

from streams.host import Output
from streams.kafka.admin import DEAD_LETTER_BYTES_MAX
from streams.kafka.connection import client_options, translated
from streams.kafka.deadline import Deadline
from streams.kafka.errors import DeliveryFailed, KafkaTrouble, OwnershipLost
from streams.kafka.naming import topic_name
from streams.settings import KafkaSettings
from streams.topics import Topic
from streams.trace_headers import Headers, headers_of

LINGER_MS: Final = 2  # lets the records of one batch share requests; a flush is then at most this much later
BATCH_BYTES: Final = 256 * 1024  # of one partition in one request; measured best between 128 and 512 KiB


KeyAndValue = tuple[bytes | None, bytes | None]
_NONE: Final[Mapping[int, Headers]] = {}
_NO_HEADERS: Final[Headers] = []  # the client wants a list


@dataclass(frozen=True, slots=True)
class Sent:
    """Some records of one partition on their way together."""

    future: asyncio.Future[Any]
    n_records: int

    @property
    def last_offset(self) -> int:
        """The offset of the last one. To be asked for once they are acknowledged."""
        return int(self.future.result().offset) + self.n_records - 1


class Producer:
    """An idempotent producer whose records are all tracked. For one event loop."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka
        self._client: AIOKafkaProducer | None = None
        self._in_flight: set[asyncio.Future[Any]] = set()
        self._failure: KafkaTrouble | None = None

    async def start(self) -> None:
        """Connect. Raises BrokerUnreachable or BrokerRefused."""
        with translated(self._kafka):
            self._client = await self._connect()

    async def _connect(self) -> AIOKafkaProducer:
        return await started(AIOKafkaProducer(**producer_options(self._kafka), enable_idempotence=True))

    async def stop(self, deadline: Deadline) -> None:
        """Send what is still waiting, within the deadline, and disconnect."""
        client, self._client = self._client, None
        if client is not None:
            try:
                async with asyncio.timeout(deadline.left_s):
                    await client.stop()
            except TimeoutError:
                # What stopped the worker is what is to be told, and not that its client ends badly too.
                with contextlib.suppress(Exception):
                    await client.client.close()

    async def send(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        headers: Headers = (),
    ) -> asyncio.Future[Any]:
        """Hand one record over; without `partition` the key decides, as in Java's default partitioner.

        The future holds the record's metadata once it is acknowledged; nobody has to look at it, since
        `flush` does. Waits only where the accumulator is full. Raises DeliveryFailed, OwnershipLost.
        """
        if self._failure is not None:
            raise self._failure
        assert self._client is not None, "the producer is not started"
        try:
            future: asyncio.Future[Any] = await self._client.send(
                topic, value, key=key, partition=partition, headers=headers or None
            )
        except (KafkaError, AssertionError) as error:  # an unknown partition is an assertion in aiokafka
            raise self._fail(topic, error) from error
        self._track(topic, future)
        return future

    async def send_all(
        self,
        topic: str,
        records: Iterable[KeyAndValue],
        *,
        partition: int,
        headers: Mapping[int, Headers] = _NONE,
    ) -> list[Sent]:
        """Hand over records of one partition, in their order, in as few batches as their size allows.

        One future stands for a whole batch, and a whole batch does not linger: where many records go to one
        partition this costs a fraction of `send` for each. `headers` are those of the records that have any,
        by their number. Otherwise as `send`.
        """
        if self._failure is not None:
            raise self._failure
        client = self._client
        assert client is not None, "the producer is not started"
        sent: list[Sent] = []
        batch = client.create_batch()
        for number, (key, value) in enumerate(records):
            own = headers.get(number, _NO_HEADERS) if headers else _NO_HEADERS
            if batch.append(timestamp=None, key=key, value=value, headers=own) is None:  # full
                sent.append(await self._send_batch(client, batch, topic, partition))
                batch = client.create_batch()
                batch.append(timestamp=None, key=key, value=value, headers=own)  # an empty one takes any size
        if batch.record_count():
            sent.append(await self._send_batch(client, batch, topic, partition))
        return sent

    async def send_outputs(self, outputs: Iterable[Output]) -> None:
        """Hand over what an agent wants written; records of one partition keep their order."""
        together: dict[tuple[Topic, int], list[KeyAndValue]] = {}
        headers: dict[tuple[Topic, int], dict[int, Headers]] = {}
        for output in outputs:
            if output.partition is None:
                name = topic_name(self._kafka, output.topic)
                own = headers_of(output.topic, output.trace)
                await self.send(name, key=output.key, value=output.value or None, partition=None, headers=own)
                continue
            place = (output.topic, int(output.partition))
            records = together.setdefault(place, [])
            if output.trace is not None:
                headers.setdefault(place, {})[len(records)] = headers_of(output.topic, output.trace)
            records.append((output.key, output.value or None))
        for place, records in together.items():
            name = topic_name(self._kafka, place[0])
            await self.send_all(name, records, partition=place[1], headers=headers.get(place, _NONE))

    async def _send_batch(self, client: AIOKafkaProducer, batch: Any, topic: str, partition: int) -> Sent:
        batch.close()  # nothing else gets into it, so that its last offset is that of its last record
        try:
            future: asyncio.Future[Any] = await client.send_batch(batch, topic, partition=partition)
        except (KafkaError, AssertionError) as error:  # an unknown partition is an assertion in aiokafka
            raise self._fail(topic, error) from error
        self._track(topic, future)
        return Sent(future, batch.record_count())

    def _track(self, topic: str, future: asyncio.Future[Any]) -> None:
        self._in_flight.add(future)
        future.add_done_callback(lambda done: self._settled(topic, done))

    async def flush(self) -> None:
        """Wait until every record handed over is acknowledged.

        Raises DeliveryFailed when one was not, or when the broker took longer than the request timeout;
        OwnershipLost when the broker refused one because the partition has a new owner.
        """
        deadline = Deadline(self._kafka.request_timeout_s)
        while self._in_flight and self._failure is None:
            _, waiting = await asyncio.wait(set(self._in_flight), timeout=deadline.left_s)
            if waiting and not deadline.left_s:
                raise self._fail(
                    f"{len(waiting)} records", f"no acknowledgement within {deadline.after_s:g} s"
                )
        if self._failure is not None:
            raise self._failure

    async def ping(self) -> bool:
        """Whether a broker answers now. Takes as long as the client waits for one; raises nothing."""
        try:
            return self._client is not None and bool(await self._client.client.force_metadata_update())
        except (KafkaError, OSError):
            return False

    def _settled(self, topic: str, done: asyncio.Future[Any]) -> None:
        self._in_flight.discard(done)
        if done.cancelled():
            self._fail(topic, "the record was cancelled")
        elif (error := done.exception()) is not None:
            self._fail(topic, error)

    def _fail(self, what: str, reason: object) -> KafkaTrouble:
        """Remember the first failure: it is what everything after it suffers from."""
        if self._failure is None and isinstance(reason, ProducerFenced):
            self._failure = OwnershipLost(
                f"Kafka refused {what}, because another worker owns the partition: this one was paused or "
                "cut off for longer than its session, and wrote nothing since. Start it again."
            )
        if self._failure is None:
            said = reason if isinstance(reason, str) else f"{type(reason).__name__}: {reason}"
            self._failure = DeliveryFailed(
                f"Kafka at {self._kafka.bootstrap} did not take {what}: {said}. Nothing that depends on it "
                "was committed; mend the broker or the topic, and start again."
            )
            if isinstance(reason, BaseException):
                self._failure.__cause__ = reason
        return self._failure


def producer_options(kafka: KafkaSettings) -> dict[str, Any]:
    """The arguments that every producer of ours takes."""
    return {
        **client_options(kafka),
        "acks": "all",
        "linger_ms": LINGER_MS,
        "max_batch_size": BATCH_BYTES,
        "max_request_size": DEAD_LETTER_BYTES_MAX,
    }


async def started(client: AIOKafkaProducer) -> AIOKafkaProducer:
    """The client, connected; one that cannot connect leaves nothing open."""
    try:
        await client.start()
    except BaseException:
        await client.stop()
        raise
    return client
