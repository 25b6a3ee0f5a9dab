"""The plain twin of facts where each assertion is its own (DESIGN 6, `arbitration = explicit`).

A fact is a longest run of instants at which one affirmed assertion holds. When it does is asked of
``tests.reference.links``, instant by instant; votes, denials and the order of arrival are never looked at.

Where the design leaves room, what is chosen:

1. A run that only reports of an end know of begins where the run before it ended; where there is none, its
   start is unknown.
2. A statement supports the run that holds at its first instant, if it holds there itself; a report that tells
   nothing new supports the run that holds before its end.
3. A fact goes against the newest decision (by its instant, then by when it was taken) about its assertion
   that holds from before the fact's end, unless a decision opened it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.reference.links import INVALIDATED, OVER, REPLACED, SUPERSEDED, Decision, Name, Saying, World

LATEST = 1_000
REASON_OF = {SUPERSEDED: "superseded", INVALIDATED: "invalidated", REPLACED: "superseded", OVER: "ended"}


@dataclass(frozen=True)
class OwnFact:
    name: Name
    ordinal: int
    lo: int | None
    hi: int | None
    reason: str | None
    support: frozenset[str]
    closed_by: str | None
    opened_by: str | None
    against: str | None


def facts(world: World) -> list[OwnFact]:
    """The facts of a claim, in order of name and time."""
    names = sorted({s.name for s in world.sayings if s.affirmed})
    return [fact for name in names for fact in _of(world, name)]


def _of(world: World, name: Name) -> list[OwnFact]:
    found: list[OwnFact] = []
    for first, last in _runs(world, name):
        inside = [s for s in world.of(name) if world.counts(s) and first <= s.first <= last]
        inside = [s for s in inside if world.end(s)[0] > s.first]
        dated = [s for s in inside if s.first == first and not s.is_report]
        lo = first if dated else (found[-1].hi if found else None)
        hi = None if last == LATEST else last + 1
        cause, by = (OVER, None) if hi is None else _ending(world, inside, hi)
        opened_by = next((s.decision for s in inside if s.decision is not None), None)
        repeating = [s for s in world.of(name) if not world.counts(s)]
        support = [s.id for s in inside if s.decision is None]
        support += [s.id for s in repeating if first <= s.first <= last and s.hi is not None]
        found.append(
            OwnFact(
                name=name,
                ordinal=len(found),
                lo=lo,
                hi=hi,
                reason=None if hi is None else REASON_OF[cause],
                support=frozenset(support),
                closed_by=by if cause in (SUPERSEDED, INVALIDATED) else None,
                opened_by=opened_by,
                against=_against(world, name, lo, hi, opened_by),
            )
        )
    return found


def _runs(world: World, name: Name) -> list[tuple[int, int]]:
    """The first and last instants of each run. Nothing generated begins or ends after LATEST but never."""
    runs: list[tuple[int, int]] = []
    for t in [*range(-2, 40), LATEST]:
        if not world.holding(name, t):
            continue
        if runs and (runs[-1][1] == t - 1 or (t == LATEST and runs[-1][1] == 39)):
            runs[-1] = (runs[-1][0], t)
        else:
            runs.append((t, t))
    return runs


def _closings(world: World, s: Saying) -> list[Decision]:
    return [d for d in world.decisions if d.kind in ("supersede", "invalidate") and world.concerns(d, s)]


def _ending(world: World, inside: list[Saying], hi: int) -> tuple[int, str | None]:
    """By what cause a run ends; for a decision also by which: a supersede first, then the smaller id."""
    causes = []
    for s in inside:
        at, cause = world.end(s)
        if at != hi:
            continue
        ids: list[str | None] = [None]
        if cause in (SUPERSEDED, INVALIDATED):
            kind = "supersede" if cause == SUPERSEDED else "invalidate"
            ids = sorted(d.id for d in _closings(world, s) if d.at == hi and d.kind == kind)[:1]  # type: ignore[assignment]
        causes += [(cause, by or "") for by in ids]
    cause, by = min(causes)
    return cause, by or None


def _against(world: World, name: Name, lo: int | None, hi: int | None, opened_by: str | None) -> str | None:
    if opened_by is not None or lo is None:
        return None
    about = [
        d
        for d in world.decisions
        if d.kind in ("supersede", "invalidate") and (hi is None or d.at < hi) and _is_about(world, d, name)
    ]
    return max(about, key=lambda d: (d.at, d.decided, d.id)).id if about else None


def _is_about(world: World, decision: Decision, name: Name) -> bool:
    """Whether a decision is about an assertion, whatever it had been observed to say by then."""
    if name[0] == f"decision {decision.id}":
        return False
    if isinstance(decision.target, str):
        return world.cluster(name[1]) == world.cluster(decision.target)
    return name == decision.target
