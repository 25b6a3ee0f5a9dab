"""What the evidence says about predicates: which ones seem to be declared otherwise than they are used.

Looks at how the values of each subject follow each other, and asks a question where that does not fit the
declaration (DESIGN 4.8). It only asks: nothing that it finds changes how anything is folded. Two sources
that disagree for long look like one subject with two values, so a person has to decide.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from state.fold_state import ASIDE, Cluster
from state.instants import DAY_MS, Instant
from state.predicates import Predicate
from state.statements import Place, Statement, voter

SUBJECTS_MIN: Final = 3  # subjects that show it; one or two are an accident, or one talkative source
MULTI_SHARE_ABOVE: Final = 0.10
"""Share of subjects above which values that seem to hold side by side count as a pattern.

Values that exclude each other return in turn by wrong reports and by moves to and fro, and stand in one
document by slips and by paraphrases that were not recognised. All of these are rare per subject: of 6,005
people whose one birth place is told by several sources, half of them in disagreement, 0.3 % show it. Values
that do hold side by side show it as soon as they are repeated at all.
"""
STEADY_DAYS_MIN: Final = 365  # how long one value must have been repeated before its constancy says anything


@dataclass(frozen=True, slots=True)
class Sighting:
    """When a value of one subject was said: its places in order, each once, and its latest stated end."""

    places: Sequence[Place]
    until: Instant | None

    @property
    def first(self) -> Place:
        """Where it was said first."""
        return self.places[0]

    @property
    def last(self) -> Place:
        """Where it was said last."""
        return self.places[-1]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one claim shows of its predicate.

    `is_in_turn`: two of its values were each said again after the other (A, B, A, B). `is_at_once`: one
    document said two of its values at one place, which no disagreement explains. `is_together`: one
    value was said before another was over, as far as the evidence tells. `is_restated`: one of several
    values was said at two instants, so that it could have been seen together with another.
    `has_changed`: it has several values, or a value was denied or given an end. `is_steady`: its only
    value was said over at least STEADY_DAYS_MIN days and never ended.
    """

    n_values: int
    is_in_turn: bool
    is_at_once: bool
    is_together: bool
    is_restated: bool
    has_changed: bool
    is_steady: bool


@dataclass(frozen=True, slots=True)
class PredicateReport:
    """What is declared of a predicate and what its subjects show, in numbers of subjects.

    `suggestion` is "multi?", "single?", "never?" or "" where nothing speaks against the declaration;
    `why` is then one sentence with the numbers behind it.
    """

    predicate: Predicate
    n_subjects: int
    n_several: int
    n_in_turn: int
    n_at_once: int
    suggestion: str
    why: str

    @property
    def share_in_turn(self) -> float:
        """Share of all subjects in which two values were each said again after the other."""
        return self.n_in_turn / self.n_subjects if self.n_subjects else 0.0


@dataclass(slots=True)
class _Tally:
    """The subjects of one predicate, counted by what they show."""

    n_subjects: int = 0
    n_several: int = 0
    n_in_turn: int = 0
    n_at_once: int = 0
    n_together: int = 0
    n_restated: int = 0
    n_changed: int = 0
    n_steady: int = 0

    def add(self, seen: Seen) -> None:
        self.n_subjects += 1
        self.n_several += seen.n_values > 1
        self.n_in_turn += seen.is_in_turn
        self.n_at_once += seen.is_at_once
        self.n_together += seen.is_together
        self.n_restated += seen.is_restated
        self.n_changed += seen.has_changed
        self.n_steady += seen.is_steady


def report(
    claims: Iterable[tuple[str, Seen]], predicate_of: Callable[[str], Predicate]
) -> list[PredicateReport]:
    """A line for each predicate: those with a suggestion first, then by number of subjects, then by name.

    `claims` are pairs of a normalised predicate and what one of its claims shows (`look`). Each claim is
    one subject of its namespace.
    """
    tallies: dict[str, _Tally] = {}
    for name, seen in claims:
        tallies.setdefault(name, _Tally()).add(seen)
    lines = [_line(predicate_of(name), tally) for name, tally in tallies.items()]
    return sorted(lines, key=lambda line: (not line.suggestion, -line.n_subjects, line.predicate.name))


