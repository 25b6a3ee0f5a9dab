"""Why a value is no fact of a claim, or not any more: everything that its own evidence met.

Reads an explanation (`state.why`); folds nothing again and decides nothing. Which spelling means which
value is asked of the claim's own clusters; a cosine is computed only from vectors that are there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from state.clusters import Form
from state.explanation import Explanation, Placed
from state.fold_state import Cluster
from state.guards import forbids
from state.interval import Interval
from state.majority import newest_spelling
from state.objects import TypedObject, type_object
from state.similarity import cosine, unit
from state.statements import Spelling, Statement
from state.trace import Choice, Duel, Tally, Weighing, votes_needed

ALIKE_FROM: Final = 0.75
"""Share of letters from which two spellings look alike, where no vector says how near they are.

As of `difflib`: "5 kg" and "6 kg" have 0.75, "v1.2.3" and "v1.2.4" 0.83, "tea" and "coffee" 0.44.
"""


@dataclass(frozen=True, slots=True)
class Heard:
    """A value that the claim has heard: its newest spelling, and how many statements name it."""

    spelling: Spelling | None
    n_statements: int


@dataclass(frozen=True, slots=True)
class Kin:
    """Another form of the claim beside the value asked for. `cosine` is None where a vector is missing.

    `guard` names what keeps the two apart whatever the cosine says (`state.guards`); None where they are
    one value.
    """

    spelling: Spelling | None
    cosine: float | None
    guard: str | None


@dataclass(frozen=True, slots=True)
class Bout:
    """The value at its strongest against an open fact. `n_needed` further votes would have decided."""

    weighing: Weighing
    duel: Duel
    fact: int | None
    n_needed: int | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one value.

    `spelling` is as its newest statement spells it, or as asked where it was never heard; `heard` are all
    values of the claim. `facts` are the indices of the facts that it was. `placed` are the statements
    that name it, `denied_by` those that deny it. `same` are other forms that mean the same, `apart` similar
    ones that do not. `lost` are choices in which it was no fact's opening, although somebody said it then.
    `now` is the weighing of the fact that is open, `n_needed_now` how many votes would unseat that one.
    """

    spelling: Spelling | None
    cluster: Cluster
    is_heard: bool
    heard: tuple[Heard, ...]
    facts: tuple[int, ...]
    placed: tuple[Placed, ...]
    denied_by: tuple[Statement, ...]
    same: tuple[Kin, ...]
    apart: tuple[Kin, ...]
    strongest: Bout | None
    lost: tuple[Choice, ...]
    current: int | None
    n_needed_now: int | None


def why_not(
    explanation: Explanation,
    value: Spelling,
    *,
    forms: Mapping[str, Form] | None = None,
    threshold: float = 1.0,
) -> Verdict:
    """What became of a value of a claim, in any spelling.

    `forms` are the claim's forms with their vectors, as far as there are any, and `threshold` is the cosine
    from which two texts mean the same by their model. Raises BadInput for a value that says nothing.
    """
    typed = type_object(value)
    cluster = explanation.cluster(typed.key)
    placed = [p for p in explanation.placed if explanation.cluster(p.statement.form) == cluster]
    own = [p.statement for p in placed if p.statement.form == typed.key]
    current = _current(explanation, cluster)
    return Verdict(
        spelling=newest_spelling(own) if own else value,
        cluster=cluster,
        is_heard=bool(own),
        heard=_heard(explanation),
        facts=tuple(n for n, fact in enumerate(explanation.facts) if fact.episode.cluster == cluster),
        placed=tuple(p for p in placed if p.statement.affirmed),
        denied_by=tuple(p.statement for p in placed if not p.statement.affirmed),
        same=_same(explanation, typed, cluster, forms or {}),
        apart=_apart(explanation, typed, cluster, forms or {}, threshold),
        strongest=_strongest(explanation, cluster),
        lost=tuple(c for c in explanation.choices if c.best != cluster and _is_candidate(c, cluster)),
        current=current,
        n_needed_now=_needed_now(explanation, cluster, current),
    )


def _heard(explanation: Explanation) -> tuple[Heard, ...]:
    said: dict[Cluster, list[Statement]] = {}
    for placed in explanation.placed:
        s = placed.statement
        if s.form and s.votes:
            said.setdefault(explanation.cluster(s.form), []).append(s)
    found = [Heard(newest_spelling(group), len(group)) for group in said.values()]
    return tuple(sorted(found, key=lambda heard: (-heard.n_statements, str(heard.spelling))))


def _is_candidate(choice: Choice, cluster: Cluster) -> bool:
    return any(candidate.affirmed.side[0] == cluster for candidate in choice.candidates)


# -- at its strongest -----------------------------------------------------------------------


