"""Late evidence in a long history: what it can change, and where the fold is what it was before.

A statement that lands in an old chunk folds again from there until the state is the same as the one that
was stored, but for the counts of the open fact, which never decide anything. Those counts are corrected in
place: in the fact's own record at once, in the states of later chunks when they are next read.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from state.documents import Document, Saying, place_of
from state.episodes import Episode
from state.fold_state import Cluster, FoldState, OpenFact, Side, SpellingCount
from state.instants import Instant

ADJUSTMENTS_MAX = 256  # kept before all chunks are written with them; each costs a look at every chunk read


class Adjustment(msgspec.Struct, frozen=True, array_like=True):
    """What late evidence adds to the counts of one fact, for the states of chunk `chunk` and later ones."""

    chunk: int
    cluster: Cluster
    lo: Instant
    support: int
    dissent: int
    observations: int
    spellings: list[SpellingCount]

    def belongs_to(self, held: OpenFact | None) -> bool:
        """Whether this is the fact that is meant."""
        return held is not None and (held.cluster, held.lo) == (self.cluster, self.lo)

    def is_of(self, episode: Episode) -> bool:
        """Whether this is the episode that the fact became."""
        return episode.lo is not None and (episode.cluster, episode.lo.at) == (self.cluster, self.lo)

    def apply(self, held: OpenFact | Episode) -> None:
        """Correct the counts of the open fact, or of the episode that it became."""
        held.support += self.support
        held.dissent += self.dissent
        held.observations += self.observations
        counts = {(type(c.spelling), c.spelling): c for c in held.spellings}
        for more in self.spellings:
            key = (type(more.spelling), more.spelling)
            known = counts.get(key)
            if known is None:
                counts[key] = SpellingCount(more.spelling, more.n, more.newest)
            else:
                counts[key] = SpellingCount(known.spelling, known.n + more.n, max(known.newest, more.newest))
        held.spellings = list(counts.values())


def difference(chunk: int, before: OpenFact, after: OpenFact) -> Adjustment | None:
    """What separates the counts of two readings of one open fact, or None where nothing does."""
    known = {(type(c.spelling), c.spelling): c for c in before.spellings}
    spellings = []
    for count in after.spellings:
        old = known.get((type(count.spelling), count.spelling))
        if old is None or (old.n, old.newest) != (count.n, count.newest):
            spellings.append(
                SpellingCount(count.spelling, count.n - (old.n if old is not None else 0), count.newest)
            )
    found = Adjustment(
        chunk,
        after.cluster,
        after.lo,
        after.support - before.support,
        after.dissent - before.dissent,
        after.observations - before.observations,
        spellings,
    )
    nothing = not (found.support or found.dissent or found.observations or spellings)
    return None if nothing else found


def same_future(one: FoldState, other: FoldState) -> bool:
    """Whether two states decide alike from here on: equal but for the counts of the open fact."""
    if (one.open is None) != (other.open is None):
        return False
    if one.open is not None and other.open is not None and _name(one.open) != _name(other.open):
        return False
    held, other_held = one.open, other.open
    one.open = other.open = None
    try:
        return one == other
    finally:
        one.open, other.open = held, other_held


def _name(held: OpenFact) -> tuple[object, ...]:
    return (
        held.cluster,
        held.lo,
        held.lo_granularity,
        held.ordinal,
        held.since,
        held.carried,
        held.subject,
        held.predicate,
        held.named_at,
        held.opened_by,
        held.against,
    )


class Watch(msgspec.Struct, frozen=True):
    """A run of one document whose beginning moved, because late evidence of it came in between.

    The beginning decides only whether a document is fresh in a period that began before the run's first
    saying after the late one, `first_at`, and only where its side is a rival's.
    """

    first_at: Instant
    side: Side
    last_at: Instant

    def matters(self, state: FoldState, at: Instant) -> bool:
        """Whether decisions from `at` on can still depend on it."""
        if state.open is None or state.period_from > self.first_at or at > self.last_at:
            return False
        cluster, affirmed = self.side
        return (state.open.cluster != cluster) if affirmed else (state.open.cluster == cluster)


class Behind(msgspec.Struct, frozen=True):
    """Late evidence at `said_at`, or a saying of which it made a repetition, behind an open fact's last word.

    No state need know of it. But a fact that ends is counted again from its boundary on, and so is the one
    that follows; the boundary lies behind the ending fact's own last statement.
    """

    said_at: Instant

    def matters(self, state: FoldState, at: Instant) -> bool:
        """Whether counts can still depend on it: the fact has neither ended by `at` nor been stated later."""
        held = state.open
        if held is None or at <= self.said_at or held.lo > self.said_at:
            return False
        return held.named_at is None or held.named_at[0] <= self.said_at


Follow = Watch | Behind
"""Why folding again goes on although the states are the same."""


def consequences(document: Document, late: Saying) -> tuple[list[Instant], list[Follow]]:
    """Where else a late saying matters: instants to fold again, and what they change behind them.

    `document` holds all sayings, the late one among them.
    """
    later = [s for s in document.sayings if place_of(s) > place_of(late)]
    if not later:
        return [], []
    instants: list[Instant] = []
    watches: list[Follow] = []
    same = next((s for s in later if _side(s) == _side(late)), None)
    if same is not None:
        instants.append(same.effective_at)
        watches.append(Behind(same.effective_at))
    without = Document([s for s in document.sayings if s != late])
    next_place = place_of(later[0])
    for saying in later:
        if place_of(saying) != next_place:
            break
        side = _side(saying)
        if document.began_at(side, next_place) != without.began_at(side, next_place):
            watches.append(Watch(saying.effective_at, side, _run_end(later, side)))
            instants.append(saying.effective_at)
    return instants, watches


def _side(saying: Saying) -> Side:
    return (saying.cluster, saying.affirmed)


def _run_end(later: Sequence[Saying], side: Side) -> Instant:
    """The last saying of the run of a side that begins `later`."""
    end = later[0].effective_at
    places: dict[tuple[Instant, Instant], set[Side]] = {}
    for saying in later:
        places.setdefault(place_of(saying), set()).add(_side(saying))
    for place, sides in places.items():
        if side not in sides:
            break
        end = place[0]
    return end
