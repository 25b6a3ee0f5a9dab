"""Assertions: what one document says about one claim, and when each of them holds by its own words.

An assertion is one document, one value and one polarity of one claim; a statement without a document is an
assertion of its own. This module gathers statements into assertions (`Book`) and works out the spans in
which each holds. It relates no two of them (`state.links`), and what ends them from outside is
`state.endings`. The fold is not asked: it counts votes, this counts nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, NewType

import msgspec

from state.corrections import Decision, Relate, Supersede
from state.decided import worded
from state.fold_state import AFTER_ALL, ASIDE, Side
from state.forms import Forms
from state.identity import ClaimId, derive
from state.instants import Instant
from state.lineage import Lineage
from state.predicates import Predicate
from state.statements import ObservationId, Statement, voter

AssertionId = NewType("AssertionId", str)

NO_CLUSTERS: Final = Forms()
"""For claims in which every form is a cluster of its own. Never written to."""


# -- what is kept ---------------------------------------------------------------------------


class Said(msgspec.Struct, frozen=True, array_like=True, tag="s"):
    """A statement as it arrived, with the links that were noticed by it.

    `noticed` holds for each kind of link the other assertions, 16 bytes of id each, so that a pair is
    never linked twice; for `supersedes` the assertions that were replaced.
    """

    statement: Statement
    noticed: dict[str, bytes] = {}


class TakenBack(msgspec.Struct, frozen=True, array_like=True, tag="t"):
    """An observation that counts as never said (a retract), or whose words were erased (a forget)."""

    observation_id: str
    recorded_at: Instant


class Decided(msgspec.Struct, frozen=True, array_like=True, tag="d"):
    """A decision that was applied.

    `targets` are the assertions that it was found to speak about, `sources` those at the other end of a
    link. `is_wide` says that it was taken about a value, and not about some document's word for it: it
    then concerns every assertion of that value that was observed by `decided_at`.
    """

    decision: Decision
    decided_at: Instant
    targets: list[AssertionId]
    sources: list[AssertionId] = []
    is_wide: bool = False


Row = Said | TakenBack | Decided
"""What is kept of a claim, in the order of the log. Everything else follows from the rows."""


def recorded_at(row: Row) -> Instant:
    """When the log learnt of a row."""
    if isinstance(row, Said):
        return row.statement.recorded_at
    return row.decision.recorded_at if isinstance(row, Decided) else row.recorded_at


def known(rows: Iterable[Row], known_at: Instant | None) -> Iterator[Row]:
    """The rows that were recorded by an instant; all of them for None."""
    return (row for row in rows if known_at is None or recorded_at(row) <= known_at)


# -- assertions -----------------------------------------------------------------------------


class Piece(NamedTuple):
    """One stretch in which a statement says that the value holds: `[lo, hi)`, AFTER_ALL without an end."""

    lo: Instant
    hi: Instant
    statement: Statement


class Assertion:
    """What one document says about one value of a claim. `decided_by` is a correction that opened it."""

    __slots__ = ("affirmed", "assertion_id", "decided_by", "form", "statements", "voter")

    def __init__(
        self, assertion_id: AssertionId, statement: Statement, who: str, decided_by: str | None = None
    ) -> None:
        self.assertion_id = assertion_id
        self.voter = who
        self.form = statement.form
        self.affirmed = statement.affirmed
        self.decided_by = decided_by
        self.statements: list[Statement] = []

    def newest(self) -> Statement:
        """Its last word."""
        return max(self.statements, key=lambda s: (s.place, s.observation_id))


def assertion_id(claim: ClaimId, who: str, form: str, *, affirmed: bool) -> AssertionId:
    """The id of what a voter says of a value: it never shifts, whatever comes late."""
    return AssertionId(derive("assertion", claim, who, form, int(affirmed)))


def pieces(statements: Sequence[Statement], *, timeless: bool) -> list[Piece]:
    """The stretches in which the statements of one assertion say that it holds, one by one.

    The rule is the fold's (DESIGN 4.6): an end also ends what the same document said without an end,
    unless that was observed, or takes effect, at or after it. A report that something had ended, where
    nothing is known to have begun, is sure of the last instant before the end only. Where values never
    change (`timeless`) bounds mean nothing.
    """
    if timeless:
        return [Piece(began(s), AFTER_ALL, s) for s in statements]
    ends = sorted(s.valid_to for s in statements if s.valid_to is not None)
    found: list[Piece] = []
    for s in statements:
        if s.is_late_end:
            continue
        hi = s.valid_to
        if hi is None:
            after = bisect_right(ends, max(s.effective_at, s.observed_at))
            hi = ends[after] if after < len(ends) else AFTER_ALL
        found.append(Piece(s.effective_at, hi, s))
    begun = list(found)
    for s in statements:
        hi = s.valid_to
        if s.is_late_end and hi is not None and not any(piece.lo < hi <= piece.hi for piece in begun):
            found.append(Piece(began(s), hi, s))
    return found


def began(statement: Statement) -> Instant:
    """The first instant of which a statement is sure."""
    if statement.is_late_end and statement.valid_to is not None:
        return Instant(statement.valid_to - 1)
    return statement.effective_at


class Book:
    """The assertions, the lineage of their documents and the decisions of one claim.

    Filled row by row. `forms` says which forms mean the same; it may be set anew at any time. The order of
    statements changes nothing; the order of decisions is that of the log.
    """

    def __init__(self, claim: ClaimId, predicate: Predicate, forms: Forms = NO_CLUSTERS) -> None:
        self.claim = claim
        self.predicate = predicate
        self.forms = forms
        self.assertions: dict[AssertionId, Assertion] = {}
        self.by_voter: dict[str, list[Assertion]] = {}
        self.lineage = Lineage()
        self.decided: dict[str, Decided] = {}
        self._statements: dict[ObservationId, tuple[Statement, Assertion]] = {}
        self._taken_back: set[str] = set()

    def enter(self, row: Row) -> None:
        """Take in one row; a row that is there already changes nothing."""
        if isinstance(row, Said):
            self.say(row.statement)
        elif isinstance(row, TakenBack):
            self.take_back(row.observation_id)
        elif row.decision.correction_id not in self.decided and not self.is_taken_back(row.decision):
            self.decided[row.decision.correction_id] = row
            if isinstance(row.decision, Supersede):
                self._gather(replacement(row), decided_by=row.decision.correction_id)

    def say(self, statement: Statement) -> Assertion | None:
        """Enter a statement; its assertion, or None where nothing changes.

        Of two contents under one observation id the one with the smaller hash stays, whichever was first.
        """
        if not self.would_change(statement):
            return None
        if statement.observation_id in self._statements:
            self._drop(statement.observation_id)
        assertion = self._gather(statement)
        self._statements[statement.observation_id] = (statement, assertion)
        return assertion

    def would_change(self, statement: Statement) -> bool:
        """Whether the book does not hold the statement yet, and would."""
        if not statement.votes or statement.observation_id in self._taken_back:
            return False
        held = self._statements.get(statement.observation_id)
        return held is None or statement.content_hash < held[0].content_hash

    def take_back(self, observation_id: str) -> bool:
        """Let an observation count as never said, whether it has arrived or not; False: it did already.

        An id may also be that of a supersede or an invalidate, which then was never decided. Links stay.
        """
        if observation_id in self._taken_back:
            return False
        self._taken_back.add(observation_id)
        decided = self.decided.get(observation_id)
        if decided is not None and self.is_taken_back(decided.decision):
            del self.decided[observation_id]
            for opened in self.by_voter.pop(f"c{observation_id}", ()):
                del self.assertions[opened.assertion_id]
        if observation_id in self._statements:
            self._drop(ObservationId(observation_id))
        return True

    def is_taken_back(self, decision: Decision) -> bool:
        """Whether a decision counts as never taken."""
        return not isinstance(decision, Relate) and decision.correction_id in self._taken_back

    def said_in(self, observation_id: str) -> Assertion | None:
        """The assertion that an observation belongs to."""
        held = self._statements.get(ObservationId(observation_id))
        return None if held is None else held[1]

    def pieces(self, assertion: Assertion) -> list[Piece]:
        """When an assertion holds by its own document's words."""
        return pieces(assertion.statements, timeless=self.predicate.never_changes)

    def side(self, assertion: Assertion) -> Side:
        """What an assertion stands for: its cluster and polarity. What takes no side stands alone."""
        cluster = self.forms.cluster(assertion.form)
        return (assertion.form if cluster == ASIDE else cluster, assertion.affirmed)

    def takes_side(self, assertion: Assertion) -> bool:
        """Whether an assertion can agree or disagree with another."""
        return self.forms.cluster(assertion.form) != ASIDE

    def _gather(self, statement: Statement, decided_by: str | None = None) -> Assertion:
        who = voter(statement) if decided_by is None else f"c{decided_by}"
        name = assertion_id(self.claim, who, statement.form, affirmed=statement.affirmed)
        assertion = self.assertions.get(name)
        if assertion is None:
            assertion = self.assertions[name] = Assertion(name, statement, who, decided_by)
            self.by_voter.setdefault(who, []).append(assertion)
        assertion.statements.append(statement)
        self.lineage.enter(statement)
        return assertion

    def _drop(self, observation_id: ObservationId) -> None:
        statement, assertion = self._statements.pop(observation_id)
        assertion.statements.remove(statement)
        if not assertion.statements:
            del self.assertions[assertion.assertion_id]
            self.by_voter[assertion.voter].remove(assertion)
        if statement.supersedes is not None:
            self.lineage = Lineage()
            for held, _ in self._statements.values():
                self.lineage.enter(held)


def replacement(row: Decided) -> Statement:
    """The statement that a supersede makes in its own name: the replacement, from its `valid_at` on."""
    decision = row.decision
    assert isinstance(decision, Supersede), "only a supersede has a replacement"
    return worded(decision, decision.form, decision.spelling, at=row.decided_at, votes=True)
