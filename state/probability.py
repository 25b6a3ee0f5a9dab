"""How likely it is that a held value is true: from what its fact carries to a share between 0 and 1.

`confidence` is a share of votes, and votes outlive what they were cast for: on streams of which the truth
is known it is too high by a sixth on average. This mapping says how often values with such votes were true
there. For each kind of predicate it is a logistic function that rises with support, falls with dissent and is
lower where the fact is contested. It knows no clock, no source and no predicate by name, so that everybody
who reads the change feed can work it out again.

Decides nothing: no fact begins, ends or is contested by it, and `confidence` stays what it is (DESIGN 4.9).
What it was fitted on and when it says nothing is in docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log1p
from typing import Final, Protocol

from state.predicates import Predicate

DIGITS: Final = 3  # more would only look exact


class Held(Protocol):
    """What is looked at of a fact, as it is folded or as it was published."""

    @property
    def support(self) -> int:
        """Votes for it."""
        ...

    @property
    def dissent(self) -> int:
        """Votes against it."""
        ...

    @property
    def contested(self) -> bool:
        """Whether too many of the newest votes are against it."""
        ...

    @property
    def reason(self) -> str | None:
        """Why it ends or ended."""
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """One logistic function: `sigmoid(base + support · ln(1 + votes for) + dissent · ln(1 + votes against))`.

    `contested` is added where the fact is contested. `support` is never negative, `dissent` and `contested`
    are never positive.
    """

    base: float
    support: float
    dissent: float
    contested: float

    def __call__(self, support: int, dissent: int, contested: bool) -> float:
        """The share of values with these votes that are true."""
        x = self.base + self.support * log1p(support) + self.dissent * log1p(dissent)
        return 1 / (1 + exp(-(x + self.contested * contested)))


WEIGHTS: Final[Mapping[str, Weights]] = {
    "single": Weights(base=-0.295, support=0.822, dissent=-0.37, contested=-1.585),
    "multi": Weights(base=-1.429, support=0.847, dissent=-1.35, contested=0.0),
    "never": Weights(base=0.76, support=1.8, dissent=-0.193, contested=-1.237),
}
"""By kind of predicate, as `python -m benchmarks calibration` finds them; digits beyond are noise."""


def kind_of(predicate: Predicate) -> str:
    """Which function says it of a predicate: single, multi, or never where its value cannot change."""
    if predicate.never_changes:
        return "never"
    return predicate.cardinality


def probability(fact: Held, predicate: Predicate) -> float | None:
    """How likely it is that the value of a fact is true now, or at the instant by which it was known.

    None where that was never measured: the fact has an end, has no vote (a decision or an announcement holds
    it), or is no matter of votes (`arbitration = explicit`).
    """
    if fact.reason is not None or fact.support == 0 or predicate.is_explicit:
        return None
    return round(WEIGHTS[kind_of(predicate)](fact.support, fact.dissent, fact.contested), DIGITS)
