"""Carries the events of one receiver to it: reads none and commits none, which is for whoever owns the log.

Steps: records are taken in up to a bound, what is due is sent, and what was acknowledged or given up moves
the place from where the log would be read again. A dead letter is durable before that place moves past its
event. In which order, and when again, is decided by `state.delivering`.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from state.delivering import Lane, Waiting
from state.identity import derive
from state.instants import Instant, format_instant
from state.traceparent import parse
from state.webhooks import Alert, Verdict, verdict
from streams.events import SCHEMA_VERSION
from streams.host import Record
from streams.keys import Partition
from streams.topics import Topic
from streams.tracing import OFF, Tracing, during
from streams.webhook_client import Answer, Client
from streams.webhook_config import Receiver
from streams.wire import to_json

Place = tuple[Topic, Partition]
KeepLetter = Callable[[bytes, bytes], Awaitable[None]]
"""Makes a dead letter (key, value) durable."""

_log = logging.getLogger(__name__)
_chance: Final = random.Random()  # noqa: S311 spreads calls; nothing is kept secret by it


class _Cause(msgspec.Struct):
    predicate: str = ""


class _Event(msgspec.Struct):
    """The part of either kind of event that a receiver is chosen by."""

    event_id: str
    namespace: str
    subject: str
    predicate: str | None = None
    reason: str | None = None
    signal: str | None = None
    causes: list[_Cause] = []


_decode: Final = msgspec.json.Decoder(_Event).decode


def alert_of(record: Record) -> Alert:
    """The part of an event that a receiver is chosen by."""
    event = _decode(record.value)
    causes = [cause.predicate for cause in event.causes] if event.predicate is None else [event.predicate]
    kind = event.reason if event.signal is None else event.signal
    return Alert(record.topic.value, event.event_id, event.namespace, event.subject, causes, kind)


class Delivery:
    """The events of one receiver on their way. For one event loop.

    `told` is called with the name of what happened to each call: delivered, again, away, refused, gone.
    """

    def __init__(
        self,
        receiver: Receiver,
        keep_letter: KeepLetter,
        *,
        told: Callable[[str], None] = lambda _outcome: None,
        tracing: Tracing = OFF,
    ) -> None:
        self.receiver = receiver
        self._keep_letter = keep_letter
        self._told = told
        self._tracing = tracing
        self.n_letters: Counter[str] = Counter()  # by code
        self._client = Client(receiver)
        self._under_way: dict[asyncio.Task[Answer], tuple[Waiting[Place], Instant]] = {}
        self._lane = self._new_lane()
        self._was_away = False

    def _new_lane(self) -> Lane[Place]:
        return Lane(at_once=self.receiver.at_once, tries_max=self.receiver.tries_max)

    async def start(self) -> None:
        """Get ready to send. Raises BadWebhooks."""
        await self._client.start()

    async def stop(self) -> None:
        """Break off what is being sent, and close; whatever was not acknowledged is sent again elsewhere."""
        await asyncio.gather(*self.break_off(), return_exceptions=True)
        await self._client.stop()

    def break_off(self) -> list[asyncio.Task[Answer]]:
        """Know nothing any more, whatever is under way: records are taken in again from where it had got to.

        Returns what was broken off.
        """
        broken_off = list(self._under_way)
        for task in broken_off:
            task.cancel()
        self._under_way.clear()
        self._lane, was_gone = self._new_lane(), self._lane.is_gone
        self._lane.is_gone = was_gone
        return broken_off

    # -- in ---------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """How many more records may be taken in; 0 for a receiver that is gone."""
        return 0 if self._lane.is_gone else self._lane.room

    @property
    def n_waiting(self) -> int:
        """Events in memory that are not done."""
        return self._lane.n_waiting

    @property
    def pending_s(self) -> float:
        """How long ago the log recorded the oldest event in memory that is not done; 0 where none is."""
        since = self._lane.oldest_since
        return 0.0 if since is None else max(0.0, (_wall_ms() - since) / 1000)

    @property
    def n_under_way(self) -> int:
        """Calls whose answer is awaited."""
        return len(self._under_way)

    @property
    def is_away(self) -> bool:
        """Whether the receiver takes nothing at present."""
        return self._lane.is_away or self._lane.is_gone

    def take(self, records: Iterable[Record]) -> None:
        """Take records in, of each partition in the order of their offsets; at most `room` of them."""
        for record in records:
            place = (record.topic, record.partition)
            alert = self._alert_of(record)
            if alert is None or not self._wants(alert):
                self._lane.pass_over(place, record.offset)
            else:
                event = Waiting(
                    place, record.offset, record.key, alert.event_id, record.value,
                    trace=record.trace, since=record.recorded_at,
                )  # fmt: skip
                self._lane.admit(event)

    def _alert_of(self, record: Record) -> Alert | None:
        """None for what was erased, and for what is no event of ours: anybody may write to a shared topic."""
        if not record.value:
            return None
        try:
            return alert_of(record)
        except (msgspec.DecodeError, UnicodeDecodeError):
            name = self.receiver.name
            _log.warning("Webhook %s: %s is no event and is passed over.", name, record.position)
            return None

    def _wants(self, alert: Alert) -> bool:
        return self.receiver.wanted.has(alert, signals=alert.topic == Topic.DRIFT_ALERTS)

    def reached(self) -> dict[Place, int]:
        """For each partition the first offset that is not done."""
        return self._lane.reached()

    # -- out --------------------------------------------------------------------------------

    async def step(self, within_s: float) -> None:
        """Send what is due, and return when an answer was taken in, or after so long."""
        now = _monotonic_ms()
        while (event := self._lane.next(now)) is not None:
            self._under_way[asyncio.create_task(self._send(event))] = (event, _wall_ms())
        due_at = self._lane.due_at(now)
        wait_s = within_s if due_at is None else min(within_s, (due_at - now) / 1000)
        if not self._under_way:
            await asyncio.sleep(wait_s)
            return
        done, _ = await asyncio.wait(self._under_way, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            event, sent_at = self._under_way.pop(task)
            await self._judge(event, task.result(), sent_at)

    async def _send(self, event: Waiting[Place]) -> Answer:
        with self._tracing.span("webhook", event.trace, "client") as span:
            span.note("factdrift.webhook", self.receiver.name)
            span.note("http.request.resend_count", event.tries - 1)
            answer = await self._client.send(
                event.place[0], event.event_id, event.body, now=_wall_ms(), trace=span.header
            )
            if answer.status is not None:
                span.note("http.response.status_code", answer.status)
            return answer

    async def finish(self) -> None:
        """Wait for the answers to what is being sent, and send nothing more; a call takes 30 s at most."""
        while self._under_way:
            done, _ = await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                event, sent_at = self._under_way.pop(task)
                await self._judge(event, task.result(), sent_at)

    async def _judge(self, event: Waiting[Place], answer: Answer, sent_at: Instant) -> None:
        with during(None if event.trace is None else parse(event.trace)):
            await self._take_in(event, answer, sent_at)

    async def _take_in(self, event: Waiting[Place], answer: Answer, sent_at: Instant) -> None:
        found = verdict(answer.status)
        todo = self._lane.judge(
            event, found, now=_monotonic_ms(), share=_chance.random(), rest_ms=answer.rest_ms
        )
        self._told(found.value)
        self._note(found, answer)
        if todo is Verdict.REFUSED:
            code = {Verdict.REFUSED: "refused", Verdict.GONE: "gone"}.get(found, "tries_used_up")
            letter = _letter(self.receiver.name, event, answer, code, sent_at)
            _log.warning(
                "Webhook %s: event %s is a dead letter (%s): %s.",
                self.receiver.name, event.event_id, code, answer.said,
            )  # fmt: skip
            await self._keep_letter(event.event_id.encode(), letter)
            self.n_letters[code] += 1
        if todo is not Verdict.AGAIN:
            self._lane.done(event)

    def _note(self, found: Verdict, answer: Answer) -> None:
        """Say when the receiver goes away, and when it is back; once each."""
        name = self.receiver.name
        if found is Verdict.GONE:
            _log.error(
                "Webhook %s answered 410: nothing more is sent to it. Take it out of the file, or "
                "start again when it is back; what it did not get is kept.", name,
            )  # fmt: skip
        elif self._lane.is_away and not self._was_away:
            _log.warning("Webhook %s takes nothing at present: %s. It is asked again.", name, answer.said)
        elif self._was_away and not self._lane.is_away:
            _log.warning("Webhook %s answers again.", name)
        self._was_away = self._lane.is_away


def _letter(webhook: str, event: Waiting[Place], answer: Answer, code: str, at: Instant) -> bytes:
    """The dead letter of one event and receiver. No word of the event: those may have to be forgotten."""
    topic, partition = event.place
    return to_json(
        {
            "schema_version": SCHEMA_VERSION,
            "dead_letter_id": derive("webhook-letter", webhook, event.event_id),
            "webhook": webhook,
            "event_id": event.event_id,
            "code": code,
            "message": f"{answer.said[:1].upper()}{answer.said[1:]}.",
            "status": answer.status,
            "tries": event.tries,
            "event_topic": topic.value,
            "event_partition": int(partition),
            "event_offset": event.offset,
            "given_up_at": format_instant(at),
        }
    )


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _wall_ms() -> Instant:
    return Instant(time.time_ns() // 1_000_000)
