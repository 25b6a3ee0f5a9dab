"""Builders that show only what matters to a test; everything else is filled in."""

from __future__ import annotations

from state.corrections import Invalidate, Supersede, Target
from state.decided import statements_of
from state.identity import claim_id
from state.instants import DAY_MS, Instant, parse_instant
from state.statements import ObservationId, Statement

DAY_ZERO = parse_instant("2024-01-01T00:00:00Z")


def day(number: float) -> Instant:
    """Day `number` of the cases: 0 is 2024-01-01."""
    return Instant(DAY_ZERO + round(number * DAY_MS))


def statement(
    form: str,
    at: int,
    *,
    id: str,  # noqa: A002
    affirmed: bool = True,
    observed_at: int | None = None,
    valid_from: int | None = None,
    valid_to: int | None = None,
    source: str | None = None,
    document: str | None = None,
    votes: bool = True,
) -> Statement:
    """One statement; `at` is when it was observed unless `observed_at` is given."""
    observed = at if observed_at is None else observed_at
    return Statement(
        effective_at=Instant(observed if valid_from is None else valid_from),
        observed_at=Instant(observed),
        observation_id=ObservationId(id),
        form=form,
        affirmed=affirmed,
        spelling=form or None,
        source=source,
        document=document,
        valid_from=None if valid_from is None else Instant(valid_from),
        valid_to=None if valid_to is None else Instant(valid_to),
        lo_granularity="day",
        hi_granularity=None if valid_to is None else "day",
        confidence=1.0,
        extracted=False,
        supersedes=None,
        votes=votes,
        subject="kim",
        predicate="prefers",
        recorded_at=Instant(observed),
        content_hash=id,
    )


def decision(
    correction_id: str, *, closes: str, at: int, decided_at: int, opens: str | None = None
) -> list[Statement]:
    """A decision as evidence: it closes one form and may open another, from `at` on."""
    common = {"namespace": "default", "subject": "kim", "predicate": "p", "reason": "because"}
    taken = {
        "correction_id": correction_id,
        "claim": claim_id("default", "kim", "p"),
        "target": Target(form=closes),
        "valid_at": Instant(at),
        "granularity": "day",
        "recorded_at": Instant(decided_at),
        "decided_at": Instant(decided_at),
        "content_hash": f"hash-{correction_id}",
        **common,
    }
    if opens is None:
        return statements_of(Invalidate(**taken), closes)
    return statements_of(Supersede(form=opens, spelling=opens, **taken), closes)
