"""Folds late evidence again only as far as it matters.

A statement that lands in an old chunk folds again from there until the state is what it was, but for the
counts of the open fact, which are then corrected in place (`state.late`). Late evidence with an end of its
own, and evidence that is taken back, take the plain way of `state.folding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from state.changes import Change, Published
from state.chunks import CHUNK_MAX, saying_of
from state.documents import Document
from state.episodes import Episode
from state.facts import build
from state.fold_state import FoldState, copy, decode_state, encode_state
from state.folding import Folding
from state.identity import FactId
from state.instants import Instant
from state.late import ADJUSTMENTS_MAX, Behind, Follow, consequences, difference, same_future
from state.periods import Fold
from state.statements import Statement, order, position, voter


class Refolding(Folding):
    """A strand in which late evidence costs little, wherever it lands."""

    def _fold_again(
        self, added: Sequence[Statement], removed: Sequence[Statement], *, lowered: bool
    ) -> list[Change]:
        """Fold again what late statements changed, or all that follows where more than that arrived."""
        strand = self.strand
        late = [s for s in added if strand.n_chunks and position(s) <= strand.base_at]
        if late and not removed and not lowered and self._is_simple(late):
            return self._fold_late(late, [s for s in added if position(s) > strand.base_at])
        return super()._fold_again(added, removed, lowered=lowered)

    def _is_simple(self, late: Sequence[Statement]) -> bool:
        """Whether late statements have no end of their own, and fit into their chunks."""
        if any(statement.valid_to is not None for statement in late):
            return False
        numbers = [self.chunks.covering(position(s), self.strand.n_chunks) for s in late]
        return all(len(self.chunks.get(n).statements) + numbers.count(n) <= CHUNK_MAX for n in set(numbers))

    def _fold_late(self, late: Sequence[Statement], rest: Sequence[Statement]) -> list[Change]:
        """Fold again the chunks in which late statements land, each until the state is what it was."""
        strand = self.strand
        regions, watches, tail_again = self._regions(late)
        before: dict[FactId, Published] = {}
        changed: dict[int, list[Episode]] = {}
        state: FoldState | None = None
        number = min(regions)
        while number < strand.n_chunks:
            if state is None and number not in regions:
                number = min((n for n in regions if n > number), default=strand.n_chunks)
                continue
            chunk = self._chunk(number)
            if number not in changed:
                before.update({p.fact.fact_id: p for _, p in chunk.closed})
            if state is not None:
                chunk.state = state
            chunk.statements = sorted((*chunk.statements, *regions.pop(number, ())), key=order)
            fold = Fold(copy(chunk.state), self, self.policy)
            for at, members in groupby(chunk.statements, key=position):
                fold.step(at, list(members))
            changed[number] = fold.closed
            state = fold.state
            number += 1
            is_last = number == strand.n_chunks
            reference = decode_state(self.marks.base) if is_last else self._chunk(number).state
            next_at = Instant(state.at + 1)
            watched = any(watch.matters(state, next_at) for watch in watches)
            if number not in regions and not watched and same_future(state, reference):
                tail_again |= self._adjust(number, reference, state, before, changed)
                state = None
            elif is_last:
                self.marks.base = encode_state(state)
                tail_again, state = True, None
        self._index(late)
        return self._publish_late(rest, before, changed, tail_again=tail_again)

    def _regions(self, late: Sequence[Statement]) -> tuple[dict[int, list[Statement]], list[Follow], bool]:
        """The chunks to fold again, what to watch for, and whether the tail is concerned too."""
        strand = self.strand
        regions: dict[int, list[Statement]] = {}
        watches: list[Follow] = [Behind(position(s)) for s in late]
        tail_again = False
        for statement in late:
            number = self.chunks.covering(position(statement), strand.n_chunks)
            regions.setdefault(number, []).append(statement)
        for statement in late:
            if statement.document is None or not self.takes_side(statement):
                continue
            who, saying = voter(statement), saying_of(statement, self.cluster(statement))
            document = self._document((statement.source, statement.document))
            if document.cut_at is not None:
                document = self._whole_document(who)
            if saying not in document.sayings:
                document = Document(sorted((*document.sayings, saying)))
            instants, more = consequences(document, saying)
            watches += more
            for at in instants:
                if at > strand.base_at:
                    tail_again = True
                else:
                    regions.setdefault(self.chunks.covering(at, strand.n_chunks), [])
        return regions, watches, tail_again

    def _adjust(
        self,
        number: int,
        reference: FoldState,
        state: FoldState,
        before: dict[FactId, Published],
        changed: dict[int, list[Episode]],
    ) -> bool:
        """Correct the counts of the fact that is open where the states join.

        Says whether that fact is still open in the tail.
        """
        strand = self.strand
        if state.open is None or reference.open is None:
            return False
        adjustment = difference(number, reference.open, state.open)
        if adjustment is None:
            return False
        strand.adjustments.append(adjustment)
        low, high = number, strand.n_chunks
        while low < high:
            middle = (low + high) // 2
            if adjustment.belongs_to(self._chunk(middle).state.open):
                low = middle + 1
            else:
                high = middle
        base = decode_state(self.marks.base)
        if low == strand.n_chunks and adjustment.belongs_to(base.open):
            assert base.open is not None
            adjustment.apply(base.open)
            self.marks.base = encode_state(base)
            return True
        closing = low - 1
        chunk = self._chunk(closing)
        if closing not in changed:
            before.update({p.fact.fact_id: p for _, p in chunk.closed})
            changed[closing] = [episode for episode, _ in chunk.closed]
        for episode in changed[closing]:
            if adjustment.is_of(episode):
                adjustment.apply(episode)
        return False

    def _publish_late(
        self,
        rest: Sequence[Statement],
        before: dict[FactId, Published],
        changed: dict[int, list[Episode]],
        *,
        tail_again: bool,
    ) -> list[Change]:
        strand = self.strand
        chunked = [episode for number in sorted(changed) for episode in changed[number]]
        if tail_again or not self._is_in_order(rest):
            changes = self._fold_tail_again(rest, (), before, chunked)
        else:
            self._tail.replace(strand.n_folded, sorted((*self.tail[strand.n_folded :], *rest), key=order))
            fresh = self._fold_tail()
            changes = self._publish({**before, **strand.live}, fresh, chunked)
        for number, episodes in changed.items():
            chunk = self._chunk(number)
            chunk.closed = [(e, self._published[build(self.about, e).fact_id]) for e in episodes]
            self.chunks.put(number, chunk)
        if len(strand.adjustments) > ADJUSTMENTS_MAX:
            for number in range(strand.n_chunks):
                self.chunks.put(number, self._chunk(number))
            strand.n_adjusted += len(strand.adjustments)
            strand.adjustments = []
        self._seal()
        return changes
