"""Finds the claims that should be folded again though nothing new was heard, and asks for it through the log.

Decides which claims are due: those that were folded without the vectors they wanted, those that another model
compared, and disputed ones that were decided by an older snapshot of trust (`agents.trust_snapshots`). What
comes of it is `state.claim`'s business, and stands in events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from agents.consolidation import CLAIMS_TABLE
from agents.logs import EmbeddedLog, Log
from agents.trust_snapshots import is_outweighed
from state import stored_claim as claims
from state.reclustering import OP
from streams.embedded import EmbeddedStore
from streams.host import Record
from streams.topics import Topic
from streams.wire import to_json


@dataclass(frozen=True, slots=True, order=True)
class Due:
    """A claim that should be folded again: `degraded` because vectors were missing, `outweighed` because more
    is known of its sources by now.
    """

    namespace: str
    subject: str
    predicate: str
    degraded: bool
    outweighed: bool = False

    def request(self) -> bytes:
        """The record that asks for it."""
        return to_json(
            {
                "op": OP,
                "namespace": self.namespace,
                "subject": self.subject,
                "predicate": self.predicate,
            }
        )


def due(log: Log, identity: str) -> list[Due]:
    """Every claim that is due where `identity` names the model of today, in order.

    An embedded log is asked for its tables. On Kafka the latest states of facts tell: a claim that has no
    fact is not seen there, and is compared when it next gets a text.
    """
    if isinstance(log, EmbeddedLog):
        return sorted(_of_tables(log.host.store, identity))
    return sorted(_of_facts(log.read([Topic.FACTS], from_start=True, follow=False), identity))


def request(log: Log, claims_due: Sequence[Due], *, batch_max: int) -> Iterator[int]:
    """Ask for all of them; yields after each batch how many it had. On an embedded log they are then done."""
    for start in range(0, len(claims_due), batch_max):
        some = claims_due[start : start + batch_max]
        log.publish(Topic.CORRECTIONS, [one.request() for one in some])
        yield len(some)


def _of_tables(store: EmbeddedStore, identity: str) -> Iterator[Due]:
    for _, stored in store.items(CLAIMS_TABLE):
        claim = claims.decode(stored)
        forms = claim.forms
        if forms.degraded or forms.model not in ("", identity):
            yield Due(claim.namespace, claim.subject, claim.predicate, bool(forms.degraded))
        elif is_outweighed(store.get, claim):
            yield Due(claim.namespace, claim.subject, claim.predicate, degraded=False, outweighed=True)


class _State(msgspec.Struct):
    """The part of a fact's latest state that is needed here."""

    claim_id: str
    namespace: str
    subject: str
    predicate: str
    model: str | None = None
    degraded: bool = False


_decode = msgspec.json.Decoder(_State).decode


def _of_facts(records: Iterable[Record], identity: str) -> Iterator[Due]:
    latest = {record.key: record.value for record in records}
    found: dict[str, Due] = {}
    for value in latest.values():
        state = _decode(value)
        if state.degraded or state.model not in (None, identity):
            before = found.get(state.claim_id)
            degraded = state.degraded or (before is not None and before.degraded)
            found[state.claim_id] = Due(state.namespace, state.subject, state.predicate, degraded)
    yield from found.values()
