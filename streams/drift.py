"""The drift that readers ask for: a projection of the change feed and of the drift alerts (DESIGN 5).

What it holds follows from `fact-invalidated`, `fact-revised` and `drift-alerts`, so it may be lost and is
then made again. It decides nothing: whether a subject is unstable is what its newest alert says. Where it is
kept is a `DriftStore`: Redis for the workers of a cluster, SQLite beside an embedded log.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

import msgspec

from state.drift import Entity
from state.drift_causes import AlertKind, Cause
from state.drift_news import Bearing, News, bearing_of, counts_as_declared
from state.errors import BadInstant, FactdriftError
from state.identity import ClaimId, FactId
from state.instants import Instant, parse_instant
from state.names import normalise
from state.statements import Spelling
from streams.host import Record
from streams.topics import SPEC_OF, Topic

_log = logging.getLogger(__name__)

Place = tuple[Topic, int]
"""A topic and a partition of it."""


class DriftUnavailable(FactdriftError):
    """The store of drift does not answer. Facts go on; what it holds is as old as its last answer."""


class DriftStoreEmptied(FactdriftError):
    """The store lost what it held, or was emptied to be filled anew: begin again from what it says now."""


@dataclass(frozen=True, slots=True)
class Update:
    """What one record says about one subject. `name` is its normal form, `spelling` the record's.

    `news` is set by the events of facts; `kind`, `since` and `lifetime` by alerts.
    """

    topic: Topic
    offset: int
    namespace: str
    name: str
    spelling: str
    news: News | None = None
    kind: AlertKind | None = None
    since: Instant | None = None
    lifetime: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """What some records say. `reached` is from where to where each partition was read: [from, to). A
    partition has gaps, so the first record may come after `from`.

    `now` is the newest tick's that they tell of, if they do.
    """

    updates: Sequence[Update]
    reached: Mapping[Place, tuple[int, int]]
    now: Instant | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a store is. `generation` changes whenever it begins anew; `positions` are next offsets."""

    generation: str
    positions: Mapping[Place, int]
    now: Instant | None


@dataclass(frozen=True, slots=True)
class Kept:
    """What a store knows about one subject. `name` is its normal form.

    `said` is the greatest lifetime that an alert named: where events are no longer kept, alerts know better
    than those that are left how many there were.
    """

    namespace: str
    name: str
    spelling: str
    entity: Entity
    said: int = 0

    @property
    def lifetime(self) -> int:
        """How often a fact of the subject was invalidated, as far as the store can know."""
        return max(self.entity.lifetime, self.said)


