"""Commands about rules on their way to the audit, which owns the rules and judges them in its one order.

Intake looks at each command and forwards the bytes of what can be used; the audit reads them again. What a
partition tells of a cycle lies in the same log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from state.cycles import Part
from state.errors import BadInput
from state.instants import Instant
from state.rule_commands import RuleCommand, read_command
from state.validation import fields_of
from streams.host import Effects, Output, Record
from streams.keys import Offset, Partition
from streams.topics import Topic
from streams.wire import dead_letter


class Forwarded(msgspec.Struct, frozen=True, kw_only=True, tag="rule-command", omit_defaults=True):
    """A record of the topic `rules` as it was read."""

    partition: int
    offset: int
    key: bytes | None = None
    value: bytes
    recorded_at: Instant

    def origin(self) -> Record:
        """The record itself."""
        return Record(
            Topic.RULES,
            Partition(self.partition),
            Offset(self.offset),
            self.key,
            self.value,
            self.recorded_at,
        )

    def command(self) -> RuleCommand:
        """What it says. Raises BadInput where another release let it through."""
        return read_command(fields_of(self.value))


_encode: Final = msgspec.msgpack.Encoder().encode
_decoder: Final = msgspec.msgpack.Decoder(Part | Forwarded)


def decode_entry(value: bytes) -> Part | Forwarded:
    """One record of the audit's log."""
    return _decoder.decode(value)


def forward(records: Sequence[Record]) -> Effects:
    """Every command that can be used goes on to the audit; the others become dead letters."""
    effects = Effects()
    for record in records:
        try:
            read_command(fields_of(record.value))
        except BadInput as bad:
            letter = dead_letter(record, bad.code, bad.message)
            effects.outputs.append(Output(Topic.DEAD_LETTERS, record.key, letter))
            continue
        told = Forwarded(
            partition=record.partition,
            offset=record.offset,
            key=record.key,
            value=record.value,
            recorded_at=record.recorded_at,
        )
        effects.outputs.append(Output(Topic.CYCLE_PARTS, record.key, _encode(told), Partition(0)))
    return effects
