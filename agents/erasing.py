"""Erasing what was forgotten from an embedded log, which is ours to rewrite (DESIGN 4.10).

The agents have taken it out of the tables and the compacted topics; what is left are the records of the log:
what producers sent, the internal topic, the events of before, dead letters and alerts. Every record keeps its
place, so that whoever reads on finds the next one; a replay of what is left gives the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from agents.intake import IDS_TABLE, Known
from agents.replay import records
from state.corrections import Forget, Invalidate, Relate, Supersede
from state.forgotten import Redacted, Sweep, digest_of
from state.identity import ClaimId, claim_id, derive
from state.names import normalise, normalise_predicate
from state.observations import Observation, Recluster, Retract
from streams.codec import BATCH_FORMAT, Batch, Entry, decode_batch
from streams.embedded import PARTITION, EmbeddedStore
from streams.host import Record, Write
from streams.topics import CHANGE_FEED, Topic
from streams.wire import to_json

ERASED_MARK: Final = "erased-to"
"""Up to which internal record the wishes of the log are carried out."""

Place = tuple[str, int]
"""Topic and offset of a public record."""

_decode: Final = msgspec.json.Decoder().decode
_encode_batch: Final = msgspec.msgpack.Encoder().encode
_encode_known: Final = msgspec.msgpack.Encoder().encode
_decode_known: Final = msgspec.msgpack.Decoder(Known).decode


@dataclass(frozen=True, slots=True)
class Wish:
    """A forget, and the offset of its internal record."""

    offset: int
    forget: Forget


@dataclass(slots=True)
class Erased:
    """What was erased: how many records of each topic, the wishes, and the claims of which something went.

    `is_newest` says that the wishes are the end of the log: nothing was said since that must stay.
    """

    rows: dict[str, int] = field(default_factory=dict)
    wishes: list[Forget] = field(default_factory=list)
    claims: set[ClaimId] = field(default_factory=set)
    is_newest: bool = True


def erase(store: EmbeddedStore) -> Erased:
    """Erase from the log what its wishes name that were not carried out yet; all of it or nothing.

    Doing it again changes nothing. The bytes leave the file with `EmbeddedStore.reclaim`.
    """
    with store.transaction():
        eraser = _Eraser(store)
        if eraser.wishes:
            eraser.internal()
            eraser.letters()
            eraser.public()
            eraser.events()
            eraser.alerts()
            eraser.ids()
        store.set_mark(ERASED_MARK, str(store.end(Topic.BY_CLAIM, PARTITION)))
    return eraser.erased


class _Eraser:
    """One pass over the log of a store, topic by topic."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        start = int(store.mark(ERASED_MARK) or 0)
        self.wishes = list(_wishes(records(store, Topic.BY_CLAIM, start)))
        self.erased = Erased(wishes=[wish.forget for wish in self.wishes])
        self._places: set[Place] = set()
        self._left: set[str] = set()
        self._gone: set[str] = set()
        self._whole: dict[ClaimId, int] = {}
        self._parts: dict[ClaimId, int] = {}

    def _put(self, record: Record, value: bytes) -> None:
        self._store.rewrite(record.topic, PARTITION, record.offset, value)
        name = record.topic.value
        self.erased.rows[name] = self.erased.rows.get(name, 0) + 1

    # -- what was said ----------------------------------------------------------------------

    def internal(self) -> None:
        """The internal topic: what is forgotten becomes `Redacted`, and its record stays readable."""
        for record in records(self._store, Topic.BY_CLAIM):
            batch = decode_batch(record.value)
            is_wish = all(isinstance(entry.usable, Forget | Sweep) for entry in batch.entries)
            if record.offset > self.wishes[0].offset and not is_wish:
                self.erased.is_newest = False
            entries = [self._entry(record.offset, entry) for entry in batch.entries]
            if any(new is not old for new, old in zip(entries, batch.entries, strict=True)):
                self._put(record, _encode_batch(Batch(BATCH_FORMAT, entries)))
        self.erased.claims = {*self._whole, *self._parts}

    def _entry(self, offset: int, entry: Entry) -> Entry:
        usable = entry.usable
        for wish in self.wishes:
            redacted = _redacted(usable, offset, wish)
            if redacted is None:
                continue
            self._places.add((entry.topic, entry.offset))
            if isinstance(usable, Observation):
                self._gone.add(usable.statement.observation_id)
                of_scope = self._whole if wish.forget.scope == "subject" else self._parts
                of_scope[usable.claim] = max(wish.offset, of_scope.get(usable.claim, -1))
            return Entry(entry.topic, entry.partition, entry.offset, redacted)
        if isinstance(usable, Observation):
            self._left.add(usable.statement.observation_id)
        return entry

    def letters(self) -> None:
        """Dead letters that hold what is forgotten, with the records that they are about."""
        for record in records(self._store, Topic.DEAD_LETTERS):
            letter = _decode(record.value)
            if any(_is_about(letter, wish.forget) for wish in self.wishes):
                self._places.add((letter["origin_topic"], letter["origin_offset"]))
                self._put(record, b"")

    def public(self) -> None:
        """What producers and deciders sent."""
        for topic in (Topic.OBSERVATIONS, Topic.CORRECTIONS):
            for record in records(self._store, topic):
                if (topic.value, record.offset) in self._places:
                    self._put(record, b"")

    # -- what was published -------------------------------------------------------------------

    def events(self) -> None:
        """Events of before: all of a subject; of other claims, those that are not a fact's newest.

        Any of these may hold the words, and what is newest was derived without them.
        """
        newest: dict[str, int] = {}
        for record in self._feed():
            event = _decode(record.value)
            newest[event["fact_id"]] = max(event["version"], newest.get(event["fact_id"], 0))
        for record in self._feed():
            event = _decode(record.value)
            claim, caused_at = event["claim_id"], int(event["position"].rpartition("/")[2])
            if caused_at < self._whole.get(claim, -1):
                self._put(record, b"")
                continue
            is_past = event["version"] < newest[event["fact_id"]] or event["reason"] == "withdrawn"
            if is_past and caused_at <= self._parts.get(claim, -1) and not _is_wordless(event):
                self._put(record, b"")

    def _feed(self) -> Iterator[Record]:
        for topic in CHANGE_FEED:
            yield from records(self._store, topic)

    def alerts(self) -> None:
        """Drift alerts: those of a subject go, others lose what they say of the claims."""
        subjects = {_about(w.forget) for w in self.wishes if w.forget.scope == "subject"}
        for record in records(self._store, Topic.DRIFT_ALERTS):
            alert = _decode(record.value)
            if (alert["namespace"], normalise(alert["subject"])) in subjects:
                self._put(record, b"")
                continue
            if self._parts and self._blank_causes(alert):
                self._put(record, to_json(alert))

    def _blank_causes(self, alert: dict[str, Any]) -> bool:
        subject = normalise(alert["subject"])
        blanked = False
        for cause in alert["causes"]:
            claim = claim_id(alert["namespace"], subject, normalise_predicate(cause["predicate"]))
            if claim in self._parts and (cause["object"] is not None or cause["votes"] is not None):
                cause["object"], cause["votes"] = None, None
                blanked = True
        if blanked:
            alert["subject"] = subject
        return blanked

    # -- the index ----------------------------------------------------------------------------

    def ids(self) -> None:
        """The index of observation ids, which names the subject of each."""
        subjects = {_about(w.forget) for w in self.wishes if w.forget.scope == "subject"}
        if not subjects:
            return
        changes = []
        for row_key, stored in self._store.items(IDS_TABLE):
            known = _decode_known(stored)
            row_id = row_key.decode("utf-8")
            if row_id in self._left:  # said of the subject again since
                continue
            pairs = [pair for pair in known.subjects if pair not in subjects]
            wanted = [(n, pair) for n, pair in enumerate(known.retracted) if pair not in subjects]
            if len(pairs) == len(known.subjects) and len(wanted) == len(known.retracted):
                continue
            at = {
                str(new): known.retracted_at[str(old)]
                for new, (old, _) in enumerate(wanted)
                if str(old) in known.retracted_at
            }
            left = Known(pairs, [pair for _, pair in wanted], at)
            changes.append(Write(IDS_TABLE, row_key, _encode_known(left) if pairs or wanted else None))
        self._store.write(changes)


