"""How often the fold is right on the day, and how many facts it makes, when some of what is said is wrong.

One claim with 6 true episodes over 8 values and one statement a day, each from a source without document. A
share of the statements, drawn by chance, names one of the seven wrong values instead. Two measures: the share
of days on which the fact that covers the day is the true one, and the number of facts, where 6 are true. For
comparison, plain majority of the last 7 statements, ties to the value said last: its value on a day is what
it said that day, and each change of its value is a fact.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import mean

from benchmarks import Options
from benchmarks.record import Figure, show
from state.instants import DAY_MS, Instant, parse_instant
from state.policy import Policy
from state.predicates import Predicate
from state.statements import ObservationId, Statement
from state.timeline import fold

N_EPISODES, N_VALUES, LAST = 6, 8, 7
LENGTHS, NOISES = (10, 40), (5, 20, 35)  # days of an episode; percent of statements that are wrong
SEEDS, SEEDS_QUICK = 200, 10
START = parse_instant("2024-01-01T00:00:00Z")

DESIGN: dict[tuple[int, int], tuple[str, str]] = {
    (10, 5): ("100", "6.0"),
    (10, 20): ("95", "6.3"),
    (10, 35): ("89", "6.8"),
    (40, 5): ("100", "≤ 8"),
    (40, 20): ("99", "≤ 8"),
    (40, 35): ("96", "≤ 8"),
}
"""Percent of days right and number of facts as DESIGN 4.4 states them, by length and noise."""

DESIGN_MAJORITY_FACTS = 39  # "publishes 39 facts where 6 are true"; the design does not say for which load


def run(options: Options) -> list[Figure]:
    """Print both measures for every length of episode and share of noise."""
    n_seeds = SEEDS_QUICK if options.quick else SEEDS
    figures, rows = [], []
    for length in LENGTHS:
        for noise in NOISES:
            ours, majority = zip(*(measure(length, noise, seed) for seed in range(n_seeds)), strict=True)
            mine, theirs = (
                _figure(*named, length, noise) for named in (("fold", ours), ("majority", majority))
            )
            figures += [mine, theirs]
            design_right, design_facts = DESIGN[length, noise]
            rows.append(
                (
                    f"{length} days, {noise} %",
                    f"{mine.more['days_right_percent']:.1f} %",
                    f"{design_right} %",
                    f"{mine.more['facts']:.2f}",
                    f"{mine.more['facts_max']:.0f}",
                    design_facts,
                    f"{theirs.more['days_right_percent']:.1f} %",
                    f"{theirs.more['facts']:.1f}",
                )
            )
    columns = ("episode, noise", "right", "design", "facts", "most", "design", f"last {LAST}: right", "facts")
    notes = [f"Of plain majority the design says: {DESIGN_MAJORITY_FACTS} facts, not for which of these."]
    show(f"Noise: {N_EPISODES} true episodes over {N_VALUES} values, {n_seeds} seeds", columns, rows, notes)
    return figures


def _figure(name: str, found: Sequence[tuple[float, int]], length: int, noise: int) -> Figure:
    facts = [n for _, n in found]
    more = {
        "days_right_percent": 100 * mean(share for share, _ in found),
        "facts": mean(facts),
        "facts_max": max(facts),
    }
    return Figure(f"noise/{name}/episodes-of-{length}/noise-{noise}", len(found), more=more)


def measure(length: int, noise: int, seed: int) -> tuple[tuple[float, int], tuple[float, int]]:
    """Share of days right and number of facts: of the fold, and of plain majority."""
    truth, said = history(length, noise, random.Random(f"{length}/{noise}/{seed}"))
    statements = [statement(day, value) for day, value in enumerate(said)]
    episodes = fold(statements, Predicate("p"), Policy(), {}).episodes
    held: list[str | None] = [None] * len(truth)
    for episode in episodes:
        first = 0 if episode.lo is None else (episode.lo.at - START) // DAY_MS
        end = len(truth) if episode.hi is None else (episode.hi.at - START) // DAY_MS
        held[first:end] = [episode.form] * (end - first)
    voted = list(majorities(said))
    return (_share_right(held, truth), len(episodes)), (_share_right(voted, truth), len(list(groupby(voted))))


def history(length: int, noise: int, chance: random.Random) -> tuple[list[str], list[str]]:
    """The true value of each day, and what is said on it. Two episodes in a row have different values."""
    values = [f"value {number}" for number in range(N_VALUES)]
    truth: list[str] = []
    for _ in range(N_EPISODES):
        value = chance.choice([v for v in values if not truth or v != truth[-1]])
        truth += [value] * length
    said = [
        chance.choice([v for v in values if v != true]) if chance.random() * 100 < noise else true
        for true in truth
    ]
    return truth, said


def majorities(said: Sequence[str]) -> Iterator[str]:
    """The value that most of the last 7 statements name, day by day; of several the one said last."""
    for end in range(1, len(said) + 1):
        window = said[max(0, end - LAST) : end]
        yield max(reversed(window), key=window.count)


def statement(day: int, value: str) -> Statement:
    """What one source says on a day."""
    at = Instant(START + day * DAY_MS)
    return Statement(
        effective_at=at,
        observed_at=at,
        observation_id=ObservationId(f"o{day}"),
        form=value,
        affirmed=True,
        spelling=value,
        source=None,
        document=None,
        valid_from=None,
        valid_to=None,
        lo_granularity="day",
        hi_granularity=None,
        confidence=1.0,
        extracted=False,
        supersedes=None,
        votes=True,
        subject="kim",
        predicate="p",
        recorded_at=at,
        content_hash=f"{day:032x}",
    )


def _share_right(held: Sequence[str | None], truth: Sequence[str]) -> float:
    return sum(found == true for found, true in zip(held, truth, strict=True)) / len(truth)
