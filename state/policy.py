"""The settings of the fold: part of the input, like the evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

from state.trust import Trust


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of the fold; a change of any is a change of every fact, so it carries a version.

    `window` and `lead` count votes; `contested_above` is a share of them in hundredths, so that the
    comparison is exact. A window of `state.votes.ALL_VOTES` leaves no vote out. With `by_cycle` only the
    votes of the newest cycle count, and a share above `contested_above` alone ends a fact: the rule of
    batch-wise systems, under which facts depend on when evidence arrived (docs/consolidation.md). `trust`
    says what the vote of each source weighs where a value never changes; without it all votes are equal.
    """

    window: int = 5
    contested_above: int = 40
    lead: int = 2
    version: str = "1"
    by_cycle: bool = False
    trust: Trust | None = None

    def trusting(self, trust: Trust) -> Policy:
        """The policy with weights for sources; its version names their snapshot."""
        return replace(self, trust=trust, version=f"{self.version}+{trust.stamp}")
