"""Folds what arrives in a strand: evidence comes in, changes of facts come out.

What arrives in order costs the same however long the history is: it folds on from the stored state. What
arrives late folds again from its chunk (`state.refolding` stops where the state is what it was before). The
outcome is that of `state.timeline.fold_all` over all evidence; tests compare the two after every step.
"""

from __future__ import annotations

from collections.abc import Sequence

from state.changes import Change, Published, diff
from state.chunks import CHUNK, Chunks, saying_of
from state.documents import KEPT_IN_USE
from state.episodes import Episode
from state.evidence import Evidence
from state.facts import About, build
from state.first_word import begin, is_first_word
from state.fold_state import BEFORE_ALL, FoldState, decode_state, encode_state
from state.identity import FactId
from state.instants import Instant
from state.majority import fold_never_changing
from state.periods import Fold
from state.policy import Policy
from state.publishing import Publishing
from state.replacing import NONE_REPLACED
from state.statements import Statement, order, position
from state.stored_strand import Strand
from state.strand import DOCUMENTS_IN_USE
from state.timeline import fold_all
from state.withdrawn import Withdrawn


class Folding(Publishing):
    """A strand that takes in what arrives."""

    def __init__(
        self,
        strand: Strand,
        chunks: Chunks,
        about: About,
        policy: Policy,
        withdrawn: Withdrawn,
        *,
        never_changes: bool = False,
    ) -> None:
        super().__init__(strand, chunks, about, policy, withdrawn)
        self.never_changes = never_changes

    def apply(
        self, added: Sequence[Statement], removed: Sequence[Statement], *, horizon: Instant
    ) -> list[Change]:
        """Take statements in and out, and say what changed about the facts.

        `added` are not in the strand yet, `removed` are. `horizon` is the greatest observed_at of the
        claim after that.
        """
        strand = self.strand
        if len(added) > 1:
            added = sorted(added, key=order)
        if self._whole:
            self._whole.clear()
        if len(self._documents) > DOCUMENTS_IN_USE:
            self._documents.clear()
        lowered = horizon < strand.horizon
        strand.horizon = horizon
        if (
            self.never_changes
            or self.replaced is not NONE_REPLACED
            or any(s.valid_to is not None and s.is_late_end and s.votes and s.affirmed for s in added)
        ):
            self.flatten()
        if removed:
            self._forget(removed)  # first: what comes under the same id may be the same saying
        in_order = not (removed or lowered or strand.is_flat) and self._is_in_order(added)
        self._hear(added, all_documents=not in_order)
        changes = self._fold_on(added) if in_order else self._apply(added, removed, lowered=lowered)
        strand.due_at = self._due_at()
        strand.epoch = self.chunks.epoch_now
        self.store()
        return changes

    def _apply(
        self, added: Sequence[Statement], removed: Sequence[Statement], *, lowered: bool
    ) -> list[Change]:
        if self.strand.is_flat:
            return self._apply_flat(added, removed)
        return self._fold_again(added, removed, lowered=lowered)

    def _hear(self, added: Sequence[Statement], *, all_documents: bool) -> None:
        """Enter statements into what is at hand of their documents.

        What arrives in order lies in the tail when it is folded, so a document that is not at hand is
        read with it when it is first asked for: most are never asked for again.
        """
        if not all_documents and not self._documents:
            return
        for statement in added:
            if statement.document is None:
                continue
            name = (statement.source, statement.document)
            if (all_documents or name in self._documents) and self.takes_side(statement):
                document = self._document(name)
                document.add(saying_of(statement, self.cluster(statement)), kept=KEPT_IN_USE)

    def _due_at(self) -> Instant | None:
        """When something that is already known happens next: an end, or a scheduled statement."""
        strand = self.strand
        if strand.is_flat:
            return strand.horizon
        if not strand.state.ends and strand.n_folded == len(self.tail):
            return None
        ends = [strand.state.ends[0].at] if strand.state.ends else []
        ends += [position(s) for s in self.tail[strand.n_folded : strand.n_folded + 1]]
        return min(ends, default=None)

    def _is_in_order(self, added: Sequence[Statement]) -> bool:
        """Whether statements, in order, come after everything that was folded."""
        return not added or position(added[0]) > self.strand.state.at

    def _fold_on(self, added: Sequence[Statement]) -> list[Change]:
        """Fold what is new and publish the difference; the cost does not depend on the history."""
        strand = self.strand
        if len(added) == 1 and self.is_plain and is_first_word(strand, added[0], self.policy):
            self._tail.extend(added)
            return begin(strand, added[0], self.about, self.withdrawn)
        if strand.n_folded == len(self.tail):
            self._tail.extend(added)
        else:
            self._tail.replace(strand.n_folded, sorted((*self.tail[strand.n_folded :], *added), key=order))
        fresh = self._fold_tail()
        changes = self._publish(strand.live, fresh)
        self._seal()
        return changes

    def _fold_tail(self) -> list[tuple[int, Episode]]:
        """Fold the tail up to the horizon, leaving marks; returns the episodes closed on the way."""
        strand = self.strand
        fold = Fold(strand.state, self, self.policy)
        fresh: list[tuple[int, Episode]] = []
        mark_at = (strand.marks[-1][0] if strand.marks else 0) + CHUNK
        left = self.tail[strand.n_folded :]
        places = [position(statement) for statement in left]
        is_each_alone = len({*places}) == len(places) and (not places or places[-1] <= strand.horizon)
        start = 0
        while start < len(left) and (at := places[start]) <= strand.horizon:
            if strand.n_folded >= mark_at:
                mark_at = strand.n_folded + CHUNK
                self.marks.add(strand.n_folded, strand.state.at, encode_state(strand.state))
            end = start
            if is_each_alone:  # the usual batch: as far as it only repeats what holds, in one go
                end += fold.confirm(left[start : start + mark_at - strand.n_folded])
            if end == start:
                end = start + 1
                while end < len(left) and places[end] == at:
                    end += 1
                fold.step(at, left[start:end])
            strand.n_folded += end - start
            start = end
            if fold.closed:
                fresh.extend((strand.n_folded, episode) for episode in fold.closed)
                fold.closed = []
        return fresh

    # -- chunks -----------------------------------------------------------------------------

    def _seal(self) -> None:
        """Move the oldest statements of a long tail into a chunk of their own."""
        strand = self.strand
        while len(strand.marks) > 1 or (strand.marks and strand.n_folded - strand.marks[0][0] >= CHUNK):
            base = self.marks.base
            n, strand.base_at = self.marks.advance()
            statements = self._tail.take(n)
            done = [(done.episode, done.published) for done in strand.closed if done.n <= n]
            adjusted = strand.n_adjusted + len(strand.adjustments)
            self.chunks.put_sealed(strand.n_chunks, statements, base, done, adjusted)
            strand.n_chunks += 1
            strand.n_folded -= n
            strand.closed = [left.moved(n) for left in strand.closed if left.n > n]
            self._index(statements)

    def _unseal(self, number: int) -> dict[FactId, Published]:
        """Take the chunks from `number` on back into the tail; returns what was published of their facts."""
        strand = self.strand
        before: dict[FactId, Published] = {}
        statements: list[Statement] = []
        for n in range(number, strand.n_chunks):
            chunk = self._chunk(n)
            statements.extend(chunk.statements)
            before.update({published.fact.fact_id: published for _, published in chunk.closed})
            if n == number:
                self.marks.base, strand.base_at = encode_state(chunk.state), chunk.state.at
            self.chunks.delete(n)
        self._tail.replace(0, statements + self.tail)
        strand.n_chunks = number
        return before

    # -- late evidence ----------------------------------------------------------------------

    def _fold_again(
        self, added: Sequence[Statement], removed: Sequence[Statement], *, lowered: bool
    ) -> list[Change]:
        """Fold again from the first place at which the evidence changed."""
        strand = self.strand
        first = min(
            [position(s) for s in (*added, *removed)] + ([Instant(strand.horizon + 1)] if lowered else [])
        )
        before: dict[FactId, Published] = {}
        if strand.n_chunks and first <= strand.base_at:
            before = self._unseal(self.chunks.covering(first, strand.n_chunks))
        return self._fold_tail_again(added, removed, before)

    def _fold_tail_again(
        self,
        added: Sequence[Statement],
        removed: Sequence[Statement],
        before: dict[FactId, Published],
        chunked: Sequence[Episode] = (),
    ) -> list[Change]:
        """Fold the whole tail again, from its base."""
        strand = self.strand
        self._tail.replace(0, self._without(removed, added))
        before = {**before, **strand.live, **self._published_in_tail()}
        strand.state, strand.n_folded = decode_state(self.marks.base), 0
        self.marks.clear()
        strand.closed = []
        fresh = self._fold_tail()
        changes = self._publish(before, fresh, chunked)
        if not chunked:
            self._seal()
        return changes

    # -- strands that are folded as a whole --------------------------------------------------

    def flatten(self) -> None:
        """From now on fold the strand as a whole.

        For predicates that never change, which are counted and not folded, for claims with late reports
        of an end, whose spans are filled in only when everything else is folded, and for those in which
        documents replace each other. All cost more the longer the history is.
        """
        strand = self.strand
        if strand.is_flat:
            return
        before = self._unseal(0)
        before.update(self._published_in_tail())
        strand.live.update(before)
        strand.is_flat = True
        self.marks.base, strand.base_at, strand.state = b"", BEFORE_ALL, FoldState()
        self.marks.clear()
        strand.closed, strand.n_folded = [], 0

    def _apply_flat(self, added: Sequence[Statement], removed: Sequence[Statement]) -> list[Change]:
        strand = self.strand
        self._rewrite_tail(self._without(removed, added))
        facts = [build(self.about, episode) for episode in self._all_episodes()]
        after, changes = diff(self._known(strand.live, facts), facts, horizon=strand.horizon)
        strand.live = {fact.fact_id: after.pop(fact.fact_id) for fact in facts}
        for published in after.values():
            self.withdrawn.keep(published)
        return changes

    def _rewrite_tail(self, statements: Sequence[Statement]) -> None:
        self._tail.replace(0, statements)

    def _all_episodes(self) -> list[Episode]:
        """The episodes of the whole strand."""
        if self.never_changes and not self.replaced:
            return fold_never_changing(self.tail, self.cluster, self.policy)
        evidence = Evidence(self.tail, self._cluster_of, timeless=self.never_changes, replaced=self.replaced)
        if self.never_changes:
            return fold_never_changing(evidence.statements, evidence.cluster, self.policy)
        return fold_all(evidence, self.policy, horizon=self.strand.horizon)