def _wishes(found: Iterable[Record]) -> Iterator[Wish]:
    for record in found:
        for entry in decode_batch(record.value).entries:
            if isinstance(entry.usable, Forget):
                yield Wish(record.offset, entry.usable)


def _redacted(usable: Any, offset: int, wish: Wish) -> Redacted | None:
    """What takes the place of something that a wish names, or None where it names something else."""
    return _REDACT[wish.forget.scope](usable, offset, wish)


def _of_observation(usable: Any, _offset: int, wish: Wish) -> Redacted | None:
    """An observation, whenever it was sent: it is taken back for ever."""
    forget = wish.forget
    said = _said(usable)
    if said != (forget.namespace, forget.subject, forget.observation_id):
        return None
    return Redacted(digest=digest_of(*said), namespace=said[0], subject=said[1], observation_id=said[2])


def _of_source(usable: Any, offset: int, wish: Wish) -> Redacted | None:
    """What a source had said by then; each observation stays taken back."""
    forget = wish.forget
    if not isinstance(usable, Observation) or offset > wish.offset:
        return None
    if usable.statement.source != forget.source or usable.namespace != forget.namespace:
        return None
    if forget.subject is not None and usable.subject != forget.subject:
        return None
    said = (usable.namespace, usable.subject, usable.statement.observation_id)
    return Redacted(digest=digest_of(*said), namespace=said[0], subject=said[1], observation_id=said[2])


