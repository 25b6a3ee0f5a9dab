"""From the evidence of one claim to its episodes, whatever the predicate's cardinality (DESIGN 4.8).

Folds everything at once: what explanations and tests ask for, and what the incremental claim
(`state.claim`) must equal. Chooses the fold: one for the claim where values exclude each other, one for
each cluster where they do not, and a plain count where the value can never change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from state.episodes import Episode, Role
from state.evidence import Evidence
from state.finish import add_reported, finish
from state.fold_state import Cluster, FoldState
from state.history import distinct
from state.instants import Instant
from state.majority import fold_never_changing
from state.own_facts import fold_own
from state.periods import Fold
from state.policy import Policy
from state.predicates import Predicate
from state.replacing import NONE_REPLACED, Replacements, replacing_of
from state.roles import assign, recount
from state.statements import Statement, order, position


class Folded(msgspec.Struct):
    """The outcome of a fold: `roles` gives for each observation id its role and the index of its episode."""

    episodes: list[Episode]
    roles: dict[str, tuple[Role, int | None]]


def fold(
    statements: Iterable[Statement],
    predicate: Predicate,
    policy: Policy,
    cluster_of: Mapping[str, Cluster],
    *,
    machine: Callable[..., Fold] = Fold,
) -> Folded:
    """The episodes of a claim, and the role of each statement.

    `statements` may be in any order and hold each observation id once; `cluster_of` maps a form to its
    cluster (a form that it lacks is its own). Statements without object fold as a claim of their own.
    Nothing else is read, so identical evidence gives identical output whatever the order of its arrival.
    `machine` is what folds: one that takes notes, where somebody asks why (`state.trace`).
    """
    ordered = sorted(statements, key=order)
    if predicate.is_explicit:
        return Folded(*fold_own(ordered, cluster_of, timeless=predicate.never_changes))
    result = Folded([], {})
    timeless, replaced = predicate.never_changes, replacements(ordered, predicate, cluster_of)
    for group, horizon in groups(ordered, predicate, cluster_of):
        evidence = Evidence(
            group, lambda form: cluster_of.get(form, form), timeless=timeless, replaced=replaced
        )
        if predicate.never_changes:
            episodes = fold_never_changing(evidence.statements, evidence.cluster, policy)
        else:
            episodes = fold_all(evidence, policy, horizon=horizon, machine=machine)
        counted = distinct(s for s in evidence.statements if s.votes)
        roles = assign(episodes, counted, evidence.cluster, horizon=horizon, timeless=predicate.never_changes)
        offset = len(result.episodes)
        result.episodes.extend(episodes)
        for statement in evidence.statements:
            result.roles[statement.observation_id] = (
                (Role.DUPLICATE, None) if statement.votes else (Role.ASIDE, None)
            )
        for statement, (role, number) in zip(counted, roles, strict=True):
            result.roles[statement.observation_id] = (role, None if number is None else number + offset)
    return result


def replacements(
    ordered: Sequence[Statement], predicate: Predicate, cluster_of: Mapping[str, Cluster]
) -> Replacements:
    """What newer documents end among all statements of a claim."""

    def cluster(form: str) -> Cluster:
        return cluster_of.get(form, form)

    replacing = replacing_of(ordered, cluster)
    if replacing is None:
        return NONE_REPLACED
    return Replacements(replacing.ended, cluster, timeless=predicate.never_changes)


def groups(
    ordered: Sequence[Statement], predicate: Predicate, cluster_of: Mapping[str, Cluster]
) -> list[tuple[list[Statement], Instant]]:
    """What folds alone, each with its horizon: the greatest observed_at among its claim's voices."""
    by_name: dict[str, list[Statement]] = {}
    for statement in ordered:
        cluster = cluster_of.get(statement.form, statement.form)
        by_name.setdefault(cluster if predicate.is_multi or not cluster else "*", []).append(statement)
    valued = horizon_of(s for s in ordered if s.form)
    return [(by_name[name], horizon_of(by_name[name]) if not name else valued) for name in sorted(by_name)]


def horizon_of(statements: Iterable[Statement]) -> Instant:
    """The greatest observed_at of the statements that vote or decide; 0 where none does."""
    return Instant(max((s.observed_at for s in statements if s.votes or s.verdict), default=0))


def fold_all(
    evidence: Evidence, policy: Policy, *, horizon: Instant, machine: Callable[..., Fold] = Fold
) -> list[Episode]:
    """The episodes of a single-valued claim, in order of time, from all of its evidence."""
    fold = machine(FoldState(), evidence, policy)
    scheduled = []
    for at, group in groupby(evidence.statements, key=position):
        if at > horizon:
            scheduled.append((at, list(group)))
        else:
            fold.step(at, list(group))
    coming = finish(fold.state, scheduled, evidence, policy, horizon=horizon, machine=machine)
    episodes = [*fold.closed, *coming]
    if fold.state.reports:
        episodes = add_reported(episodes, fold.state.reports)
        recount(episodes, evidence.statements, evidence.cluster, horizon=horizon)
    return episodes
