"""Faust's consumer, made to commit exactly what is durable, in order, before it lets go of a partition.

Stock Faust 0.15.3 marks a record as done when a stream has let go of it: also when the handler raised, also
when the record was skipped because of a rebalance. It then guesses, from gaps, what may be committed; and on
a rebalance it forgets what was done before it commits. Here a record is done when the handler says so
(`mark_done`), and only that is committed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata
from faust.tables.recovery import RebalanceAgain
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.transports import ConsumerT
from mode.threads import ServiceThread, WorkerThread

from streams.kafka.deadline import Deadline
from streams.kafka.errors import BrokerFailed
from streams.kafka.health import Standing

_log = logging.getLogger(__name__)
HEARTBEATS_PER_SESSION: Final = 10
_HEARTBEAT_S_MAX: Final = 3.0  # a worker learns of a rebalance with its next heartbeat
_THREAD_STOP_S: Final = 5.0
_READ_S: Final = 0.2  # how long one read waits for records; places are set between two
REVOKE_SHARE: Final = 0.9
"""How much of the rebalance timeout a worker takes to finish its batch and commit; then the broker goes on
without it."""


def heartbeat_s(session_timeout_s: float) -> float:
    """How often a worker tells the broker that it lives, in seconds."""
    return min(session_timeout_s / HEARTBEATS_PER_SESSION, _HEARTBEAT_S_MAX)


def _of_client(tp: TP) -> TopicPartition:
    return TopicPartition(tp.topic, tp.partition)


class _ThreadOfClient(WorkerThread):
    """A thread that a worker which stops leaves behind where it does not end.

    The client waits without end for a broker that is silent, cancelled or not; stock threads would keep the
    process alive with it, and waiting for them would hold up everything else that stops.
    """

    def __init__(self, service: ServiceThread, **kwargs: Any) -> None:
        super().__init__(service, **kwargs)
        self.daemon = True

    def stop(self) -> None:
        """Wait for its end, but not for long: the loop stands still meanwhile."""
        if self.is_stopped.wait(_THREAD_STOP_S):
            super().stop()
        else:
            _log.warning("The client of Kafka did not stop; the process ends without it.")


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """The thread in which the heartbeats run; it also carries the beat of the lease."""

    Worker = _ThreadOfClient

    async def on_start(self) -> None:
        """Connect, and start the beat."""
        await super().on_start()
        app: Any = self.app
        self.add_future(app.lease.beat())

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Fetch from the source alone: Faust would hold the start of every changelog in memory, unread."""
        app: Any = self.app
        for_recovery = [_of_client(tp) for tp in assigned if tp.topic != app.source_topic]
        self._ensure_consumer().pause(*for_recovery)
        await super().on_partitions_assigned(assigned, generation_id)

    async def _commit(self, offsets: Any) -> bool:
        """Commit in the thread of the client. A refusal because of a rebalance is no failure: what was not
        committed is read again and found applied.
        """
        consumer = self._ensure_consumer()
        try:
            await consumer.commit({TopicPartition(*tp): held for tp, held in offsets.items()})
        except (CommitFailedError, IllegalStateError) as error:
            _log.info(
                "Offsets were not committed, because the partitions are being given out anew: %s", error
            )
            return False
        return True