def _of_subject(usable: Any, offset: int, wish: Wish) -> Redacted | None:
    """Everything about a subject up to the sweep that follows the wish, and the wish itself."""
    if offset > wish.offset + isinstance(usable, Sweep):
        return None
    if not isinstance(usable, _ABOUT_SUBJECT) or (usable.namespace, usable.subject) != _about(wish.forget):
        return None
    if isinstance(usable, Redacted) and usable.observation_id is None:
        return None
    said = _said(usable)
    return Redacted(digest=derive("redacted", *_about(wish.forget)) if said is None else digest_of(*said))


_ABOUT_SUBJECT: Final = (
    Observation, Retract, Supersede, Invalidate, Relate, Recluster, Forget, Sweep, Redacted,
)  # fmt: skip
_REDACT: Final[dict[str, Callable[[Any, int, Wish], Redacted | None]]] = {
    "observation": _of_observation,
    "source": _of_source,
    "subject": _of_subject,
}


def _said(usable: Any) -> tuple[str, str, str] | None:
    if isinstance(usable, Observation):
        return (usable.namespace, usable.subject, usable.statement.observation_id)
    if isinstance(usable, Retract) and usable.namespace is not None and usable.subject is not None:
        return (usable.namespace, usable.subject, usable.observation_id)
    return None


def _about(forget: Forget) -> tuple[str, str]:
    return (forget.namespace, forget.subject or "")


def _is_wordless(event: dict[str, Any]) -> bool:
    return (event["reason"], event["form"], event["observations"]) == ("withdrawn", "", 0)


def _names(text: str, words: str) -> bool:
    """Whether a text holds these words as words of their own, in any spelling."""
    return re.search(rf"(?<!\w){re.escape(normalise(words))}(?!\w)", normalise(text)) is not None


def is_letter_about(value: bytes, forget: Forget) -> bool:
    """Whether a dead letter, as it stands on its topic, holds what is forgotten."""
    return _is_about(_decode(value), forget)


def _is_about(letter: dict[str, Any], forget: Forget) -> bool:
    """Whether a dead letter holds what is forgotten. One that cannot be read is judged by its bytes."""
    try:
        sent = _decode(letter["raw"]) if letter["raw_encoding"] == "utf-8" else None
    except msgspec.DecodeError:
        sent = None
    if not isinstance(sent, dict):
        words = forget.subject if forget.scope == "subject" else forget.observation_id or forget.source
        return words is not None and _names(str(letter["raw"]), words)
    if (sent.get("namespace") or "default") != forget.namespace:
        return False
    names_subject = forget.subject is None or normalise(str(sent.get("subject"))) == forget.subject
    if forget.scope == "observation":
        return names_subject and bool(sent.get("observation_id") == forget.observation_id)
    if forget.scope == "source":
        source = sent.get("source")
        return names_subject and isinstance(source, dict) and bool(source.get("id") == forget.source)
    return names_subject
