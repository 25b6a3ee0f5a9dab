"""What became of asking a language model about one observation, as it is kept with the observation.

Decides nothing. A refinement stands on the internal record, so that a replay asks nobody and the log says of
every triple whose words it is (DESIGN, "Triple source").
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from state.statements import Spelling


class Outcome(enum.StrEnum):
    """What became of one question. All but the first leave the observation as its source sent it."""

    REFINED = "refined"
    UNCHANGED = "unchanged"
    DECLINED = "declined"
    MALFORMED = "malformed"
    UNSAFE = "unsafe"
    TOO_LONG = "too_long"
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"
    OVER_BUDGET = "over_budget"


OUTCOMES: Final[Mapping[Outcome, str]] = {
    Outcome.REFINED: "The model wrote the predicate or the object otherwise.",
    Outcome.UNCHANGED: "The model found nothing to mend.",
    Outcome.DECLINED: "The model said that it cannot tell.",
    Outcome.MALFORMED: "The answer was not what was asked for.",
    Outcome.UNSAFE: "The answer speaks of another subject, is too long, or holds what nobody said.",
    Outcome.TOO_LONG: "The observation is too long to be sent.",
    Outcome.TIMED_OUT: "No answer came in time.",
    Outcome.UNAVAILABLE: "The endpoint refused, could not be reached, or is left alone for a while.",
    Outcome.OVER_BUDGET: "The budget of calls or tokens is spent.",
}
"""What each outcome means, in a sentence for a person."""

ANSWERED: Final = frozenset((Outcome.REFINED, Outcome.UNCHANGED, Outcome.DECLINED))
"""The outcomes that a model decided, and would decide again: what a cache may keep."""


class Refinement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Where a triple comes from: the model, the version of what it was told, and what became of it.

    `given_predicate` and `given_object` are what the source wrote, where the model wrote otherwise; an object
    that was not there before has None. Without REFINED both say nothing.
    """

    model: str
    prompt: str
    outcome: Outcome
    given_predicate: str | None = None
    given_object: Spelling | None = None
