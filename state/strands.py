"""The strands of a claim in use: where each lies, and what all of them have been told and have published.

A claim of a single-valued predicate has one strand or two; values of a multi-valued one have a strand each,
the first few in the claim's own value and the others under keys of their own. Folds nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from state.changes import Published
from state.chunks import Chunks
from state.facts import About, Fact
from state.identity import FactId
from state.own_facts import name_of as name_of_own
from state.own_folding import OwnFolding
from state.policy import Policy
from state.predicates import Predicate
from state.refolding import Refolding
from state.replacing import NONE_REPLACED
from state.shelf import Shelf
from state.statements import Statement
from state.stored_claim import OWN, Claim, layout_of
from state.stored_strand import Strand
from state.versioned import version_at, with_version
from state.withdrawn import Withdrawn

INLINE_MAX: Final = 8  # strands in the claim's own value; further values of a multi predicate lie apart
NAMES_IN_PAGE: Final = 256  # names of strands stored apart

_encode: Final = msgspec.msgpack.Encoder().encode
_decode_names: Final = msgspec.msgpack.Decoder(list[str]).decode
_decode_strand: Final = msgspec.msgpack.Decoder(Strand).decode


class Strands:
    """The strands of one claim. Every use begins with `renew`: the shelf of the batch, and its epoch."""

    def __init__(self, claim: Claim, *, predicate: Predicate, policy: Policy) -> None:
        self.claim = claim
        self.is_new = claim.epoch < 0  # nothing was stored of it when this use began
        self.predicate = predicate
        self.policy = policy
        self.layout_today = layout_of(predicate)
        self.about = About(claim.claim, claim.namespace, predicate.declared)
        self.prefix = claim.claim.encode("ascii")
        self.folding: dict[str, Refolding] = {}
        self.withdrawn = Withdrawn(self.prefix)
        self.shelf = Shelf(lambda _key: None)
        self.epoch = claim.epoch
        self.pages: dict[int, list[str]] = {}
        self.is_rebuilt = False

    def renew(self, shelf: Shelf, *, epoch: int) -> None:
        """Go on with the shelf of another batch; what is put belongs to `epoch`."""
        self.shelf = self.withdrawn.shelf = shelf
        self.epoch = epoch
        self.pages, self.is_rebuilt = {}, False
        for folding in self.folding.values():
            folding.chunks.renew(shelf, epoch=self.claim.epoch, epoch_now=epoch)

    def fold_by(self, policy: Policy) -> None:
        """Go on by another policy; what another one folded is folded anew when something arrives."""
        if policy is not self.policy:
            self.policy = policy
            for folding in self.folding.values():
                folding.policy = policy

    def name_of(self, statement: Statement) -> str:
        """The strand that a statement belongs to."""
        if self.claim.layout == OWN:
            return name_of_own(statement)
        return self._name_of_form(statement.form)

    def _name_of_form(self, form: str) -> str:
        if not form:
            return ""
        return self.claim.forms.cluster(form) if self.claim.layout == "multi" else "*"

    def strand(self, name: str) -> Refolding:
        """The strand of a name, which is made where there is none."""
        found = self.strand_there(name)
        return self._in_use(name, self._new_strand(name)) if found is None else found

    def strand_there(self, name: str) -> Refolding | None:
        """The strand of a name, or None where there is none."""
        found = self.folding.get(name)
        if found is not None:
            return found
        held = self.claim.strands.get(name)
        if held is None and self.claim.n_apart and not self.is_rebuilt:
            held = self._strand_apart(name)
        return None if held is None else self._in_use(name, held)

    def _in_use(self, name: str, held: Strand) -> Refolding:
        chunks = Chunks(
            self.shelf,
            self._strand_key(name),
            epoch=max(held.epoch, self.claim.epoch),
            epoch_now=self.epoch,
            discarded=self.claim.discarded,
        )
        found = self.folding[name] = self._folding_of(name, held, chunks)
        self._set_clusters(found)
        return found

    def _folding_of(self, name: str, held: Strand, chunks: Chunks) -> Refolding:
        about, policy, withdrawn = self.about, self.policy, self.withdrawn
        if self.claim.layout == OWN:
            timeless = self.predicate.never_changes
            return OwnFolding(held, chunks, about, policy, withdrawn, name=name, timeless=timeless)
        never_changes = self.claim.layout == "never"
        return Refolding(held, chunks, about, policy, withdrawn, never_changes=never_changes)

    def _read_apart(self, key: bytes) -> bytes | None:
        """A strand, or a page of names, as the claim at hand left it, or None."""
        return version_at(self.shelf.get(key), self.claim.epoch)

    def _strand_apart(self, name: str) -> Strand | None:
        key = self._strand_key(name)
        if key in self.claim.discarded:  # it is there until the next batch deletes it, and no strand any more
            return None
        stored = self._read_apart(key)
        return None if stored is None else _decode_strand(stored)

    def _put_apart(self, key: bytes, value: bytes) -> None:
        """Store a strand, or a page of names; the claim that is stored now still finds the one before."""
        stored = self.shelf.get(key)
        self.shelf.put(key, with_version(stored, value, epoch=self.claim.epoch, epoch_now=self.epoch))

    def _store_apart(self, name: str, strand: Strand) -> None:
        self._put_apart(self._strand_key(name), _encode(strand))

    def _set_clusters(self, folding: Refolding) -> None:
        forms, closings = self.claim.forms, self.claim.closings
        moved = bool(forms.cluster_of or forms.aside)
        if moved or closings or not folding.is_plain:
            folding.set_clusters(
                forms.cluster if moved else None,
                has_aside=bool(forms.aside),
                closings=closings,
                timeless=self.claim.layout == "never",
            )
        if self.claim.replacing is not None or folding.replaced is not NONE_REPLACED:
            ended = () if self.claim.replacing is None else self.claim.replacing.ended
            folding.set_replaced(ended, timeless=self.claim.layout == "never")

    def _new_strand(self, name: str) -> Strand:
        strand = Strand()
        if len(self.claim.strands) < INLINE_MAX:
            self.claim.strands[name] = strand
        else:
            self._note_apart(name)
        return strand

    def _note_apart(self, name: str) -> None:
        """Enter a strand that is stored apart in the list of their names, which is kept in pages."""
        page, place = divmod(self.claim.n_apart, NAMES_IN_PAGE)
        self.claim.n_apart += 1
        names = [] if place == 0 else self._names_in_page(page)[:place]
        self.pages[page] = [*names, name]
        self._put_apart(self._page_key(page), _encode(self.pages[page]))

    def _names_in_page(self, page: int) -> list[str]:
        if page not in self.pages:
            stored = self._read_apart(self._page_key(page))
            assert stored is not None, "a page of names is written before it is counted"
            self.pages[page] = _decode_names(stored)
        return self.pages[page]

    def names(self) -> list[str]:
        """The names of all strands."""
        return [*self.claim.strands, *self._names_apart()]

    def _names_apart(self) -> Iterator[str]:
        n_left = self.claim.n_apart
        page = 0
        while n_left > 0:
            yield from self._names_in_page(page)[:n_left]
            n_left -= NAMES_IN_PAGE
            page += 1

    def _page_key(self, page: int) -> bytes:
        return self.prefix + b"/p" + page.to_bytes(4, "big")

    def _strand_key(self, name: str) -> bytes:
        return self.prefix + b"/s" + name.encode("utf-8")

    def _name_key(self, observation_id: str) -> bytes:
        return self.prefix + b"/n" + observation_id.encode("utf-8")

    def everything(self) -> list[Statement]:
        """All statements as they were before the batch at hand."""
        return [statement for name in self.names() for statement in self.strand(name).everything()]

    def evidence(self, shelf: Shelf) -> list[Statement]:
        """All statements, between two batches."""
        self.renew(shelf, epoch=self.claim.epoch)
        return self.everything()

    def open_facts(self, shelf: Shelf) -> Iterator[Fact]:
        """The facts that nothing ends, as they were published last."""
        self.renew(shelf, epoch=self.claim.epoch)
        for name in self.names():
            held = self.folding[name].strand if name in self.folding else self.claim.strands.get(name)
            if held is None:
                held = self._strand_apart(name) or Strand()
            yield from (p.fact for p in held.live.values() if p.fact.reason is None)

    def published(self) -> dict[FactId, Published]:
        """Everything that was published of the claim and is not withdrawn: the long way."""
        found: dict[FactId, Published] = {}
        for name in self.names():
            found.update(self.strand(name).published())
        return found
