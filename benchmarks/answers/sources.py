"""Who speaks: sources that differ in how often they are right, how late they learn, and whom they copy.

Draws the sources of one stream and what each of them would say about a claim at a time. Makes no records:
that is `benchmarks.answers.stream`. Everything is drawn from a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from benchmarks.answers.truth import DAYS, END, START, Episode, TrueClaim
from benchmarks.answers.values import Value
from state.instants import DAY_MS, Instant

COPIES_SHARE = 0.2  # of sources that only repeat another one
COVERAGE = 0.5  # of claims that a source speaks of
PET_SHARE = 0.4  # of wrong statements that name the same wrong value each time
DENIES_SHARE = 0.15  # of changes that a source tells as a denial of what was, beside what is
GAP_DENIAL_SHARE = 0.5  # of the times when a source knows that nothing holds any more and says so
UNHELD_DENIAL_SHARE = 0.3  # of the times when it comes to a value that a multi-valued claim does not have
INTERVAL_SHARE = 0.08  # of right statements that say since when the value holds, or from when to when it did


@dataclass(frozen=True, slots=True)
class Regime:
    """How good and how talkative the sources of a stream are.

    Each source draws its accuracy (the share of its statements that are right as far as it knows) and its lag
    (days on average until it has heard of a change), and how many days pass between two of its statements
    about one claim.
    """

    accuracies: tuple[float, ...]
    lags: tuple[float, ...]
    days_between: tuple[float, float]


_CALM = ((0.99, 0.97, 0.95, 0.90), (0.0, 0.0, 1.0, 5.0))
_ROUGH = ((0.97, 0.90, 0.80, 0.70, 0.60), (0.0, 0.0, 5.0, 20.0, 60.0))
_SPARSE, _DENSE = (40.0, 160.0), (10.0, 40.0)
REGIMES = {
    "sparse-calm": Regime(*_CALM, _SPARSE),
    "sparse-rough": Regime(*_ROUGH, _SPARSE),
    "dense-calm": Regime(*_CALM, _DENSE),
    "dense-rough": Regime(*_ROUGH, _DENSE),
}
"""Sparse is about six statements for each true episode of a single-valued claim, dense four times as many."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source. `copied` is the source whose words it repeats, None for one that looks for itself.

    `writes_daily` sources put what they say into one document a day; the others have one for ever for each
    claim.
    """

    name: str
    accuracy: float
    lag_days: float
    days_between: float
    late_share: float
    writes_daily: bool
    copied: str | None


@dataclass(frozen=True, slots=True)
class Utterance:
    """What a source says once.

    `is_right` is about the world at `known_at`, which is as far as the source knows.
    """

    source: Source
    claim: TrueClaim
    value: Value
    affirmed: bool
    observed_at: Instant
    known_at: Instant
    is_right: bool
    since: Instant | None = None
    until: Instant | None = None


def sources(regime: Regime, seed: str) -> list[Source]:
    """Five to nine sources; the first looks for itself, so that there is somebody to copy."""
    chance = Random(f"{seed}/sources")
    found: list[Source] = []
    for number in range(chance.randint(5, 9)):
        originals = [source.name for source in found if source.copied is None]
        copied = chance.choice(originals) if originals and chance.random() < COPIES_SHARE else None
        found.append(
            Source(
                name=f"source-{number}",
                accuracy=chance.choice(regime.accuracies),
                lag_days=chance.choice(regime.lags),
                days_between=chance.uniform(*regime.days_between),
                late_share=chance.choice((0.0, 0.05, 0.15, 0.4)),
                writes_daily=chance.random() < 0.7,
                copied=copied,
            )
        )
    return found


def utterances(claim: TrueClaim, of: list[Source], seed: str) -> list[Utterance]:
    """All that the sources say about a claim, in order of time."""
    said: dict[str, list[Utterance]] = {}
    for source in of:
        chance = Random(f"{seed}/said/{source.name}/{'/'.join(claim.name)}")
        if source.copied is not None:
            said[source.name] = list(_repeated(source, said[source.copied], chance))
        elif chance.random() < COVERAGE:
            said[source.name] = list(_own(source, claim, chance))
        else:
            said[source.name] = []
    together = [utterance for group in said.values() for utterance in group]
    return sorted(together, key=lambda u: (u.observed_at, u.source.name))


def _own(source: Source, claim: TrueClaim, chance: Random) -> Iterator[Utterance]:
    """What a source says that looks for itself, as late as it learns of things."""
    lag_ms = round(chance.expovariate(1 / source.lag_days) * DAY_MS) if source.lag_days else 0
    pet = chance.choice(claim.domain)
    before: frozenset[str] = frozenset()
    for at in _times(source, chance):
        known_at = Instant(max(START, at - lag_ms))
        now = claim.keys(known_at)
        gone = [value for value in claim.domain if value.key in before - now]
        if gone and claim.kind.cardinality == "single" and chance.random() < DENIES_SHARE:
            yield Utterance(source, claim, gone[0], False, at, known_at, True)
        before = now
        if chance.random() < source.accuracy:
            yield from _right(source, claim, at, known_at, chance)
        else:
            yield from _wrong(source, claim, at, known_at, pet, chance)


def _right(
    source: Source, claim: TrueClaim, at: Instant, known_at: Instant, chance: Random
) -> Iterator[Utterance]:
    """A statement that is true as far as the source knows; sometimes silence."""
    held = claim.values(known_at)
    past = [e for e in claim.episodes if e.hi is not None and e.hi <= known_at]
    if claim.kind.cardinality == "multi":
        value = chance.choice(claim.domain)
        if value in held:
            yield Utterance(source, claim, value, True, at, known_at, True)
        elif chance.random() < UNHELD_DENIAL_SHARE:
            yield Utterance(source, claim, value, False, at, known_at, True)
    elif held:
        began = next(e.lo for e in claim.episodes if e.holds(known_at))
        tells = claim.kind.cardinality == "single" and chance.random() < INTERVAL_SHARE
        if tells and past and chance.random() < 0.4:
            yield _hindsight(source, claim, past[-1], at, known_at, chance)
        else:
            yield Utterance(source, claim, held[0], True, at, known_at, True, since=began if tells else None)
    elif past and chance.random() < GAP_DENIAL_SHARE:
        yield Utterance(source, claim, past[-1].value, False, at, known_at, True)


def _hindsight(
    source: Source, claim: TrueClaim, episode: Episode, at: Instant, known_at: Instant, chance: Random
) -> Utterance:
    """ "Was so until then", half of the time also since when."""
    since = episode.lo if chance.random() < 0.5 else None
    return Utterance(source, claim, episode.value, True, at, known_at, True, since=since, until=episode.hi)


def _wrong(
    source: Source, claim: TrueClaim, at: Instant, known_at: Instant, pet: Value, chance: Random
) -> Iterator[Utterance]:
    """A statement that was not true at any time that the source could mean."""
    held = claim.keys(known_at)
    others = [value for value in claim.domain if value.key not in held]
    if others:
        value = pet if pet in others and chance.random() < PET_SHARE else chance.choice(others)
        yield Utterance(source, claim, value, True, at, known_at, False)


def _repeated(source: Source, of: list[Utterance], chance: Random) -> Iterator[Utterance]:
    """A copyist repeats the last thing that it read, in documents of its own."""
    for at in _times(source, chance):
        read = [u for u in of if u.observed_at < at]
        if read:
            last = read[-1]
            yield Utterance(
                source,
                last.claim,
                last.value,
                last.affirmed,
                at,
                last.known_at,
                last.is_right,
                last.since,
                last.until,
            )


def _times(source: Source, chance: Random) -> Iterator[Instant]:
    """When a source speaks about one claim, by the minute."""
    day = chance.uniform(0, source.days_between)
    while day < DAYS - 1:
        at = Instant(START + round(day * 24 * 60) * 60_000)
        assert at < END
        yield at
        day += chance.expovariate(1 / source.days_between)
