"""Evidence held in memory, with the look-backs that a fold asks of it.

The plain form: a sorted list and two indexes by voter. Claims with a long history keep the same answers
in pieces (`state.chunks`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence

from state.decided import Void, closings_of, last_closing
from state.fold_state import ASIDE, Cluster, Side
from state.history import distinct
from state.instants import Instant
from state.replacing import NONE_REPLACED, Replacements
from state.statements import Place, Statement, order, voter

Key = tuple[Instant, Instant, str]


def takes_part(statement: Statement) -> bool:
    """Whether a statement votes at all: not our own output, and not a late report of an end."""
    return statement.votes and (statement.valid_to is None or not statement.is_late_end)


class Evidence:
    """Sorted statements of one fold. Implements `state.periods.History`."""

    def __init__(
        self,
        statements: Iterable[Statement],
        cluster_of: Callable[[str], Cluster],
        *,
        timeless: bool = False,
        replaced: Replacements = NONE_REPLACED,
    ) -> None:
        self.statements = sorted(statements, key=order)
        self._cluster_of = cluster_of
        self.replaced = replaced
        if replaced:
            self.statements = [replaced.cut(s, cluster_of(s.form)) for s in self.statements]
        self._closings = closings_of(self.statements)
        self._void = Void(self._closings, cluster_of, timeless=timeless)
        self.has_aside = (
            bool(self._void or replaced) or any(cluster_of(s.form) == ASIDE for s in self.statements)
        )  # fmt: skip
        self._keys = [order(statement) for statement in self.statements]
        self._by_side: dict[tuple[str, Side], list[Key]] = {}
        self._by_voter: dict[str, list[tuple[Place, Side]]] = {}
        for statement, key in zip(self.statements, self._keys, strict=True):
            if statement.document is not None and self.takes_side(statement):
                who, side = voter(statement), (self.cluster(statement), statement.affirmed)
                self._by_side.setdefault((who, side), []).append(key)
                insort(self._by_voter.setdefault(who, []), (statement.place, side))

    def cluster(self, statement: Statement) -> Cluster:
        """The cluster of a statement's form; none for one that a decision or a newer document made void."""
        cluster = self._cluster_of(statement.form)
        if self._void and self._void.covers(statement, cluster):
            return ASIDE
        if self.replaced and self.replaced.covers(statement, cluster):
            return ASIDE
        return cluster

    def closed_at(self, cluster: Cluster, before: Instant) -> Instant:
        """The instant of the last decision before another that closed a cluster; BEFORE_ALL for none."""
        return last_closing(self._closings, self._cluster_of, cluster, before)

    def since(self, effective_from: Instant, before: Instant) -> list[Statement]:
        """Statements that take part and took effect in [effective_from, before), in their order."""
        start = bisect_left(self._keys, (effective_from,))
        end = bisect_left(self._keys, (before,))
        return distinct(s for s in self.statements[start:end] if self.takes_side(s))

    def takes_side(self, statement: Statement) -> bool:
        """Whether a statement votes for or against something."""
        return takes_part(statement) and (not self.has_aside or self.cluster(statement) != ASIDE)

    def previous(self, statement: Statement) -> Instant | None:
        """Effective time of the same voter's newest statement for this side at an earlier place, or None."""
        side = (self.cluster(statement), statement.affirmed)
        keys = self._by_side.get((voter(statement), side), [])
        index = bisect_left(keys, statement.place)
        return keys[index - 1][0] if index else None

    def began(self, who: str, side: Side, place: Place) -> Instant:
        """Since when the document, at `place`, says this without having said anything else in between."""
        return began_at(self._by_voter[who], side, place)


def began_at(sayings: Sequence[tuple[Place, Side]], side: Side, place: Place) -> Instant:
    """The effective time of the first saying of the run of `side` that `place` belongs to.

    `sayings` are a document's, in order. Two at one place do not interrupt each other: which came first
    is not known.
    """
    start = place
    index = bisect_left(sayings, (place, ("", False)))
    while index:
        earlier = sayings[index - 1][0]
        first = bisect_left(sayings, (earlier, ("", False)))
        if all(said != side for _, said in sayings[first:index]):
            break
        start = earlier
        index = first
    return start[0]
