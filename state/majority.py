"""Predicates that never change: one value, by majority over all documents (DESIGN 4.8).

A plain majority, unless the policy knows how reliable sources have proved (`state.trust`): then each document
weighs what its source does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from state.decided import CLOSES, Verdict
from state.episodes import Edge, Episode
from state.fold_state import ASIDE, NAMED_MAX, Cluster, Side, SpellingCount
from state.history import distinct
from state.instants import Instant
from state.policy import Policy
from state.statements import ObservationId, Statement, voter
from state.voting import finest


def fold_never_changing(
    statements: Sequence[Statement], cluster_of: Callable[[Statement], Cluster], policy: Policy
) -> list[Episode]:
    """One fact by majority over all documents; ties go to what was observed first.

    All statements share one instant, the earliest effective time of the claim; there is no window, and
    bounds mean nothing. A cluster stands while its votes are more than its denials, or as many and
    observed earlier. `statements` are in the order of evidence.
    """
    counted = distinct(s for s in statements if s.votes and cluster_of(s) != ASIDE)
    openings = [s for s in statements if s.verdict == Verdict.OPENED]
    decided = max(openings, key=lambda s: (s.observed_at, s.observation_id), default=None)
    if decided is not None and _is_void(decided, statements, cluster_of):
        decided = None
    if not counted and decided is None:
        return []
    said: dict[Side, list[Statement]] = {}
    for statement in counted:
        said.setdefault((cluster_of(statement), statement.affirmed), []).append(statement)
    n_votes = {side: len({voter(s) for s in group}) for side, group in said.items()}
    weights = n_votes if policy.trust is None else {side: policy.trust.weigh(said[side]) for side in said}
    observed_first = {side: min(s.observed_at for s in group) for side, group in said.items()}

    def strength(side: Side) -> tuple[int, Instant]:
        return (-weights[side], observed_first[side])

    standing = [
        side
        for side in said
        if side[1] and ((side[0], False) not in said or strength(side) < strength((side[0], False)))
    ]
    standing.sort(key=lambda side: (*strength(side), side[0]))
    if decided is not None:
        chosen = (cluster_of(decided), True)
        standing = [chosen, *(side for side in standing if side != chosen)]
    if not standing:
        return []
    held, denial = standing[0], (standing[0][0], False)
    own = said.get(held, [])
    rivals = standing[1:] + ([denial] if denial in said else [])
    rivals.sort(key=lambda side: (*strength(side), side[0], not side[1]))
    against, own_weight = sum(weights[side] for side in rivals), weights.get(held, 0)
    dating = counted if decided is None else [*counted, decided]
    start = min(s.effective_at for s in dating)
    dissenting = [
        s for side, group in said.items() if side != held and (side[1] or side == denial) for s in group
    ]
    episode = Episode(
        cluster=held[0],
        form="",
        ordinal=0,
        lo=Edge(start, finest(s.lo_granularity for s in dating if s.effective_at == start)),
        contested=against * 100 > policy.contested_above * (against + own_weight),
        support=n_votes.get(held, 0),
        dissent=sum(n for side, n in n_votes.items() if side != held and (side[1] or side == denial)),
        observations=len(own),
        supported_by=[s.observation_id for s in own][-NAMED_MAX:],
        dissented_by=[s.observation_id for s in dissenting][-NAMED_MAX:],
    )
    if decided is not None:
        episode.opened_by = decided.observation_id
    else:
        episode.against = _closed_by(held[0], statements, cluster_of)
    _name(episode, own, decided)
    if episode.contested:
        episode.rivals = [(side, newest_spelling(said[side])) for side in rivals]
    return [episode]


def _name(episode: Episode, own: Sequence[Statement], decided: Statement | None) -> None:
    """How the fact is called and spelled: by those who say it, else by the decision that opened it."""
    if own:
        newest = max(s.place for s in own)
        names = [(s.subject, s.predicate) for s in own if s.place == newest]
        episode.form = min(s.form for s in own if s.place == own[0].place)
        episode.subject, episode.predicate = min(names)
        episode.spellings = _spellings(own)
    elif decided is not None:
        episode.form = decided.form
        episode.subject, episode.predicate = decided.subject, decided.predicate
        episode.spellings = [SpellingCount(decided.spelling, 0, decided.place)]


def _closed_by(
    cluster: Cluster, statements: Sequence[Statement], cluster_of: Callable[[Statement], Cluster]
) -> ObservationId | None:
    """The newest decision that closed a cluster, None where none did."""
    closings = [s for s in statements if s.verdict in CLOSES and cluster_of(s) == cluster]
    newest = max(closings, key=lambda s: (s.observed_at, s.observation_id), default=None)
    return None if newest is None else newest.observation_id


def _is_void(
    decided: Statement, statements: Sequence[Statement], cluster_of: Callable[[Statement], Cluster]
) -> bool:
    """Whether a later decision closed what this one opened."""
    return any(
        s.verdict in CLOSES and cluster_of(s) == cluster_of(decided) and s.observed_at > decided.observed_at
        for s in statements
    )


def newest_spelling(statements: Sequence[Statement]) -> str | int | float | bool | None:
    """How the newest of the statements spell the object; of several the smallest."""
    newest = max(s.place for s in statements)
    return min((s.spelling for s in statements if s.place == newest), key=repr)


def _spellings(statements: Sequence[Statement]) -> list[SpellingCount]:
    found: dict[tuple[type, object], SpellingCount] = {}
    for s in statements:
        count = found.setdefault((type(s.spelling), s.spelling), SpellingCount(s.spelling, 0, s.place))
        count.n += 1
        count.newest = max(count.newest, s.place)
    return list(found.values())
