"""The end of a fold: what is known but has not come yet, who contests the open fact, what reports add.

Works on a copy of the state, so that later evidence folds on from where the statements themselves end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from state.episodes import Edge, Episode, Reason
from state.fold_state import FoldState, Report, copy
from state.history import History
from state.instants import Instant
from state.periods import Fold
from state.policy import Policy
from state.statements import Statement
from state.voting import finest


def finish(
    state: FoldState,
    scheduled: Sequence[tuple[Instant, Sequence[Statement]]],
    history: History,
    policy: Policy,
    *,
    horizon: Instant,
    machine: Callable[..., Fold] = Fold,
) -> list[Episode]:
    """The episodes that follow those closed so far: what is still to end, and what is open.

    `horizon` is the greatest observed_at; ends up to it have come, those after it are known in advance,
    as are the `scheduled` groups. Contest is judged at the horizon. `state` is not changed. `machine` is
    what folds: one that takes notes, where somebody asks why (`state.trace`).
    """
    if not state.ends and not scheduled:
        if state.open is None:
            return []
        fold = machine(state, history, policy)
        episode = fold.as_episode(state.open)
        fold.judge_contest(episode)
        return [episode]
    fold = machine(copy(state), history, policy, votes_until=horizon)
    fold.advance(Instant(horizon + 1))
    judged: Episode | None = None
    if fold.state.open is not None:
        judged = fold.as_episode(fold.state.open)
        fold.judge_contest(judged)
    n_before = len(fold.closed)
    for at, group in scheduled:
        fold.step(at, group, scheduled=True)
    while fold.state.ends:
        fold.advance(Instant(fold.state.ends[0].at + 1))
    episodes = fold.closed
    if fold.state.open is not None:
        episodes = [*episodes, fold.as_episode(fold.state.open)]
    if judged is not None:
        episodes[n_before].contested = judged.contested
        episodes[n_before].rivals = judged.rivals
    return episodes


def covering(episodes: Sequence[Episode], until: Instant) -> Episode | None:
    """The episode that holds the moment before `until`, or None."""
    for episode in episodes:
        if (episode.lo is None or episode.lo.at < until) and (episode.hi is None or until <= episode.hi.at):
            return episode
    return None


def add_reported(episodes: Sequence[Episode], reports: Sequence[Report]) -> list[Episode]:
    """All episodes of a fold with what late reports of an end add, in order of time, numbered anew.

    What no fact covers a report adds: the span from the end of the fact before it, or from an unknown
    start. Directly after a fact of its own cluster that ended of itself it moves that end. Of several at
    one instant, the cluster with most voices is taken, then the latest observed, then the smallest key.
    Counts are not touched: see `state.roles.recount`.
    """
    found = [msgspec.structs.replace(episode) for episode in episodes]
    groups: dict[tuple[Instant, str], list[Report]] = {}
    for report in reports:
        groups.setdefault((report.until, report.cluster), []).append(report)
    order = sorted(
        groups.items(),
        key=lambda item: (
            item[0][0],
            -len({report.who for report in item[1]}),
            -max(report.observed_at for report in item[1]),
            item[0][1],
        ),
    )
    for (until, cluster), said in order:
        if covering(found, until) is None:
            _add(found, until, cluster, said)
    found.sort(key=lambda e: (e.lo is not None, e.lo.at if e.lo else 0))
    _number(found)
    return found


def _add(found: list[Episode], until: Instant, cluster: str, said: Sequence[Report]) -> None:
    before = [e for e in found if e.hi is not None and e.hi.at < until]
    previous = max(before, key=lambda e: e.hi.at if e.hi else until, default=None)
    hi = Edge(until, finest(report.granularity for report in said))
    if previous is not None and (previous.cluster, previous.reason) == (cluster, Reason.ENDED):
        previous.hi = hi
        return
    form = next((e.form for e in found if e.cluster == cluster), min(report.form for report in said))
    lo = previous.hi if previous is not None else None
    against = next((report.against for report in said if report.against and lo is not None), None)
    found.append(Episode(cluster, form, 0, lo, hi, Reason.ENDED, against=against))


def _number(episodes: Sequence[Episode]) -> None:
    """Ordinals in order of time, and each outvoted episode's follower, after episodes were added."""
    ordinals: dict[str, int] = {}
    for episode in episodes:
        episode.ordinal = ordinals.get(episode.cluster, 0)
        ordinals[episode.cluster] = episode.ordinal + 1
    for episode, later in pairwise(episodes):
        if episode.follower is not None and later.lo == episode.hi:
            episode.follower = (later.form, later.ordinal)
