"""Decisions on their way into a claim: the statements by which they enter, or a letter that says why not.

Whether a decision can be taken is `state.decided`; what it then does is the fold's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from state.claim import LiveClaim
from state.corrections import Decision, Invalidate, Refusal, Supersede
from state.decided import unknown_target
from state.shelf import Shelf
from state.statements import Statement
from streams.codec import Entry
from streams.host import Output, Record
from streams.keys import Offset, Partition, subject_key
from streams.topics import Topic
from streams.wire import dead_letter, to_json


def decide(
    live: LiveClaim | None,
    decisions: Iterable[tuple[Supersede | Invalidate, Sequence[Statement]]],
    entries: Mapping[str, Entry],
    shelf: Shelf,
    record: Record,
) -> tuple[list[Statement], list[Output]]:
    """What decisions put into a claim (None: nobody has said anything), and the letters of refused ones.

    Each comes with the statements of the record before it. `entries` are those of the record by content hash.
    """
    statements: list[Statement] = []
    letters: list[Output] = []
    for decision, before in decisions:
        heard = (*before, *statements)
        found = unknown_target(decision) if live is None else live.entering(decision, heard, shelf)
        if isinstance(found, Refusal):
            letters.append(refusal_letter(decision, found, entries[decision.content_hash], record))
        else:
            statements.extend(found)
    return statements, letters


def refusal_letter(decision: Decision, refusal: Refusal, entry: Entry, record: Record) -> Output:
    """The dead letter of a decision that its claim does not allow; its text is put together again."""
    letter = dead_letter(
        origin_of(entry, record),
        refusal.code,
        refusal.message,
        raw=to_json(msgspec.to_builtins(decision)),
        part=decision.correction_id,
    )
    return Output(Topic.DEAD_LETTERS, subject_key(decision.namespace, decision.subject), letter)


def origin_of(entry: Entry, record: Record) -> Record:
    """The public record that an entry came from, without its bytes."""
    topic, partition, offset = Topic(entry.topic), Partition(entry.partition), Offset(entry.offset)
    return Record(topic, partition, offset, None, b"", record.recorded_at)
