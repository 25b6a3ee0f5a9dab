"""Facts: episodes with a name, a spelling, counts and a confidence.

Turns what the fold found (`state.episodes`) into what is published. Decides no votes. Whether a fact
is open is always answered at an instant (`state_at`), because its end may lie in the future.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from state.episodes import Ballot, Edge, Episode, Folded, Reason, Role
from state.identity import ClaimId, FactId, fact_id
from state.instants import Granularity, Instant
from state.interval import Bound, Certainty, Interval
from state.statements import ObservationId, Place, Spelling, Statement
from state.votes import Cluster, voter

DEFINITE_FROM = 10  # votes; below it a bound is a guess from few voices (DESIGN 4.9)
NAMED_MAX = 16  # observation ids named in an event; all of them are found by `why`


class State(enum.StrEnum):
    """What a fact is at an instant."""

    OPEN = "open"
    CONTESTED = "contested"
    RETIRED = "retired"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One episode of one cluster, as it is published.

    `lo` and `hi` are None where the start is unknown, or where no end is known. `reason` says why the
    fact ends or ended; None while nothing ends it. `rivals` are spellings, strongest first, a denial
    written as "not …"; empty unless contested. `support` and `dissent` count votes, `observations`
    counts supporting statements. `form` is the cluster's first form and, with `ordinal`, names the
    fact within its claim. `votes` says in words what ended it. `subject` and `predicate` are spelled as
    most of the claim's evidence spells them; `declared` says whether a registry knows the predicate.
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
        return Interval(
            self._bound(self.lo, self.lo_granularity), self._bound(self.hi, self.hi_granularity)
        )

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


class About(msgspec.Struct, frozen=True):
    """What all facts of one claim share: its id, its namespace, its spellings."""

    claim: ClaimId
    namespace: str
    subject: str
    predicate: str
    declared: bool


def facts_of(
    about: About,
    evidence: Sequence[Statement],
    folded: Folded,
    cluster_of: Mapping[str, Cluster],
) -> list[Fact]:
    """The facts of a claim in order of time, from its evidence and what the fold made of it."""
    roles: list[dict[Role, list[Statement]]] = [{} for _ in folded.episodes]
    first_form: dict[Cluster, str] = {}
    for statement, (role, number) in zip(evidence, folded.roles, strict=True):
        if number is not None:
            roles[number].setdefault(role, []).append(statement)
        if role is not Role.DUPLICATE and statement.votes and statement.affirmed:
            first_form.setdefault(cluster_of.get(statement.form, statement.form), statement.form)
    order = sorted(range(len(folded.episodes)), key=lambda i: _starts(folded.episodes[i]))
    spelled = Spellings(evidence, cluster_of)
    ordinals: dict[Cluster, int] = {}
    ids: dict[int, FactId] = {}
    previous: dict[Cluster, FactId] = {}
    built: list[Fact] = []
    numbers = {}
    for number in order:
        cluster = folded.episodes[number].cluster
        numbers[number] = ordinals.get(cluster, 0)
        ordinals[cluster] = numbers[number] + 1
        ids[number] = fact_id(about.claim, first_form[cluster], numbers[number])
    followers = _followers(folded.episodes, order, ids)
    for number in order:
        episode = folded.episodes[number]
        built.append(
            _build(
                about,
                episode,
                roles[number],
                cluster_of,
                name=(ids[number], first_form[episode.cluster], numbers[number]),
                previous=previous.get(episode.cluster),
                follower=followers.get(number),
                spelled=spelled,
            )
        )
        previous[episode.cluster] = ids[number]
    return built


def _starts(episode: Episode) -> tuple[int, str]:
    return (episode.lo.at if episode.lo else -(2**63), episode.cluster)


def _followers(
    episodes: Sequence[Episode], order: Sequence[int], ids: Mapping[int, FactId]
) -> dict[int, FactId]:
    """For each outvoted episode, the fact of the rival that begins where it ends."""
    begins = {(e.cluster, e.lo.at): ids[i] for i in order if (e := episodes[i]).lo is not None}
    found = {}
    for number in order:
        episode = episodes[number]
        if episode.reason is Reason.OUTVOTED and episode.ballot is not None and episode.hi is not None:
            successor = begins.get((episode.ballot.rival, episode.hi.at))
            if successor is not None:
                found[number] = successor
    return found


def _build(
    about: About,
    episode: Episode,
    roles: Mapping[Role, list[Statement]],
    cluster_of: Mapping[str, Cluster],
    *,
    name: tuple[FactId, str, int],
    previous: FactId | None,
    follower: FactId | None,
    spelled: Spellings,
) -> Fact:
    supporting = roles.get(Role.SUPPORT, [])
    dissenting = roles.get(Role.DISSENT, [])
    ballot = episode.ballot
    return Fact(
        fact_id=name[0],
        claim=about.claim,
        namespace=about.namespace,
        subject=about.subject,
        predicate=about.predicate,
        declared=about.declared,
        form=name[1],
        ordinal=name[2],
        object=shown_spelling(supporting) if supporting else spelled.of(episode.cluster),
        lo=episode.lo.at if episode.lo else None,
        hi=episode.hi.at if episode.hi else None,
        lo_granularity=_granularity(episode.lo),
        hi_granularity=_granularity(episode.hi),
        reason=episode.reason.value if episode.reason else None,
        contested=episode.contested,
        rivals=tuple(spelled.side(cluster, affirmed) for cluster, affirmed in episode.rivals),
        support=len({voter(statement) for statement in supporting}),
        dissent=len({(cluster_of.get(s.form, s.form), s.affirmed, voter(s)) for s in dissenting}),
        observations=len(supporting),
        votes=_in_words(ballot, spelled) if ballot else None,
        decided_at=ballot.decided_at if ballot else None,
        decided_observed_at=ballot.observed_at if ballot else None,
        previous_fact_id=previous,
        invalidated_by=follower,
        supported_by=tuple(s.observation_id for s in supporting[-NAMED_MAX:]),
        dissented_by=tuple(s.observation_id for s in dissenting[-NAMED_MAX:]),
    )


def _granularity(edge: Edge | None) -> str | None:
    return edge.granularity.value if edge else None


def _in_words(ballot: Ballot, spelled: Spellings) -> str:
    """The count that ended a fact, as a person would say it: "outvoted 3:2 of the last 5 by Oslo"."""
    verb = "denied" if ballot.denial else "outvoted"
    by = "" if ballot.denial else f" by {as_text(spelled.of(ballot.rival))}"
    later = ", all later than its last statement" if ballot.clean_switch else ""
    return f"{verb} {ballot.n_for}:{ballot.n_held} of the last {ballot.n_for + ballot.n_held}{by}{later}"


class Spellings:
    """How the clusters of one claim are written, read from its evidence when first asked."""

    def __init__(self, evidence: Sequence[Statement], cluster_of: Mapping[str, Cluster]) -> None:
        self._evidence = evidence
        self._cluster_of = cluster_of
        self._found: dict[Cluster, Spelling | None] = {}

    def of(self, cluster: Cluster) -> Spelling | None:
        """The shown spelling of a cluster over all its statements."""
        if cluster not in self._found:
            self._found[cluster] = shown_spelling(
                s for s in self._evidence if self._cluster_of.get(s.form, s.form) == cluster
            )
        return self._found[cluster]

    def side(self, cluster: Cluster, affirmed: bool) -> str:
        """A side of a vote in words: the spelling, or "not …" for a denial."""
        text = as_text(self.of(cluster))
        return text if affirmed else f"not {text}".rstrip()


def as_text(spelling: Spelling | None) -> str:
    """A spelling as text: JSON's words for booleans, nothing for a statement without object."""
    if spelling is None:
        return ""
    if isinstance(spelling, bool):
        return "true" if spelling else "false"
    return str(spelling)


def shown_spelling(statements: Iterable[Statement]) -> Spelling | None:
    """How an object is shown: the most frequent spelling, then the most recent, then the smallest."""
    return most_frequent((statement.spelling, statement.place) for statement in statements)


SpellingT = TypeVar("SpellingT", bound=Spelling | None)


def most_frequent(uses: Iterable[tuple[SpellingT, Place]]) -> SpellingT:
    """The spelling used most often, then the one used latest, then the smallest; uses must not be empty."""
    counts: dict[tuple[type, SpellingT], tuple[int, Place]] = {}
    for spelling, place in uses:
        key = (type(spelling), spelling)
        n, newest = counts.get(key, (0, place))
        counts[key] = (n + 1, max(newest, place))
    if len(counts) == 1:
        return next(iter(counts))[1]
    return min(
        counts.items(), key=lambda item: (-item[1][0], -item[1][1][0], -item[1][1][1], repr(item[0][1]))
    )[0][1]
