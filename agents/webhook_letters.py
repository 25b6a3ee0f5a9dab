"""Dead letters of webhooks: what receivers did not take, and sending it once more.

A letter names its event by where it stands; the event itself is read from its topic. Sending again gives the
same id, so that a receiver that has it already knows. Nothing is deleted: letters go with their retention.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from agents.logs import EmbeddedLog, Log
from state.instants import Instant
from state.webhooks import Verdict, verdict
from streams.events import WebhookLetter
from streams.host import Record
from streams.keys import Partition
from streams.settings import Settings
from streams.topics import Topic
from streams.webhook_client import Client
from streams.webhook_config import Receiver

_decode: Final = msgspec.json.Decoder().decode
Where = tuple[Topic, int, int]


@dataclass(frozen=True, slots=True)
class Resent:
    """What came of sending an event again: `ok`, and in a sentence why not."""

    letter: WebhookLetter
    ok: bool
    why: str


def letters(log: Log, *, webhook: str | None = None, ids: Sequence[str] = ()) -> list[WebhookLetter]:
    """The dead letters of a log, oldest first, each once; of one webhook, and with ids that begin so."""
    found: dict[str, WebhookLetter] = {}
    for record in log.read([Topic.WEBHOOK_LETTERS], from_start=True, follow=False):
        letter = WebhookLetter.model_validate(_decode(record.value))
        if webhook in (None, letter.webhook) and (
            not ids or any(letter.dead_letter_id.startswith(one) for one in ids)
        ):
            found[letter.dead_letter_id] = letter
    return list(found.values())


def resend(
    settings: Settings, log: Log, found: Iterable[WebhookLetter], receivers: Iterable[Receiver]
) -> list[Resent]:
    """Send the events of some letters once each, one after the other, and say what came of it."""
    wanted = list(found)
    events = _events(settings, log, [_where(letter) for letter in wanted])
    return asyncio.run(_resend(wanted, events, {one.name: one for one in receivers}))


def _where(letter: WebhookLetter) -> Where:
    return Topic(letter.event_topic), letter.event_partition, letter.event_offset


def _events(settings: Settings, log: Log, places: Sequence[Where]) -> dict[Where, Record]:
    if isinstance(log, EmbeddedLog):
        found = {}
        for topic, partition, offset in places:
            for record in log.host.store.read(topic, Partition(partition), offset, 1):
                if record.offset == offset:
                    found[topic, partition, offset] = record
        return found
    from streams.kafka.fetching import records_at  # nobody without a cluster needs it

    return asyncio.run(records_at(settings, places))


async def _resend(
    wanted: Sequence[WebhookLetter], events: dict[Where, Record], receivers: dict[str, Receiver]
) -> list[Resent]:
    clients: dict[str, Client] = {}
    found: list[Resent] = []
    try:
        for letter in wanted:
            receiver, event = receivers.get(letter.webhook), events.get(_where(letter))
            if receiver is None:
                found.append(Resent(letter, False, "The file names no such webhook any more."))
            elif event is None or not event.value:
                found.append(Resent(letter, False, "Its event is no longer kept, or was forgotten."))
            else:
                if letter.webhook not in clients:
                    clients[letter.webhook] = Client(receiver)
                    await clients[letter.webhook].start()
                found.append(await _send(clients[letter.webhook], letter, event))
    finally:
        for client in clients.values():
            await client.stop()
    return found


async def _send(client: Client, letter: WebhookLetter, event: Record) -> Resent:
    now = Instant(time.time_ns() // 1_000_000)
    answer = await client.send(event.topic, letter.event_id, event.value, now=now, trace=event.trace)
    said = f"{answer.said[:1].upper()}{answer.said[1:]}."
    return Resent(letter, verdict(answer.status) is Verdict.DELIVERED, said)


def as_fields(letter: WebhookLetter) -> dict[str, Any]:
    """A letter as JSON."""
    return letter.model_dump(mode="json")
