"""A large log for the read model, copied from a small one: other subjects, other ids, other places.

Making a million facts with the embedded host takes longer than what is to be measured. So the host makes some
thousand, and each copy of their records gets subjects and ids of its own; ids stay as random as they are, so
that no index is spared its work. Every record can be projected as if the host had written it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from agents.read_model.following import SLICE_RECORDS, slices
from agents.read_model.projection import TOPICS
from streams.embedded import PARTITION, EmbeddedStore
from streams.host import Record
from streams.keys import Offset
from streams.topics import SPEC_OF, Topic

SUBJECT_DIGITS = 7
_UUID = rb"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
_VARIES = re.compile(rb"(?P<subject>subject-\d{7})|(?P<place>observations-by-claim/0/\d+)|" + _UUID)


@dataclass(frozen=True, slots=True)
class Copies:
    """The records of a store, over and over; `n_subjects` are those that it names, from zero on."""

    store: EmbeddedStore
    n_subjects: int

    def slices(self, n_copies: int) -> Iterator[list[Record]]:
        """All records of all copies, in slices as large as those in which the read model catches up."""
        topics = [topic for topic in TOPICS if not SPEC_OF[topic].compacted]
        ends = {topic: self.store.end(topic, PARTITION) for topic in topics}
        starts = {topic: Offset(0) for topic in topics}
        template = [found for found in slices(self.store, starts, ends) if found]
        waiting: list[Record] = []
        n_causes = 0
        for copy in range(n_copies):
            for records in template:
                waiting += [self._copied(record, copy, ends) for record in records]
                n_causes += sum(record.topic is Topic.BY_CLAIM for record in records)
            if n_causes >= SLICE_RECORDS or copy == n_copies - 1:
                yield waiting
                waiting, n_causes = [], 0

    def _copied(self, record: Record, copy: int, ends: dict[Topic, Offset]) -> Record:
        n_causes = ends[Topic.BY_CLAIM]

        def renamed(match: re.Match[bytes]) -> bytes:
            found = match.group()
            if match.lastgroup == "subject":
                number = int(found.removeprefix(b"subject-")) + copy * self.n_subjects
                return f"subject-{number:0{SUBJECT_DIGITS}d}".encode()
            if match.lastgroup == "place":
                place, _, offset = found.rpartition(b"/")
                return place + b"/%d" % (int(offset) + copy * n_causes)
            return _id_of(found, copy)

        return Record(
            record.topic,
            record.partition,
            Offset(record.offset + copy * ends[record.topic]),
            None if record.key is None else _VARIES.sub(renamed, record.key),
            _VARIES.sub(renamed, record.value),
            record.recorded_at,
        )


@lru_cache(maxsize=200_000)
def _id_of(found: bytes, copy: int) -> bytes:
    """The id that stands in a copy for one of the template: of the same form, and as random."""
    digits = hashlib.md5(b"%d/%s" % (copy, found), usedforsecurity=False).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{digits[16:20]}-{digits[20:]}".encode()
