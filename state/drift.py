"""Drift: an entity whose facts keep being retired (DESIGN 5). The pure rule; who keeps the rows is elsewhere.

A subject is unstable from the tick on at which more than four of its facts were invalidated in the thirty
days up to that tick, by when the deciding statements were made; it is stable again from the tick on at
which that window is empty. Retirements of undeclared predicates fill a window of their own in the same
way, and the subject is then churning. Which change of a fact counts is `state.drift_news`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from state.drift_causes import AlertKind, Cause
from state.drift_news import Bearing, News
from state.identity import FactId
from state.instants import DAY_MS, Instant

WINDOW_MS: Final = 30 * DAY_MS
UNSTABLE_ABOVE: Final = 4
KEPT_MS: Final = 40 * DAY_MS
"""Retirements this much older than the newest are let go: no window reaches them, even of a late tick."""
AHEAD_MS: Final = 5_000
"""So far ahead of the log's clock a statement may have been made and still be told of at once: the clocks of
machines differ. The log takes statements that are further ahead; they wait for a tick."""
KEPT_MAX: Final = 256  # retired facts of one subject, the newest: bounds the row, and what an alert counts


def count_within(instants: Sequence[Instant], now: Instant) -> int:
    """How many of the sorted instants lie in (now − 30 days, now]."""
    return bisect_right(instants, now) - bisect_right(instants, Instant(now - WINDOW_MS))


# -- what is kept of a subject --------------------------------------------------------------


class Retirement(msgspec.Struct, array_like=True):
    """A fact that counts, or did. Two registers, each set by the change with the greatest version.

    `is_in` is what the change `told_by` said; `at`, `declared` and `cause` are as of the change
    `dated_by`. So changes may come in any order and any number of times. `counted` is the version of the
    newest invalidation that was counted. `place` orders what is let go: `at`, or for a fact that has none
    the newest place when it was heard of.
    """

    is_in: bool
    told_by: int
    dated_by: int
    counted: int
    at: Instant | None
    place: Instant
    declared: bool
    cause: Cause


class Entity(msgspec.Struct, array_like=True):
    """What is kept of the drift of one subject.

    `lifetime` counts every invalidation that was ever told, also of facts that were reinstated or let
    go. `unstable_since` and `churning_since` are the ticks' `now` at which the subject became so; None
    while it is not.
    """

    retirements: dict[FactId, Retirement] = {}
    lifetime: int = 0
    unstable_since: Instant | None = None
    churning_since: Instant | None = None

    def take(self, news: News) -> None:
        """Enter, move or take out what a change says.

        Changes of a fact may come in any order, and again while the fact is kept; only its invalidations
        must come in their order, as `lifetime` counts them.
        """
        held = self.retirements.get(news.fact_id)
        if held is None:
            newest = max((r.place for r in self.retirements.values()), default=Instant(0))
            held = self.retirements[news.fact_id] = Retirement(
                False, 0, 0, 0, None, newest, news.declared, news.cause
            )
        if news.told and news.version > held.counted:
            held.counted = news.version
            self.lifetime += 1
        if news.bearing is not Bearing.MOVES and news.version > held.told_by:
            held.told_by = news.version
            held.is_in = news.bearing is Bearing.ENTERS
        if news.version > held.dated_by:
            held.dated_by = news.version
            held.at = news.at
            held.place = held.place if news.at is None else news.at
            held.declared = news.declared
            held.cause = news.cause

    def tidy(self, *, now: Instant | None = None) -> None:
        """Let go of what no window can reach any more, and of the oldest where there are too many.

        `now` is the newest tick's, where it is known: a statement ahead of it must not push out what a
        window up to it still holds.
        """
        places = sorted((r.place, fact_id) for fact_id, r in self.retirements.items())
        if not places:
            return
        newest = places[-1][0] if now is None else min(places[-1][0], now)
        surplus = len(places) - KEPT_MAX
        for number, (place, fact_id) in enumerate(places):
            if number >= surplus and place > newest - KEPT_MS:
                return
            del self.retirements[fact_id]

    def drop_those_out(self) -> None:
        """Let go of facts that do not count now, for a keeper who sees all changes in their order."""
        for fact_id in [fact_id for fact_id, held in self.retirements.items() if not _counts(held)]:
            del self.retirements[fact_id]

    def counted(self, *, declared: bool) -> list[tuple[Instant, FactId]]:
        """When each fact that counts was retired, in order; of declared predicates, or of the others."""
        return sorted(
            (held.at, fact_id)
            for fact_id, held in self.retirements.items()
            if held.is_in and held.at is not None and held.declared is declared
        )

    def within(self, now: Instant, *, declared: bool) -> list[tuple[Instant, FactId, Cause]]:
        """The retirements in (now − 30 days, now], oldest first."""
        return [
            (at, fact_id, self.retirements[fact_id].cause)
            for at, fact_id in self.counted(declared=declared)
            if now - WINDOW_MS < at <= now
        ]


def _counts(held: Retirement) -> bool:
    return held.is_in and held.at is not None


# -- transitions ----------------------------------------------------------------------------


class Alert(msgspec.Struct, frozen=True):
    """A transition, with what is in the window at it; nothing is, where it clears.

    `since` is the `now` at which the state began that this alert opens or closes.
    """

    kind: AlertKind
    since: Instant
    causes: list[tuple[Instant, FactId, Cause]]


def judge(entity: Entity, now: Instant) -> list[Alert]:
    """The transitions of a subject at a tick, at most one of each window; the entity is changed to match."""
    alerts = []
    alert = _transition(entity, entity.unstable_since, now, declared=True)
    if alert is not None:
        entity.unstable_since = now if alert.kind is AlertKind.UNSTABLE else None
        alerts.append(alert)
    alert = _transition(entity, entity.churning_since, now, declared=False)
    if alert is not None:
        entity.churning_since = now if alert.kind is AlertKind.CHURNING else None
        alerts.append(alert)
    return alerts


def _transition(entity: Entity, since: Instant | None, now: Instant, *, declared: bool) -> Alert | None:
    causes = entity.within(now, declared=declared)
    if since is None and len(causes) > UNSTABLE_ABOVE:
        return Alert(AlertKind.UNSTABLE if declared else AlertKind.CHURNING, now, causes)
    if since is not None and not causes and now >= since:  # time that went back clears nothing
        return Alert(AlertKind.STABLE if declared else AlertKind.SETTLED, since, [])
    return None


def alert_in_sight(entity: Entity, now: Instant) -> Instant | None:
    """The earliest `now` of a tick that would raise an alert at once; None where none would.

    `now` is the log's time, which statements may be ahead of a little (`AHEAD_MS`). An alert that ends is
    never in sight: nobody waits for time to pass.
    """
    found = [
        _over_limit([at for at, _ in entity.counted(declared=declared)], now)
        for since, declared in ((entity.unstable_since, True), (entity.churning_since, False))
        if since is None
    ]
    return min((at for at in found if at is not None), default=None)


def _over_limit(instants: list[Instant], now: Instant) -> Instant | None:
    for at in (now, *(at for at in instants if now < at <= now + AHEAD_MS)):
        if count_within(instants, at) > UNSTABLE_ABOVE:
            return at
    return None


def due(entity: Entity, now: Instant | None, *, has_news: bool = False) -> Instant | None:
    """The earliest `now` of a tick that would change something, as things stand; None where none would.

    It may lie before `now`, the newest tick's: then the next tick is to look. With `has_news` also for a
    window that `now` has left behind, since the next tick may bring an earlier one: a replay of the past.
    """
    found = [
        _opening(instants, None if has_news else now) if since is None else _clearing(instants, since, now)
        for instants, since in (
            ([at for at, _ in entity.counted(declared=True)], entity.unstable_since),
            ([at for at, _ in entity.counted(declared=False)], entity.churning_since),
        )
    ]
    return min((at for at in found if at is not None), default=None)


def _opening(instants: list[Instant], now: Instant | None) -> Instant | None:
    # A window holds five from the fifth of them on until the first of them leaves.
    for first, fifth in zip(instants, instants[UNSTABLE_ABOVE:], strict=False):
        end = first + WINDOW_MS
        if fifth < end and (now is None or now < end):
            return fifth
    return None


def _clearing(instants: list[Instant], since: Instant, now: Instant | None) -> Instant:
    empty = since if now is None else max(since, now)
    for at in instants:
        if empty - WINDOW_MS < at <= empty:
            empty = Instant(at + WINDOW_MS)
    return empty
