"""What each document has said in a claim, in order: answers when it last said a thing, and since when.

Kept apart from the claim, one entry for each document, because a claim may hear thousands of them. An
entry keeps the newest sayings and, of those before, just enough for evidence that arrives in order;
only late evidence by a talkative document asks for more (`Incomplete`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final

import msgspec

from state.fold_state import Cluster, Side
from state.instants import Instant
from state.statements import Place

KEPT: Final = 16  # sayings of one document as stored; fewer send late evidence on longer ways
KEPT_IN_USE: Final = 1024  # the same in memory: more than one batch brings, so that order never costs a way


class Incomplete(Exception):  # no error: a question for the whole evidence instead
    """The entry no longer holds what was asked for; only all of the evidence does."""


class Saying(msgspec.Struct, frozen=True, array_like=True, gc=False, order=True):
    """One statement of a document."""

    effective_at: Instant
    observed_at: Instant
    observation_id: str
    cluster: Cluster
    affirmed: bool


class Document(msgspec.Struct, array_like=True):
    """The sayings of one document, oldest first.

    `last` is for each side ("+cluster" or "-cluster") the newest saying that is no longer in `sayings`;
    `cut_at` the place of the newest of those, `began` since when each side said there had been said, and
    `began_before` the same for the place before.
    `exact` is False once something older than `sayings` changed.
    """

    sayings: list[Saying] = []
    last: dict[str, Place] = {}
    cut_at: Place | None = None
    began: dict[str, Instant] = {}
    began_before: dict[str, Instant] = {}
    exact: bool = True

    def add(self, saying: Saying, *, kept: int = KEPT) -> None:
        """Enter a saying, and keep at most `kept` of them; entering one twice changes nothing."""
        index = bisect_left(self.sayings, saying)
        if index < len(self.sayings) and self.sayings[index] == saying:
            return
        if index == 0 and self.cut_at is not None and place_of(saying) <= self.cut_at:
            self.exact = False
            return
        insort(self.sayings, saying)
        while len(self.sayings) > kept:
            self._cut_oldest()

    def remove(self, saying: Saying) -> None:
        """Take a saying out, if it is there: under its id, whichever cluster it was entered with."""
        index = bisect_left(self.sayings, Saying(*place_of(saying), saying.observation_id, "", False))
        found = self.sayings[index] if index < len(self.sayings) else None
        if found is not None and found.observation_id == saying.observation_id:
            del self.sayings[index]
        elif self.cut_at is not None and place_of(saying) <= self.cut_at:
            self.exact = False

    def _cut_oldest(self) -> None:
        oldest = self.sayings.pop(0)
        side, place = _name(oldest.cluster, oldest.affirmed), place_of(oldest)
        if place != self.cut_at:
            self.began_before, self.began, self.cut_at = self.began, {}, place
        # Two sayings at one place do not interrupt each other: each goes on from what was said before.
        self.began.setdefault(side, self.began_before.get(side, oldest.effective_at))
        self.last[side] = place

    def previous(self, place: Place, side: Side) -> Instant | None:
        """Effective time of the newest saying for the side at an earlier place, or None."""
        if self.sayings and place_of(self.sayings[0]) < place:
            index = bisect_left(self.sayings, Saying(*place, "", "", False))
            for saying in reversed(self.sayings[:index]):
                if (saying.cluster, saying.affirmed) == side:
                    return saying.effective_at
        if self.exact and not self.last:
            return None
        cut = self.last.get(_name(*side))
        if not self.exact or (cut is not None and cut >= place):
            raise Incomplete
        return cut[0] if cut is not None else None

    def began_at(self, side: Side, place: Place) -> Instant:
        """The effective time of the first saying of the run of `side` that `place` belongs to."""
        start = place
        index = bisect_left(self.sayings, Saying(*place, "", "", False))
        if self.cut_at is not None and (not self.exact or place <= self.cut_at):
            raise Incomplete
        while index:
            earlier = place_of(self.sayings[index - 1])
            first = bisect_left(self.sayings, Saying(*earlier, "", "", False))
            if all((s.cluster, s.affirmed) != side for s in self.sayings[first:index]):
                return start[0]
            start = earlier
            index = first
        return self.began.get(_name(*side), start[0])


def place_of(saying: Saying) -> Place:
    """Where a saying stands in time."""
    return (saying.effective_at, saying.observed_at)


def _name(cluster: Cluster, affirmed: bool) -> str:
    return ("+" if affirmed else "-") + cluster
