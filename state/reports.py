"""Late reports of an end: "lived in Austin until June", said afterwards (DESIGN 4.6).

Such a statement has no start of its own, casts no vote and retires nothing. In its turn of time it
ends its cluster's open fact (`state.periods`); what no fact covers it adds here, when everything else
is folded, so that it cannot change any other fact.
"""

from __future__ import annotations

from collections.abc import Sequence

from state.episodes import Edge, Episode, Reason
from state.instants import Granularity, Instant
from state.statements import Statement
from state.votes import Cluster, voter


def covering(episodes: Sequence[Episode], until: Instant) -> int | None:
    """The index of the episode that holds the moment before `until`, or None."""
    for number, episode in enumerate(episodes):
        if (episode.lo is None or episode.lo.at < until) and (episode.hi is None or until <= episode.hi.at):
            return number
    return None


def add_reported(
    episodes: list[Episode], evidence: Sequence[Statement], clusters: Sequence[Cluster], counted: Sequence[int]
) -> list[Episode]:
    """`episodes` and what the affirmed reports add, in order of time.

    A report adds the span from the end of the fact before it, or from an unknown start. Directly after
    a fact of its own cluster that ended of itself it moves that end. Of several reports at one
    instant, the cluster with most voices is taken, then the latest observed, then the smallest key.
    """
    reports = [i for i in counted if evidence[i].is_late_end and evidence[i].affirmed]
    if not reports:
        return episodes
    by_end: dict[tuple[Instant, Cluster], list[int]] = {}
    for index in reports:
        until = evidence[index].valid_to
        assert until is not None
        by_end.setdefault((until, clusters[index]), []).append(index)
    order = sorted(
        by_end.items(),
        key=lambda item: (
            item[0][0],
            -len({voter(evidence[i]) for i in item[1]}),
            -max(evidence[i].observed_at for i in item[1]),
            item[0][1],
        ),
    )
    found = list(episodes)
    for (until, cluster), indexes in order:
        if covering(found, until) is not None:
            continue
        hi = Edge(until, Granularity(evidence[indexes[0]].hi_granularity or Granularity.DAY))
        before = [e for e in found if e.hi is not None and e.hi.at < until]
        previous = max(before, key=lambda e: e.hi.at if e.hi else until, default=None)
        if previous is not None and (previous.cluster, previous.reason) == (cluster, Reason.ENDED):
            previous.hi = hi
        else:
            found.append(Episode(cluster, previous.hi if previous else None, hi, Reason.ENDED))
    found.sort(key=lambda e: (e.lo is not None, e.lo.at if e.lo else 0))
    return found
