"""Reads from a log what was said under which predicate, and asks which names may be aliases.

Decides nothing: what speaks for an alias is `state.alias_report`. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from agents.logs import EmbeddedLog, Log
from state.alias_report import Proposal, Said, names_in, suggest
from state.observations import Observation
from state.predicate_words import words_of
from state.predicates import Registry
from state.similarity import Vectors, VectorsUnavailable
from streams.codec import decode_batch
from streams.embedded import PARTITION
from streams.host import Record
from streams.topics import Topic

READ_MAX = 1_000


def suggestions(log: Log, registry: Registry, vectors: Vectors | None) -> tuple[int, list[Proposal], str]:
    """How many predicates the log has, what is proposed, and why names were not compared; "" if they were."""
    names = names_in(said(log))
    if vectors is None:
        return len(names), suggest(names, registry, vectors={}, threshold=1.0), "there are no vectors"
    try:
        made = dict(zip(names, vectors.embed([words_of(name) for name in names]), strict=True))
        threshold = vectors.model.threshold
    except VectorsUnavailable as unavailable:
        return len(names), suggest(names, registry, vectors={}, threshold=1.0), str(unavailable)
    return len(names), suggest(names, registry, vectors=made, threshold=threshold), ""


def said(log: Log) -> Iterator[Said]:
    """Every observation of a log that votes, under the predicate that it was folded under."""
    for record in _batches(log):
        for entry in decode_batch(record.value).entries:
            usable = entry.usable
            if isinstance(usable, Observation) and usable.statement.votes:
                yield Said(usable.namespace, usable.subject, usable.predicate, usable.statement.form)


def _batches(log: Log) -> Iterator[Record]:
    if not isinstance(log, EmbeddedLog):
        yield from log.read([Topic.BY_CLAIM], from_start=True, follow=False)
        return
    store, start = log.host.store, 0
    while records := store.read(Topic.BY_CLAIM, PARTITION, start, READ_MAX):
        start = records[-1].offset + 1
        yield from (record for record in records if record.value)  # else it was erased
