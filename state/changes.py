"""The difference between the facts that were published and the facts that follow now.

Every change of a fact yields exactly one right event, and nothing changes silently. A pure comparison:
it knows no votes. Which kind each change has is the table in `changes_of`; DESIGN 4 names the kinds.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

import msgspec

from state.episodes import Reason
from state.facts import Fact
from state.identity import FactId
from state.instants import Instant


class Kind(enum.StrEnum):
    """What happened to a fact: the topic that carries it."""

    CREATED = "fact-created"
    REINFORCED = "fact-reinforced"
    INVALIDATED = "fact-invalidated"
    REVISED = "fact-revised"


class Revision(enum.StrEnum):
    """What a `fact-revised` is about, beside created, reinforced and invalidated."""

    ENDED = "ended"
    REDATED = "redated"
    REWORDED = "reworded"
    CONTESTED = "contested"
    SETTLED = "settled"
    REINSTATED = "reinstated"
    SCHEDULED = "scheduled"
    RECLUSTERED = "reclustered"
    """Its claim's texts were compared anew, and nothing else of the fact changed."""
    RECOUNTED = "recounted"
    """Anything else: dissent, support that was taken back, what decided it, the facts beside it."""


INVALIDATIONS = frozenset(
    {Reason.OUTVOTED, Reason.DENIED, Reason.SUPERSEDED, Reason.INVALIDATED, Reason.WITHDRAWN}
)


class Published(msgspec.Struct, frozen=True, gc=False):
    """A fact as it was last published, with its version: 1 for the first event, then rising by one."""

    fact: Fact
    version: int
    is_scheduled: bool = False
    """Whether its end was still to come when it was published."""
    is_compared_anew: bool = False
    """Whether what its claim's texts are compared by has changed since: that is told, if nothing else is."""


class Change(msgspec.Struct, frozen=True, gc=False):
    """One event about one fact. `fact` is the fact after the batch; `revision` is "" unless revised."""

    kind: Kind
    revision: str
    fact: Fact
    version: int


def withdrawn(fact: Fact) -> Fact:
    """The fact as it stays in history when no evidence carries it any more."""
    return msgspec.structs.replace(
        fact, reason=Reason.WITHDRAWN.value, contested=False, rivals=(), votes=None, invalidated_by=None
    )


def diff(
    published: Mapping[FactId, Published], facts: Iterable[Fact], *, horizon: Instant
) -> tuple[dict[FactId, Published], list[Change]]:
    """What is published from now on, and the changes that say so, in order of fact and of kind.

    `facts` are all facts of the claim now. What was published and is not among them is withdrawn: its
    entry and its version stay. `horizon` is the greatest observed_at of the claim; an end after it is
    scheduled. Comparing equal facts yields nothing, so a second delivery yields nothing.
    """
    after = dict(published)
    changes: list[Change] = []
    seen: set[FactId] = set()
    for fact in facts:
        seen.add(fact.fact_id)
        after[fact.fact_id], told = changes_of(published.get(fact.fact_id), fact, horizon=horizon)
        changes += told
    for fact_id, known in published.items():
        if fact_id not in seen and known.fact.reason != Reason.WITHDRAWN:
            gone = Published(withdrawn(known.fact), known.version + 1)
            after[fact_id] = gone
            changes.append(Change(Kind.INVALIDATED, "", gone.fact, gone.version))
    return after, changes


def changes_of(known: Published | None, fact: Fact, *, horizon: Instant) -> tuple[Published, list[Change]]:
    """The same for one fact that is there now: `known` is what was published of it, None for nothing."""
    scheduled = is_scheduled(fact, horizon)
    if known is None:
        version, kinds = 0, _first_kinds(fact, horizon)
    else:
        version, kinds = known.version, _kinds(known.fact, fact, horizon)
        if known.is_scheduled and not scheduled and fact.reason is not None:
            # What was announced has come, although nothing else may have changed.
            ending = _ending(fact, horizon)
            kinds += [] if ending in kinds else [ending]
        if not kinds:
            if not known.is_compared_anew:
                return known, []
            kinds = [(Kind.REVISED, Revision.RECLUSTERED)]
    changes = [Change(kind, revision, fact, version + n) for n, (kind, revision) in enumerate(kinds, 1)]
    return Published(fact, version + len(changes), scheduled), changes


def is_scheduled(fact: Fact, horizon: Instant) -> bool:
    """Whether the end of a fact is known and still to come."""
    return fact.hi is not None and fact.hi > horizon


def _first_kinds(new: Fact, horizon: Instant) -> list[tuple[Kind, str]]:
    return [(Kind.CREATED, "")] if new.reason is None else [(Kind.CREATED, ""), _ending(new, horizon)]


def _kinds(old: Fact, new: Fact, horizon: Instant) -> list[tuple[Kind, str]]:
    """The kinds of all changes between two states of one fact, each once."""
    # A count of statements that rose says by itself, and at no cost, that not all is equal.
    if old.observations == new.observations and _says_the_same(old, new):
        return []
    found = _named(old, new, horizon)
    # Drift counts by when the deciding statement was made, and reads no reinforcements.
    is_decided_anew = old.decided_observed_at != new.decided_observed_at
    if not found or (is_decided_anew and all(kind is Kind.REINFORCED for kind, _ in found)):
        found.append((Kind.REVISED, Revision.RECOUNTED))
    return found


def _named(old: Fact, new: Fact, horizon: Instant) -> list[tuple[Kind, str]]:
    found: list[tuple[Kind, str]] = []
    if new.observations > old.observations or new.support > old.support:
        found.append((Kind.REINFORCED, ""))
    if (
        old.object != new.object
        or type(old.object) is not type(new.object)
        or old.subject != new.subject
        or old.predicate != new.predicate
    ):
        found.append((Kind.REVISED, Revision.REWORDED))
    if old.reason is not None and new.reason is None:
        found.append((Kind.REVISED, Revision.REINSTATED))
    elif new.reason is not None and old.reason != new.reason:
        found.append(_ending(new, horizon))
    elif (
        old.hi != new.hi
        or old.hi_granularity != new.hi_granularity
        or old.lo != new.lo
        or old.lo_granularity != new.lo_granularity
    ):
        found.append((Kind.REVISED, Revision.REDATED))
    if new.reason is None and old.contested != new.contested:
        found.append((Kind.REVISED, Revision.CONTESTED if new.contested else Revision.SETTLED))
    return found


def _ending(fact: Fact, horizon: Instant) -> tuple[Kind, str]:
    if is_scheduled(fact, horizon):
        return Kind.REVISED, Revision.SCHEDULED
    if fact.reason in INVALIDATIONS:
        return Kind.INVALIDATED, ""
    return Kind.REVISED, Revision.ENDED


def _says_the_same(old: Fact, new: Fact) -> bool:
    """Whether all is equal that a reader may rely on.

    Which ids are named as examples is not part of it: an old export that is read again under other ids
    changes nothing (CASES F34).
    """
    named_alike = msgspec.structs.replace(old, supported_by=new.supported_by, dissented_by=new.dissented_by)
    # 1, 1.0 and true are equal to Python and are three objects to a reader.
    return named_alike == new and type(old.object) is type(new.object)
