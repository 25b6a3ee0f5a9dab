"""How right a system is, measured against the truth of a stream.

A spelling counts as the value that it is a spelling of; whatever else a system shows is wrong. Runs a system
over a stream and looks at what it holds after each batch and at the end. Knows nothing of how it works.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import floor
from random import Random
from statistics import mean, median

from benchmarks.answers.calibrating import Seen
from benchmarks.answers.stream import Arrival, Stream
from benchmarks.answers.systems import System
from benchmarks.answers.truth import END, START, ClaimName, TrueClaim
from benchmarks.competitors import Span
from state.errors import BadInput
from state.instants import DAY_MS, Instant
from state.observations import Observation
from state.validation import read

BATCH = 500
ASKED_PER_CLAIM = 5  # instants at which every claim is asked about
NOW = Instant(END - 1)
BINS = 10


@dataclass(slots=True)
class Score:
    """What one system got on one or several streams. Shares are of 1; `add` puts streams together.

    `current` and `past` hold, for each claim or question, how right the answer was; `by_kind` the same as
    `current` by predicate; `faults` count why a current single value is wrong (`fault_of`). `bound_errors`
    are days between a true bound and the one that was found; `episodes` counts true episodes and `missed`
    those of which no part was found. `sure` are pairs (confidence, right) of values held now, `seen` their
    votes, where it is factdrift that holds them.
    """

    current: list[float] = field(default_factory=list)
    past: list[float] = field(default_factory=list)
    by_kind: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: Counter[str] = field(default_factory=Counter)
    bound_errors: list[float] = field(default_factory=list)
    n_single: int = 0
    episodes: int = 0
    missed: int = 0
    wrong_overwrites: int = 0
    overwrites: int = 0
    n_events: int = 0
    n_true_changes: int = 0
    n_observations: int = 0
    sure: list[tuple[float, bool]] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Take over what was found on another stream."""
        self.current += other.current
        self.past += other.past
        for kind, found in other.by_kind.items():
            self.by_kind[kind] += found
        self.bound_errors += other.bound_errors
        self.sure += other.sure
        self.seen += other.seen
        self.faults += other.faults
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def figures(self) -> dict[str, float]:
        """The values to be kept, each with its unit in its name."""
        singles = max(self.n_single, 1)
        found = {
            "current_right_percent": 100 * mean(self.current),
            "valid_at_right_percent": 100 * mean(self.past),
            "wrong_overwrites_per_1000_observations": 1000 * self.wrong_overwrites / self.n_observations,
            "bound_error_median_days": median(self.bound_errors) if self.bound_errors else float("nan"),
            "bound_error_mean_days": mean(self.bound_errors) if self.bound_errors else float("nan"),
            "episodes_missed_percent": 100 * self.missed / max(self.episodes, 1),
            "events_per_true_change": self.n_events / self.n_true_changes,
            "outdated_percent": 100 * self.faults["outdated"] / singles,
            "false_percent": 100 * self.faults["false"] / singles,
        }
        return found if not self.sure else {**found, "calibration_error": calibration_error(self.sure)}


_COUNTS = (
    "n_single", "episodes", "missed", "wrong_overwrites", "overwrites", "n_events", "n_true_changes",
    "n_observations",
)  # fmt: skip


def judge(make: Callable[[], System], stream: Stream, arrivals: Sequence[Arrival]) -> Score:
    """The score of a system on a stream that arrives like this, in batches of 500."""
    system, score = make(), Score(n_observations=len(arrivals))
    told = first_told(arrivals)
    try:
        _watch(system, stream, arrivals, score)
        for name, since in told.items():
            _ask(system.spans(name), stream.claims[name], since, stream.name, score)
        score.n_events = system.n_events
        score.n_true_changes = sum(stream.claims[name].n_changes for name in told)
    finally:
        system.close()
    return score


def first_told(arrivals: Sequence[Arrival]) -> dict[ClaimName, Instant]:
    """Every claim of which something usable is said, and when its first statement was made."""
    found: dict[ClaimName, Instant] = {}
    for arrival in arrivals:
        try:
            usable = read(arrival.line, recorded_at=arrival.recorded_at)
        except BadInput:
            continue
        if isinstance(usable, Observation):
            name = (usable.subject, usable.predicate)
            at = usable.statement.observed_at
            found[name] = min(at, found.get(name, at))
    return dict(sorted(found.items()))


# -- while it comes -------------------------------------------------------------------------


