"""The rows that a batch of records makes: of the read model's tables, from what stands in the log.

Reads the change feed (every version of every fact), the internal topic (evidence, corrections, wishes to
forget) and whatever `documents` keeps. Of several states of one row it keeps the newest. Touches no database;
`projection` writes the rows.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from agents.read_model import documents, schema
from agents.read_model.schema import BEGINNING, END
from state.corrections import Decision, Forget, Invalidate, Relate, Supersede
from state.cycles import Tick
from state.identity import derive
from state.instants import Instant, format_instant, parse_instant
from state.names import normalise_predicate
from state.objects import type_object
from state.observations import Observation, Retract
from state.statements import Spelling, Statement
from state.trust import TrustSnapshot
from streams.codec import decode_batch
from streams.host import Record
from streams.topics import CHANGE_FEED, Topic
from streams.wire import to_json

Row = dict[str, Any]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_encode_body: Final = msgspec.msgpack.Encoder().encode
_decode_body: Final = msgspec.msgpack.Decoder(tuple[Statement, str | None]).decode
_decode_key: Final = msgspec.json.Decoder(tuple[str, str]).decode
_decode_link_key: Final = msgspec.json.Decoder(tuple[str]).decode


class _Bounds(msgspec.Struct):
    lo: str | None
    hi: str | None


class _Event(msgspec.Struct):
    """The fields of an event by which it is found."""

    event_id: str
    event: str
    revision: str | None
    position: str
    fact_id: str
    version: int
    claim_id: str
    namespace: str
    predicate: str
    object: Spelling | None
    form: str
    valid: _Bounds
    reason: str | None
    contested: bool
    recorded_at: str
    cycle: int


_decode_event: Final = msgspec.json.Decoder(_Event).decode


class Batch:
    """The rows that a batch of records makes, by table; of several states of one row the newest.

    `refined` has namespace and subject of each row of evidence that a language model saw (`copies`).
    """

    def __init__(self, seq: int, rule_seq: int, clocks: dict[int, int]) -> None:
        self.seq = seq
        self.rule_seq = rule_seq
        self.clocks = clocks
        self.versions: list[Row] = []
        self.facts: dict[str, Row] = {}
        self.evidence: list[Row] = []
        self.refined: dict[tuple[str, str, str], tuple[str, str]] = {}
        self.claims: dict[str, Row] = {}
        self.subjects: dict[tuple[str, str], Row] = {}
        self.corrections: list[Row] = []
        self.wishes: list[Row] = []
        self.trust: dict[tuple[str, int], Row] = {}
        self.links_gone: set[str] = set()
        self.documents: dict[str, list[Row]] = {}

    def add(self, record: Record) -> None:
        """Take in one record. One without a value says that nothing is kept of its key any more."""
        if not record.value:
            if record.topic is Topic.FACT_LINKS and record.key:
                self._link_gone(record.key)
        elif record.topic in CHANGE_FEED:
            self._event(record)
        elif record.topic is Topic.BY_CLAIM:
            self._entries(record)
        else:
            self._document(record)

    # -- facts ------------------------------------------------------------------------------

    def _event(self, record: Record) -> None:
        event = _decode_event(record.value)
        assert record.key is not None, "events are written with the key of their subject"
        namespace, subject = _decode_key(record.key)
        _, partition, offset = event.position.rsplit("/", 2)
        self.seq += 1
        lo = BEGINNING if event.valid.lo is None else _instant(event.valid.lo)
        hi = END if event.valid.hi is None else _instant(event.valid.hi)
        self.versions.append(
            {
                "seq": self.seq,
                "fact_id": event.fact_id,
                "version": event.version,
                "claim_id": event.claim_id,
                "event_id": event.event_id,
                "event": event.event,
                "revision": event.revision or "",
                "recorded_at": _instant(event.recorded_at),
                "partition": int(partition),
                "offset": int(offset),
                "cycle": event.cycle,
                "lo": lo,
                "hi": hi,
                "body": record.value,
            }
        )
        known = self.facts.get(event.fact_id)
        if known is not None and known["version"] >= event.version:
            return
        shown = _form_of(type(event.object).__name__, event.object)
        self.facts[event.fact_id] = {
            "fact_id": event.fact_id,
            "version": event.version,
            "seq": self.seq,
            "claim_id": event.claim_id,
            "namespace": namespace,
            "subject": subject,
            "predicate": _predicate(event.predicate),
            "form": event.form,
            "shown_form": None if shown == event.form else shown,
            "lo": lo,
            "hi": hi,
            "reason": event.reason or "",
            "contested": event.contested,
        }

    # -- evidence ---------------------------------------------------------------------------

    def _entries(self, record: Record) -> None:
        cycle = self.clocks.get(record.partition, 1)
        for entry in decode_batch(record.value).entries:
            usable = entry.usable
            if isinstance(usable, Observation):
                self._observation(record, usable, cycle)
            elif isinstance(usable, Retract):
                self._retract(record, usable)
            elif isinstance(usable, Supersede | Invalidate | Relate):
                self._decision(record, usable)
            elif isinstance(usable, Forget):
                self._wish(record, usable)
            elif isinstance(usable, TrustSnapshot):
                self.trust[usable.namespace, usable.number] = {
                    "namespace": usable.namespace,
                    "number": usable.number,
                    "body": _encode_body(usable),
                }
            elif isinstance(usable, Tick):
                self.clocks[record.partition] = max(cycle, usable.number + 1)

    def _observation(self, record: Record, observation: Observation, cycle: int) -> None:
        statement = observation.statement
        self.evidence.append(
            {
                "claim_id": observation.claim,
                "observation_id": statement.observation_id,
                "content_hash": statement.content_hash,
                "source": statement.source,
                "recorded_at": statement.recorded_at,
                "partition": record.partition,
                "offset": record.offset,
                "cycle": cycle,
                "body": _encode_body((statement, observation.content)),
            }
        )
        if observation.refinement is not None:
            key = (observation.claim, statement.observation_id, statement.content_hash)
            self.refined[key] = (observation.namespace, observation.subject)
        self._spell(observation)

    def _spell(self, observation: Observation) -> None:
        """Names are spelled as the newest statement spells them; of two at one time, as the greater text."""
        statement = observation.statement
        claim = self.claims.get(observation.claim)
        as_spelled = (statement.observed_at, statement.subject, statement.predicate)
        if claim is None or as_spelled > (
            claim["spelled_at"], claim["spelled_subject"], claim["spelled_predicate"]
        ):  # fmt: skip
            self.claims[observation.claim] = {
                "claim_id": observation.claim,
                "namespace": observation.namespace,
                "subject": observation.subject,
                "predicate": observation.predicate,
                "spelled_subject": statement.subject,
                "spelled_predicate": statement.predicate,
                "spelled_at": statement.observed_at,
            }
        name = (observation.namespace, observation.subject)
        subject = self.subjects.get(name)
        if subject is None or as_spelled[:2] > (subject["spelled_at"], subject["spelled"]):
            self.subjects[name] = {
                "namespace": observation.namespace,
                "subject": observation.subject,
                "spelled": statement.subject,
                "spelled_at": statement.observed_at,
            }

    def _retract(self, record: Record, retract: Retract) -> None:
        assert retract.namespace is not None
        assert retract.subject is not None
        at = record.recorded_at if retract.recorded_at is None else retract.recorded_at
        body = {
            "op": "retract",
            "observation_id": retract.observation_id,
            "namespace": retract.namespace,
            "subject": retract.subject,
            "reason": retract.reason,
            "recorded_at": format_instant(at),
        }
        taken_back = derive("retract", retract.namespace, retract.subject, retract.observation_id)
        self.corrections.append(
            {
                # Each record is a row: a later one may have been recorded earlier, and both were known since.
                "correction_id": f"{taken_back}/{record.partition}/{record.offset}/{at}",
                "op": "retract",
                "namespace": retract.namespace,
                "subject": retract.subject,
                "target": retract.observation_id,
                "recorded_at": at,
                "partition": record.partition,
                "offset": record.offset,
                "body": to_json(body),
            }
        )

    def _decision(self, record: Record, decision: Decision) -> None:
        """Each record is a row: one that was refused may be sent again, and the claim decides."""
        self.corrections.append(
            {
                "correction_id": derive(
                    "decision", decision.claim, decision.correction_id, record.partition, record.offset
                ),
                "op": decision.__struct_config__.tag,
                "namespace": decision.namespace,
                "subject": decision.subject,
                "target": decision.correction_id,
                "recorded_at": decision.recorded_at,
                "partition": record.partition,
                "offset": record.offset,
                "body": to_json(decision),
            }
        )

    def _wish(self, record: Record, wish: Forget) -> None:
        self.wishes.append(
            {
                "partition": record.partition,
                "offset": record.offset,
                "correction_id": wish.correction_id,
                "scope": wish.scope,
                "namespace": wish.namespace,
                "subject": wish.subject,
                "observation_id": wish.observation_id,
                "source": wish.source,
                "recorded_at": wish.recorded_at,
                "is_done": False,
            }
        )

    # -- everything else --------------------------------------------------------------------

    def _document(self, record: Record) -> None:
        found = documents.row_of(record)
        if found is None:
            return
        table, row = found
        if table is schema.rule_events:
            self.rule_seq += 1
            row["seq"] = self.rule_seq
        self.documents.setdefault(table.name, []).append(row)

    def _link_gone(self, key: bytes) -> None:
        try:
            (link_id,) = _decode_link_key(key)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return  # others may write to the topic
        self.links_gone.add(link_id)
        noticed = self.documents.get(schema.links.name, [])
        noticed[:] = [row for row in noticed if row["id"] != link_id]


def statement_of(body: bytes) -> tuple[Statement, str | None]:
    """The statement in the body of a row of evidence, with its verbatim content."""
    return _decode_body(body)


@lru_cache(maxsize=65_536)
def _instant(written: str) -> Instant:
    """An instant as events write it; by the faster of two readers where that knows the form."""
    try:
        since = datetime.fromisoformat(written) - _EPOCH
    except (ValueError, TypeError):
        return parse_instant(written)
    return Instant((since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000)


@lru_cache(maxsize=16_384)
def _predicate(spelled: str) -> str:
    return normalise_predicate(spelled)


@lru_cache(maxsize=65_536)
def _form_of(_kind: str, spelled: Spelling | None) -> str:
    """The form of an object as it is shown. The kind is part of the question: 1 and true are equal."""
    return "" if spelled is None else type_object(spelled).key
