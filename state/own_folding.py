"""Keeps the facts of single assertions up to date, where each of them stands for itself (DESIGN 6).

A strand holds one assertion, or the decisions of the claim with what they opened, and is derived as a whole
whenever something of it arrives: `state.own_facts` says what follows. Other assertions of the claim have no
bearing on it, so what arrives costs what its own document has said of the same value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from state.episodes import Episode
from state.instants import Instant
from state.own_facts import DECISIONS, NO_DECISIONS, Decisions, facts_of_assertion
from state.refolding import Refolding
from state.replacing import Replaced
from state.statements import Statement, voter

if TYPE_CHECKING:
    from state.chunks import Chunks
    from state.facts import About
    from state.policy import Policy
    from state.stored_strand import Strand
    from state.withdrawn import Withdrawn


class OwnFolding(Refolding):
    """A strand of one assertion, or of all decisions under the name DECISIONS."""

    def __init__(
        self,
        strand: Strand,
        chunks: Chunks,
        about: About,
        policy: Policy,
        withdrawn: Withdrawn,
        *,
        name: str,
        timeless: bool,
    ) -> None:
        super().__init__(strand, chunks, about, policy, withdrawn, never_changes=True)
        self._name = name
        self._timeless = timeless
        self._decisions = NO_DECISIONS
        self._ended_here: Replaced | None = None

    def decisions(self) -> Decisions:
        """The decisions that lie in this strand."""
        return Decisions(self.tail, self._cluster_of)

    def know(self, decisions: Decisions, ended_here: Replaced | None) -> None:
        """Say before each batch what was decided of the claim, and what a newer document ends of this."""
        self._decisions = decisions
        self._ended_here = ended_here

    def _all_episodes(self) -> list[Episode]:
        if self._name == DECISIONS:
            return [own.episode for own in self.decisions().opened()]
        if not self.tail:
            return []
        own = facts_of_assertion(
            self._name,
            voter(self.tail[0]),
            self.tail,
            self._decisions,
            self._ended_here,
            timeless=self._timeless,
        )
        return [one.episode for one in own]

    def _rewrite_tail(self, statements: Sequence[Statement]) -> None:
        """Only from the first place on at which something changed: most statements come last."""
        n_same = 0
        for one, other in zip(self.tail, statements, strict=False):
            if one is not other:
                break
            n_same += 1
        self._tail.replace(n_same, statements[n_same:])

    def _due_at(self) -> Instant | None:
        """When the next start or end comes of those that are known."""
        facts = [published.fact for published in self.strand.live.values()]
        bounds = [at for fact in facts for at in (fact.lo, fact.hi) if at is not None]
        return min((at for at in bounds if at > self.strand.horizon), default=None)

    def _hear(self, added: Sequence[Statement], *, all_documents: bool) -> None:
        """Nothing: nobody asks here what a document said before."""

    def _forget(self, removed: Iterable[Statement]) -> None:
        """Nothing, for the same reason."""
