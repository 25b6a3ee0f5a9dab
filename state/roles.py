"""What each statement is to its claim: exactly one role, towards at most one fact (DESIGN 4.9).

Roles follow the final intervals: a statement belongs to the fact whose span holds its effective time.
Two exceptions follow from how a fact began or ended: what opened it after another had ended supports it,
and the denials that closed it, from its end to the decision, are its closing evidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from state.counting import enter_support
from state.episodes import Episode, Reason, Role
from state.finish import covering
from state.fold_state import ASIDE as ASIDE_CLUSTER
from state.fold_state import BEFORE_ALL, NAMED_MAX, Cluster, OpenFact
from state.history import distinct
from state.instants import Instant
from state.statements import Statement, voter

Assigned = tuple[Role, int | None]
ASIDE: Assigned = (Role.ASIDE, None)


def assign(
    episodes: Sequence[Episode],
    statements: Sequence[Statement],
    cluster_of: Callable[[Statement], Cluster],
    *,
    horizon: Instant,
    timeless: bool = False,
) -> list[Assigned]:
    """The role of each statement that counts, and the index of the episode that it concerns.

    `episodes` are in order of time and do not overlap; `statements` hold no duplicates and nothing fed
    back. `timeless` is for predicates that never change, where bounds mean nothing. What takes
    effect after `horizon` cast no vote.
    """
    starts = [episode.lo.at if episode.lo else BEFORE_ALL for episode in episodes]
    found: list[Assigned] = []
    for statement in statements:
        cluster = cluster_of(statement)
        if cluster == ASIDE_CLUSTER:
            found.append(ASIDE)
            continue
        if statement.is_late_end and not timeless:
            found.append(_of_report(episodes, statement, cluster))
            continue
        number = bisect_right(starts, statement.effective_at) - 1
        exception = (
            _opened(episodes, statement, cluster, horizon)
            if statement.affirmed
            else _closed(episodes, statement, cluster)
        )
        if exception is not None:
            found.append(exception)
        elif number < 0 or _is_over(episodes[number], statement):
            found.append(ASIDE)
        elif statement.affirmed:
            same = cluster == episodes[number].cluster
            found.append((Role.SUPPORT if same else Role.DISSENT, number))
        else:
            found.append((Role.DISSENT, number) if cluster == episodes[number].cluster else ASIDE)
    return found


def _is_over(episode: Episode, statement: Statement) -> bool:
    return episode.hi is not None and episode.hi.at <= statement.effective_at


def _opened(
    episodes: Sequence[Episode], statement: Statement, cluster: Cluster, horizon: Instant
) -> Assigned | None:
    """Support of a fact that opened with it when another had ended."""
    at = statement.effective_at
    for number, episode in enumerate(episodes):
        if episode.since is None or episode.cluster != cluster or episode.lo is None:
            continue
        lives = statement.valid_to is None or statement.valid_to > episode.lo.at
        if episode.since <= at < episode.lo.at and at <= horizon and lives:
            return (Role.SUPPORT, number)
    return None


def _closed(episodes: Sequence[Episode], statement: Statement, cluster: Cluster) -> Assigned | None:
    """Closing evidence of a fact whose denial won, from its end to the decision."""
    for number, episode in enumerate(episodes):
        if episode.reason is not Reason.DENIED or episode.cluster != cluster:
            continue
        assert episode.hi is not None
        assert episode.ballot is not None
        if episode.hi.at <= statement.effective_at <= episode.ballot.decided_at:
            return (Role.CLOSING, number)
    return None


def _of_report(episodes: Sequence[Episode], statement: Statement, cluster: Cluster) -> Assigned:
    assert statement.valid_to is not None
    held = covering(episodes, statement.valid_to) if statement.affirmed else None
    if held is None or held.cluster != cluster:
        return ASIDE
    return (Role.SUPPORT, next(n for n, episode in enumerate(episodes) if episode is held))


def recount(
    episodes: Sequence[Episode],
    statements: Sequence[Statement],
    cluster_of: Callable[[Statement], Cluster],
    *,
    horizon: Instant,
) -> None:
    """Set every count of the episodes from the roles of all statements.

    The fold counts as it goes; this is for claims with late reports, which change spans after the fold.
    """
    counted = distinct(s for s in statements if s.votes)
    sides: dict[tuple[Role, int], list[Statement]] = {}
    for statement, (role, number) in zip(
        counted, assign(episodes, counted, cluster_of, horizon=horizon), strict=True
    ):
        if number is not None:
            sides.setdefault((role, number), []).append(statement)
    for number, episode in enumerate(episodes):
        supporting = sides.get((Role.SUPPORT, number), [])
        dissenting = sides.get((Role.DISSENT, number), [])
        held = OpenFact(episode.cluster, BEFORE_ALL, "day", episode.ordinal)
        for statement in supporting:
            enter_support(held, statement)
        episode.support = len({voter(s) for s in supporting})
        episode.dissent = len({(cluster_of(s), s.affirmed, voter(s)) for s in dissenting})
        episode.observations = held.observations
        if held.spellings or episode.opened_by is None:
            episode.spellings = held.spellings
            episode.subject, episode.predicate = held.subject, held.predicate
        episode.supported_by = held.supported_by
        episode.dissented_by = [s.observation_id for s in dissenting][-NAMED_MAX:]
