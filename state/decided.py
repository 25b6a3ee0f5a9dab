"""What a person's decision does to the fold of a claim (DESIGN 4.11).

A decision is evidence of a kind of its own: statements that never vote, stand at the instant from which
the decision holds, and close a fact or open one there. What was said before a decision never again counts
for what it closed, from that instant on; what is said later does, and opens a fact that says so.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from state.corrections import REFUSALS, Invalidate, Refusal, Supersede
from state.episodes import Edge, Reason
from state.facts import Fact
from state.fold_state import BEFORE_ALL, Cluster, ClusterState, FoldState, OpenFact, SpellingCount
from state.instants import Instant
from state.statements import ObservationId, Spelling, Statement


class Verdict(enum.StrEnum):
    """What one statement of a decision does to the cluster of its form; "" on all other statements."""

    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"
    OPENED = "opened"


_OPENING: Final = "+"

CLOSES: Final = frozenset({Verdict.SUPERSEDED, Verdict.INVALIDATED})

Closing = tuple[str, Instant, Instant]
"""(form, valid_at, decided_at): from `valid_at` on, what was said by `decided_at` is void."""


def closings_of(statements: Iterable[Statement]) -> list[Closing]:
    """The closings among some statements, in a fixed order."""
    return sorted((s.form, s.effective_at, s.observed_at) for s in statements if s.verdict in CLOSES)


def last_closing(
    closings: Iterable[Closing], cluster_of: Callable[[str], Cluster], cluster: Cluster, before: Instant
) -> Instant:
    """The instant of the last closing of a cluster before another instant; BEFORE_ALL for none."""
    found = (at for form, at, _ in closings if at < before and cluster_of(form) == cluster)
    return max(found, default=BEFORE_ALL)


class Void:
    """Which statements no longer count because a decision closed what they say.

    `timeless` is for predicates that never change, where a decision holds for all of time.
    """

    def __init__(
        self, closings: Iterable[Closing], cluster_of: Callable[[str], Cluster], *, timeless: bool = False
    ) -> None:
        self._spans: dict[Cluster, list[tuple[Instant, Instant]]] = {}
        for form, valid_at, decided_at in closings:
            since = BEFORE_ALL if timeless else valid_at
            self._spans.setdefault(cluster_of(form), []).append((since, decided_at))

    def __bool__(self) -> bool:
        return bool(self._spans)

    def covers(self, statement: Statement, cluster: Cluster) -> bool:
        """Whether a decision closed what this statement says, and was taken after it was said."""
        if not (statement.votes and statement.affirmed):
            return False
        speaks_of = statement.effective_at
        if statement.is_late_end:
            assert statement.valid_to is not None
            speaks_of = Instant(statement.valid_to - 1)
        spans = self._spans.get(cluster, ())
        return any(since <= speaks_of and statement.observed_at <= decided_at for since, decided_at in spans)


def note_closing(state: FoldState, cluster: Cluster, statement: Statement) -> None:
    """Remember that a decision closed a cluster, and let go what its statements said of its validity."""
    state.decided[cluster] = statement.observation_id
    state.ends[:] = [end for end in state.ends if not (end.affirmed and end.cluster == cluster)]
    held = state.clusters.get(cluster)
    if held is not None:
        held.affirmed.clear()
        held.bounded_affirmed.clear()
        held.since_affirmed.clear()
        held.endless_known = held.ends_latest = None


def enter_opening(state: FoldState, cluster: Cluster, statement: Statement) -> ClusterState:
    """The cluster that a decision opens: it exists, has a first form and a spelling, but no vote."""
    state.decided.pop(cluster, None)
    found = state.clusters.setdefault(cluster, ClusterState())
    if found.first_form is None:
        found.first_form, found.first_at = statement.form, statement.place
    if found.spelled_at is None:
        found.spelling, found.spelled_at = statement.spelling, statement.place
    return found


def mark_opened(opened: OpenFact, statement: Statement) -> None:
    """Write on a fact that a decision opened it: how it is spelled, and by which decision."""
    opened.opened_by = statement.observation_id
    opened.spellings = [SpellingCount(statement.spelling, 0, statement.place)]
    opened.subject, opened.predicate = statement.subject, statement.predicate
    opened.named_at = statement.place


def edge_of(statement: Statement) -> Edge:
    """The bound that a decision sets."""
    return Edge(statement.effective_at, statement.lo_granularity)


def reason_of(statement: Statement) -> Reason:
    """Why a fact ends that this statement of a decision closes."""
    return Reason.INVALIDATED if statement.verdict == Verdict.INVALIDATED else Reason.SUPERSEDED


def taken_at(decision: Supersede | Invalidate) -> Instant:
    """When a decision was taken: when it was recorded, unless it says so itself."""
    return decision.recorded_at if decision.decided_at is None else decision.decided_at


def opening_of(correction_id: str) -> str:
    """The id of the statement that opens what a correction puts in the place of its target."""
    return correction_id + _OPENING


def retracted_by(statement: Statement) -> str:
    """The id by which a statement is retracted: for both statements of a decision the correction's."""
    if statement.verdict == Verdict.OPENED:
        return statement.observation_id.removesuffix(_OPENING)
    return statement.observation_id


