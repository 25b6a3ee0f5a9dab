"""Decisions where each assertion is a fact of its own: whom they are about, and how they enter the evidence.

Such a decision may end one document's word and leave another's, so it is judged by the assertions of the
claim (`state.decisions`), exactly as for links, and its closing statement says which of them it is about.
What then follows for the facts is `state.own_facts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from state.assertions import Book, Decided, assertion_id
from state.corrections import Invalidate, Refusal, Supersede, Target
from state.decided import CLOSES, Verdict, opening_of, statements_of
from state.decisions import judge
from state.endings import Endings
from state.forms import Forms
from state.identity import ClaimId
from state.own_facts import own_name, targets_of
from state.predicates import Predicate
from state.statements import Statement


def judged(
    decision: Supersede | Invalidate, statements: Sequence[Statement], *, predicate: Predicate, forms: Forms
) -> list[Statement] | Refusal:
    """The statements of a decision about a claim of which `statements` are known, or why it is refused.

    None are given for a decision that is there already.
    """
    book = book_of(statements, claim=decision.claim, predicate=predicate, forms=forms)
    answer = judge(book, Endings(book), decision)
    if isinstance(answer, Refusal):
        return answer
    return [] if answer is None else entering(book, answer)


def entering(book: Book, decided: Decided) -> list[Statement]:
    """The statements by which a decision that was judged enters the evidence."""
    decision = decided.decision
    assert isinstance(decision, Supersede | Invalidate), "a link closes nothing"
    targets = [book.assertions[target] for target in decided.targets]
    names = targets_of(own_name(a.voter, a.form, affirmed=a.affirmed) for a in targets)
    closes = decision.target.form if decided.is_wide else targets[0].form
    closing, *opening = statements_of(decision, closes or "")
    closing = replace(closing, supersedes=None if decided.is_wide else names)
    return [replace(s, observed_at=decided.decided_at) for s in (closing, *opening)]


def book_of(statements: Iterable[Statement], *, claim: ClaimId, predicate: Predicate, forms: Forms) -> Book:
    """The assertions of a claim and the decisions about them, from its evidence."""
    book = Book(claim, predicate, forms)
    taken: dict[str, Statement] = {}
    for statement in statements:
        if statement.verdict:
            taken[statement.observation_id] = statement
        else:
            book.say(statement)
    names = {own_name(a.voter, a.form, affirmed=a.affirmed): a.assertion_id for a in book.assertions.values()}
    closings = [s for s in taken.values() if s.verdict in CLOSES]
    closings.sort(key=lambda s: (s.recorded_at, s.observation_id))
    for closing in closings:
        opening = taken.get(opening_of(closing.observation_id))
        if opening is not None:
            who = f"c{closing.observation_id}"
            opened = assertion_id(claim, who, opening.form, affirmed=True)
            names[own_name(who, opening.form, affirmed=True)] = opened
    for closing in closings:
        named = () if closing.supersedes is None else closing.supersedes.split(",")
        book.enter(
            Decided(
                decision=_decision(claim, closing, taken.get(opening_of(closing.observation_id))),
                decided_at=closing.observed_at,
                targets=[names[name] for name in named if name in names],
                is_wide=closing.supersedes is None,
            )
        )
    return book


def _decision(claim: ClaimId, closing: Statement, opening: Statement | None) -> Supersede | Invalidate:
    """A decision from its statements, as far as they keep it: its target by value alone."""
    common = {
        "correction_id": closing.observation_id,
        "claim": claim,
        "namespace": "",
        "subject": closing.subject,
        "predicate": closing.predicate,
        "reason": closing.reason or "",
        "recorded_at": closing.recorded_at,
        "decided_at": closing.observed_at,
        "content_hash": closing.content_hash,
        "confidence": closing.confidence,
        "target": Target(form=closing.form),
        "valid_at": closing.effective_at,
        "granularity": closing.lo_granularity,
    }
    if closing.verdict == Verdict.INVALIDATED or opening is None:
        return Invalidate(**common)  # type: ignore[arg-type]
    return Supersede(form=opening.form, spelling=opening.spelling, **common)  # type: ignore[arg-type]
