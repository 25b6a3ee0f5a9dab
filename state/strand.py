"""A strand in use: one fold of a claim with its evidence at hand, and the look back over that evidence.

What of it is stored is `state.stored_strand`; what is done with it is `state.folding`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Final

from state.changes import Published
from state.chunks import Chunk, Chunks, saying_of
from state.decided import Closing, Void, last_closing
from state.documents import KEPT_IN_USE, Document, Incomplete, Saying
from state.evidence import takes_part
from state.fold_state import ASIDE, Cluster, Side
from state.history import distinct
from state.identity import FactId
from state.instants import Instant
from state.replacing import NONE_REPLACED, Replaced, Replacements
from state.statements import (
    DocumentName,
    ObservationId,
    Place,
    Statement,
    document_of,
    order,
    position,
    voter,
    voter_of,
)
from state.stored_strand import Closed, Strand
from state.tail import Marks, Tail

DOCUMENTS_IN_USE: Final = 128  # whose sayings are kept at hand between two batches, of each claim in use

_form_of: Final = attrgetter("form")


def _itself(form: str) -> Cluster:
    return form


class StrandInUse:
    """A strand in use, with its evidence at hand. Implements `state.periods.History`.

    May be kept between batches; after `store`, `strand` says what `tail` and `marks` say.
    """

    def __init__(self, strand: Strand, chunks: Chunks) -> None:
        self.strand = strand
        if strand.closed:  # decoded, they are views that keep all of the stored claim
            strand.closed = [Closed(c.n, c.episode.copy(), c.published.copy()) for c in strand.closed]
        self.chunks = chunks
        self._tail = Tail(strand.tail, strand.segments, chunks.drawer)
        self.marks = Marks(strand.base, strand.marks, strand.states_at, chunks.drawer)
        strand.base = b""
        self.tail = self._tail.statements
        self.replaced: Replacements = NONE_REPLACED
        self.set_clusters(None, has_aside=False)
        self._documents: dict[DocumentName, Document] = {}
        self._whole: dict[str, Document] = {}

    def set_clusters(
        self,
        cluster_of: Callable[[str], Cluster] | None,
        *,
        has_aside: bool,
        closings: Sequence[Closing] = (),
        timeless: bool = False,
    ) -> None:
        """Say which forms mean the same (None: each form is a cluster), and what decisions closed.

        `is_plain` then says that there is none of all this, as in most claims.
        """
        self.is_plain = cluster_of is None and not has_aside and not closings
        of_form = cluster_of if cluster_of is not None else _itself
        self._cluster_of = of_form
        self._closings = closings
        self.has_aside = has_aside or bool(closings)
        if closings:
            void = Void(closings, of_form, timeless=timeless)
            self.cluster: Callable[[Statement], Cluster] = lambda statement: (
                ASIDE if void.covers(statement, of_form(statement.form)) else of_form(statement.form)
            )
        elif cluster_of is None:
            self.cluster = _form_of
        else:
            self.cluster = lambda statement: of_form(statement.form)

    def set_replaced(self, ended: Sequence[Replaced], *, timeless: bool) -> None:
        """Say what newer documents end. Where there is any, the strand is folded as a whole."""
        self.replaced = Replacements(ended, self._cluster_of, timeless=timeless) if ended else NONE_REPLACED

    # -- looking back -----------------------------------------------------------------------

    def takes_side(self, statement: Statement) -> bool:
        """Whether a statement votes for or against something."""
        return takes_part(statement) and (not self.has_aside or self.cluster(statement) != ASIDE)

    def closed_at(self, cluster: Cluster, before: Instant) -> Instant:
        """The instant of the last decision before another that closed a cluster; BEFORE_ALL for none."""
        return last_closing(self._closings, self._cluster_of, cluster, before)

    def since(self, effective_from: Instant, before: Instant) -> list[Statement]:
        """Statements that take part and took effect in [effective_from, before), in their order."""
        tail = self.tail
        start = bisect_left(tail, effective_from, key=position)
        end = bisect_left(tail, before, lo=start, key=position)
        found = [s for s in tail[start:end] if self.takes_side(s)]
        number = self.strand.n_chunks
        if end == 0 and number:
            number = self.chunks.covering(before, number) + 1  # far behind the tail: begin there
        if start == 0:
            while number:
                number -= 1
                statements = self.chunks.get(number).statements
                inside = [
                    s for s in statements if effective_from <= s.effective_at < before and self.takes_side(s)
                ]
                found = inside + found
                if position(statements[0]) < effective_from:
                    break
        return distinct(found)

    def previous(self, statement: Statement) -> Instant | None:
        """Effective time of the same voter's newest statement for this side at an earlier place, or None."""
        document = statement.document
        if document is None:
            return None
        name = (statement.source, document)
        if name not in self._documents and self._speaks_once(name, statement):
            return None
        side = (self.cluster(statement), statement.affirmed)
        place = statement.place
        try:
            return self._document(name).previous(place, side)
        except Incomplete:
            return self._whole_document(voter(statement)).previous(place, side)

    def _speaks_once(self, name: DocumentName, statement: Statement) -> bool:
        """Whether a document says nothing else in all of the evidence: the usual case, and kept nowhere."""
        said = self._tail.said_by(name)
        if len(said) != 1 or said[0] is not statement:
            return False
        return self.strand.n_chunks == 0 or not self.chunks.has_document(voter_of(name))

    def began(self, who: str, side: Side, place: Place) -> Instant:
        """Since when the document, at `place`, says this without having said anything else in between."""
        try:
            return self._document(document_of(who)).began_at(side, place)
        except Incomplete:
            return self._whole_document(who).began_at(side, place)

    def _document(self, name: DocumentName) -> Document:
        """What a document has said in all of the evidence."""
        found = self._documents.get(name)
        if found is None:
            found = self.chunks.document(voter_of(name)) if self.strand.n_chunks else None
            found = self._documents[name] = found or Document()
            for statement in self._tail.said_by(name):
                if self.takes_side(statement):
                    found.add(saying_of(statement, self.cluster(statement)), kept=KEPT_IN_USE)
        return found

    def _whole_document(self, who: str) -> Document:
        """The same from all of the evidence, however long ago: the long way, for late evidence only."""
        whole = self._whole.get(who)
        if whole is not None:
            return whole
        whole = self._whole[who] = Document()
        sayings = sorted(
            saying_of(s, self.cluster(s))
            for s in self.everything()
            if s.document is not None and self.takes_side(s) and voter(s) == who
        )
        whole.sayings = sayings
        return whole

    def everything(self) -> list[Statement]:
        """All statements, in order."""
        found: list[Statement] = []
        for number in range(self.strand.n_chunks):
            found.extend(self.chunks.get(number).statements)
        return found + self.tail

    def find(self, observation_id: ObservationId) -> Statement | None:
        """The statement with this id, or None."""
        held = self._tail.by_id.get(observation_id)
        if held is not None or self.strand.n_chunks == 0:
            return held
        key = self.chunks.place_of(observation_id)
        if key is None:
            return None
        for statement in self.chunks.get(self.chunks.covering(key[0], self.strand.n_chunks)).statements:
            if statement.observation_id == observation_id:
                return statement
        return None

    def forget_documents(self) -> None:
        """Drop what is kept of every document, before the strand is folded anew."""
        for statement in self.everything():
            if statement.document is not None:
                self.chunks.delete_document(voter(statement))
        self._documents.clear()

    def published(self) -> dict[FactId, Published]:
        """Everything that was published of this strand: the long way."""
        found = dict(self.strand.live)
        for number in range(self.strand.n_chunks):
            found.update({p.fact.fact_id: p for _, p in self.chunks.get(number).closed})
        found.update(self._published_in_tail())
        return found

    def _published_in_tail(self) -> dict[FactId, Published]:
        """What was published of the facts that closed within the tail."""
        found = [closed.was_published() for closed in self.strand.closed]
        return {published.fact.fact_id: published for published in found}

    # -- what is held -----------------------------------------------------------------------

    def _chunk(self, number: int) -> Chunk:
        """A chunk with its state corrected by what late evidence changed since it was written."""
        strand, chunk = self.strand, self.chunks.get(number)
        for adjustment in strand.adjustments[max(0, chunk.n_adjusted - strand.n_adjusted) :]:
            if adjustment.chunk <= number and adjustment.belongs_to(chunk.state.open):
                assert chunk.state.open is not None
                adjustment.apply(chunk.state.open)
        chunk.n_adjusted = strand.n_adjusted + len(strand.adjustments)
        return chunk

    def store(self) -> None:
        """Bring the stored form up to date with what a batch did; once for each batch, at its end."""
        self._tail.spill()
        self.marks.spill()
        self.strand.states_at = self.marks.stored_at

    def discard(self) -> None:
        """Let go what is stored of the tail, before the claim is folded anew."""
        self._tail.discard()
        self.marks.discard()

    def _without(self, removed: Iterable[Statement], added: Iterable[Statement]) -> list[Statement]:
        gone = {s.observation_id for s in removed}
        return sorted((*(s for s in self.tail if s.observation_id not in gone), *added), key=order)

    def _index(self, statements: Sequence[Statement]) -> None:
        """Enter statements that moved into a chunk at their ids and documents."""
        self.chunks.put_places(statements)
        said: dict[DocumentName, list[Saying]] = {}
        for statement in statements:
            document = statement.document
            if document is not None and self.takes_side(statement):
                saying = saying_of(statement, self.cluster(statement))
                said.setdefault((statement.source, document), []).append(saying)
        for name, sayings in said.items():
            who = voter_of(name)
            stored = self.chunks.document(who)
            if stored is None:
                stored = Document([sayings.pop(0)])
            for saying in sayings:
                stored.add(saying)
            self.chunks.put_document(who, stored)

    def _forget(self, removed: Iterable[Statement]) -> None:
        for statement in removed:
            # Its form may be gone with it, and its cluster be another one than it was entered with.
            if statement.document is not None:
                who = voter(statement)
                saying = saying_of(statement, self.cluster(statement))
                self._document(document_of(who)).remove(saying)
                stored = self.chunks.document(who)
                if stored is not None:
                    stored.remove(saying)
                    self.chunks.put_document(who, stored)
