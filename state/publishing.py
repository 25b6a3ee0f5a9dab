"""What is published of a strand: compares the facts that may have changed with what they were.

Folds nothing (`state.folding` does) and compares nothing itself (`state.changes` does): it says which facts
of a strand are to be compared after a batch, and keeps what was published of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from state.changes import Change, Published, changes_of, diff
from state.chunks import Chunks
from state.episodes import Episode
from state.facts import About, Fact, build, gone_on
from state.finish import finish
from state.identity import FactId
from state.instants import Instant
from state.periods import Fold
from state.policy import Policy
from state.statements import Statement, position
from state.stored_strand import Strand, closed
from state.strand import StrandInUse
from state.withdrawn import Withdrawn


class Publishing(StrandInUse):
    """A strand that says what changed about its facts. `about` is what all facts of the claim share."""

    def __init__(
        self, strand: Strand, chunks: Chunks, about: About, policy: Policy, withdrawn: Withdrawn
    ) -> None:
        super().__init__(strand, chunks)
        self.about = about
        self.policy = policy
        self.withdrawn = withdrawn
        self._published: dict[FactId, Published] = {}

    def _publish(
        self,
        before: dict[FactId, Published],
        fresh: Sequence[tuple[int, Episode]],
        chunked: Sequence[Episode] = (),
    ) -> list[Change]:
        """Compare what was published of facts that may have changed with what they are now.

        `fresh` closed within the tail, `chunked` in chunks; what is published of those is left in
        `self._published`, for the caller to store.
        """
        if not fresh and not chunked and len(before) == 1:
            told = self._publish_open(*before.values())
            if told is not None:
                return told
        strand = self.strand
        coming = finish(strand.state, self._scheduled(), self, self.policy, horizon=strand.horizon)
        facts = [build(self.about, episode) for _, episode in fresh]
        facts += [build(self.about, episode) for episode in coming]
        old = [build(self.about, episode) for episode in chunked]
        n_recent = len(facts)
        facts += old
        after, changes = diff(self._known(before, facts), facts, horizon=strand.horizon)
        for (n, episode), fact in zip(fresh, facts, strict=False):
            strand.closed.append(closed(n, episode, after.pop(fact.fact_id)))
        strand.live = {fact.fact_id: after.pop(fact.fact_id) for fact in facts[len(fresh) : n_recent]}
        self._published = {fact.fact_id: after.pop(fact.fact_id) for fact in old}
        for published in after.values():
            self.withdrawn.keep(published)
        return changes

    def _publish_open(self, known: Published) -> list[Change] | None:
        """The usual batch: one open fact was all there was to compare, and it is still the same fact.

        Where it is not, or more is to come, None: then everything is built and compared.
        """
        strand, held = self.strand, self.strand.state.open
        if held is None or strand.state.ends or strand.n_folded < len(self.tail):
            return None
        form = strand.state.clusters[held.cluster].first_form or ""
        rivals = Fold(strand.state, self, self.policy).contest(held)
        fact = gone_on(known.fact, self.about, form, held, rivals)
        if fact is None:
            return None
        after, changes = changes_of(known, fact, horizon=strand.horizon)
        strand.live = {fact.fact_id: after}
        return changes

    def _scheduled(self) -> list[tuple[Instant, list[Statement]]]:
        left = self.tail[self.strand.n_folded :]
        return [(at, list(members)) for at, members in groupby(left, key=position)]

    def _known(self, before: dict[FactId, Published], facts: Iterable[Fact]) -> dict[FactId, Published]:
        """What was published before, with what is taken back from the withdrawn facts."""
        known = dict(before)
        for fact in facts:
            if fact.fact_id not in known:
                gone = self.withdrawn.take(fact.fact_id)
                if gone is not None:
                    known[fact.fact_id] = gone
        return known
