"""Decisions: what a correction speaks about, and whether it can be applied.

Resolves the targets of a supersede, an invalidate or a link among the assertions of a claim and either
gives the row that records the decision, with its links, or says why it is refused. Changes nothing itself.
The fold takes the same decisions in its own way (DESIGN 4.11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from state.assertions import Assertion, AssertionId, Book, Decided, assertion_id
from state.corrections import REFUSALS, Decision, Invalidate, Refusal, Relate, Supersede, Target
from state.endings import Endings
from state.identity import FactId, derive, fact_id
from state.instants import Instant, shown
from state.links import Link, LinkKind, Origin, beginning
from state.own_facts import own_name

LINKED_MAX: Final = 16  # targets of one decision that get a link of their own; the earliest first


def judge(book: Book, endings: Endings, decision: Decision) -> Decided | Refusal | None:
    """The row of a decision, or why it is refused; None where it was applied before, or was taken back.

    A refused decision leaves nothing behind: it may be sent again when what it needs has come.
    """
    before = book.decided.get(decision.correction_id)
    is_known = before is not None and before.decision.content_hash == decision.content_hash
    if is_known or book.is_taken_back(decision):
        return None
    if before is not None:
        return _refuse(decision, "correction_id_taken", f"Give {shown(decision.correction_id)} another id.")
    targets, is_wide = resolve(book, decision.target)
    if not targets:
        return _refuse(decision, "unknown_target", "Look the fact up again; it may have been retracted.")
    if isinstance(decision, Relate):
        return _judge_link(book, decision, targets, is_wide)
    if _changes_nothing(endings, decision, targets):
        return _refuse(decision, "already_closed", "Correct what holds now, or what took its place.")
    return Decided(
        decision=decision,
        decided_at=_decided_at(decision, targets),
        targets=_ids(targets),
        is_wide=is_wide,
    )


def resolve(book: Book, target: Target) -> tuple[list[Assertion], bool]:
    """The assertions that a target names, earliest first, and whether it named a value instead of them.

    An id of an assertion names it and nothing else. Any other id is that of a fact: it is known by its
    value, and then all assertions of the value are meant; or by its observations. Where each assertion is
    a fact of its own (`arbitration = explicit`) its fact's id names it too, and observations come before the
    value.
    """
    named = book.assertions.get(AssertionId(target.id)) if target.id is not None else None
    if named is None and target.id is not None and book.predicate.is_explicit:
        named = _with_fact(book, target.id)
    if named is not None:
        return [named], False
    observed = {a.assertion_id: a for i in target.observation_ids if (a := book.said_in(i)) is not None}
    if target.form is not None:
        side = (book.forms.cluster(target.form), True)
        observed = {i: a for i, a in observed.items() if book.side(a) == side}
    is_own_fact = book.predicate.is_explicit
    if target.form is None or (is_own_fact and (observed or target.id is not None)):
        return _earliest_first(list(observed.values())), False
    valued = [a for a in book.assertions.values() if book.side(a) == side]
    if target.at is not None:
        at = target.at
        valued = [a for a in valued if any(piece.lo <= at < piece.hi for piece in book.pieces(a))]
    return _earliest_first(valued), True


def _with_fact(book: Book, named: str) -> Assertion | None:
    """The assertion that has a fact of this id, where each has its own: one for each time that it begins."""
    for assertion in book.assertions.values():
        name = own_name(assertion.voter, assertion.form, affirmed=True)
        ids = [fact_id(book.claim, name, ordinal) for ordinal in range(len(assertion.statements))]
        if assertion.affirmed and FactId(named) in ids:
            return assertion
    return None


def links_of(book: Book, decided: Decided, *, policy_version: str) -> list[Link]:
    """The links that a decision makes: to what it closes, of it to itself, or between its two ends."""
    decision, targets = decided.decision, decided.targets[:LINKED_MAX]
    if isinstance(decision, Relate):
        kind = LinkKind(decision.kind)
        pairs = [(source, target) for source in decided.sources[:1] for target in targets[:1]]
    elif isinstance(decision, Supersede):
        kind = LinkKind.SUPERSEDES
        opened = assertion_id(book.claim, f"c{decision.correction_id}", decision.form, affirmed=True)
        pairs = [(opened, target) for target in targets]
    else:
        kind = LinkKind.INVALIDATES
        pairs = [(target, target) for target in targets]
    return [
        Link(
            link_id=derive("link", kind.value, source, target, decision.correction_id),
            claim=book.claim,
            kind=kind.value,
            origin=Origin.EXPLICIT.value,
            source=source,
            target=target,
            reason=decision.reason,
            confidence=decision.confidence,
            recorded_at=decision.recorded_at,
            evidence_id=decision.correction_id,
            policy_version=policy_version,
        )
        for source, target in pairs
    ]


def _judge_link(book: Book, decision: Relate, targets: list[Assertion], is_wide: bool) -> Decided | Refusal:
    sources, source_is_wide = resolve(book, decision.source)
    if not sources:
        return _refuse(decision, "unknown_target", "Look the other fact up again; it may be retracted.")
    both_wide = is_wide and source_is_wide
    if both_wide and book.side(sources[0]) == book.side(targets[0]):
        return _refuse(decision, "self_link", "Both ends name one value; name two.")
    if sources[0] is targets[0]:
        return _refuse(decision, "self_link", "Name two different assertions.")
    return Decided(
        decision=decision,
        decided_at=_decided_at(decision, [*sources, *targets]),
        targets=_ids(targets[:1]),
        sources=_ids(sources[:1]),
        is_wide=both_wide,
    )


def _changes_nothing(endings: Endings, decision: Decision, targets: Sequence[Assertion]) -> bool:
    """Whether all that a decision would close is closed already, for an invalidate: at least as early."""
    if isinstance(decision, Invalidate):
        return all(
            end.at <= decision.valid_at
            for target in targets
            for _, end in endings.pieces(target, endings.replaced([target]).get(target.assertion_id))
        )
    return all(endings.is_closed(target) for target in targets)


def _decided_at(decision: Decision, concerned: Sequence[Assertion]) -> Instant:
    """When it was decided: as stated, else after all that it concerns had been observed."""
    if decision.decided_at is not None:
        return decision.decided_at
    observed = [s.observed_at for a in concerned for s in a.statements]
    return max([decision.recorded_at, *observed])


def _earliest_first(assertions: list[Assertion]) -> list[Assertion]:
    return sorted(assertions, key=lambda a: (beginning(a), a.assertion_id))


def _ids(assertions: Sequence[Assertion]) -> list[AssertionId]:
    return [assertion.assertion_id for assertion in assertions]


def _refuse(decision: Decision, code: str, remedy: str) -> Refusal:
    return Refusal(
        correction_id=decision.correction_id,
        claim=decision.claim,
        code=code,
        message=f"{REFUSALS[code]} {remedy}",
        recorded_at=decision.recorded_at,
    )