def _watch(system: System, stream: Stream, arrivals: Sequence[Arrival], score: Score) -> None:
    """Count how often a right current value of a single-valued claim gave way to a wrong one."""
    held: dict[ClaimName, frozenset[str]] = {}
    for start in range(0, len(arrivals), BATCH):
        batch = arrivals[start : start + BATCH]
        now = Instant(min(batch[-1].recorded_at, NOW))
        for name in sorted(system.take(batch)):
            claim = stream.claims[name]
            if claim.kind.cardinality == "multi":
                continue
            before, after = held.get(name, frozenset()), held_keys(system.spans(name), claim, now)
            held[name] = after
            if before and after and before != after:
                truth = claim.keys(now)
                score.overwrites += 1
                score.wrong_overwrites += before == truth and after != truth


def held_keys(spans: Sequence[Span], claim: TrueClaim, at: Instant) -> frozenset[str]:
    """The values that a system holds for true at an instant, by key."""
    if claim.kind.cardinality == "never":
        return frozenset(claim.key_of(span.form) for span in spans if span.hi is None)
    return frozenset(claim.key_of(span.form) for span in spans if span.holds(at))


# -- at the end -----------------------------------------------------------------------------


def _ask(spans: Sequence[Span], claim: TrueClaim, since: Instant, seed: str, score: Score) -> None:
    now = rightness(held_keys(spans, claim, NOW), claim.keys(NOW))
    score.current.append(now)
    score.by_kind[claim.kind.predicate].append(now)
    if claim.kind.cardinality == "single":
        score.n_single += 1
    if claim.kind.cardinality == "single" and now < 1:
        score.faults[fault_of(held_keys(spans, claim, NOW), claim)] += 1
    chance = Random(f"{seed}/asked/{'/'.join(claim.name)}")
    for _ in range(ASKED_PER_CLAIM):
        at = Instant(chance.randrange(since, END))
        score.past.append(rightness(held_keys(spans, claim, at), claim.keys(at)))
    for span in spans:
        if span.confidence is not None and span.hi is None and span.lo <= NOW:
            right = claim.key_of(span.form) in claim.keys(NOW)
            score.sure.append((span.confidence, right))
            if span.votes is not None and span.votes[0]:
                score.seen.append(Seen(claim.kind.cardinality, *span.votes, right))
    if claim.kind.cardinality == "single":
        _compare_bounds(spans, claim, since, score)


def rightness(held: frozenset[str], true: frozenset[str]) -> float:
    """The share of all values, held or true, that are both; 1 where there are none (Jaccard)."""
    return len(held & true) / len(held | true) if held | true else 1.0


def fault_of(held: frozenset[str], claim: TrueClaim) -> str:
    """Why a single value is wrong at the end: none is held, or none is true any more, or the held one was
    true before (`outdated`), or it never was (`false`)."""
    if not held:
        return "nothing held"
    if not held <= {episode.value.key for episode in claim.episodes}:
        return "false"
    return "outdated" if claim.keys(NOW) else "nothing true"


def _compare_bounds(spans: Sequence[Span], claim: TrueClaim, since: Instant, score: Score) -> None:
    """Days between true bounds and those of the span of that value that covers most of the episode.

    Only episodes of which something can be known: those that did not end before the first statement. The
    start of the stream is no bound.
    """
    for episode in claim.episodes:
        end = END if episode.hi is None else episode.hi
        if end <= since:
            continue
        score.episodes += 1
        same = [span for span in spans if claim.key_of(span.form) == episode.value.key]
        best = max(same, key=lambda span: _overlap(span, episode.lo, end), default=None)
        if best is None or _overlap(best, episode.lo, end) <= 0:
            score.missed += 1
            continue
        if episode.lo > START:
            score.bound_errors.append(abs(max(best.lo, START) - episode.lo) / DAY_MS)
        if episode.hi is not None:
            score.bound_errors.append(abs((END if best.hi is None else best.hi) - episode.hi) / DAY_MS)


def _overlap(span: Span, lo: Instant, hi: Instant) -> int:
    return min(END if span.hi is None else span.hi, hi) - max(span.lo, lo)


# -- how sure -------------------------------------------------------------------------------


def reliability(sure: Sequence[tuple[float, bool]]) -> list[tuple[int, float, float]]:
    """For each tenth of confidence that occurs: how many, mean confidence, share that is right."""
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, right in sure:
        bins[min(floor(confidence * BINS), BINS - 1)].append((confidence, right))
    return [
        (len(group), mean(c for c, _ in group), mean(float(right) for _, right in group))
        for _, group in sorted(bins.items())
    ]


def calibration_error(sure: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error: the mean distance of confidence and share right, over ten bins."""
    return sum(n * abs(confidence - right) for n, confidence, right in reliability(sure)) / len(sure)
