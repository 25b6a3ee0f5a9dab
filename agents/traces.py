"""Which of the observations of a batch caused each output, as far as they bear a traceparent.

Decides only which header an event gets: that of the observation that decided it, or else of the newest one of
its claim or subject in the batch. The others are told to whoever records traces. Never looks at a batch
without traces, and never changes what an output says.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import msgspec

from agents.following import Folded
from state.corrections import Forget, Invalidate, Relate, Supersede
from state.errors import BadInstant
from state.instants import Instant, parse_instant
from state.observations import Observation, Retract
from state.traceparent import unpacked
from streams.codec import Batch, Entry
from streams.host import Output
from streams.keys import subject_key
from streams.topics import CHANGE_FEED, Topic

LINKED_MAX: Final = 16  # other causes of one event
RETIRED_MAX: Final = 10_000  # facts whose end an alert may still name as its cause
_TRACED: Final = frozenset((*CHANGE_FEED, Topic.FACT_LINKS, Topic.DRIFT_ALERTS, Topic.DEAD_LETTERS))


class _Cause(msgspec.Struct):
    fact_id: str


class _Told(msgspec.Struct):
    """The part of any output that says what caused it."""

    claim_id: str = ""
    fact_id: str = ""
    supported_by: list[str] = []
    closed_by: str | None = None
    opened_by: str | None = None
    evidence_id: str | None = None
    decided_observed_at: str | None = None
    causes: list[_Cause] = []
    origin_topic: str = ""
    origin_partition: int = -1
    origin_offset: int = -1


_decode: Final = msgspec.json.Decoder(_Told).decode


class _Group:
    """The traced entries of one claim or subject, in the order of the batch."""

    def __init__(self) -> None:
        self.headers: list[bytes] = []
        self.by_id: dict[str, bytes] = {}
        self.by_instant: dict[Instant, bytes] = {}

    def add(self, header: bytes, name: str, at: Instant | None) -> None:
        self.headers.append(header)
        self.by_id[name] = header
        if at is not None:
            self.by_instant[at] = header

    def deciding(self, told: _Told) -> bytes:
        """The header of the entry that decided; of the newest one, where that is none of these."""
        for name in (told.closed_by, told.opened_by, told.evidence_id):
            if name is not None and name in self.by_id:
                return self.by_id[name]
        if (at := _instant(told.decided_observed_at)) is not None and at in self.by_instant:
            return self.by_instant[at]
        known = [self.by_id[name] for name in told.supported_by if name in self.by_id]
        return known[-1] if known else self.headers[-1]

    def others(self, header: bytes) -> tuple[bytes, ...]:
        """The newest of the other headers, each once."""
        found = dict.fromkeys(reversed(self.headers))
        found.pop(header)
        return tuple(found)[:LINKED_MAX]


class Traces:
    """Gives outputs the traceparents of what caused them.

    A drift alert follows at a later tick from facts that ended before: their headers are kept in memory, of
    so many as `RETIRED_MAX`. A process that starts anew does not know them, and its alerts have no header.
    """

    def __init__(self) -> None:
        self._retired: OrderedDict[str, bytes] = OrderedDict()

    def stamped(self, folded: Folded) -> Sequence[Output]:
        """The outputs of a record; untouched where neither it nor an earlier one has a traceparent."""
        if folded.record.trace is None:
            return folded.outputs if not self._retired else [self._alert(o) for o in folded.outputs]
        headers = unpacked(folded.record.trace)
        if not headers:
            return folded.outputs
        batch = _Batch(folded.batch, headers)
        return [self._stamped(output, batch) for output in folded.outputs]

    def _stamped(self, output: Output, batch: _Batch) -> Output:
        if output.topic not in _TRACED or not output.value:
            return output
        if output.topic is Topic.DRIFT_ALERTS:
            return self._alert(output)
        told = _decode(output.value)
        if told.origin_topic:
            header = batch.by_place.get((told.origin_topic, told.origin_partition, told.origin_offset))
            return output if header is None else msgspec.structs.replace(output, trace=header)
        group = batch.of(told.claim_id, output.key)
        if group is None:
            return output
        header = group.deciding(told)
        if output.topic is Topic.FACT_INVALIDATED:
            self._retire(told.fact_id, header)
        return msgspec.structs.replace(output, trace=header, linked=group.others(header))

    def _retire(self, fact_id: str, header: bytes) -> None:
        self._retired[fact_id] = header
        self._retired.move_to_end(fact_id)
        if len(self._retired) > RETIRED_MAX:
            self._retired.popitem(last=False)

    def _alert(self, output: Output) -> Output:
        """A drift alert with the header of its newest cause that has one."""
        if output.topic is not Topic.DRIFT_ALERTS or not output.value:
            return output
        causes = [self._retired.get(cause.fact_id) for cause in reversed(_decode(output.value).causes)]
        known = list(dict.fromkeys(header for header in causes if header is not None))
        if not known:
            return output
        return msgspec.structs.replace(output, trace=known[0], linked=tuple(known[1 : LINKED_MAX + 1]))


class _Batch:
    """The traced entries of a batch, by their claim, their subject and where they came from."""

    def __init__(self, batch: Batch, headers: dict[int, bytes]) -> None:
        self._by_claim: dict[str, _Group] = {}
        self._by_subject: dict[bytes, _Group] = {}
        self.by_place: dict[tuple[str, int, int], bytes] = {}
        for number, header in headers.items():
            if 0 <= number < len(batch.entries):
                self._add(batch.entries[number], header)

    def _add(self, entry: Entry, header: bytes) -> None:
        self.by_place[entry.topic, entry.partition, entry.offset] = header
        usable = entry.usable
        name: str = ""
        at: Instant | None = None
        if isinstance(usable, Observation):
            name, at = usable.statement.observation_id, usable.statement.observed_at
        elif isinstance(usable, Supersede | Invalidate | Relate):
            name, at = usable.correction_id, usable.decided_at
        elif not isinstance(usable, Retract | Forget):
            return
        if not isinstance(usable, Retract | Forget):
            self._by_claim.setdefault(usable.claim, _Group()).add(header, name, at)
        if usable.namespace is not None and usable.subject is not None:
            group = self._by_subject.setdefault(subject_key(usable.namespace, usable.subject), _Group())
            group.add(header, name, at)

    def of(self, claim: str, key: bytes | None) -> _Group | None:
        """The entries of a claim; of its subject where none is of the claim itself, as a retract."""
        return self._by_claim.get(claim) or self._by_subject.get(key or b"")


def _instant(text: str | None) -> Instant | None:
    try:
        return None if text is None else parse_instant(text)
    except BadInstant:
        return None
