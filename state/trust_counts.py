"""What claims say about their sources: how often any two of them agree (the evidence behind trust).

A claim whose value never changes compares its sources pair by pair. What it says now is added and what it
said before is taken off, so the sums are the same in every order of arrival. Weighs nobody: that is
`state.trust_learning`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, combinations
from typing import Final

from state.fold_state import ASIDE, Cluster
from state.history import distinct
from state.statements import Place, Statement, voter
from state.trust import SourceKey, source_key

COMPARED_MAX: Final = 16  # sources of one claim, those that spoke first: their pairs grow with the square

Stands = Mapping[SourceKey, int]
"""For each source of a claim which value it stands for: sources with one number agree."""

Agreement = tuple[int, int]
"""In how many claims two sources agree, and in how many both spoke."""

Counts = dict[SourceKey, dict[SourceKey, Agreement]]
"""The agreement of each pair of sources, under the smaller key, then the greater one."""


def stands_of(
    statements: Iterable[Statement], cluster_of: Callable[[str], Cluster], namespace: str
) -> dict[SourceKey, int]:
    """What each source of a claim stands for: the value that most of its documents state.

    Of several the one stated last, then the smaller key. Denials, statements without source or object, and
    what casts no vote say nothing here. Of more than `COMPARED_MAX` sources those that spoke first count.
    """
    said: dict[str, dict[Cluster, list[Statement]]] = {}
    for statement in distinct(s for s in statements if s.votes and s.affirmed and s.form and s.source):
        cluster = cluster_of(statement.form)
        if cluster != ASIDE:
            assert statement.source is not None
            said.setdefault(statement.source, {}).setdefault(cluster, []).append(statement)
    if len(said) < 2:
        return {}
    first = {source: min(s.observed_at for s in chain(*by.values())) for source, by in said.items()}
    heard = sorted(said, key=lambda source: (first[source], source_key(namespace, source)))[:COMPARED_MAX]
    chosen = {source_key(namespace, source): _stand(said[source]) for source in heard}
    numbers = {cluster: number for number, cluster in enumerate(sorted(set(chosen.values())))}
    return {key: numbers[chosen[key]] for key in sorted(chosen)}


def _stand(said: Mapping[Cluster, list[Statement]]) -> Cluster:
    """The value of a source that says several."""

    def strength(cluster: Cluster) -> tuple[int, tuple[int, int], Cluster]:
        newest: Place = max(s.place for s in said[cluster])
        return (-len({voter(s) for s in said[cluster]}), (-newest[0], -newest[1]), cluster)

    return min(said, key=strength)


def compared(stands: Stands) -> Counts:
    """The pairs of a claim's sources."""
    found: Counts = {}
    for one, other in combinations(sorted(stands), 2):
        found.setdefault(one, {})[other] = (int(stands[one] == stands[other]), 1)
    return found


def add(into: Counts, other: Mapping[SourceKey, Mapping[SourceKey, Agreement]], *, sign: int = 1) -> None:
    """Add counts, or take them off; a pair of which nothing is left is dropped."""
    for one, partners in other.items():
        own = into.setdefault(one, {})
        for partner, (n_agreed, n_compared) in partners.items():
            before = own.get(partner, (0, 0))
            after = (before[0] + sign * n_agreed, before[1] + sign * n_compared)
            if after == (0, 0):
                own.pop(partner, None)
            else:
                own[partner] = after
        if not own:
            del into[one]


def n_moved(counts: Counts) -> int:
    """How many comparisons a difference adds or takes off: at least one for each pair in it."""
    return sum(max(abs(n_compared), 1) for own in counts.values() for _, n_compared in own.values())


def first_of(counts: Counts, n_pairs: int) -> Counts:
    """The first pairs of counts in the order of their keys, at most so many: the others wait."""
    found: Counts = {}
    left = n_pairs
    for one in sorted(counts):
        if left <= 0:
            break
        found[one] = dict(sorted(counts[one].items())[:left])
        left -= len(found[one])
    return found
