"""What one change of a fact means for the drift of its subject (DESIGN 5).

A fact counts from the event that says it was invalidated until one says that it was not, or not yet; the
deciding statement's `observed_at` says where. Knows neither windows nor limits.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from state.changes import Change, Kind, Revision
from state.drift_causes import Cause
from state.episodes import Reason
from state.facts import Fact
from state.identity import FactId
from state.instants import Instant

COUNTED: Final = frozenset({Reason.OUTVOTED, Reason.DENIED, Reason.SUPERSEDED, Reason.INVALIDATED})
"""Why a fact must have been retired to count: neither withdrawn, as it never held, nor ended as announced."""

BY_DECISION: Final = frozenset({Reason.SUPERSEDED, Reason.INVALIDATED})
"""Reasons that count towards `unstable` even where the predicate is not declared, if somebody decided it."""


class Bearing(enum.StrEnum):
    """What a change does to the entry of its fact."""

    ENTERS = "enters"
    LEAVES = "leaves"
    MOVES = "moves"
    """It is where this change says, if it is entered at all."""


class News(msgspec.Struct, frozen=True):
    """One change of a fact that may bear on drift. `at` is when the deciding statement was made.

    `told` is whether this very change is an invalidation; `declared` whether it counts towards
    `unstable`, else towards `churning`.
    """

    fact_id: FactId
    version: int
    bearing: Bearing
    told: bool
    declared: bool
    at: Instant | None
    cause: Cause


def bearing_of(
    kind: str, revision: str, *, reason: str | None, hi: Instant | None, at: Instant | None
) -> Bearing | None:
    """What a change bears, from its kind and the fact after it; None where it bears nothing.

    A fact that is revised while retired (other dates, other votes) stays what it was told to be. Only an
    end that had come when the deciding statement was made cannot be one that was merely announced. Who
    reads `fact-invalidated` and `fact-revised` alone misses nothing.
    """
    if kind == Kind.INVALIDATED:
        return Bearing.ENTERS if reason in COUNTED and at is not None else Bearing.LEAVES
    if kind != Kind.REVISED:
        return None
    if revision in _NOT_RETIRED:
        return Bearing.LEAVES
    if reason not in COUNTED or at is None:
        return None
    return Bearing.ENTERS if hi is not None and hi <= at else Bearing.MOVES


_NOT_RETIRED: Final = frozenset({Revision.REINSTATED, Revision.SCHEDULED, Revision.ENDED})


def counts_as_declared(reason: str | None, *, declared: bool, is_decided: bool = True) -> bool:
    """Whether a retirement counts towards `unstable`: of a declared predicate, or by decision.

    A fact that is superseded without a decision (`is_decided` False) was so by a newer document.
    """
    return declared or (reason in BY_DECISION and is_decided)


def news_of(change: Change) -> News | None:
    """The news in a change of a fact; None where it bears nothing on drift."""
    fact = change.fact
    bearing = bearing_of(
        change.kind, change.revision, reason=fact.reason, hi=fact.hi, at=fact.decided_observed_at
    )
    if bearing is None:
        return None
    return News(
        fact.fact_id,
        change.version,
        bearing,
        change.kind is Kind.INVALIDATED and bearing is Bearing.ENTERS,
        counts_as_declared(fact.reason, declared=fact.declared, is_decided=fact.closed_by is not None),
        fact.decided_observed_at,
        cause_of(fact),
    )


def cause_of(fact: Fact) -> Cause:
    """What a retired fact shows of why it was retired."""
    return Cause(
        fact.claim, fact.predicate, fact.object, fact.form, fact.reason or "", fact.votes,
        fact.support, fact.dissent,
    )  # fmt: skip
