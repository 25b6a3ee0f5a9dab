"""Facts: episodes with a name, a spelling, counts and a confidence.

Turns what the fold found (`state.episodes`) into what is published. Decides no votes. Whether a fact
is open is always answered at an instant (`state_at`), because its end may lie in the future.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec

from state.episodes import Ballot, Episode, Reason
from state.fold_state import OpenFact, Side, SpellingCount
from state.identity import ClaimId, FactId, fact_id
from state.instants import INSTANT_MAX, Granularity, Instant, Moment
from state.interval import Bound, Certainty, Interval
from state.objects import type_object
from state.statements import ObservationId, Spelling

DEFINITE_FROM = 10  # votes; below it a bound is a guess from few voices (DESIGN 4.9)


class State(enum.StrEnum):
    """What a fact is at an instant."""

    OPEN = "open"
    CONTESTED = "contested"
    RETIRED = "retired"


class Fact(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One episode of one cluster, as it is published.

    `lo` and `hi` are None where the start is unknown, or where no end is known. `reason` says why the
    fact ends or ended; None while nothing ends it. `rivals` are spellings, strongest first, a denial
    written as "not …"; empty unless contested. `support` and `dissent` count votes, `observations`
    counts supporting statements. `form` is the cluster's first form and, with `ordinal`, names the
    fact within its claim. `votes` says in words what ended it. `subject` and `predicate` are spelled as
    its newest supporting statement spells them; `declared` says whether a registry knows the predicate.
    `closed_by` and `opened_by` are the decisions that ended it and began it, `against` one that had closed
    the same value before. A fact that is superseded by none was so by a newer document. Where each assertion
    is a fact of its own, an assertion's name stands for `form` in its id.
    """

    fact_id: FactId
    claim: ClaimId
    namespace: str
    subject: str
    predicate: str
    declared: bool
    form: str
    ordinal: int
    object: Spelling | None
    lo: Instant | None
    hi: Instant | None
    lo_granularity: str | None
    hi_granularity: str | None
    reason: str | None
    contested: bool
    rivals: tuple[str, ...]
    support: int
    dissent: int
    observations: int
    votes: str | None
    decided_at: Instant | None
    decided_observed_at: Instant | None
    previous_fact_id: FactId | None
    invalidated_by: FactId | None
    supported_by: tuple[ObservationId, ...]
    dissented_by: tuple[ObservationId, ...]
    closed_by: ObservationId | None = None
    opened_by: ObservationId | None = None
    against: ObservationId | None = None

    @property
    def confidence(self) -> float:
        """(support + 1) / (support + dissent + 2): Laplace's rule, 0.5 where nothing is known."""
        return (self.support + 1) / (self.support + self.dissent + 2)

    @property
    def certainty(self) -> Certainty:
        """Of the fact's finite bounds: definite from ten supporting votes on."""
        return Certainty.DEFINITE if self.support >= DEFINITE_FROM else Certainty.APPROXIMATE

    @property
    def valid(self) -> Interval:
        """The span in which the fact holds, as one value."""
        return Interval(self._bound(self.lo, self.lo_granularity), self._bound(self.hi, self.hi_granularity))

    def _bound(self, at: Instant | None, granularity: str | None) -> Bound | None:
        if at is None or granularity is None:
            return None
        return Bound(at, Granularity(granularity), self.certainty)


def state_at(fact: Fact, at: Instant) -> State:
    """What the fact is at an instant, by what is known now.

    A fact that has not begun yet is open: nothing retired it.
    """
    if fact.reason in _NEVER_HELD or (fact.hi is not None and fact.hi <= at):
        return State.RETIRED
    return State.CONTESTED if fact.contested else State.OPEN


_NEVER_HELD = frozenset({Reason.WITHDRAWN})


class About(msgspec.Struct, frozen=True, gc=False):
    """What all facts of one claim share."""

    claim: ClaimId
    namespace: str
    declared: bool


