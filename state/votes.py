"""Votes: who counts for or against which cluster, and which of them are the newest.

Decides nothing about facts: `state.timeline` asks, this module counts. A vote's identity is
(cluster, polarity, document); a document that says the same again moves its one vote to the newest
place. A statement without document is a vote of its own.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from state.instants import Instant
from state.statements import Place, Statement

Cluster = str
"""The key of a cluster: the smallest key of its forms. Statements without object share the key ""."""

Side = tuple[Cluster, bool]
"""(cluster, affirmed): one thing that can be voted for. `(c, False)` is the denial of c."""

BEFORE_ALL = Instant(-(2**63))
LONG_AGO: Place = (BEFORE_ALL, BEFORE_ALL)


def voter(statement: Statement) -> Hashable:
    """Who casts this vote: the document, or the statement itself where there is none."""
    if statement.document is None:
        return statement.observation_id
    return (statement.source, statement.document)


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote at the place of the statement that holds it.

    `began_at` is the effective time at which the document began its present, uninterrupted run of
    saying so; None where there is no document. `ends_at` is the statement's `valid_to`.
    """

    place: Place
    began_at: Instant | None
    ends_at: Instant | None
    index: int


class Box:
    """The live votes of one side, oldest first: one for each voter."""

    __slots__ = ("_of", "votes")

    def __init__(self) -> None:
        self.votes: list[Vote] = []
        self._of: dict[Hashable, list[Vote]] = {}

    def cast(self, who: Hashable, vote: Vote) -> None:
        """Add the vote, or move it: evidence is folded in order, so the new place is the newest.

        Older statements of the voter are kept only where they outlive the new one, since the vote
        falls back to them when it leaves.
        """
        stack = self._of.get(who)
        if stack is None:
            self._of[who] = [vote]
        else:
            self.votes.remove(stack[-1])
            if vote.ends_at is None:
                stack.clear()
            else:
                stack[:] = [old for old in stack if old.ends_at is None or old.ends_at > vote.ends_at]
            stack.append(vote)
        self.votes.append(vote)

    def withdraw(self, who: Hashable, index: int) -> None:
        """Let the statement at `index` end: its voter falls back to an older one, or leaves."""
        stack = self._of.get(who)
        if stack is None:
            return
        held = stack[-1]
        stack[:] = [vote for vote in stack if vote.index != index]
        if held.index != index:
            return
        self.votes.remove(held)
        if stack:
            insort(self.votes, stack[-1], key=lambda vote: vote.place)
        else:
            del self._of[who]

    def newest(self, window: int, *, since: Instant = BEFORE_ALL) -> list[Vote]:
        """The `window` newest votes that took effect at or after `since`, oldest first.

        Votes that tie with the oldest of them count too, so that no tie is broken by an id.
        """
        votes = self.votes
        start = max(0, len(votes) - window)
        while start > 0 and votes[start - 1].place == votes[start].place:
            start -= 1
        while start < len(votes) and votes[start].place[0] < since:
            start += 1
        return votes[start:]


def latest(votes: list[Vote]) -> Place:
    """The newest place among `votes` (oldest first), or long ago where there are none."""
    return votes[-1].place if votes else LONG_AGO


def seats(sides: Sequence[list[Vote]], window: int) -> list[int]:
    """How many votes each side has among the `window` newest votes of all sides together.

    Sides that tie at the window's edge each get as many seats as any of them could have had: where
    one side alone stands at the edge, exactly `window` votes count, and no tie is ever broken by an
    id or by the order of arrival.
    """
    counts = [len(votes) for votes in sides]
    if sum(counts) <= window:
        return counts
    left = window
    counts = [0] * len(sides)
    positions = [len(votes) for votes in sides]
    while left > 0:
        newest = max((s[p - 1].place for s, p in zip(sides, positions, strict=True) if p), default=None)
        if newest is None:
            break
        taken = 0
        for number, votes in enumerate(sides):
            tied = 0
            while positions[number] and votes[positions[number] - 1].place == newest:
                positions[number] -= 1
                tied += 1
            counts[number] += min(tied, left)
            taken += tied
        left -= taken
    return counts
