"""Which documents replace which: lineage, and what it ends.

A document that names its predecessor in `source.supersedes` replaces it. Documents that are connected in
this way are one lineage and never independent of each other. Knows names of documents only; what a
document says, and whether a successor says it again, is asked of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from state.instants import Instant
from state.statements import Statement, voter


class Lineage:
    """The documents of one claim and what each replaces. Only grows: build a new one to take back."""

    def __init__(self) -> None:
        self._predecessors: dict[str, list[str]] = {}
        self._successors: dict[str, list[str]] = {}
        self._leader: dict[str, str] = {}

    def enter(self, statement: Statement) -> None:
        """Take in what a statement says about its document's predecessor; twice is as once."""
        if statement.supersedes is None:
            return
        successor, predecessor = voter(statement), predecessor_of(statement)
        if successor == predecessor or predecessor in self._predecessors.get(successor, ()):
            return
        self._predecessors.setdefault(successor, []).append(predecessor)
        self._successors.setdefault(predecessor, []).append(successor)
        leaders = sorted((self.leader(successor), self.leader(predecessor)))
        self._leader[leaders[1]] = leaders[0]

    def leader(self, document: str) -> str:
        """One name for the whole lineage of a document: equal for two documents of one lineage."""
        leader = document
        while (above := self._leader.get(leader, leader)) != leader:
            leader = above
        while document != leader:
            self._leader[document], document = leader, self._leader.get(document, leader)
        return leader

    def are_independent(self, one: str, other: str) -> bool:
        """Whether two documents neither are one nor replace each other, directly or by others."""
        return self.leader(one) != self.leader(other)

    def documents(self) -> set[str]:
        """The documents that replace another or are replaced."""
        return {*self._predecessors, *self._successors}

    def predecessors(self, document: str) -> list[str]:
        """The documents that this one replaces."""
        return self._predecessors.get(document, [])

    def successors(self, document: str) -> list[str]:
        """The documents that replace this one."""
        return self._successors.get(document, [])

    def replaced(
        self, documents: Iterable[str], ends_at: Callable[[str], Instant | None]
    ) -> dict[str, tuple[Instant, str]]:
        """For those of the documents whose word is replaced: from when, and by which document.

        All of `documents` say one thing. `ends_at` is asked of a successor: the instant from which it says
        something else, or None where it says the same, or nothing; then its own successors count in
        its place. The earliest end wins. Cost: the successors that are reached, each once.
        """
        passing = set(documents)
        ends: dict[str, Instant] = {}
        waiting = sorted(passing)
        while waiting:
            for successor in self.successors(waiting.pop()):
                if successor in passing or successor in ends:
                    continue
                at = ends_at(successor)
                if at is None:
                    passing.add(successor)
                    waiting.append(successor)
                else:
                    ends[successor] = at
        found: dict[str, tuple[Instant, str]] = {}
        for ender, at in sorted(ends.items(), key=lambda end: (end[1], end[0])):
            waiting = [ender]
            while waiting:
                for predecessor in self.predecessors(waiting.pop()):
                    if predecessor in passing and predecessor not in found:
                        found[predecessor] = (at, ender)
                        waiting.append(predecessor)
        return found


def predecessor_of(statement: Statement) -> str:
    """The voter that a statement's document replaces: a document of the same source."""
    return voter(msgspec.structs.replace(statement, document=statement.supersedes))
