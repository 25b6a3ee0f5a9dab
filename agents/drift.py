"""Drift, seen in the partition of the subject and in the order of the log (DESIGN 5).

Enters what each record retired, and at each tick looks at the subjects that may have changed: it publishes
`unstable` and `churning` with their causes, and later `stable` and `settled`. All of it follows from the
log, so a replay gives the same alerts with the same ids. The rule is `state.drift`; what readers ask is a
projection (`streams.drift`), which decides nothing.

The next tick of the clock may be a minute away. Where a record brings an alert in sight, time passes sooner:
a tick that closes no cycle, dated by the log's own timestamp of that record, is appended to the partition.
It stands in the log as every tick does, behind what has arrived meanwhile, and is asked for once for each
subject; so it is the subject's state at the tick that decides, and never that of a moment before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from agents.clock import time_passes
from agents.drift_watch import SHARDS, Shard, earliest, load, shard_of, watch_key
from agents.following import Folded
from state.cycles import NO_CYCLE, Tick
from state.drift import AHEAD_MS, Alert, Entity, alert_in_sight, due, judge
from state.drift_causes import AlertKind
from state.drift_news import Bearing, News, cause_of, news_of
from state.instants import Instant
from streams.drift_wire import drift_alert
from streams.host import Output, Record, Tables
from streams.keys import subject_key
from streams.topics import Topic

DRIFT_TABLE: Final = "drift"


class Row(msgspec.Struct, array_like=True):
    """What the table holds under the key of a subject. `name` is its normal form.

    `due` is when a tick is to look at it, as the shard of its key knows it; None where none need. `asked` is
    the `now` of the tick that was asked for and has not looked at it yet.
    """

    namespace: str
    name: str
    spelling: str
    entity: Entity
    due: Instant | None = None
    asked: Instant | None = None


_encode_row: Final = msgspec.msgpack.Encoder().encode
_decode_row: Final = msgspec.msgpack.Decoder(Row).decode


class Drift:
    """The follower. Keeps one row for each subject with retired facts, and an index of those to look at.

    `is_live` says whether the log's own timestamps are the time. In a log that is being replayed they are
    not: there time passes at the places that the replay gives it.
    """

    tables = (DRIFT_TABLE,)

    def __init__(self, is_live: Callable[[], bool] = lambda: True) -> None:
        self._is_live = is_live

    def follow(self, tables: Tables, folded: Folded) -> list[Output]:
        """Enter what the record retired, and ask for a tick where that is an alert; at a tick, judge."""
        asked = self._enter(tables, folded)
        outputs = [] if asked is None else [_let_time_pass(asked, folded.record)]
        if folded.lost or folded.emptied:
            return outputs + forget_drift(tables, folded)
        now = folded.moved.now
        return outputs if now is None or not _is_tick(folded) else outputs + self._tick(tables, folded, now)

    # -- records ----------------------------------------------------------------------------

    def _enter(self, tables: Tables, folded: Folded) -> Instant | None:
        """Enter what the record retired; returns the `now` of the tick that is to be asked for, if any."""
        asked: list[Instant] = []
        for (namespace, name), (spelling, news) in _news_by_subject(folded).items():
            row_key = subject_key(namespace, name)
            stored = tables.get(DRIFT_TABLE, row_key)
            row = Row(namespace, name, spelling, Entity()) if stored is None else _decode_row(stored)
            if tables.applied(DRIFT_TABLE, row_key, folded.record):
                # The crash may have come between this row and its shard.
                if row.due is not None:
                    _watch(tables, row_key, row.due, folded.record)
                continue
            if not _take(row.entity, news):
                continue
            row.spelling = spelling
            row.entity.drop_those_out()
            row.entity.tidy(now=folded.clock.now)
            wanted = due(row.entity, folded.clock.now, has_news=True)
            # One that is looked at too early is put off then; so most news does not touch the index.
            if wanted is not None and (row.due is None or wanted < row.due):
                row.due = wanted
                _watch(tables, row_key, wanted, folded.record)
            if wanted is not None and row.asked is None:
                row.asked = self._asks(row.entity, wanted, folded)
                asked += [] if row.asked is None else [row.asked]
            tables.put(DRIFT_TABLE, row_key, _encode_row(row))
        return max(asked, default=None)

    def _asks(self, entity: Entity, wanted: Instant, folded: Folded) -> Instant | None:
        """The `now` of the tick that a subject asks for, which is due at `wanted`; None where none is."""
        now = max(folded.record.recorded_at, folded.clock.now or folded.record.recorded_at)
        if wanted > now + AHEAD_MS or not self._is_live():
            return None
        return alert_in_sight(entity, now)

    # -- ticks ------------------------------------------------------------------------------

    def _tick(self, tables: Tables, folded: Folded, now: Instant) -> list[Output]:
        outputs: list[Output] = []
        record = folded.record
        for number in range(SHARDS):
            stored = tables.get(DRIFT_TABLE, watch_key(number))
            if stored is None:
                continue
            is_applied = tables.applied(DRIFT_TABLE, watch_key(number), record)
            if not is_applied and earliest(stored) > now:
                continue
            shard = load(stored)
            if is_applied:
                # Those looked at are no longer due in it, but their own rows may not be written yet.
                looked_at = shard.looked_at if shard.looked_at_offset == record.offset else []
            else:
                looked_at = sorted(key for key, at in shard.due.items() if at <= now)
            for row_key in looked_at:
                row = self._look(tables, row_key, folded, now, outputs)
                shard.set(row_key, row.due)
            if not is_applied:
                shard.looked_at, shard.looked_at_offset = looked_at, record.offset
                tables.put(DRIFT_TABLE, watch_key(number), shard.dump())
        return outputs

    def _look(
        self, tables: Tables, row_key: bytes, folded: Folded, now: Instant, outputs: list[Output]
    ) -> Row:
        stored = tables.get(DRIFT_TABLE, row_key)
        assert stored is not None, "a subject in the index has a row"
        row, record = _decode_row(stored), folded.record
        if tables.applied(DRIFT_TABLE, row_key, record):
            return row
        for alert in judge(row.entity, now):
            event = drift_alert(
                alert,
                namespace=row.namespace,
                name=row.name,
                spelling=row.spelling,
                now=now,
                lifetime=row.entity.lifetime,
                cycle=folded.clock.cycle,
                record=record,
            )
            outputs.append(Output(Topic.DRIFT_ALERTS, row_key, event, record.partition))
        row.due, row.asked = due(row.entity, now), None
        tables.put(DRIFT_TABLE, row_key, _encode_row(row))
        return row


def _is_tick(folded: Folded) -> bool:
    """Whether the record lets time pass. One that was asked for also looks where time has not moved: another
    may have been asked for in the same millisecond.
    """
    if folded.moved != folded.clock:
        return True
    return any(isinstance(e.usable, Tick) and e.usable.number == NO_CYCLE for e in folded.batch.entries[:1])


def _let_time_pass(now: Instant, record: Record) -> Output:
    return Output(Topic.BY_CLAIM, None, time_passes(now), record.partition)


def forget_drift(tables: Tables, folded: Folded) -> list[Output]:
    """Take forgotten words out of the rows of subjects, and forgotten subjects out of the table.

    One that is in flux is told to have come to rest, without its name, as somebody counts them.
    """
    for about in {(lost.claim.namespace, lost.claim.subject) for lost in folded.lost.values()}:
        if about != folded.emptied:
            _reword(tables, folded, *about)
    return [] if folded.emptied is None else _drop(tables, folded, *folded.emptied)


def _reword(tables: Tables, folded: Folded, namespace: str, name: str) -> None:
    """Say what retired facts were by what is left of them, and spell the subject as these do."""
    row_key = subject_key(namespace, name)
    stored = tables.get(DRIFT_TABLE, row_key)
    if stored is None or tables.applied(DRIFT_TABLE, row_key, folded.record):
        return
    row = _decode_row(stored)
    facts = {i: fact for lost in folded.lost.values() for i, fact in lost.facts.items()}
    for fact_id, held in list(row.entity.retirements.items()):
        if fact_id in facts:
            held.cause = cause_of(facts[fact_id])
        elif held.cause.claim in folded.lost:
            del row.entity.retirements[fact_id]
    row.spelling = max((fact.subject for fact in facts.values()), default=name)
    tables.put(DRIFT_TABLE, row_key, _encode_row(row))


def _drop(tables: Tables, folded: Folded, namespace: str, name: str) -> list[Output]:
    row_key, record = subject_key(namespace, name), folded.record
    stored, outputs = tables.get(DRIFT_TABLE, row_key), []
    if stored is not None and not tables.applied(DRIFT_TABLE, row_key, record):
        row = _decode_row(stored)
        for kind, since in _in_flux(row.entity):
            event = drift_alert(
                Alert(kind, since, []), namespace=namespace, name=name, spelling="", now=since, lifetime=0,
                cycle=folded.clock.cycle, record=record,
            )  # fmt: skip
            outputs.append(Output(Topic.DRIFT_ALERTS, subject_key(namespace, ""), event, record.partition))
        tables.put(DRIFT_TABLE, row_key, None)
    shard_key = watch_key(shard_of(row_key))
    held = tables.get(DRIFT_TABLE, shard_key)
    if held is not None and not tables.applied(DRIFT_TABLE, shard_key, record):
        shard = load(held)
        shard.set(row_key, None)
        shard.looked_at = [key for key in shard.looked_at if key != row_key]
        tables.put(DRIFT_TABLE, shard_key, shard.dump())
    return outputs


def _in_flux(entity: Entity) -> Iterator[tuple[AlertKind, Instant]]:
    if entity.unstable_since is not None:
        yield AlertKind.STABLE, entity.unstable_since
    if entity.churning_since is not None:
        yield AlertKind.SETTLED, entity.churning_since


def _news_by_subject(folded: Folded) -> dict[tuple[str, str], tuple[str, list[News]]]:
    """What the record means for the drift of each subject, in order, with the subject's newest spelling."""
    found: dict[tuple[str, str], tuple[str, list[News]]] = {}
    for touched in folded.touched:
        for change in touched.changes:
            news = news_of(change)
            if news is not None:
                about = (touched.claim.namespace, touched.claim.subject)
                so_far = found[about][1] if about in found else []
                found[about] = (change.fact.subject, [*so_far, news])
    return found


def _take(entity: Entity, news: Iterable[News]) -> bool:
    """Take in what is not idle: a fact that is no entry can neither leave nor move. Says if any was."""
    taken = False
    for item in news:
        if item.bearing is Bearing.ENTERS or item.fact_id in entity.retirements:
            entity.take(item)
            taken = True
    return taken


def _watch(tables: Tables, row_key: bytes, at: Instant, record: Record) -> None:
    key = watch_key(shard_of(row_key))
    if tables.applied(DRIFT_TABLE, key, record):
        return
    stored = tables.get(DRIFT_TABLE, key)
    shard = Shard() if stored is None else load(stored)
    if shard.due.get(row_key) != at:
        shard.set(row_key, at)
        tables.put(DRIFT_TABLE, key, shard.dump())
