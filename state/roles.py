"""What each statement is to its claim: exactly one role, towards at most one fact (DESIGN 4.9).

Roles follow the final intervals: a statement belongs to the fact whose span holds its effective time.
Two exceptions are recorded by the fold itself: what opened a fact after another had ended supports the
one it opened, and the denials that closed a fact are its closing evidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from state.episodes import Episode, Role
from state.reports import covering
from state.statements import Statement
from state.votes import BEFORE_ALL, Cluster

Assigned = tuple[Role, int | None]
ASIDE: Assigned = (Role.ASIDE, None)


def assign(
    episodes: Sequence[Episode],
    evidence: Sequence[Statement],
    clusters: Sequence[Cluster],
    counted: Sequence[int],
    *,
    timeless: bool = False,
) -> dict[int, Assigned]:
    """The role of each counted statement, and the index of the episode that it concerns.

    `episodes` are in order of time and do not overlap. `timeless` is for predicates that never change,
    where bounds, and so reports of an end, mean nothing.
    """
    roles: dict[int, Assigned] = {}
    for number, episode in enumerate(episodes):
        roles.update(dict.fromkeys(episode.opened_by, (Role.SUPPORT, number)))
        roles.update(dict.fromkeys(episode.closed_by, (Role.CLOSING, number)))
    starts = [episode.lo.at if episode.lo else BEFORE_ALL for episode in episodes]
    for index in counted:
        if index in roles:
            continue
        statement, cluster = evidence[index], clusters[index]
        if statement.is_late_end and not timeless:
            assert statement.valid_to is not None
            held = covering(episodes, statement.valid_to) if statement.affirmed else None
            matches = held is not None and episodes[held].cluster == cluster
            roles[index] = (Role.SUPPORT, held) if matches else ASIDE
            continue
        number = bisect_right(starts, statement.effective_at) - 1
        if number < 0:
            roles[index] = ASIDE
            continue
        episode = episodes[number]
        if episode.hi is not None and episode.hi.at <= statement.effective_at:
            roles[index] = ASIDE
        elif statement.affirmed:
            roles[index] = (Role.SUPPORT if cluster == episode.cluster else Role.DISSENT, number)
        elif cluster == episode.cluster:
            roles[index] = (Role.DISSENT, number)
        else:
            roles[index] = ASIDE
    return roles