class OrderedConsumer(driver.Consumer):
    """Commits what `mark_done` said, and nothing else."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._done: dict[TP, int] = {}
        self._reading = asyncio.Lock()  # held while records are read, and while places are set

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def mark_done(self, tp: TP, next_offset: int) -> None:
        """Say that everything before `next_offset` is durable. Never goes back within an assignment."""
        self._done[tp] = max(next_offset, self._done.get(tp, 0))

    async def commit_done(self) -> None:
        """Commit everything that is done by now, after a commit that may already be under way."""
        await self.maybe_wait_for_commit_to_finish()
        await self.force_commit()

    async def note_again(self, offsets: Mapping[int, int]) -> None:
        """Commit what is committed for these partitions again, with the note of today.

        Only before the first record of an assignment is handled: it would take back later commits.
        """
        app: Any = self.app
        topic = app.source_topic
        await self._commit_offsets({TP(topic, partition): at for partition, at in offsets.items()})

    def standings(self, group: str, topic: str) -> list[Standing]:
        """Where the partitions of a topic stand, as far as the client knows by now. Asks nobody."""
        client: Any = self._thread._consumer  # noqa: SLF001 it belongs to our own thread
        found: list[Standing] = []
        if client is None:
            return found
        # The thread may give partitions away while they are looked at: then they have no standing.
        with contextlib.suppress(AssertionError, AttributeError):
            for tp in sorted(self.assignment()):
                if tp.topic != topic:
                    continue
                end = client.highwater(tp)
                if end is not None:
                    committed = self._committed_offset.get(tp) or 0
                    polled = client.last_poll_timestamp(tp)
                    found.append(Standing(group, topic, tp.partition, committed, end, polled))
        return found

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterable[TP]:  # type: ignore[override]
        return list(self._done)

    def _filter_committable_offsets(self, tps: Iterable[TP]) -> dict[TP, int]:
        # Streams fill Faust's own books even though nothing reads them.
        self._acked.clear()
        self._acked_index.clear()
        return {
            tp: self._done[tp]
            for tp in tps
            if tp in self._done and self._done[tp] != self._committed_offset[tp]
        }

    async def _commit_offsets(self, offsets: Any, start_new_transaction: bool = True) -> bool:
        held = self.assignment()
        committable = {tp: at for tp, at in offsets.items() if tp in held}
        if not committable:
            return False
        app: Any = self.app
        try:
            # With the offset goes how far the changelogs were: one that ends before that has lost something.
            noted: Any = {
                tp: OffsetAndMetadata(at, app.logged(tp.partition)) for tp, at in committable.items()
            }
            committed = await self._commit(noted)
        except (KafkaError, OSError, TimeoutError) as error:
            app.halt(
                BrokerFailed(
                    f"Offsets could not be committed: {error}. They are committed at the next start."
                )
            )
            return False
        if committed:
            self._committed_offset.update(committable)
        return committed

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Gaps mean nothing here: what is done is said, not worked out."""

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Faust's guess at a hanging stream is not needed: every wait of ours is bounded."""

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109 Faust's name
        """Read on, unless the places to read from are just being set."""
        async with self._reading:
            return await super()._getmany(active_partitions, min(timeout, _READ_S))

    async def perform_seek(self) -> None:
        """Go to what is committed, or to the beginning, with no read under way; expect just that next.

        A read that began before a rebalance can take the first records of the new assignment with it, and
        those are dropped, since the flow stands still. Faust seeks while such a read goes on, and leaves a
        partition of which nothing is committed where that read has left it. Raises RebalanceAgain when the
        partitions are being given out anew: then the flow must not be let go on.
        """
        app: Any = self.app
        async with self._reading:
            try:
                starts = await self._seek_all(app.source_topic)
            except IllegalStateError as error:
                raise RebalanceAgain from error
        if app.is_giving_way:
            raise RebalanceAgain
        app.begin_at({tp.partition: at for tp, at in starts.items()})

    async def _seek_all(self, topic: str) -> dict[TP, int]:
        """Set the places of a topic's partitions, and return them."""
        await super().perform_seek()
        sources = [tp for tp in self.assignment() if tp.topic == topic]
        starts = {tp: at for tp in sources if (at := self._committed_offset[tp])}
        unread = [tp for tp in sources if tp not in starts]
        if unread:
            found = await self.earliest_offsets(*map(_of_client, unread))
            beginnings = {TP(*tp): at for tp, at in found.items()}
            await self._thread.seek_wait({_of_client(tp): at for tp, at in beginnings.items()})
            starts |= beginnings
        return starts

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Finish the running batch, commit, then let go; all before one deadline.

        1. No new batch starts. 2. The running one ends. 3. What is done is committed. 4. The partitions go.
        A batch that is not through by then must not write any more, since its partitions have a new owner:
        the worker stops.
        """
        app: Any = self.app
        deadline = Deadline(app.conf.broker_rebalance_timeout * REVOKE_SHARE)
        self.stop_flow()
        app.flow_control.suspend()
        if await app.wait_idle(deadline):
            try:
                async with asyncio.timeout(deadline.left_s):
                    await self.commit_done()
            except TimeoutError:
                _log.warning(
                    "Offsets were not committed in time before a rebalance; their records are read again."
                )
        self._done.clear()
        await app.give_up_restoring()
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Start from what is committed."""
        self._done.clear()
        app: Any = self.app
        app.begin_assignment()
        await super().on_partitions_assigned(assigned, generation_id)


class Transport(driver.Transport):
    """Faust's transport with our consumer."""

    Consumer: ClassVar[type[ConsumerT]] = OrderedConsumer