def _strongest(explanation: Explanation, cluster: Cluster) -> Bout | None:
    """Where the value came nearest to ending a fact and did not: the smallest gap, then the latest."""
    best: tuple[tuple[int, int], Weighing, Duel] | None = None
    standings = [fact.standing for fact in explanation.facts if fact.standing is not None]
    for weighing in (*explanation.weighings, *standings):
        for number, duel in enumerate(weighing.duels):
            if duel.rival.side != (cluster, True) or (weighing.won and number == 0):
                continue
            strength = (duel.n_for - duel.n_held, duel.n_for)
            if best is None or strength >= best[0]:
                best = (strength, weighing, duel)
    if best is None:
        return None
    _, weighing, duel = best
    return Bout(weighing, duel, _fact_of(explanation, weighing), _needed(explanation, weighing, duel))


def _needed(explanation: Explanation, weighing: Weighing, duel: Duel) -> int | None:
    if explanation.predicate.never_changes:
        return duel.n_held - duel.n_for + 1
    return votes_needed(weighing, duel, explanation.policy)


def _fact_of(explanation: Explanation, weighing: Weighing) -> int | None:
    for number, fact in enumerate(explanation.facts):
        episode = fact.episode
        if episode.cluster == weighing.cluster and episode.lo is not None and episode.lo.at == weighing.lo:
            return number
    return None


def _current(explanation: Explanation, cluster: Cluster) -> int | None:
    """The fact that is open at the end of the evidence; of several values side by side the value's own."""
    found = [
        n
        for n, fact in enumerate(explanation.facts)
        if fact.standing is not None
        and (not explanation.predicate.is_multi or fact.episode.cluster == cluster)
    ]
    valued = [n for n in found if bool(explanation.facts[n].episode.cluster) is bool(cluster)]
    return valued[-1] if valued else None


def _needed_now(explanation: Explanation, cluster: Cluster, current: int | None) -> int | None:
    if current is None or explanation.facts[current].episode.cluster == cluster:
        return None
    standing = explanation.facts[current].standing
    assert standing is not None
    duels = {duel.rival.side: duel for duel in standing.duels}
    duel = duels.get((cluster, True))
    return _needed(explanation, standing, duel or _without_votes(standing, cluster))


def _without_votes(standing: Weighing, cluster: Cluster) -> Duel:
    """A rival that has no vote in the present period."""
    return Duel(
        rival=Tally(side=(cluster, True), spelling=None, votes=()),
        n_for=0,
        n_held=len(standing.held.votes),
        counted=standing.held.votes,
        is_later=False,
        fresh=None,
        decides=False,
    )


# -- what means the same, and what only looks so --------------------------------------------


def _forms_heard(explanation: Explanation, but: str) -> dict[str, Spelling]:
    """Every other form of the claim, with the spelling that is compared: the smallest."""
    found: dict[str, Spelling] = {}
    for placed in explanation.placed:
        s = placed.statement
        if s.spelling is None or not s.votes or s.form == but:
            continue
        if s.form not in found or str(s.spelling) < str(found[s.form]):
            found[s.form] = s.spelling
    return dict(sorted(found.items()))


def _same(
    explanation: Explanation, typed: TypedObject, cluster: Cluster, forms: Mapping[str, Form]
) -> tuple[Kin, ...]:
    return tuple(
        Kin(spelling, _cosine(forms, typed.key, form), None)
        for form, spelling in _forms_heard(explanation, typed.key).items()
        if explanation.cluster(form) == cluster
    )


def _apart(
    explanation: Explanation,
    typed: TypedObject,
    cluster: Cluster,
    forms: Mapping[str, Form],
    threshold: float,
) -> tuple[Kin, ...]:
    """Forms near enough to be one value, which a guard keeps apart."""
    found = []
    for form, spelling in _forms_heard(explanation, typed.key).items():
        if explanation.cluster(form) == cluster:
            continue
        other = forms[form].typed if form in forms else type_object(spelling)
        guard = forbids(forms[typed.key].typed if typed.key in forms else typed, other)
        near = _cosine(forms, typed.key, form)
        is_near = near >= threshold if near is not None else _look_alike(typed, other)
        if guard is not None and is_near:
            found.append(Kin(spelling, near, guard))
    return tuple(found)


def _look_alike(one: TypedObject, other: TypedObject) -> bool:
    return SequenceMatcher(None, one.text, other.text).ratio() >= ALIKE_FROM


def _cosine(forms: Mapping[str, Form], one: str, other: str) -> float | None:
    """How near two forms are, where both have a vector."""
    if one not in forms or other not in forms:
        return None
    stored, stored_other = forms[one].vector, forms[other].vector
    if stored is None or stored_other is None:
        return None
    left, right = unit(stored), unit(stored_other)
    return None if left is None or right is None else cosine(left, 1.0, right)


def facts_within(explanation: Explanation, during: Interval) -> list[int]:
    """The indices of the facts that hold at some instant of an interval."""
    lo = None if during.lo is None else during.lo.at
    hi = None if during.hi is None else during.hi.at
    found = []
    for place, fact in enumerate(explanation.facts):
        since, until = fact.episode.lo, fact.episode.hi
        begins_in_time = hi is None or since is None or since.at < hi
        if begins_in_time and (lo is None or until is None or lo < until.at):
            found.append(place)
    return found
