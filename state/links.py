"""Links: immutable relations between two assertions, and when two of them agree or disagree.

Says which pairs `confirms` and `contradicts` speak of, and gives every link its id. Which pairs are looked
at when something arrives is `state.noticing`; what follows for a reader is computed from the assertions,
never from the links (`state.lifecycle`). Nothing here is inferred from likeness of texts, from recency or
from confidence.
"""

from __future__ import annotations

import enum

import msgspec

from state.assertions import Assertion, AssertionId, Book, began
from state.corrections import Relate
from state.identity import ClaimId, derive
from state.instants import Instant


class LinkKind(enum.StrEnum):
    """What a link says of the assertion that it starts from, towards the other."""

    CONFIRMS = "confirms"
    CONTRADICTS = "contradicts"
    REFINES = "refines"
    SUPERSEDES = "supersedes"
    INVALIDATES = "invalidates"


class Origin(enum.StrEnum):
    """Where a link comes from."""

    INFERRED = "inferred"
    EXPLICIT = "explicit"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One link, as it is published. Never changed, never taken back.

    `evidence_id` is the observation by which it was noticed, or the id of the correction that made it;
    `recorded_at` is when the log learnt of that. `reason` is the decider's, None where it was inferred.
    """

    link_id: str
    claim: ClaimId
    kind: str
    origin: str
    source: AssertionId
    target: AssertionId
    reason: str | None
    confidence: float
    recorded_at: Instant
    evidence_id: str
    policy_version: str


def inferred(
    book: Book,
    kind: LinkKind,
    source: Assertion,
    target: Assertion,
    *,
    evidence_id: str,
    recorded_at: Instant,
    policy_version: str,
) -> Link:
    """The link between two assertions that follows from what they say; its id is that of the pair."""
    ends = (source.assertion_id, target.assertion_id)
    return Link(
        link_id=derive("link", kind.value, *ends),
        claim=book.claim,
        kind=kind.value,
        origin=Origin.INFERRED.value,
        source=ends[0],
        target=ends[1],
        reason=None,
        confidence=1.0,
        recorded_at=recorded_at,
        evidence_id=evidence_id,
        policy_version=policy_version,
    )


# -- which pairs ----------------------------------------------------------------------------


def are_rivals(book: Book, one: Assertion, other: Assertion) -> bool:
    """Whether two assertions cannot both be right at one instant.

    Two values of a declared predicate that has one at a time, or a value and its denial. Statements
    without object are rivals of nothing but their own denial.
    """
    if not book.predicate.declared or not (book.takes_side(one) and book.takes_side(other)):
        return False
    mine, theirs = book.side(one), book.side(other)
    if mine[0] == theirs[0]:
        return mine[1] is not theirs[1]
    same_slot = (one.form == "") is (other.form == "")
    return same_slot and mine[1] and theirs[1] and not book.predicate.is_multi


def agree(book: Book, one: Assertion, other: Assertion) -> bool:
    """Whether two assertions say the same thing."""
    return book.takes_side(one) and book.takes_side(other) and book.side(one) == book.side(other)


def are_independent(book: Book, one: Assertion, other: Assertion) -> bool:
    """Whether two assertions come from documents that do not replace each other, directly or by others."""
    return book.lineage.are_independent(one.voter, other.voter)


def later_first(one: Assertion, other: Assertion) -> tuple[Assertion, Assertion]:
    """The two, the one that begins to hold later first: the direction of a link, whichever came first."""
    return (one, other) if _beginning(one) > _beginning(other) else (other, one)


def _beginning(assertion: Assertion) -> tuple[Instant, str]:
    return (beginning(assertion), assertion.assertion_id)


def beginning(assertion: Assertion) -> Instant:
    """The first instant of which an assertion is sure."""
    return min(began(s) for s in assertion.statements)


# -- explicit verdicts ----------------------------------------------------------------------

Pair = frozenset[object]
"""Two assertions, or two sides of the claim, without an order."""


class Verdicts:
    """What explicit links say of pairs: of two on one pair the later decides.

    A link about values and not about some document's word for them holds for all assertions of both.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._kinds: dict[Pair, tuple[int, str]] = {}
        self.pairs: list[tuple[AssertionId, AssertionId]] = []
        for number, decided in enumerate(book.decided.values()):
            decision = decided.decision
            if not isinstance(decision, Relate):
                continue
            for source in decided.sources:
                for target in decided.targets:
                    self.pairs.append((source, target))
                    self._kinds[frozenset((source, target))] = (number, decision.kind)
            if decided.is_wide:
                forms = (decision.source.form or "", decision.target.form or "")
                wide = frozenset((book.forms.cluster(form), True) for form in forms)
                self._kinds[wide] = (number, decision.kind)

    def of(self, one: Assertion, other: Assertion) -> str | None:
        """The kind of the last explicit link between two assertions, or None."""
        if not self._kinds:
            return None
        named = self._kinds.get(frozenset((one.assertion_id, other.assertion_id)))
        wide = self._kinds.get(frozenset((self._book.side(one), self._book.side(other))))
        found = [verdict for verdict in (named, wide) if verdict is not None]
        return max(found)[1] if found else None


def conflict(book: Book, verdicts: Verdicts, one: Assertion, other: Assertion) -> bool:
    """Whether two assertions that hold at one instant conflict there.

    An explicit link between them decides; without one, independent rivals do.
    """
    verdict = verdicts.of(one, other)
    if verdict is not None:
        return verdict == LinkKind.CONTRADICTS
    return are_rivals(book, one, other) and are_independent(book, one, other)
