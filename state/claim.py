"""A claim: what a batch of arrivals changes about its facts.

One claim is the slot (namespace, subject, predicate). Its evidence lies in strands (`state.strand`); this
module finds the strand of each arrival, recognises what is already there, and keeps what all strands of a
claim share. Nothing depends on the order of arrival, except versions and which of two contradicting
records under one id came second.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from typing import Final

import msgspec

from state.changes import Change
from state.chunks import Chunks
from state.facts import About
from state.fold_state import BEFORE_ALL
from state.identity import ClaimId
from state.instants import Instant
from state.periods import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.statements import Statement
from state.strand import Folding, Strand

STORED_FORMAT: Final = 1
INLINE_MAX: Final = 8  # strands in the claim's own value; further values of a multi predicate lie apart


NAMES_IN_PAGE: Final = 256  # names of strands stored apart


class Claim(msgspec.Struct, kw_only=True, array_like=True):
    """The stored form of a claim.

    `layout` is how its strands are cut ("single", "multi", "never"); it follows the registry. `horizon` is
    the greatest observed_at of its statements with an object, `horizon_bare` of those without. `strands`
    holds the strands by name: "" for statements without object, else the cluster, or "*" for all of a
    single-valued claim. `apart` are the names of strands stored under keys of their own, `due` when
    a strand has something coming. `retracted` are ids that count as never said, whether they have
    arrived or not.
    """

    format: int = STORED_FORMAT
    claim: ClaimId
    namespace: str
    subject: str
    predicate: str
    layout: str = "single"
    epoch: int = -1
    horizon: Instant = BEFORE_ALL
    horizon_bare: Instant = BEFORE_ALL
    strands: dict[str, Strand] = {}
    n_apart: int = 0
    due: dict[str, Instant] = {}
    retracted: list[str] = []


class Duplicate(msgspec.Struct, frozen=True):
    """A statement that lost its id to another with a smaller content hash: a dead letter."""

    lost: Statement
    kept_hash: str


class Outcome(msgspec.Struct, frozen=True):
    """What a batch did to one claim: the events, the dead letters, and whether anything is to be stored."""

    changes: list[Change]
    duplicates: list[Duplicate]
    changed: bool


def layout_of(predicate: Predicate) -> str:
    """How the strands of a predicate's claims are cut."""
    if predicate.is_multi:
        return "multi"
    return "never" if predicate.never_changes else "single"


