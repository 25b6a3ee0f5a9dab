"""From the evidence of one claim to its episodes, whatever the predicate's cardinality (DESIGN 4.8).

Chooses the fold: one for the claim where values exclude each other, one for each cluster where they
do not, and a plain count where the value can never change. The folds themselves are elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from state.episodes import Edge, Episode, Folded, Role
from state.instants import Granularity, Instant
from state.periods import Policy, fold_periods
from state.predicates import Predicate
from state.reports import add_reported
from state.roles import assign
from state.statements import Statement, restatement_key
from state.votes import Cluster, Side, voter


def fold(
    evidence: Sequence[Statement],
    predicate: Predicate,
    policy: Policy,
    cluster_of: Mapping[str, Cluster],
) -> Folded:
    """The episodes of a claim, and the role of each statement.

    `evidence` is in the order of `state.statements.order` and holds each observation id once;
    `cluster_of` maps a form to its cluster (a form that it lacks is its own). Statements without
    object fold as a claim of their own. Nothing else is read, so identical evidence gives identical
    output whatever the order of its arrival.
    """
    clusters = [cluster_of.get(statement.form, statement.form) for statement in evidence]
    counted, duplicates = _counted(evidence)
    result = Folded(roles=[(Role.ASIDE, None)] * len(evidence))
    for index in duplicates:
        result.roles[index] = (Role.DUPLICATE, None)
    for group, horizon in _groups(evidence, clusters, counted, is_multi=predicate.is_multi):
        if predicate.never_changes:
            episodes = _never_changing(evidence, clusters, group, policy)
        else:
            episodes = fold_periods(evidence, clusters, group, policy, horizon=horizon)
            episodes = add_reported(episodes, evidence, clusters, group)
        roles = assign(episodes, evidence, clusters, group, timeless=predicate.never_changes)
        offset = len(result.episodes)
        result.episodes.extend(episodes)
        for index, (role, number) in roles.items():
            result.roles[index] = (role, None if number is None else number + offset)
    return result


def _counted(evidence: Sequence[Statement]) -> tuple[list[int], list[int]]:
    """Indexes of the statements that take part, and of those that repeat one under another id."""
    counted: list[int] = []
    duplicates: list[int] = []
    seen: set[Hashable] = set()
    for index, statement in enumerate(evidence):
        if not statement.votes:
            continue
        key = restatement_key(statement)
        if key is not None and key in seen:
            duplicates.append(index)
            continue
        seen.add(key)
        counted.append(index)
    return counted, duplicates


def _groups(
    evidence: Sequence[Statement], clusters: Sequence[Cluster], counted: Sequence[int], *, is_multi: bool
) -> list[tuple[list[int], Instant]]:
    """What folds alone, each with its horizon: the greatest observed_at among its claim's statements."""
    without_object = [i for i in counted if not clusters[i]]
    with_object = [i for i in counted if clusters[i]]
    groups: list[tuple[list[int], Instant]] = []
    if without_object:
        groups.append((without_object, _horizon(evidence, without_object)))
    if with_object and not is_multi:
        groups.append((with_object, _horizon(evidence, with_object)))
    elif with_object:
        horizon = _horizon(evidence, with_object)
        by_cluster: dict[Cluster, list[int]] = {}
        for index in with_object:
            by_cluster.setdefault(clusters[index], []).append(index)
        groups.extend((by_cluster[cluster], horizon) for cluster in sorted(by_cluster))
    return groups


def _horizon(evidence: Sequence[Statement], indexes: Sequence[int]) -> Instant:
    return Instant(max(evidence[index].observed_at for index in indexes))


def _never_changing(
    evidence: Sequence[Statement], clusters: Sequence[Cluster], counted: Sequence[int], policy: Policy
) -> list[Episode]:
    """One fact by plain majority over all documents; ties go to what was observed first.

    All statements share one instant, the earliest effective time of the claim; there is no window,
    and bounds mean nothing. A cluster stands while its votes are more than its denials, or as many
    and observed earlier.
    """
    voters: dict[Side, set[Hashable]] = {}
    observed_first: dict[Side, Instant] = {}
    for index in counted:
        statement = evidence[index]
        side = (clusters[index], statement.affirmed)
        voters.setdefault(side, set()).add(voter(statement))
        earliest = observed_first.get(side)
        if earliest is None or statement.observed_at < earliest:
            observed_first[side] = statement.observed_at

    def strength(side: Side) -> tuple[int, int]:
        return (len(voters[side]), -observed_first[side])

    standing = [
        (cluster, True)
        for cluster, affirmed in voters
        if affirmed
        and ((cluster, False) not in voters or strength((cluster, True)) > strength((cluster, False)))
    ]
    if not standing:
        return []
    standing.sort(key=lambda side: (*(-part for part in strength(side)), side[0]))
    held = standing[0]
    earliest_index = min(counted, key=lambda i: evidence[i].effective_at)
    start = evidence[earliest_index]
    episode = Episode(held[0], Edge(start.effective_at, Granularity(start.lo_granularity)))
    rivals = standing[1:] + ([(held[0], False)] if (held[0], False) in voters else [])
    rivals.sort(key=lambda side: (*(-part for part in strength(side)), side[0], not side[1]))
    n_against = sum(len(voters[side]) for side in rivals)
    episode.contested = n_against * 100 > policy.contested_above * (n_against + len(voters[held]))
    episode.rivals = tuple(rivals) if episode.contested else ()
    return [episode]