def worded(
    decision: Supersede | Invalidate, form: str, spelling: Spelling | None, *, at: Instant, votes: bool
) -> Statement:
    """A decision, taken at an instant, as a statement in its own name: what it says of one form."""
    return Statement(
        effective_at=decision.valid_at,
        observed_at=at,
        observation_id=ObservationId(decision.correction_id),
        form=form,
        affirmed=True,
        spelling=spelling,
        source=None,
        document=None,
        valid_from=decision.valid_at,
        valid_to=None,
        lo_granularity=decision.granularity,
        hi_granularity=None,
        confidence=decision.confidence,
        extracted=False,
        supersedes=None,
        votes=votes,
        subject=decision.subject,
        predicate=decision.predicate,
        recorded_at=decision.recorded_at,
        content_hash=decision.content_hash,
    )


def statements_of(decision: Supersede | Invalidate, closes: str) -> list[Statement]:
    """The statements by which a decision enters the evidence of its claim; `closes` is the form it closes."""
    closing = replace(
        worded(decision, closes, None, at=taken_at(decision), votes=False),
        verdict=Verdict.SUPERSEDED if isinstance(decision, Supersede) else Verdict.INVALIDATED,
        reason=decision.reason,
    )
    if isinstance(decision, Invalidate):
        return [closing]
    opening = replace(
        closing,
        observation_id=ObservationId(opening_of(decision.correction_id)),
        form=decision.form,
        spelling=decision.spelling,
        verdict=Verdict.OPENED,
    )
    return [closing, opening]


def resolve(
    decision: Supersede | Invalidate,
    facts: Iterable[Fact],
    form_of: Callable[[str], str | None],
    cluster_of: Callable[[str], Cluster],
) -> str | Refusal:
    """The form that a decision closes, or why it cannot be taken.

    `facts` are those of the claim as they are now, `form_of` gives the form of an observation of it. The
    target is found by the fact's id, else by what the named observations say, else by its value.
    """
    target = decision.target
    known = [fact for fact in facts if fact.reason != Reason.WITHDRAWN]
    named = next((fact for fact in known if fact.fact_id == target.id), None)
    if named is None:
        forms = [form for form in map(form_of, target.observation_ids) if form is not None]
        form = forms[0] if forms else target.form
        if form is None:
            return refused(decision, "unknown_target")
        cluster = cluster_of(form)
        held = [fact for fact in known if cluster_of(fact.form) == cluster and _may_hold(fact, target.at)]
        if not held:
            return refused(decision, "unknown_target")
        named = max(held, key=lambda fact: (BEFORE_ALL if fact.lo is None else fact.lo, fact.fact_id))
    if named.hi is not None and named.hi <= decision.valid_at:
        return refused(decision, "already_closed")
    return named.form


def unknown_target(decision: Supersede | Invalidate) -> Refusal:
    """The refusal of a decision about a claim that nobody has said anything about."""
    return refused(decision, "unknown_target")


def _may_hold(fact: Fact, at: Instant | None) -> bool:
    if at is None:
        return True
    return (fact.lo is None or fact.lo <= at) and (fact.hi is None or at < fact.hi)


def refused(decision: Supersede | Invalidate, code: str) -> Refusal:
    """A decision that is not taken; `code` is one of `state.corrections.REFUSALS`."""
    return Refusal(
        correction_id=decision.correction_id,
        claim=decision.claim,
        code=code,
        message=REFUSALS[code],
        recorded_at=decision.recorded_at,
    )