class LiveClaim:
    """A claim in use. May be kept between batches, as long as what is stored is what it stored last."""

    def __init__(self, claim: Claim, *, predicate: Predicate, policy: Policy) -> None:
        self.claim = claim
        self.predicate = predicate
        self.policy = policy
        self.about = About(claim.claim, claim.namespace, predicate.declared)
        self.prefix = claim.claim.encode("ascii")
        self.folding: dict[str, Folding] = {}
        self.shelf = Shelf(lambda _key: None)
        self.epoch = claim.epoch
        self.added: dict[str, dict[str, Statement]] = {}
        self.removed: dict[str, dict[str, Statement]] = {}
        self.duplicates: list[Duplicate] = []
        self.tombstones_changed = False

    def apply(
        self, arrivals: Iterable[Statement], retracted: Iterable[str], shelf: Shelf, *, epoch: int
    ) -> Outcome:
        """Take a batch in (`claim` is modified, as is the shelf) and say what changed.

        `epoch` rises with every batch; pieces written by a batch that did not reach the claim itself are
        recognised by it. A second delivery of the same batch changes nothing and yields nothing.
        """
        self.shelf, self.epoch = shelf, epoch
        for folding in self.folding.values():
            folding.chunks.renew(shelf, epoch=self.claim.epoch, epoch_now=epoch)
        self.added, self.removed, self.duplicates = {}, {}, []
        self.tombstones_changed = False
        self.retract(retracted)
        for statement in arrivals:
            self.arrive(statement)
        return self.finish()

    # -- strands ----------------------------------------------------------------------------

    def name_of(self, statement: Statement) -> str:
        """The strand that a statement belongs to."""
        if not statement.form:
            return ""
        return statement.form if self.claim.layout == "multi" else "*"

    def strand(self, name: str) -> Folding:
        """The strand of a name, which is made where there is none."""
        found = self.folding.get(name)
        if found is None:
            held = self.claim.strands.get(name)
            if held is None and self.claim.n_apart:
                stored = self.shelf.get(self._strand_key(name))
                held = None if stored is None else _decode_strand(stored)
            if held is None:
                held = Strand()
                if len(self.claim.strands) < INLINE_MAX:
                    self.claim.strands[name] = held
                else:
                    self._note_apart(name)
            chunks = Chunks(
                self.shelf, self._strand_key(name), epoch=self.claim.epoch, epoch_now=self.epoch
            )
            found = self.folding[name] = Folding(
                held,
                chunks,
                self.about,
                self.policy,
                cluster_of=_same,
                never_changes=self.claim.layout == "never",
            )
        return found

    def _note_apart(self, name: str) -> None:
        """Enter a strand that is stored apart in the list of their names, which is kept in pages."""
        page, place = divmod(self.claim.n_apart, NAMES_IN_PAGE)
        self.claim.n_apart += 1
        names = [] if place == 0 else self._names_in_page(page)[:place]
        self.shelf.put(self._page_key(page), _encode([*names, name]))

    def _names_in_page(self, page: int) -> list[str]:
        stored = self.shelf.get(self._page_key(page))
        assert stored is not None, "a page of names is written before it is counted"
        return _decode_names(stored)

    def _page_key(self, page: int) -> bytes:
        return self.prefix + b"/p" + page.to_bytes(4, "big")

    def _strand_key(self, name: str) -> bytes:
        return self.prefix + b"/s" + name.encode("utf-8")

    # -- arrivals ---------------------------------------------------------------------------

    def retract(self, ids: Iterable[str]) -> None:
        """Remember that the ids count as never said, and take out what is there of them."""
        for observation_id in ids:
            if observation_id in self.claim.retracted:
                continue
            insort(self.claim.retracted, observation_id)
            self.tombstones_changed = True
            found = self._find(observation_id)
            if found is not None:
                self._take_out(*found)

    def arrive(self, statement: Statement) -> None:
        """Enter a statement unless its id is there already, or retracted."""
        if self.claim.retracted and statement.observation_id in self.claim.retracted:
            return
        held = self._find(statement.observation_id)
        if held is not None:
            other = held[1]
            if other.content_hash == statement.content_hash:
                return
            if other.content_hash < statement.content_hash:
                self.duplicates.append(Duplicate(statement, other.content_hash))
                return
            self.duplicates.append(Duplicate(other, statement.content_hash))
            self._take_out(*held)
        name = self.name_of(statement)
        self.added.setdefault(name, {})[statement.observation_id] = statement
        if self.claim.layout == "multi":
            self.shelf.put(self._name_key(statement.observation_id), name.encode("utf-8"))

    def _name_key(self, observation_id: str) -> bytes:
        return self.prefix + b"/n" + observation_id.encode("utf-8")

    def _find(self, observation_id: str) -> tuple[str, Statement] | None:
        """The statement with this id and its strand's name, as of now."""
        names = ["*", ""]
        if self.claim.layout == "multi":
            stored = self.shelf.get(self._name_key(observation_id))
            names = [] if stored is None else [stored.decode("utf-8")]
        for name in names:
            found = self.added.get(name, {}).get(observation_id)
            if found is None and (name in self.claim.strands or self.claim.n_apart):
                found = self.strand(name).find(observation_id)
                if found is not None and observation_id in self.removed.get(name, {}):
                    found = None
            if found is not None:
                return name, found
        return None

    def _take_out(self, name: str, statement: Statement) -> None:
        if self.added.get(name, {}).pop(statement.observation_id, None) is None:
            self.removed.setdefault(name, {})[statement.observation_id] = statement

    # -- the fold ---------------------------------------------------------------------------

    def finish(self) -> Outcome:
        """Fold what arrived, strand by strand, and store what is stored apart."""
        claim = self.claim
        touched = sorted(name for name in {*self.added, *self.removed} if self._has_work(name))
        if not touched:
            return Outcome([], self.duplicates, changed=self.tombstones_changed)
        before = claim.horizon
        self._move_horizons(touched)
        due = [
            name
            for name, at in sorted(claim.due.items())
            if name and name not in touched and (at <= claim.horizon or claim.horizon < before)
        ]
        changes: list[Change] = []
        for name in [*touched, *due]:
            folding = self.strand(name)
            changes += folding.apply(
                list(self.added.get(name, {}).values()),
                list(self.removed.get(name, {}).values()),
                horizon=claim.horizon if name else claim.horizon_bare,
            )
            self._note_due(name, folding.strand)
            if name not in claim.strands:
                self.shelf.put(self._strand_key(name), _encode(folding.strand))
        claim.epoch = self.epoch
        return Outcome(changes, self.duplicates, changed=True)

    def _has_work(self, name: str) -> bool:
        return bool(self.added.get(name)) or bool(self.removed.get(name))

    def _note_due(self, name: str, strand: Strand) -> None:
        if self.claim.layout != "multi":
            return
        at = strand.due_at
        if at is not None:
            self.claim.due[name] = at
        else:
            self.claim.due.pop(name, None)

    def _move_horizons(self, touched: Iterable[str]) -> None:
        """The greatest observed_at after the batch; asked of all evidence where the greatest is taken out."""
        claim = self.claim
        for name in touched:
            for statement in self.added.get(name, {}).values():
                if not statement.votes:
                    continue
                if name and statement.observed_at > claim.horizon:
                    claim.horizon = statement.observed_at
                elif not name and statement.observed_at > claim.horizon_bare:
                    claim.horizon_bare = statement.observed_at
        gone = [s for name in touched for s in self.removed.get(name, {}).values()]
        if any(s.votes and s.form and s.observed_at >= claim.horizon for s in gone):
            claim.horizon = self._greatest(valued=True)
        if any(s.votes and not s.form and s.observed_at >= claim.horizon_bare for s in gone):
            claim.horizon_bare = self._greatest(valued=False)

    def _greatest(self, *, valued: bool) -> Instant:
        found = [BEFORE_ALL]
        for name, statement in self.everything():
            if bool(name) is valued and statement.votes:
                found.append(statement.observed_at)
        return max(found)

    def everything(self) -> Iterable[tuple[str, Statement]]:
        """All statements as they are after the batch, each with its strand's name."""
        for name in {*self.claim.strands, *self._names_apart(), *self.added}:
            gone = self.removed.get(name, {})
            if name in self.claim.strands or self.claim.n_apart:
                for statement in self.strand(name).everything():
                    if statement.observation_id not in gone:
                        yield name, statement
            for statement in self.added.get(name, {}).values():
                yield name, statement

    def _names_apart(self) -> Iterable[str]:
        n_left = self.claim.n_apart
        page = 0
        while n_left > 0:
            yield from self._names_in_page(page)[:n_left]
            n_left -= NAMES_IN_PAGE
            page += 1


def _same(form: str) -> str:
    return form


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Claim)
_encode: Final = _encoder.encode
_decode_names: Final = msgspec.msgpack.Decoder(list[str]).decode
_decode_strand: Final = msgspec.msgpack.Decoder(Strand).decode


def encode(claim: Claim) -> bytes:
    """The stored form of a claim."""
    return _encoder.encode(claim)


def decode(stored: bytes) -> Claim:
    """A claim from its stored form."""
    return _decoder.decode(stored)
