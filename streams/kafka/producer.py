"""The producer: records go into the accumulator at once, and every one of them is accounted for.

`send` does not wait for an acknowledgement; `flush` waits for all of them. A record that is not
acknowledged is never forgotten: from then on every call raises, so that nothing is committed that
depends on it. Decides nothing about what is sent.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from streams.kafka.admin import DEAD_LETTER_BYTES_MAX
from streams.kafka.connection import client_options, translated
from streams.kafka.deadline import Deadline
from streams.kafka.errors import DeliveryFailed
from streams.settings import KafkaSettings

LINGER_MS: Final = 2  # lets the records of one batch share requests; a flush is then at most this much later
BATCH_BYTES: Final = 256 * 1024  # of one partition in one request; measured best between 128 and 512 KiB


class Producer:
    """An idempotent producer whose records are all tracked. For one event loop."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka
        self._client: AIOKafkaProducer | None = None
        self._in_flight: set[asyncio.Future[Any]] = set()
        self._failure: DeliveryFailed | None = None

    async def start(self) -> None:
        """Connect. Raises BrokerUnreachable or BrokerRefused."""
        with translated(self._kafka):
            client = AIOKafkaProducer(
                **client_options(self._kafka),
                enable_idempotence=True,
                acks="all",
                linger_ms=LINGER_MS,
                max_batch_size=BATCH_BYTES,
                max_request_size=DEAD_LETTER_BYTES_MAX,
            )
            try:
                await client.start()
            except BaseException:
                await client.stop()
                raise
        self._client = client

    async def stop(self, deadline: Deadline) -> None:
        """Send what is still waiting, within the deadline, and disconnect."""
        client, self._client = self._client, None
        if client is not None:
            try:
                async with asyncio.timeout(deadline.left_s):
                    await client.stop()
            except TimeoutError:
                await client.client.close()

    async def send(
        self, topic: str, *, key: bytes | None, value: bytes | None, partition: int | None
    ) -> asyncio.Future[Any]:
        """Hand one record over; without `partition` the key decides, as in Java's default partitioner.

        The future holds the record's metadata once it is acknowledged; nobody has to look at it, since
        `flush` does. Waits only where the accumulator is full. Raises DeliveryFailed.
        """
        if self._failure is not None:
            raise self._failure
        assert self._client is not None, "the producer is not started"
        try:
            future: asyncio.Future[Any] = await self._client.send(topic, value, key=key, partition=partition)
        except (KafkaError, AssertionError) as error:  # an unknown partition is an assertion in aiokafka
            raise self._fail(topic, error) from error
        self._in_flight.add(future)
        future.add_done_callback(lambda done: self._settled(topic, done))
        return future

    async def flush(self) -> None:
        """Wait until every record handed over is acknowledged.

        Raises DeliveryFailed when one was not, or when the broker took longer than the request timeout.
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

    def _settled(self, topic: str, done: asyncio.Future[Any]) -> None:
        self._in_flight.discard(done)
        if done.cancelled():
            self._fail(topic, "the record was cancelled")
        elif (error := done.exception()) is not None:
            self._fail(topic, error)

    def _fail(self, what: str, reason: object) -> DeliveryFailed:
        """Remember the first failure: it is what everything after it suffers from."""
        if self._failure is None:
            said = reason if isinstance(reason, str) else f"{type(reason).__name__}: {reason}"
            self._failure = DeliveryFailed(
                f"Kafka at {self._kafka.bootstrap} did not take {what}: {said}. Nothing that depends on it "
                "was committed; mend the broker or the topic, and start again."
            )
            if isinstance(reason, BaseException):
                self._failure.__cause__ = reason
        return self._failure