def look(statements: Iterable[Statement], cluster_of: Callable[[str], Cluster]) -> Seen:
    """What the evidence of one claim shows. `cluster_of` gives the cluster of a form.

    Later is by the fold's own order of places, so a document that tells an old history again is no return
    of its values. Our own output fed back, statements without object and forms that take no side count for
    nothing; a denial, and a report of an end after the fact, show a change but no value that holds.
    """
    places: dict[Cluster, set[Place]] = {}
    until: dict[Cluster, Instant] = {}
    said: dict[tuple[str, Place], Cluster] = {}
    has_ended = is_at_once = False
    for statement in statements:
        cluster = cluster_of(statement.form)
        if not statement.votes or not statement.form or cluster == ASIDE:
            continue
        has_ended = has_ended or not statement.affirmed or statement.valid_to is not None
        if not statement.affirmed or statement.is_late_end:
            continue
        places.setdefault(cluster, set()).add(statement.place)
        if statement.document is not None:
            is_at_once = (
                is_at_once or said.setdefault((voter(statement), statement.place), cluster) != cluster
            )
        if statement.valid_to is not None:
            until[cluster] = max(until.get(cluster, statement.valid_to), statement.valid_to)
    values = sorted(
        (Sighting(sorted(found), until.get(cluster)) for cluster, found in places.items()),
        key=lambda value: (value.first, value.last),
    )
    has_changed = has_ended or len(values) > 1
    return Seen(
        n_values=len(values),
        is_in_turn=_is_in_turn(values),
        is_at_once=is_at_once,
        is_together=_is_together(values),
        is_restated=len(values) > 1 and any(len(value.places) > 1 for value in values),
        has_changed=has_changed,
        is_steady=len(values) == 1 and not has_changed and _is_steady(values[0]),
    )


def _is_in_turn(values: Sequence[Sighting]) -> bool:
    """Whether two of the values, sorted by where they were said first, were said in turn."""
    repeated = [value for value in values if len(value.places) > 1]
    for index, one in enumerate(repeated):
        for other in repeated[index + 1 :]:
            if other.first >= one.last:
                break
            between = bisect_left(one.places, other.first)
            if one.places[between] < other.last:
                return True
    return False


def _is_together(values: Sequence[Sighting]) -> bool:
    """Whether one of the values, sorted by where they were said first, began before an earlier one ended."""
    if not values:
        return False
    last, until = values[0].last, values[0].until
    for value in values[1:]:
        if value.first <= last or (until is not None and value.first[0] < until):
            return True
        last = value.last
        if value.until is not None:
            until = value.until if until is None else max(until, value.until)
    return False


def _is_steady(value: Sighting) -> bool:
    return value.last[0] - value.first[0] >= STEADY_DAYS_MIN * DAY_MS


def _line(predicate: Predicate, tally: _Tally) -> PredicateReport:
    suggestion, why = _question(predicate, tally)
    return PredicateReport(
        predicate, tally.n_subjects, tally.n_several, tally.n_in_turn, tally.n_at_once, suggestion, why
    )


def _question(predicate: Predicate, tally: _Tally) -> tuple[str, str]:
    """What to ask about a predicate, and why; two empty texts where nothing is to be asked.

    A predicate declared as never changing is asked nothing: that its sources disagree is what the majority
    is for.
    """
    if predicate.never_changes:
        return "", ""
    if predicate.is_multi:
        return _question_to_many(tally)
    return _question_to_one(tally)


def _question_to_many(tally: _Tally) -> tuple[str, str]:
    if tally.n_restated < SUBJECTS_MIN or tally.n_together:
        return "", ""
    return "single?", (
        f"In none of {tally.n_several} subjects with several values does one begin before another is over, "
        f"although {tally.n_restated} of them repeat a value."
    )


def _question_to_one(tally: _Tally) -> tuple[str, str]:
    n = tally.n_subjects
    if _is_pattern(tally.n_in_turn, n):
        return (
            "multi?",
            f"In {tally.n_in_turn} of {n} subjects two values were each said again after the other.",
        )
    if _is_pattern(tally.n_at_once, n):
        return "multi?", f"In {tally.n_at_once} of {n} subjects one document says two values at one instant."
    if tally.n_steady >= SUBJECTS_MIN and not tally.n_changed:
        return "never?", (
            f"In none of {n} subjects did the value change; {tally.n_steady} of them repeat it after "
            f"{STEADY_DAYS_MIN} days or more."
        )
    return "", ""


def _is_pattern(n: int, n_subjects: int) -> bool:
    return n >= SUBJECTS_MIN and n > MULTI_SHARE_ABOVE * n_subjects