class DriftStore(Protocol):
    """Where the projection is kept. Every method raises DriftUnavailable when the store does not answer.

    Giving a batch again, in part or whole, by one process or several, changes nothing.
    """

    def begin(self) -> Progress:
        """How far the store is. One that holds nothing takes a new generation and is at the beginning."""
        ...

    def apply(self, generation: str, batch: Batch) -> None:
        """Take a batch in. Raises DriftStoreEmptied where the store is behind the batch, or begins anew."""
        ...

    def clear(self) -> None:
        """Empty the store and begin a new generation; whoever fills it notices and begins again."""
        ...

    def forget(self, namespace: str, name: str) -> None:
        """Delete what is known about a subject, by its normal form."""
        ...

    def entity(self, namespace: str, name: str) -> Kept | None:
        """What is known about a subject, by its normal form."""
        ...

    def names(self, namespace: str | None, now: Instant) -> list[tuple[str, str]]:
        """(namespace, name) of all that are in flux or may have something in a window at `now`, in order."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


def updated(kept: Kept, update: Update) -> Kept:
    """What is kept of a subject after one update; its entity is changed in place."""
    entity = kept.entity
    if update.news is not None:
        entity.take(update.news)
    elif update.kind in (AlertKind.UNSTABLE, AlertKind.STABLE):
        entity.unstable_since = update.since
    else:
        entity.churning_since = update.since
    return replace(kept, spelling=update.spelling, said=max(kept.said, update.lifetime))


# -- reading the log ------------------------------------------------------------------------


def inputs() -> tuple[Topic, ...]:
    """The topics that the projection reads. Cycles say what time it is, where there are any."""
    wanted = (Topic.FACT_INVALIDATED, Topic.FACT_REVISED, Topic.DRIFT_ALERTS, Topic.CYCLES)
    return tuple(topic for topic in wanted if topic in SPEC_OF)


class _Valid(msgspec.Struct):
    hi: str | None  # the end of time is a day's 24 o'clock, which datetime cannot hold


class _Fact(msgspec.Struct):
    """The part of a fact event that drift reads."""

    event: str
    fact_id: FactId
    version: int
    claim_id: ClaimId
    namespace: str
    subject: str
    predicate: str
    declared: bool
    form: str
    support: int
    dissent: int
    valid: _Valid
    object: Spelling | None
    reason: str | None
    revision: str | None
    votes: str | None
    decided_observed_at: datetime | None
    closed_by: str | None = None


class _Alert(msgspec.Struct):
    signal: AlertKind
    namespace: str
    subject: str
    now: datetime
    since: datetime
    lifetime: int


class _Cycle(msgspec.Struct):
    now: datetime | None = None


_decode_fact: Final = msgspec.json.Decoder(_Fact).decode
_decode_alert: Final = msgspec.json.Decoder(_Alert).decode
_decode_cycle: Final = msgspec.json.Decoder(_Cycle).decode
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


class Filler:
    """Fills a store with records, in order for each partition, and knows how far it is.

    After DriftUnavailable or DriftStoreEmptied `begin` says where to go on.
    """

    def __init__(self, store: DriftStore) -> None:
        self._store = store
        self._generation = ""
        self.positions: dict[Place, int] = {}

    def begin(self) -> None:
        """Ask the store how far it is: `positions` are where to read on; other places, from the start."""
        progress = self._store.begin()
        self._generation, self.positions = progress.generation, dict(progress.positions)

    def take(self, records: Sequence[Record]) -> None:
        """Let the store take records in."""
        batch = read_batch(records, self.positions)
        self._store.apply(self._generation, batch)
        self.positions.update({place: end for place, (_, end) in batch.reached.items()})


def read_batch(records: Sequence[Record], positions: Mapping[Place, int]) -> Batch:
    """What records of `inputs()` say about drift; those of one partition are in their order.

    `positions` are where the partitions were read from. A record that cannot be read is none of ours, and
    is passed over with a warning.
    """
    updates: list[Update] = []
    reached: dict[Place, tuple[int, int]] = {}
    times: list[Instant] = []
    for record in records:
        place = (record.topic, int(record.partition))
        start, _ = reached.get(place, (positions.get(place, int(record.offset)), 0))
        reached[place] = (start, record.offset + 1)
        if not record.value:
            continue  # erased
        try:
            update, now = _read(record)
        except (msgspec.MsgspecError, BadInstant) as error:
            _log.warning("%s is no record of factdrift and was passed over: %s", record.position, error)
            continue
        if update is not None and update.name:  # without a name: its subject was forgotten
            updates.append(update)
        if now is not None:
            times.append(now)
    return Batch(updates, reached, max(times, default=None))


def _read(record: Record) -> tuple[Update | None, Instant | None]:
    """What a record says about a subject, and about the time."""
    if record.topic is Topic.CYCLES:
        return None, _instant(_decode_cycle(record.value).now)
    if record.topic is Topic.DRIFT_ALERTS:
        alert = _decode_alert(record.value)
        return _alert_update(record, alert), _instant(alert.now)
    return _fact_update(record), None


def _alert_update(record: Record, alert: _Alert) -> Update:
    name = normalise(alert.subject)
    since = _instant(alert.since) if alert.signal in (AlertKind.UNSTABLE, AlertKind.CHURNING) else None
    return Update(
        record.topic, record.offset, alert.namespace, name, alert.subject, None, alert.signal, since,
        alert.lifetime,
    )  # fmt: skip


def _fact_update(record: Record) -> Update | None:
    fact = _decode_fact(record.value)
    at = _instant(fact.decided_observed_at)
    is_revised = record.topic is Topic.FACT_REVISED  # only there does it matter when the fact ends
    hi = parse_instant(fact.valid.hi) if is_revised and fact.valid.hi is not None else None
    bearing = bearing_of(fact.event, fact.revision or "", reason=fact.reason, hi=hi, at=at)
    if bearing is None:
        return None
    news = News(
        fact.fact_id,
        fact.version,
        bearing,
        record.topic is Topic.FACT_INVALIDATED and bearing is Bearing.ENTERS,
        counts_as_declared(fact.reason, declared=fact.declared, is_decided=fact.closed_by is not None),
        at,
        Cause(
            fact.claim_id, fact.predicate, fact.object, fact.form, fact.reason or "", fact.votes,
            fact.support, fact.dissent,
        ),
    )  # fmt: skip
    name = normalise(fact.subject)
    return Update(record.topic, record.offset, fact.namespace, name, fact.subject, news)


def _instant(at: datetime | None) -> Instant | None:
    return None if at is None else Instant((at - _EPOCH) // _MS)
