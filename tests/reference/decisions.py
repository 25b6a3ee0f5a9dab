"""Decisions in the plain twin (DESIGN 4.11): what they void, their order, and what they mark.

It answers three questions about the decisions of one claim, each time from the full list. It never opens or
closes a fact; that is the walk's part (``tests.reference.fold``).

Where the design leaves room, and what is chosen here:

1. A supersede is two decisions: one closes, one opens. Both have the instant from which they hold and the
   instant at which they were taken.
2. A void statement is out altogether: it neither votes nor ends anything, dates nothing, and does not
   interrupt what its document says. A report speaks of the time before its ``valid_to``: it is void when
   that lies after the decision's instant.
3. What marks a cluster is the last decision about it in the order in which they are carried out, whether
   its fact was open or not. An opening takes the mark away even when the fact was open already.
4. Where nothing ever changes, a decision holds for all of time, and the later of two is the one that was
   taken later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided of one cluster; ``verdict`` is superseded, invalidated (both close) or opened."""

    decision_id: str
    verdict: str
    cluster: str | None
    valid_at: int
    decided_at: int

    @property
    def opens(self) -> bool:
        """Whether it opens its cluster; otherwise it closes it."""
        return self.verdict == "opened"


def in_order(decisions: Iterable[Decision]) -> list[Decision]:
    """Return the decisions as they are carried out at one instant."""
    return sorted(decisions, key=lambda d: (d.decided_at, d.opens, d.decision_id))


def voids(
    decisions: Iterable[Decision], cluster: str | None, observed_at: int, last_instant: int | None
) -> bool:
    """Return whether an affirmed statement is void; without ``last_instant`` it speaks of all time.

    ``last_instant`` is the effective time of a statement, or the last instant that a report speaks of.
    """
    return any(
        not d.opens
        and d.cluster == cluster
        and observed_at <= d.decided_at
        and (last_instant is None or d.valid_at <= last_instant)
        for d in decisions
    )


def mark(decisions: Iterable[Decision], cluster: str | None, until: int) -> str | None:
    """Return the decision that closed the cluster at or before ``until``, when none opened it again since."""
    found = None
    for d in sorted(in_order(decisions), key=lambda d: d.valid_at):
        if d.cluster == cluster and d.valid_at <= until:
            found = None if d.opens else d.decision_id
    return found


def of_all_time(decisions: Iterable[Decision]) -> Decision | None:
    """Return the opening that decides what never changes, if a decision does."""
    openings = [d for d in in_order(decisions) if d.opens]
    if not openings:
        return None
    newest = openings[-1]
    later = [
        d
        for d in decisions
        if not d.opens and d.cluster == newest.cluster and d.decided_at > newest.decided_at
    ]
    return None if later else newest


def mark_of_all_time(decisions: Iterable[Decision], cluster: str | None) -> str | None:
    """Return the newest decision about the cluster when it closes."""
    about = [d for d in in_order(decisions) if d.cluster == cluster]
    return about[-1].decision_id if about and not about[-1].opens else None