def build(about: About, episode: Episode) -> Fact:
    """The fact of an episode: the same content, with ids in the place of names and words for counts."""
    ballot, closed_by = episode.ballot, episode.closed_by
    decided_by = closed_by or episode.replaced_by
    name = episode.name or episode.form
    previous = None
    if episode.ordinal:
        previous = fact_id(about.claim, name, episode.ordinal - 1)
    return Fact(
        fact_id=fact_id(about.claim, name, episode.ordinal),
        claim=about.claim,
        namespace=about.namespace,
        subject=episode.subject,
        predicate=episode.predicate,
        declared=about.declared,
        form=episode.form,
        ordinal=episode.ordinal,
        object=shown_spelling(episode.spellings, form=episode.form),
        lo=episode.lo.at if episode.lo else None,
        hi=episode.hi.at if episode.hi else None,
        lo_granularity=episode.lo.granularity if episode.lo else None,
        hi_granularity=episode.hi.granularity if episode.hi else None,
        reason=episode.reason.value if episode.reason else None,
        contested=episode.contested,
        rivals=tuple([_side_in_words(side, spelling) for side, spelling in episode.rivals]),
        support=episode.support,
        dissent=episode.dissent,
        observations=episode.observations,
        votes=_in_words(ballot) if ballot else None,
        decided_at=ballot.decided_at if ballot else episode.hi.at if decided_by and episode.hi else None,
        decided_observed_at=ballot.observed_at if ballot else decided_by[1] if decided_by else None,
        previous_fact_id=previous,
        invalidated_by=fact_id(about.claim, *episode.follower) if episode.follower else None,
        supported_by=tuple(episode.supported_by),
        dissented_by=tuple(episode.dissented_by),
        closed_by=closed_by[0] if closed_by else None,
        opened_by=episode.opened_by,
        against=episode.against,
    )


def gone_on(
    known: Fact,
    about: About,
    form: str,
    held: OpenFact,
    rivals: Sequence[tuple[Side, Spelling | None]],
) -> Fact | None:
    """What `build` gives for an open fact that was published before: the same but for what was counted since.

    `form` is the first form of its cluster, `rivals` as in an episode. None where it may differ otherwise.
    """
    is_same = (
        known.reason is None
        and known.hi is None
        and known.ordinal == held.ordinal
        and known.form == form
        and known.lo == held.lo
        and known.lo_granularity == held.lo_granularity
        and known.opened_by == held.opened_by
        and known.against == held.against
        and known.declared is about.declared
        and known.claim == about.claim
    )
    if not is_same:
        return None
    return msgspec.structs.replace(
        known,
        subject=held.subject,
        predicate=held.predicate,
        object=shown_spelling(held.spellings, form=form),
        contested=bool(rivals),
        rivals=tuple([_side_in_words(side, spelling) for side, spelling in rivals]),
        support=held.support,
        dissent=held.dissent,
        observations=held.observations,
        supported_by=tuple(held.supported_by),
        dissented_by=tuple(held.dissented_by),
    )


def _in_words(ballot: Ballot) -> str:
    """The count that ended a fact, as a person would say it: "outvoted 3:2 of the last 5 by Oslo"."""
    verb = "denied" if ballot.denial else "outvoted"
    by = "" if ballot.denial else f" by {as_text(ballot.spelling)}"
    later = ", all later than its last statement" if ballot.clean_switch else ""
    return f"{verb} {ballot.n_for}:{ballot.n_held} of the last {ballot.n_for + ballot.n_held}{by}{later}"


def _side_in_words(side: Side, spelling: Spelling | None) -> str:
    text = as_text(spelling)
    return text if side[1] else f"not {text}".rstrip()


def as_text(spelling: Spelling | None) -> str:
    """A spelling as text: JSON's words for booleans, nothing for a statement without object."""
    if spelling is None:
        return ""
    if isinstance(spelling, bool):
        return "true" if spelling else "false"
    return str(spelling)


def shown_spelling(counts: Sequence[SpellingCount], *, form: str) -> Spelling | None:
    """How an object is shown: the most frequent spelling, then the most recent, then the smallest.

    Of dates that fit each other the finest are shown ("2023-05" beside "8 May 2023").
    """
    if len(counts) == 1:
        return counts[0].spelling
    if form.startswith("d:"):
        counts = _finest_dates(counts)
    return min(counts, key=lambda c: (-c.n, -c.newest[0], -c.newest[1], repr(c.spelling))).spelling


def _finest_dates(counts: Sequence[SpellingCount]) -> list[SpellingCount]:
    spans: list[tuple[int, SpellingCount]] = []
    for count in counts:
        value = None if count.spelling is None else type_object(count.spelling).value
        span = value.end - value.start if isinstance(value, Moment) else INSTANT_MAX
        spans.append((span, count))
    finest = min(span for span, _ in spans)
    return [count for span, count in spans if span == finest]
