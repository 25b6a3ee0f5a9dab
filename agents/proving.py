"""Proving that something is forgotten: looking for its words in every byte that is kept.

Looks for words as producers, the internal topic and JSON write them, in any case. Where nothing may be found
(tables, compacted topics, the read model, dead letters, the files) a find is a fault; what append-only topics
hold is listed, with the instant at which retention has removed it. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents import file_search
from state.errors import BadInput
from state.instants import Instant, format_instant
from state.names import normalise
from streams.embedded import EmbeddedStore
from streams.host import Record
from streams.topics import KEPT_FOR_EVER, SPEC_OF, Topic
from streams.wire import to_json


class NoWords(BadInput):
    """Nothing was given to look for."""


@dataclass(slots=True)
class Found:
    """How often words were found in one place. `until` is when retention has removed them.

    None as `until`: where nothing may be found, or where nothing is ever removed (`is_kept`).
    """

    where: str
    n: int
    until: Instant | None = None
    is_kept: bool = False


@dataclass(slots=True)
class Proof:
    """What a search found. `looked_in` are all places that were searched, with how much of each."""

    left: list[Found] = field(default_factory=list)
    append_only: list[Found] = field(default_factory=list)
    looked_in: dict[str, int] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left where nothing may be left."""
        return not self.left

    def fields(self) -> dict[str, object]:
        """As JSON."""
        return {
            "clean": self.is_clean,
            "left": [{"where": found.where, "found": found.n} for found in self.left],
            "append_only": [
                {
                    "where": found.where,
                    "found": found.n,
                    "until": None if found.until is None else format_instant(found.until),
                }
                for found in self.append_only
            ],
            "looked_in": self.looked_in,
        }


class Words:
    """Words to look for, in every way in which they may be written. Raises NoWords where there are none.

    `forms` are those ways, as bytes in lower case.
    """

    def __init__(self, words: Iterable[str]) -> None:
        forms: set[bytes] = set()
        for word in words:
            if not word.strip():
                raise NoWords("blank_text", "Give words to look for; blank ones are everywhere.")
            for spelled in (word, normalise(word)):
                forms |= {form.lower() for form in _as_written(spelled) if form}
        if not forms:
            raise NoWords("blank_text", "Give words to look for: a subject, or --text.")
        self.forms = sorted(forms)

    def are_in(self, held: bytes) -> bool:
        """Whether any of the words is in these bytes."""
        lowered = held.lower()
        return any(form in lowered for form in self.forms)


def _as_written(word: str) -> Iterator[bytes]:
    """The bytes of a word: as it is, as JSON, and as JSON of ASCII characters alone."""
    yield word.encode("utf-8")
    quoted = to_json(word)[1:-1]
    yield quoted
    yield "".join(c if c.isascii() else _escaped(c) for c in quoted.decode("utf-8")).encode("ascii")


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))


# -- an embedded log ------------------------------------------------------------------------


def prove_embedded(store: EmbeddedStore, folder: Path, words: Words) -> Proof:
    """Look into the log, its tables, and every file of its folder: nothing may be left anywhere."""
    proof = Proof()
    counts: dict[str, int] = {}
    for where, key, value in store.everything():
        proof.looked_in[where] = proof.looked_in.get(where, 0) + 1
        if words.are_in(key) or words.are_in(value):
            counts[where] = counts.get(where, 0) + 1
    proof.left = [Found(where, n) for where, n in sorted(counts.items())]
    look_into_files(folder, words, proof)
    return proof


def look_into_files(folder: Path, words: Words, proof: Proof) -> None:
    """Look into the bytes of every file below a folder. Raises SearchFailed."""
    for path, n_bytes, is_found in file_search.search(folder, words.forms):
        where = f"file {path}"
        proof.looked_in[where] = n_bytes
        if is_found:
            proof.left.append(Found(where, 1))


# -- topics on Kafka ------------------------------------------------------------------------


class TopicSearch:
    """Counts finds by topic, as records are read. `retentions` are those that the topics really have."""

    def __init__(self, words: Words, proof: Proof, retentions: Mapping[Topic, int] | None = None) -> None:
        self._words = words
        self._proof = proof
        self._retentions = retentions or {}
        self._finds: dict[Topic, tuple[int, Instant]] = {}
        self._changelogs: dict[str, int] = {}

    def look(self, records: Sequence[Record]) -> None:
        """Look into some records."""
        for record in records:
            name = f"topic {record.topic.value}"
            self._proof.looked_in[name] = self._proof.looked_in.get(name, 0) + 1
            if self._words.are_in(record.key or b"") or self._words.are_in(record.value):
                n, newest = self._finds.get(record.topic, (0, record.recorded_at))
                self._finds[record.topic] = (n + 1, max(newest, record.recorded_at))

    def look_into_changelogs(self, found: Iterable[tuple[str, int, int, bytes, bytes, int]]) -> None:
        """Look into records of the tables' changelogs, by the full name of their topic."""
        for name, _, _, key, value, _ in found:
            where = f"changelog {name}"
            self._proof.looked_in[where] = self._proof.looked_in.get(where, 0) + 1
            if self._words.are_in(key) or self._words.are_in(value):
                self._changelogs[where] = self._changelogs.get(where, 0) + 1

    def close(self) -> None:
        """Enter what was found into the proof."""
        self._proof.left += [Found(where, n) for where, n in sorted(self._changelogs.items())]
        for topic, (n, newest) in sorted(self._finds.items()):
            spec = SPEC_OF[topic]
            name = f"topic {topic.value}"
            if spec.compacted or topic is Topic.DEAD_LETTERS:
                self._proof.left.append(Found(name, n))
                continue
            kept_ms = self._retentions.get(topic, spec.retention_ms)
            until = None if kept_ms == KEPT_FOR_EVER else Instant(newest + kept_ms)
            self._proof.append_only.append(Found(name, n, until, is_kept=until is None))
