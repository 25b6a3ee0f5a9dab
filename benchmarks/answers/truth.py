"""What is true of whom and when: claims with their episodes, drawn from a seed.

The world that sources then speak about (`benchmarks.answers.sources`). Knows no source and no system. Times
are milliseconds since 1970; intervals are half-open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from benchmarks.answers.values import Kind, Spelling, Value, kinds
from state.instants import DAY_MS, Instant, parse_instant

START = parse_instant("2022-01-01T00:00:00Z")
DAYS = 730
END = Instant(START + DAYS * DAY_MS)
GAP_SHARE, GAP_DAYS = 0.12, 40.0  # of moves that lead to no value at all, and for how long
ON_SHARE = 0.35  # of the time that a value of a multi-valued claim holds

ClaimName = tuple[str, str]
"""Subject and predicate, in normal form."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A value holds in `[lo, hi)`; `hi` is None while it still does."""

    value: Value
    lo: Instant
    hi: Instant | None

    def holds(self, at: Instant) -> bool:
        """Whether it is true at an instant."""
        return self.lo <= at and (self.hi is None or at < self.hi)


@dataclass(frozen=True, slots=True)
class TrueClaim:
    """One claim: its values and its episodes in order of time. Episodes of one value never touch."""

    subject: str
    kind: Kind
    domain: tuple[Value, ...]
    episodes: tuple[Episode, ...]
    _keys: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> ClaimName:
        """What names the claim."""
        return (self.subject, self.kind.predicate)

    def values(self, at: Instant) -> list[Value]:
        """The values that are true at an instant: none, one, or several where the claim is multi."""
        return [episode.value for episode in self.episodes if episode.holds(at)]

    def keys(self, at: Instant) -> frozenset[str]:
        """As `values`, by key."""
        return frozenset(value.key for value in self.values(at))

    def key_of(self, spelling: object) -> str:
        """The key of the value that a spelling means; of a text that is none, the text with a mark."""
        if not self._keys:
            self._keys.update((_as_text(s), v.key) for v in self.domain for s in v.spellings)
        return self._keys.get(_as_text(spelling), f"?{spelling}")

    @property
    def n_changes(self) -> int:
        """How often the truth changed: beginnings after the start, and ends."""
        return sum(e.lo > START for e in self.episodes) + sum(e.hi is not None for e in self.episodes)


def _as_text(spelling: object) -> str:
    return str(spelling).strip()


def world(n_entities: int, seed: str) -> list[TrueClaim]:
    """All claims about `n_entities` entities; the same for the same arguments."""
    return [
        _claim(f"entity {number}", kind, Random(f"{seed}/truth/{number}/{kind.predicate}"))
        for number in range(n_entities)
        for kind in kinds()
    ]


def _claim(subject: str, kind: Kind, chance: Random) -> TrueClaim:
    domain = tuple(kind.domain(chance))
    drawn = {"single": _moves, "multi": _comings_and_goings, "never": _one_for_ever}[kind.cardinality]
    return TrueClaim(subject, kind, domain, tuple(drawn(domain, kind, chance)))


def _moves(domain: tuple[Value, ...], kind: Kind, chance: Random) -> Iterator[Episode]:
    at, last = START, None
    while at < END:
        value = chance.choice([v for v in domain if v is not last])
        until = _later(at, kind.days, chance)
        yield Episode(value, at, until if until < END else None)
        at, last = until, value
        if chance.random() < GAP_SHARE:
            at = _later(at, GAP_DAYS, chance)


def _comings_and_goings(domain: tuple[Value, ...], kind: Kind, chance: Random) -> Iterator[Episode]:
    for value in domain:
        at, holds = START, chance.random() < ON_SHARE
        while at < END:
            mean = kind.days if holds else kind.days * (1 - ON_SHARE) / ON_SHARE
            until = _later(at, mean, chance)
            if holds:
                yield Episode(value, at, until if until < END else None)
            at, holds = until, not holds


def _one_for_ever(domain: tuple[Value, ...], _kind: Kind, chance: Random) -> Iterator[Episode]:
    yield Episode(chance.choice(domain), START, None)


def _later(at: Instant, mean_days: float, chance: Random) -> Instant:
    """A chance time later, at least two days, on a whole hour: so nothing lies between two milliseconds."""
    hours = round(24 * (2 + chance.expovariate(1 / max(mean_days - 2, 1))))
    return Instant(at + hours * DAY_MS // 24)


def spelled(value: Value, chance: Random, *, plain_share: float) -> Spelling:
    """One of the spellings of a value; the plain one with at least this chance."""
    if chance.random() < plain_share:
        return value.spellings[0]
    return chance.choice(value.spellings)
