"""What the fold asks of the evidence behind it, and which statements repeat another.

The fold carries its own state and looks back only to date a boundary and to count again what lies behind
it. Who answers may hold the evidence in memory (`state.evidence`) or in pieces (`state.strand`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from state.fold_state import Cluster, Side
from state.instants import Granularity, Instant
from state.replacing import Replacements, own_granularity
from state.statements import Place, Statement, restatement_key


class History(Protocol):
    """The evidence behind the state, looked up only where a count needs it.

    `has_aside` says whether some forms take no side; their cluster is then `ASIDE`. `replaced` is what newer
    documents end.
    """

    has_aside: bool
    replaced: Replacements

    def since(self, effective_from: Instant, before: Instant) -> list[Statement]:
        """Statements that take part and took effect in [effective_from, before), in their order."""
        ...

    def previous(self, statement: Statement) -> Instant | None:
        """Effective time of the same voter's newest statement for this side at an earlier place, or None."""
        ...

    def began(self, statement_who: str, form_side: Side, place: Place) -> Instant:
        """Since when the document, at `place`, says this without having said anything else in between."""
        ...

    def closed_at(self, cluster: Cluster, before: Instant) -> Instant:
        """The instant of the last decision before another that closed a cluster; BEFORE_ALL for none."""
        ...

    def cluster(self, statement: Statement) -> Cluster:
        """The cluster of a statement's form."""
        ...


def distinct(statements: Iterable[Statement]) -> list[Statement]:
    """Without those that repeat another of the same document under another id (CASES F34).

    Such statements stand at one place; the one that counts is the finest dated, then the smallest in
    spelling, so that no id decides how a fact is shown.
    """
    chosen: dict[object, int] = {}
    found: list[Statement] = []
    for statement in statements:
        key = restatement_key(statement)
        if key is not None:
            index = chosen.get(key)
            if index is not None:
                if _plainness(statement) < _plainness(found[index]):
                    found[index] = statement
                continue
            chosen[key] = len(found)
        found.append(statement)
    return found


def _plainness(statement: Statement) -> tuple[object, ...]:
    end = own_granularity(statement.hi_granularity)
    return (
        -Granularity(statement.lo_granularity).rank,
        -Granularity(end).rank if end else 0,
        type(statement.spelling).__name__,
        repr(statement.spelling),
        statement.subject,
        statement.predicate,
    )
