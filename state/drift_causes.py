"""What is behind an unstable subject: whether its facts flap, moved on, or are disputed; and what to do.

A pure reading of the retirements in a window. It decides no alert (`state.drift` does) and names only what
the retired facts themselves show.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec

from state.identity import ClaimId
from state.statements import Spelling


class Pattern(enum.StrEnum):
    """What retirements look like, taken together."""

    FLAPPING = "flapping"
    """The same values keep coming back."""

    MOVE = "move"
    """Values were replaced by others, undisputed while they held: the world has changed."""

    DISAGREEMENT = "disagreement"
    """The retired values were disputed while they held: sources contradict each other."""


class AlertKind(enum.StrEnum):
    """What a drift alert says."""

    UNSTABLE = "unstable"
    STABLE = "stable"
    CHURNING = "churning"
    SETTLED = "settled"


class Cause(msgspec.Struct, frozen=True, array_like=True):
    """A retired fact, as far as it explains drift. `form` names its value within the claim.

    `dissent` are the votes against it that did not retire it, `votes` says in words what did.
    """

    claim: ClaimId
    predicate: str
    object: Spelling | None
    form: str
    reason: str
    votes: str | None
    support: int
    dissent: int


def looks_like(causes: Sequence[Cause]) -> Pattern | None:
    """The pattern of some retirements; None where there are none (DESIGN 5).

    Flapping where at least a third of them retired a value that was retired in this window before.
    Otherwise a disagreement where at least half of the retired facts had votes against them while they
    held. Otherwise a move.
    """
    if not causes:
        return None
    n_returned = len(causes) - len({(cause.claim, cause.form) for cause in causes})
    if 3 * n_returned >= len(causes):
        return Pattern.FLAPPING
    n_disputed = sum(cause.dissent > 0 for cause in causes)
    return Pattern.DISAGREEMENT if 2 * n_disputed >= len(causes) else Pattern.MOVE


_ADVICE = {
    Pattern.FLAPPING: (
        "Values that were retired keep coming back: before relying on the newest one, find the source that "
        "still sends the old ones."
    ),
    Pattern.MOVE: (
        "Its values were replaced by later ones that nobody disputed: read it again, and drop what was "
        "remembered from before."
    ),
    Pattern.DISAGREEMENT: (
        "Its sources contradict each other: weigh them, or take back what is wrong, before relying on any "
        "value."
    ),
}


def advice(kind: AlertKind, causes: Sequence[Cause]) -> str | None:
    """One sentence on what a person can do about an alert; None where there is nothing to do."""
    if kind is AlertKind.CHURNING:
        names = ", ".join(sorted({cause.predicate for cause in causes}))
        return (
            f"Declare {names} in a predicate file (FACTDRIFT_PREDICATES): a predicate that is not declared "
            "holds one value at a time, so that each new value retires the one before."
        )
    pattern = looks_like(causes)
    return None if pattern is None or kind is not AlertKind.UNSTABLE else _ADVICE[pattern]
