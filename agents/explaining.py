"""Explanations for programs: everything that `state.why` and `state.why_not` found, as JSON.

Every statement of the claim is there once, in its role; elsewhere it is named by its id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agents.claims import ClaimRead
from agents.telling_trust import trust_fields
from state.decided import retracted_by
from state.explanation import Explanation, Placed
from state.facts import About, build, state_at
from state.instants import Instant, format_instant
from state.interval import Interval, to_json
from state.probability import probability
from state.statements import Statement
from state.trace import Duel, Tally, Weighing, votes_needed
from state.why_not import Verdict, facts_within
from streams.wire import observation_fields, valid_fields


def as_json(
    read: ClaimRead,
    explanation: Explanation,
    verdict: Verdict | None,
    *,
    now: Instant,
    during: Interval | None,
) -> dict[str, Any]:
    """The explanation of a claim. With `during` only the facts that hold then are listed.

    `fact` in it is always an index into all facts of the claim, which each fact repeats as `index`.
    """
    chosen = range(len(explanation.facts)) if during is None else facts_within(explanation, during)
    claim, trust = read.claim, read.policy.trust
    return {
        "claim_id": claim.claim,
        "namespace": claim.namespace,
        "subject": claim.subject,
        "predicate": claim.predicate,
        "declared": read.predicate.declared,
        "cardinality": read.predicate.cardinality,
        "change": read.predicate.change,
        "policy_version": read.policy.version,
        **({} if trust is None else {"trust": trust_fields(trust, read.statements)}),
        "model": claim.forms.model or None,
        "degraded": list(claim.forms.degraded),
        "now": format_instant(now),
        "during": None if during is None else to_json(during),
        "facts": [_fact(read, explanation, place, now) for place in chosen],
        "aside": [{**_statement(read, p.statement), "why": p.why} for p in explanation.aside()],
        "duplicates": [
            {**_statement(read, p.statement), "repeats": p.repeats} for p in explanation.duplicates()
        ],
        "retracted": list(claim.retracted),
        "value": None if verdict is None else _verdict(explanation, verdict),
    }


def _fact(read: ClaimRead, explanation: Explanation, place: int, now: Instant) -> dict[str, Any]:
    explained = explanation.facts[place]
    about = About(read.claim.claim, read.claim.namespace, read.predicate.declared)
    fact = build(about, explained.episode)
    opening = explained.opening
    return {
        "index": place,
        "fact_id": fact.fact_id,
        "object": fact.object,
        "valid": valid_fields(fact),
        "state": state_at(fact, now).value,
        "reason": fact.reason,
        "contested": fact.contested,
        "rivals": list(fact.rivals),
        "support": fact.support,
        "dissent": fact.dissent,
        "confidence": round(fact.confidence, 6),
        "probability": probability(fact, read.predicate),
        "supported_by": [_statement(read, s) for s in explained.support],
        "dissented_by": [_statement(read, s) for s in explained.dissent],
        "closed_by": [_statement(read, s) for s in explained.closing],
        "opened": {
            "how": opening.how.value,
            "votes": _ids(opening.votes),
            "decision": None if opening.decision is None else _weighing(explanation, opening.decision),
        },
        "lo_set_by": _ids(explained.lo_set_by),
        "hi_set_by": _ids(explained.hi_set_by),
        "votes": fact.votes,
        "decision": None if explained.decision is None else _weighing(explanation, explained.decision),
        "standing": None if explained.standing is None else _weighing(explanation, explained.standing),
        "followed_by": explained.follower,
        "decided_by": {
            "closed": _taken(explained.closed_by),
            "opened": _taken(explained.opened_by),
            "against": _taken(explained.against),
        },
    }


def _taken(decision: Statement | None) -> dict[str, Any] | None:
    """A decision of a person, by its id."""
    if decision is None:
        return None
    return {
        "correction_id": retracted_by(decision),
        "reason": decision.reason,
        "decided_at": format_instant(decision.observed_at),
        "valid_at": format_instant(decision.effective_at),
    }


def _statement(read: ClaimRead, statement: Statement) -> dict[str, Any]:
    """A statement as it was published, with the instant from which it takes effect."""
    fields = observation_fields(read.claim.namespace, statement)
    return {**fields, "effective_at": format_instant(statement.effective_at)}


def _ids(statements: Iterable[Statement]) -> list[str]:
    return [s.observation_id for s in statements]


def _weighing(explanation: Explanation, weighing: Weighing) -> dict[str, Any]:
    """A count: `newest` are the votes that count among all sides, newest first."""
    return {
        "at": format_instant(weighing.at),
        "held": _tally(weighing.held, weighing.seats[0]),
        "rivals": [
            _duel(explanation, weighing, duel, n)
            for duel, n in zip(weighing.duels, weighing.seats[1:], strict=True)
        ],
        "newest": _ids(weighing.counted),
    }


def _tally(tally: Tally, n_newest: int) -> dict[str, Any]:
    return {
        "object": tally.spelling,
        "denied": not tally.side[1],
        "votes": _ids(tally.votes),
        "n_of_newest": n_newest,
    }


def _duel(explanation: Explanation, weighing: Weighing, duel: Duel, n_newest: int) -> dict[str, Any]:
    return {
        **_tally(duel.rival, n_newest),
        "n_for": duel.n_for,
        "n_held": duel.n_held,
        "counted": _ids(duel.counted),
        "all_later": duel.is_later,
        "clean_switch_by": None if duel.fresh is None else duel.fresh.observation_id,
        "enough": duel.decides,
        "n_needed": votes_needed(weighing, duel, explanation.policy),
    }


def _verdict(explanation: Explanation, verdict: Verdict) -> dict[str, Any]:
    strongest = verdict.strongest
    return {
        "object": verdict.spelling,
        "heard": verdict.is_heard,
        "facts": list(verdict.facts),
        "statements": [_placed(p) for p in verdict.placed],
        "denied_by": _ids(verdict.denied_by),
        "same_as": [_kin(k.spelling, k.cosine, None) for k in verdict.same],
        "kept_apart_from": [_kin(k.spelling, k.cosine, k.guard) for k in verdict.apart],
        "strongest": None
        if strongest is None
        else {
            "at": format_instant(strongest.weighing.at),
            "fact": strongest.fact,
            "n_for": strongest.duel.n_for,
            "n_held": strongest.duel.n_held,
            "counted": _ids(strongest.duel.counted),
            "n_needed": strongest.n_needed,
        },
        "fact_now": verdict.current,
        "n_needed_now": verdict.n_needed_now,
        "all_heard": [{"object": h.spelling, "statements": h.n_statements} for h in verdict.heard],
    }


def _placed(placed: Placed) -> dict[str, Any]:
    return {
        "observation_id": placed.statement.observation_id,
        "role": placed.role.value,
        "fact": placed.fact,
        "why": placed.why,
        "repeats": placed.repeats,
    }


def _kin(spelling: object, cosine: float | None, guard: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"object": spelling, "cosine": cosine}
    return found if guard is None else {**found, "guard": guard}
