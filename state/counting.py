"""How many voices a fact has for and against it (DESIGN 4.9).

Counts as the fold goes, and takes back what turns out to belong to the next period. Decides nothing: no
count ever changes a fact's span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from state.episodes import Episode
from state.fold_state import NAMED_MAX, Cluster, OpenFact, SpellingCount
from state.history import History
from state.instants import Instant
from state.statements import ObservationId, Place, Spelling, Statement, voter


class Counting:
    """The counts of the open fact. `state.periods.Fold` says when to count what."""

    __slots__ = ()

    history: History
    votes_until: Instant

    def _voices(
        self, held: OpenFact, statements: Sequence[Statement]
    ) -> Iterator[tuple[Statement, bool, bool]]:
        """Each statement that takes a side, whether it is for the fact, and whether its voice is new there.

        A document's voice is new when it says this for the first time within the fact; what it says twice
        at one place counts once, whichever id comes first.
        """
        here: set[tuple[str, Cluster, bool]] = set()
        place: Place | None = None
        for statement in statements:
            cluster, affirmed = self.history.cluster(statement), statement.affirmed
            supports = affirmed and cluster == held.cluster
            if not affirmed and cluster != held.cluster:
                continue
            if statement.document is None:
                yield statement, supports, True
                continue
            if statement.place != place:
                place = statement.place
                here.clear()
            who = voter(statement)
            is_new = (who, cluster, affirmed) not in here and self._speaks_first(held, statement, supports)
            here.add((who, cluster, affirmed))
            yield statement, supports, is_new

    def _speaks_first(self, held: OpenFact, statement: Statement, supports: bool) -> bool:
        """Whether its document has not said this within the fact at an earlier place."""
        before = self.history.previous(statement)
        if before is None:
            return True
        return before < held.lo and not (supports and voter(statement) in held.carried)

    def _count(self, held: OpenFact, statements: Sequence[Statement]) -> None:
        """Enter statements within the fact's span into its counts (DESIGN 4.9)."""
        for statement, supports, is_new in self._voices(held, statements):
            if supports:
                held.support += is_new
                enter_support(held, statement)
            else:
                held.dissent += is_new
                held.dissented_by.append(statement.observation_id)
                if len(held.dissented_by) > NAMED_MAX:
                    del held.dissented_by[0]

    def _count_support(self, held: OpenFact, statement: Statement) -> None:
        """As `_count` of one statement that affirms the fact: nothing else stands at its place."""
        if statement.document is None or self._speaks_first(held, statement, True):
            held.support += 1
        enter_support(held, statement)

    def _carry(self, held: OpenFact, before: Sequence[Statement]) -> None:
        """Enter the live statements from before the fact that opened it when another had ended."""
        for statement in before:
            if not self._is_carried(held, statement):
                continue
            who = voter(statement)
            if who not in held.carried:
                held.carried.append(who)
                held.support += 1
            enter_support(held, statement)

    def _is_carried(self, held: OpenFact, statement: Statement) -> bool:
        lives = statement.valid_to is None or statement.valid_to > held.lo
        voted = lives and statement.affirmed and statement.effective_at <= self.votes_until
        return voted and self.history.cluster(statement) == held.cluster

    def _discount(self, ended: Episode, opened: OpenFact, during: Sequence[Statement]) -> None:
        """What opened the next fact is its support, and no longer dissent of the one that ended."""
        voters = set()
        named: list[ObservationId] = []
        for statement in during:
            cluster = self.history.cluster(statement)
            against = cluster != ended.cluster if statement.affirmed else cluster == ended.cluster
            if against and not self._is_carried(opened, statement):
                voters.add((cluster, statement.affirmed, voter(statement)))
                named.append(statement.observation_id)
        ended.dissent = len(voters)
        ended.dissented_by = named[-NAMED_MAX:]

    def _uncount(self, held: OpenFact, statements: Sequence[Statement]) -> None:
        """Take out dissenting statements that turn out to belong to the next period."""
        for statement, supports, is_new in self._voices(held, statements):
            assert not supports, "counted again instead, see _recount"
            held.dissent -= is_new
            if statement.observation_id in held.dissented_by:
                held.dissented_by.remove(statement.observation_id)

    def _recount(self, held: OpenFact, before: Instant) -> OpenFact:
        """The fact with the counts of what took effect before an instant.

        Asked for when a fact ends at the very instant of its own last statement: that statement, observed
        before the winner's, is then the next period's dissent.
        """
        again = OpenFact(
            held.cluster,
            held.lo,
            held.lo_granularity,
            held.ordinal,
            held.since,
            opened_by=held.opened_by,
            against=held.against,
        )
        if held.opened_by is not None:
            again.spellings = [SpellingCount(c.spelling, 0, c.newest) for c in held.spellings[:1]]
            again.subject, again.predicate, again.named_at = held.subject, held.predicate, held.named_at
        if held.since is not None:
            self._carry(again, self.history.since(held.since, held.lo))
        self._count(again, self.history.since(held.lo, before))
        return again


def enter_support(held: OpenFact, statement: Statement) -> None:
    """Enter a supporting statement into a fact's spellings and names; its vote is counted elsewhere."""
    held.observations += 1
    held.supported_by.append(statement.observation_id)
    if len(held.supported_by) > NAMED_MAX:
        del held.supported_by[0]
    place = statement.place
    enter_name(held, statement, place)
    enter_spelling(held, statement.spelling, place)


def enter_name(held: OpenFact, statement: Statement, place: Place) -> None:
    """Let the newest statement, at `place`, spell subject and predicate; of several there the least."""
    named_at = held.named_at
    if named_at is None or place > named_at:
        held.subject, held.predicate = statement.subject, statement.predicate
        held.named_at = place
    elif place == named_at:
        named = (statement.subject, statement.predicate)
        held.subject, held.predicate = min(named, (held.subject, held.predicate))


def enter_spelling(held: OpenFact, spelling: Spelling | None, place: Place) -> None:
    """Count a spelling of the object."""
    for count in held.spellings:
        if count.spelling == spelling and type(count.spelling) is type(spelling):
            count.n += 1
            count.newest = max(count.newest, place)
            return
    held.spellings.append(SpellingCount(spelling, 1, place))
