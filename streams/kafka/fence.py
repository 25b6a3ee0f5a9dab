"""Who may write for a partition: its newest owner and nobody else, and the broker enforces it.

A worker that was paused for longer than its session has records in its buffers that leave the moment it
wakes, before any code of ours can look at a clock. So every owner of a source partition takes the next epoch
of that partition's fencing id (a transactional id of Kafka), and leaves a marker with it in each partition
that it will write to. From then on the leaders refuse every older epoch. What is written is idempotent and
in no transaction: a fence costs a few requests when partitions move, and nothing for a record.

Why so, and what else was weighed: docs/decisions/fencing.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import ProducerFenced

from streams.kafka.deadline import Deadline
from streams.kafka.errors import BrokerFailed, OwnershipLost
from streams.kafka.naming import fencing_id
from streams.kafka.producer import Producer, producer_options, started
from streams.settings import KafkaSettings

_OPEN_MS: Final = 10_000
"""How long the broker leaves the empty transaction of an owner open that dies in it. Readers of committed
records only wait that long."""


class FencedProducer(Producer):
    """A producer for what follows from one source partition. Started, it is the partition's only writer."""

    def __init__(
        self, kafka: KafkaSettings, partition: int, topics: Sequence[str], *, identity: str | None = None
    ) -> None:
        """`topics` are those that it writes for its partition, to the partition of the same number.

        `identity` is the fencing id, by default that of the partition's claims.
        """
        super().__init__(kafka)
        self._fencing_id = identity or fencing_id(kafka, partition)
        self._partitions = [TopicPartition(topic, partition) for topic in topics]

    async def _connect(self) -> AIOKafkaProducer:
        """1. Take the next epoch. 2. Leave markers. 3. Wait for them. 4. Go on without transactions.

        After 1 the old owner can open no transaction, which it never does. From a marker of 2 on it can
        write nothing to that partition. Kafka writes markers after it has answered, so 3 takes one more
        epoch, which Kafka gives only when all are there. A worker that dies in between leaves a transaction
        without records, which the next owner or `_OPEN_MS` ends.
        """
        timeout_s = self._kafka.request_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                opener = await started(self._transactional())  # 1
                try:
                    await opener.begin_transaction()
                    for partition in self._partitions:
                        opener._txn_manager.maybe_add_partition_to_txn(partition)  # noqa: SLF001 no public way
                    await opener.abort_transaction()  # 2
                finally:
                    await opener.stop()
                client = await started(self._transactional())  # 3
        except ProducerFenced as error:
            raise OwnershipLost(
                f"Another worker took over {self._fencing_id} while this one was about to. Start it again."
            ) from error
        except TimeoutError as error:
            raise BrokerFailed(
                f"Kafka at {self._kafka.bootstrap} did not fence {self._fencing_id} within {timeout_s:g} s. "
                "Look at the broker's log (__transaction_state must have a leader), and start again."
            ) from error
        client._txn_manager.transactional_id = None  # noqa: SLF001 4: the id and epoch stay on every record
        return client

    def _transactional(self) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            **producer_options(self._kafka),
            transactional_id=self._fencing_id,
            transaction_timeout_ms=_OPEN_MS,
        )


class PartitionProducers:
    """One fenced producer for each source partition that this worker owns."""

    def __init__(self, kafka: KafkaSettings, topics: Sequence[str]) -> None:
        self._kafka = kafka
        self._topics = topics
        self._producers: dict[int, FencedProducer] = {}

    def of(self, partition: int) -> FencedProducer:
        """The producer of an owned partition."""
        return self._producers[partition]

    async def take(self, partitions: Iterable[int]) -> None:
        """Own exactly these: fence out whoever owned one before, this worker included.

        Raises BrokerRefused where the user may not use the fencing ids, BrokerFailed, OwnershipLost.
        """
        await self.stop(Deadline(self._kafka.request_timeout_s))
        self._producers = {number: FencedProducer(self._kafka, number, self._topics) for number in partitions}
        # Each is waited for, so that none is still connecting when the first failure stops the worker.
        starting = (producer.start() for producer in self._producers.values())
        for outcome in await asyncio.gather(*starting, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def stop(self, deadline: Deadline) -> None:
        """Send what is still waiting, within the deadline, and own nothing any more."""
        producers, self._producers = self._producers, {}
        await asyncio.gather(*(producer.stop(deadline) for producer in producers.values()))
