"""Intake: from public records to validated batches, one internal record per target partition.

Stateless on Kafka. Everything that cannot be used becomes a dead letter with its original bytes; nothing
is dropped, and nothing that a record contains can stop the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from agents.refining import ANSWERS_TABLE, Refiner, TableAnswers
from agents.rule_log import forward
from state.aliases import Aliases, folded
from state.corrections import Forget, Invalidate, Relate, Supersede
from state.decided import taken_at
from state.errors import BadInput
from state.forgotten import Redacted, Sweep, sweep_of
from state.instants import INSTANT_MAX, Instant
from state.observations import Observation, Retract, Usable
from state.traceparent import packed
from state.validation import RECORD_BYTES_MAX, read
from streams.codec import encode_entry, join_entries
from streams.host import Agent, Effects, Output, Record, State, Write
from streams.keys import Partition, partition_of, subject_key
from streams.topics import Topic
from streams.wire import dead_letter

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

IDS_TABLE: Final = "observation-ids"
CLOCK_TABLE: Final = "clock"
NOW_KEY: Final = b"now"


class Known(msgspec.Struct, array_like=True):
    """Under one observation id: the (namespace, subject) pairs that have it, and retracts without them.

    `retracted_at` says when the retract at a place of `retracted` was recorded first.
    """

    subjects: list[tuple[str, str]] = []
    retracted: list[tuple[str | None, str | None]] = []
    retracted_at: dict[str, Instant] = {}


_encode_known: Final = msgspec.msgpack.Encoder().encode
_decode_known: Final = msgspec.msgpack.Decoder(Known).decode


def intake(
    *,
    batch_bytes_max: int,
    record_bytes_max: int = RECORD_BYTES_MAX,
    keeps_index: bool = False,
    aliases: Aliases = MappingProxyType({}),
    refiner: Refiner | None = None,
) -> Agent:
    """The intake agent.

    What is said under one of the `aliases` of a predicate goes to the claim of the name that is meant.
    `keeps_index` keeps an index of observation ids, so that a retract may leave out its namespace and
    subject; it then takes back every observation under that id, whichever came first. It also keeps
    the greatest observed_at, which is what "now" means in a replay. A host without such an index
    asks for both fields.

    `refiner` is asked about every observation, all of a batch at once, before any goes on; order and number
    of what goes on stay. A batch that is read again may be refined otherwise: see `agents.refined_once`.
    """

    def apply(state: State, records: Sequence[Record]) -> Effects:
        effects = forward([record for record in records if record.topic is Topic.RULES])
        records = [record for record in records if record.topic is not Topic.RULES]
        index = Index(state) if keeps_index else None
        by_partition: dict[Partition, list[_Part]] = {}
        judged = [_judged(record, record_bytes_max) for record in records]
        if refiner is not None or any(isinstance(one, Forget) for one in judged):
            judged = _refined(judged, refiner, state, effects, keeps_answers=keeps_index)
        for record, found in zip(records, judged, strict=True):
            try:
                if isinstance(found, BadInput):
                    raise found
                usable = folded(found, aliases)
                targets = index.resolve(usable) if index is not None else [usable]
                if isinstance(usable, Forget):
                    targets = [usable, sweep_of(usable)]  # the second is read when the first is durable
                for target in targets:
                    entry = encode_entry(record.topic.value, record.partition, record.offset, target)
                    for partition in _partitions_of(target, state.n_partitions):
                        parts = by_partition.setdefault(partition, [])
                        parts.append((entry, isinstance(target, _ALONE), record.trace))
            except BadInput as bad:
                letter = dead_letter(record, bad.code, bad.message)
                effects.outputs.append(Output(Topic.DEAD_LETTERS, record.key, letter, trace=record.trace))
        is_traced = any(record.trace is not None for record in records)
        for partition, parts in sorted(by_partition.items()):
            for batch in _cut(parts, batch_bytes_max):
                value = join_entries([entry for entry, _, _ in batch])
                trace = packed([header for _, _, header in batch]) if is_traced else None
                effects.outputs.append(Output(Topic.BY_CLAIM, None, value, partition, trace))
        if index is not None:
            effects.writes.extend(index.writes())
        return effects

    return Agent(
        "intake",
        (Topic.OBSERVATIONS, Topic.CORRECTIONS, Topic.RULES),
        ((IDS_TABLE, CLOCK_TABLE, ANSWERS_TABLE),) if keeps_index else (),
        apply,
        may_wait=refiner is not None,
        collectors=_numbers_of(refiner),
    )


def _numbers_of(refiner: Refiner | None) -> tuple[Collector, ...]:
    if refiner is None:
        return ()
    from agents.refining_metrics import RefinerNumbers  # commands that ask no model need not load it

    return (RefinerNumbers(refiner),)


def _judged(record: Record, bytes_max: int) -> Usable | BadInput:
    """What a record says, or why it cannot be used."""
    try:
        return read(record.value, recorded_at=record.recorded_at, bytes_max=bytes_max)
    except BadInput as bad:
        return bad


def _refined(
    judged: Sequence[Usable | BadInput],
    refiner: Refiner | None,
    state: State,
    effects: Effects,
    *,
    keeps_answers: bool,
) -> list[Usable | BadInput]:
    """The same, with what a model made of the observations. A wish to forget takes all answers that are kept.

    `keeps_answers`: in a table of the host, as part of the effects; else for as long as the process lives.
    """
    kept_max = 0 if refiner is None else refiner.kept_max
    table = TableAnswers(state, kept_max=kept_max) if keeps_answers else None
    answers = table or (None if refiner is None else refiner.memory)
    found = list(judged)
    if refiner is not None and answers is not None:
        said = [one for one in judged if isinstance(one, Observation)]
        refined = iter(refiner.refine(said, answers))
        found = [next(refined) if isinstance(one, Observation) else one for one in judged]
    if answers is not None and any(isinstance(one, Forget) for one in judged):
        answers.clear()  # also where a model was asked once and is no longer
    if table is not None:
        effects.writes.extend(table.writes())
    return found


_Part = tuple[bytes, bool, bytes | None]
"""An encoded entry, whether it needs an internal record of its own, and its traceparent."""

_ALONE: Final = (Supersede, Invalidate, Relate, Forget, Sweep)
"""What is judged by what its claim holds, so everything that came before must be in the claim by then."""


_ONLY: Final = (Partition(0),)


def _partitions_of(usable: Usable, n_partitions: int) -> Sequence[Partition]:
    """Where a record belongs. A source may have spoken about anything, so all must forget it."""
    if n_partitions == 1 and isinstance(usable, Observation):
        return _ONLY
    if isinstance(usable, Forget | Sweep) and usable.subject is None:
        return [Partition(number) for number in range(n_partitions)]
    return [partition_of(_subject_of(usable), n_partitions)]


def _subject_of(usable: Usable) -> bytes:
    assert not isinstance(usable, Redacted), "nobody can send one"
    if usable.namespace is None or usable.subject is None:
        missing = "namespace" if usable.namespace is None else "subject"
        raise BadInput(
            "missing_field", f"The field {missing} is missing: it says where the observation lives."
        )
    return subject_key(usable.namespace, usable.subject)


def _cut(parts: Sequence[_Part], bytes_max: int) -> list[list[_Part]]:
    """Batches of at most `bytes_max` bytes; an entry that is larger alone is a batch of its own.

    Traceparents do not count: batches are cut, and events named, as they would be without.
    """
    batches: list[list[_Part]] = []
    size = 0
    closed = True
    for part in parts:
        entry, alone, _ = part
        if closed or alone or size + len(entry) > bytes_max:
            batches.append([])
            size = 0
        batches[-1].append(part)
        size += len(entry)
        closed = alone
    return batches


def replay_now(stored: bytes | None) -> Instant | None:
    """The greatest observed_at so far, from the stored value of `NOW_KEY`."""
    return None if stored is None else Instant(int.from_bytes(stored, "big", signed=True))


class Index:
    """Which subjects an observation id belongs to, as far as they have arrived, and how late it is."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._touched: dict[bytes, Known] = {}
        self._dirty: set[bytes] = set()
        self._now = self._now_before = replay_now(state.get(CLOCK_TABLE, NOW_KEY))

    def resolve(self, usable: Usable) -> list[Usable]:
        """The usable records that this one stands for: itself, or one retract for each subject."""
        if isinstance(usable, Observation):
            return self._observed(usable)
        if isinstance(usable, Supersede | Invalidate):
            self._hear(taken_at(usable))
        if not isinstance(usable, Retract):
            return [usable]
        if usable.namespace is not None and usable.subject is not None:
            return [usable]
        key, known = self._known(usable.observation_id)
        wanted = (usable.namespace, usable.subject)
        if wanted not in known.retracted:
            known.retracted.append(wanted)
            self._dirty.add(key)
        place = str(known.retracted.index(wanted))
        at = usable.recorded_at
        if at is not None and at < known.retracted_at.get(place, INSTANT_MAX):
            known.retracted_at[place] = at
            self._dirty.add(key)
        return [self._retract(usable, pair) for pair in known.subjects if _matches(wanted, pair)]

    def _observed(self, observation: Observation) -> list[Usable]:
        self._hear(observation.statement.observed_at)
        key, known = self._known(observation.statement.observation_id)
        pair = (observation.namespace, observation.subject)
        if pair in known.subjects:
            return [observation]
        known.subjects.append(pair)
        self._dirty.add(key)
        found: list[Usable] = [observation]
        matching = [str(place) for place, wanted in enumerate(known.retracted) if _matches(wanted, pair)]
        if matching:
            at = min((known.retracted_at[p] for p in matching if p in known.retracted_at), default=None)
            found.append(
                Retract(
                    observation_id=observation.statement.observation_id,
                    namespace=pair[0],
                    subject=pair[1],
                    recorded_at=at,
                )
            )
        return found

    def _hear(self, at: Instant) -> None:
        """In a replay it is as late as the newest thing that was said or decided."""
        if self._now is None or at > self._now:
            self._now = at

    def _retract(self, usable: Retract, pair: tuple[str, str]) -> Retract:
        return msgspec.structs.replace(usable, namespace=pair[0], subject=pair[1])

    def _known(self, observation_id: str) -> tuple[bytes, Known]:
        key = observation_id.encode("utf-8")
        known = self._touched.get(key)
        if known is None:
            stored = self._state.get(IDS_TABLE, key)
            known = self._touched[key] = Known() if stored is None else _decode_known(stored)
        return key, known

    def writes(self) -> list[Write]:
        """What the index has to remember."""
        found = [Write(IDS_TABLE, key, _encode_known(self._touched[key])) for key in sorted(self._dirty)]
        if self._now is not None and self._now != self._now_before:
            found.append(Write(CLOCK_TABLE, NOW_KEY, self._now.to_bytes(8, "big", signed=True)))
        return found


def _matches(wanted: tuple[str | None, str | None], pair: tuple[str, str]) -> bool:
    return all(want is None or want == have for want, have in zip(wanted, pair, strict=True))
