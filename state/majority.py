"""Predicates that never change: one value, by plain majority over all documents (DESIGN 4.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from state.decided import CLOSES, Verdict
from state.episodes import Edge, Episode
from state.fold_state import ASIDE, NAMED_MAX, Cluster, Side, SpellingCount
from state.history import distinct
from state.instants import Instant
from state.policy import Policy
from state.statements import Statement, voter
from state.voting import finest


def fold_never_changing(
    statements: Sequence[Statement], cluster_of: Callable[[Statement], Cluster], policy: Policy
) -> list[Episode]:
    """One fact by plain majority over all documents; ties go to what was observed first.

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
    observed_first = {side: min(s.observed_at for s in group) for side, group in said.items()}

    def strength(side: Side) -> tuple[int, Instant]:
        return (-n_votes[side], observed_first[side])

    standing = [
        side
        for side in said
        if side[1] and ((side[0], False) not in said or strength(side) < strength((side[0], False)))
    ]
    standing.sort(key=lambda side: (*strength(side), side[0]))
    if decided is not None:
        side = (cluster_of(decided), True)
        if side not in said:
            return [_decided_alone(decided, counted, cluster_of)]
        standing = [side, *(other for other in standing if other != side)]
    if not standing:
        return []
    held, denial = standing[0], (standing[0][0], False)
    rivals = standing[1:] + ([denial] if denial in said else [])
    rivals.sort(key=lambda side: (*strength(side), side[0], not side[1]))
    n_against = sum(n_votes[side] for side in rivals)
    start = min(s.effective_at for s in counted)
    dissenting = [
        s for side, group in said.items() if side != held and (side[1] or side == denial) for s in group
    ]
    episode = Episode(
        cluster=held[0],
        form=min(s.form for s in said[held] if s.place == said[held][0].place),
        ordinal=0,
        lo=Edge(start, finest(s.lo_granularity for s in counted if s.effective_at == start)),
        contested=n_against * 100 > policy.contested_above * (n_against + n_votes[held]),
        support=n_votes[held],
        dissent=sum(n for side, n in n_votes.items() if side != held and (side[1] or side == denial)),
        observations=len(said[held]),
        spellings=_spellings(said[held]),
        supported_by=[s.observation_id for s in said[held]][-NAMED_MAX:],
        dissented_by=[s.observation_id for s in dissenting][-NAMED_MAX:],
    )
    if decided is not None:
        episode.opened_by = decided.observation_id
    newest = max(s.place for s in said[held])
    episode.subject, episode.predicate = min(
        (s.subject, s.predicate) for s in said[held] if s.place == newest
    )
    if episode.contested:
        episode.rivals = [(side, newest_spelling(said[side])) for side in rivals]
    return [episode]


def _is_void(
    decided: Statement, statements: Sequence[Statement], cluster_of: Callable[[Statement], Cluster]
) -> bool:
    """Whether a later decision closed what this one opened."""
    return any(
        s.verdict in CLOSES and cluster_of(s) == cluster_of(decided) and s.observed_at > decided.observed_at
        for s in statements
    )


def _decided_alone(
    decided: Statement, counted: Sequence[Statement], cluster_of: Callable[[Statement], Cluster]
) -> Episode:
    """The fact that a decision opened and that nobody supports."""
    at = min([decided.effective_at, *(s.effective_at for s in counted)])
    against = {(cluster_of(s), voter(s)) for s in counted if s.affirmed}
    return Episode(
        cluster=cluster_of(decided),
        form=decided.form,
        ordinal=0,
        lo=Edge(at, decided.lo_granularity),
        dissent=len(against),
        spellings=[SpellingCount(decided.spelling, 0, decided.place)],
        subject=decided.subject,
        predicate=decided.predicate,
        dissented_by=[s.observation_id for s in counted if s.affirmed][-NAMED_MAX:],
        opened_by=decided.observation_id,
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
