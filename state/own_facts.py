"""Facts where each assertion stands for itself: `arbitration = explicit` (DESIGN 6).

What one document says of one value is then a fact of its own, one for each stretch in which it holds. Its
own words end it, a decision does, or a newer document of its lineage; votes, denials and recency never do.
When it holds is `state.assertions.pieces` and `state.endings`, so that a fact and its assertion cannot
disagree; this module names such facts, counts them, and says what closed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from state.assertions import Piece, pieces
from state.counting import enter_support
from state.decided import CLOSES, Verdict, edge_of, opening_of
from state.endings import Cause, Closing, End, end_of, merged
from state.episodes import Edge, Episode, Reason, Role
from state.fold_state import AFTER_ALL, ASIDE, BEFORE_ALL, Cluster, OpenFact, SpellingCount
from state.history import distinct
from state.identity import derive
from state.instants import Granularity, Instant
from state.replacing import Replaced, replacing_of
from state.statements import ObservationId, Statement, voter

DECISIONS: Final = "!decisions"
"""Under this name lie the decisions of a claim, and what they opened; it sorts before all others."""


def own_name(who: str, form: str, *, affirmed: bool) -> str:
    """The name of an assertion within its claim: it never shifts, and shows no word of it."""
    return derive("own", who, form, int(affirmed))


def name_of(statement: Statement) -> str:
    """The name under which a statement folds: that of its assertion, or DECISIONS."""
    if statement.verdict:
        return DECISIONS
    return own_name(voter(statement), statement.form, affirmed=statement.affirmed)


def targets_of(names: Iterable[str]) -> str:
    """The names that a decision is about, as its closing statement carries them in `supersedes`."""
    return ",".join(sorted(names))


class Own(NamedTuple):
    """One fact of an assertion, and the statements that support it."""

    episode: Episode
    support: list[ObservationId]


class Decisions:
    """The decisions of one claim, as its assertions ask about them. Read from the statements of decisions."""

    def __init__(self, statements: Iterable[Statement], cluster_of: Callable[[str], Cluster]) -> None:
        self._cluster_of = cluster_of
        self._named: dict[str, list[Statement]] = {}
        self._wide: dict[Cluster, list[Statement]] = {}
        self.closings: dict[ObservationId, Statement] = {}
        self.openings: dict[ObservationId, Statement] = {}
        for statement in statements:
            if statement.verdict not in CLOSES:
                self.openings[statement.observation_id] = statement
                continue
            self.closings[statement.observation_id] = statement
            if statement.supersedes is None:
                self._wide.setdefault(self._value(statement.form), []).append(statement)
                continue
            for name in statement.supersedes.split(","):
                self._named.setdefault(name, []).append(statement)

    def about(self, name: str, who: str, form: str, *, affirmed: bool) -> list[Statement]:
        """The closings that concern an assertion: those that name it, and those about its value."""
        found = self._named.get(name, [])
        if affirmed and self._wide:
            wide = self._wide.get(self._value(form), ())
            found = found + [s for s in wide if who != _opener(s)]
        return found

    def _value(self, form: str) -> Cluster:
        cluster = self._cluster_of(form)
        return form if cluster == ASIDE else cluster

    def opened(self) -> list[Own]:
        """The facts that decisions opened."""
        return [own for opening in self.openings.values() for own in self._of_opening(opening)]

    def follower(self, closing: Statement) -> tuple[str, int] | None:
        """The fact that a closing put in the place of another, where it holds at all."""
        opening = self.openings.get(ObservationId(opening_of(closing.observation_id)))
        if opening is None:
            return None
        who = _opener(closing)
        name = own_name(who, opening.form, affirmed=True)
        (piece,) = pieces([opening], timeless=False)
        deciding = [_as_end(other) for other in self.about(name, who, opening.form, affirmed=True)]
        return (name, 0) if piece.lo < end_of(piece, deciding, None).at else None

    def _of_opening(self, opening: Statement) -> list[Own]:
        who = "c" + opening.observation_id.removesuffix(opening_of(""))
        name = own_name(who, opening.form, affirmed=True)
        return facts_of_assertion(name, who, [replace(opening, votes=True)], self, None, timeless=False)


NO_DECISIONS: Final = Decisions((), str)


def _opener(closing: Statement) -> str:
    """In whose name a decision opens something."""
    return "c" + closing.observation_id


def facts_of_assertion(
    name: str,
    who: str,
    said: Sequence[Statement],
    decisions: Decisions,
    replaced: Replaced | None,
    *,
    timeless: bool,
) -> list[Own]:
    """The facts of one assertion, in order of time.

    `said` are all of its statements, in order, `replaced` is the end by a newer document. A denial gives
    no fact: it contradicts others, and closes nothing.
    """
    counted = distinct(s for s in said if s.votes)
    if not counted or not counted[0].affirmed:
        return []
    closings = decisions.about(name, who, counted[0].form, affirmed=True)
    deciding = [_as_end(closing) for closing in closings]
    by_document = None if replaced is None else End(replaced.at, Cause.REPLACED, replaced.by)
    ended = [(piece, end_of(piece, deciding, by_document)) for piece in pieces(counted, timeless=timeless)]
    held = [(piece, end) for piece, end in ended if piece.lo < end.at]
    heard = {piece.statement.observation_id for piece, _ in ended}
    repeating = [s for s in counted if s.observation_id not in heard]  # reports of an end that is known
    found: list[Own] = []
    for lo, hi in merged(held):
        inside = [(piece, end) for piece, end in held if lo <= piece.lo < hi]
        last = min((end for _, end in inside if end.at == hi), key=lambda end: (end.cause, end.by))
        support = [piece.statement for piece, _ in inside]
        support += [s for s in repeating if lo < _reported(s) <= hi]
        before = found[-1].episode.hi if found else None
        episode = _episode(name, support, _start(lo, inside, before), ordinal=len(found))
        if hi != AFTER_ALL:
            _close(episode, last, hi, counted, decisions, replaced)
        episode.against = _against(closings, episode)
        found.append(Own(episode, [s.observation_id for s in support if not s.verdict]))
    return found


def _as_end(closing: Statement) -> Closing:
    cause = Cause.INVALIDATED if closing.verdict == Verdict.INVALIDATED else Cause.SUPERSEDED
    return closing.observed_at, End(closing.effective_at, cause, closing.observation_id)


def _reported(statement: Statement) -> Instant:
    """The end that a report repeats of what is known to have held before it."""
    assert statement.valid_to is not None, "whatever else is said has a piece of its own"
    return statement.valid_to


def _start(lo: Instant, inside: Sequence[tuple[Piece, End]], before: Edge | None) -> Edge | None:
    """Where a fact begins; only reports of an end know no start but the end of the fact before."""
    dated = [p.statement for p, _ in inside if p.lo == lo and not p.statement.is_late_end]
    if not dated:
        return before
    return Edge(lo, _finest(s.lo_granularity for s in dated))


def _episode(name: str, support: Sequence[Statement], lo: Edge | None, *, ordinal: int) -> Episode:
    held = OpenFact(support[0].form, BEFORE_ALL, "day", ordinal)
    opening = next((s for s in support if s.verdict), None)
    for statement in support:
        if not statement.verdict:
            enter_support(held, statement)
    episode = Episode(
        cluster=held.cluster,
        form=held.cluster,
        ordinal=ordinal,
        lo=lo,
        support=1 if held.observations else 0,
        observations=held.observations,
        spellings=held.spellings,
        subject=held.subject,
        predicate=held.predicate,
        supported_by=held.supported_by,
        name=name,
    )
    if opening is not None:
        episode.opened_by = opening.observation_id
        episode.spellings = [SpellingCount(opening.spelling, 0, opening.place)]
        episode.subject, episode.predicate = opening.subject, opening.predicate
    return episode


def _close(
    episode: Episode,
    end: End,
    hi: Instant,
    said: Sequence[Statement],
    decisions: Decisions,
    replaced: Replaced | None,
) -> None:
    """Write on an episode where it ends, and by what."""
    if end.cause is Cause.REPLACED:
        assert replaced is not None
        episode.hi, episode.reason = Edge(hi, replaced.granularity), Reason.SUPERSEDED
        episode.replaced_by = (replaced.by, replaced.observed_at)
    elif end.cause is Cause.OVER:
        given = (s.hi_granularity or "day" for s in said if s.valid_to == hi)
        episode.hi, episode.reason = Edge(hi, _finest(given)), Reason.ENDED
    else:
        closing = decisions.closings[ObservationId(end.by)]
        is_superseded = end.cause is Cause.SUPERSEDED
        episode.hi = edge_of(closing)
        episode.reason = Reason.SUPERSEDED if is_superseded else Reason.INVALIDATED
        episode.closed_by = (closing.observation_id, closing.observed_at)
        episode.follower = decisions.follower(closing)


def _against(closings: Iterable[Statement], episode: Episode) -> ObservationId | None:
    """The newest decision that an assertion had been closed by before, and that this fact goes against."""
    if episode.opened_by is not None or episode.lo is None:
        return None
    until = AFTER_ALL if episode.hi is None else episode.hi.at
    before = [s for s in closings if s.effective_at < until]
    newest = max(before, key=lambda s: (s.effective_at, s.observed_at, s.observation_id), default=None)
    return None if newest is None else newest.observation_id


def _finest(granularities: Iterable[str]) -> str:
    return max(granularities, key=lambda name: Granularity(name).rank)


# -- all of the evidence at once ------------------------------------------------------------


def fold_own(
    ordered: Sequence[Statement], cluster_of: Mapping[str, Cluster], *, timeless: bool
) -> tuple[list[Episode], dict[str, tuple[Role, int | None]]]:
    """The facts of a claim from all of its evidence, and the role of each statement.

    `ordered` is in the order of evidence. A statement supports a fact of its own assertion or stands aside;
    nothing is dissent, whatever others say.
    """

    def cluster(form: str) -> Cluster:
        return cluster_of.get(form, form)

    groups: dict[str, list[Statement]] = {}
    for statement in ordered:
        groups.setdefault(name_of(statement), []).append(statement)
    decisions = Decisions(groups.pop(DECISIONS, ()), cluster)
    replacing = replacing_of(ordered, cluster)
    ended = {} if replacing is None else ended_by_name(replacing.ended)
    found = decisions.opened()
    for name in sorted(groups):
        said = groups[name]
        who = voter(said[0])
        found += facts_of_assertion(name, who, said, decisions, ended.get(name), timeless=timeless)
    counted = {s.observation_id for group in groups.values() for s in distinct(s for s in group if s.votes)}
    roles: dict[str, tuple[Role, int | None]] = {
        s.observation_id: (
            (Role.DUPLICATE if s.votes and s.observation_id not in counted else Role.ASIDE), None
        )
        for s in ordered
    }  # fmt: skip
    for number, own in enumerate(found):
        roles.update(dict.fromkeys(own.support, (Role.SUPPORT, number)))
    return [own.episode for own in found], roles


def ended_by_name(ended: Iterable[Replaced]) -> dict[str, Replaced]:
    """What newer documents end, by the name of the assertion."""
    return {own_name(r.who, r.form, affirmed=r.affirmed): r for r in ended}
