"""What people would use instead, each small and honest: from what was heard of a claim to its spans.

All get more than they would have elsewhere: our door (`state.validation.read`) with its typed values, so that
a spelling of a number, a unit, a date or a name costs them nothing; the knowledge which predicates are multi;
retracted statements are taken out before they look; a start that is stated dates the value; a statement about
the past ends a value and starts none where only the newest counts. None of them has vectors: two paraphrases
are two values.

Single-valued claims come whole. Of a multi-valued claim each value comes alone, with what was said for and
against it. Nothing here reads a clock or draws by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from state.instants import DAY_MS, Instant

Form = str


@dataclass(frozen=True, slots=True)
class Heard:
    """One statement about a claim, in the order of `arrival`; `batch` is the batch it came in.

    `at` is when it takes effect: the start that it states, else when it was observed. `until` is the end
    that it states.
    """

    arrival: int
    batch: int
    form: Form
    affirmed: bool
    at: Instant
    observed_at: Instant
    until: Instant | None


@dataclass(frozen=True, slots=True)
class Span:
    """A system holds a value for true in `[lo, hi)`; `confidence` is None where it has none to give.

    `votes` are support, dissent and whether it is contested, of factdrift's facts.
    """

    form: Form
    lo: Instant
    hi: Instant | None
    confidence: float | None = None
    votes: tuple[int, int, bool] | None = None

    def holds(self, at: Instant) -> bool:
        """Whether it is held for true at an instant."""
        return self.lo <= at and (self.hi is None or at < self.hi)


Method = Callable[[Sequence[Heard]], list[Span]]
"""From all that was heard of a claim, in order of arrival, to the spans of what it held for true."""

WINDOW = 7  # statements that `last 7 vote` counts
HALF_LIFE_DAYS = 20.0  # of 10, 20, 30, 60, 120, 240 the best on the small set, current and past together
BATCH_DISSENT = 0.40  # over this share of a batch against a fact, it falls


class _Spans:
    """What one claim has held: at most one value at a time, and time only goes forward."""

    def __init__(self) -> None:
        self.found: list[Span] = []
        self.form: Form | None = None
        self._since = Instant(0)

    def hold(self, form: Form | None, at: Instant, confidence: float | None = None) -> None:
        """From an instant on this value, or none; not before the one that is held now."""
        if form == self.form:
            return
        at = Instant(max(at, self._since)) if self.form is not None else at
        if self.form is not None:
            self.found.append(Span(self.form, self._since, at))
        self.form, self._since = form, at

    def all(self, confidence: float | None = None) -> list[Span]:
        """Every span; the confidence is that of the value that is held now."""
        last = [Span(self.form, self._since, None, confidence)] if self.form is not None else []
        return [span for span in self.found if span.hi is None or span.lo < span.hi] + last


# -- the newest counts ----------------------------------------------------------------------


def newest_observed(heard: Sequence[Heard]) -> list[Span]:
    """The value of the statement that takes effect last, and of several the one observed last."""
    return _newest(sorted(heard, key=lambda h: (h.until or h.at, h.observed_at, h.form, h.affirmed)))


def newest_arrived(heard: Sequence[Heard]) -> list[Span]:
    """Last write wins."""
    return _newest(heard)


def _newest(heard: Iterable[Heard]) -> list[Span]:
    spans = _Spans()
    for one in heard:
        if not one.affirmed:
            if spans.form == one.form:
                spans.hold(None, one.at)
        elif one.until is not None and one.until <= one.observed_at:  # about the past
            if spans.form == one.form:
                spans.hold(None, one.until)
        else:
            spans.hold(one.form, one.at)
    return spans.all()


# -- all or the last ones are counted -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Voice:
    at: Instant
    observed_at: Instant
    form: Form
    weight: float


def _voices(heard: Sequence[Heard]) -> list[_Voice]:
    """Affirmed is one for, denied one against; a stated end takes its own voice back when it comes."""
    found = [_Voice(h.at, h.observed_at, h.form, 1 if h.affirmed else -1) for h in heard]
    found += [_Voice(h.until, h.observed_at, h.form, -1) for h in heard if h.until is not None and h.affirmed]
    return sorted(found, key=lambda v: (v.at, v.observed_at, v.form, v.weight))


def _counted(
    voices: Sequence[_Voice],
    *,
    weigh: Callable[[Instant], float] = lambda _at: 1.0,
    window: int | None = None,
) -> list[Span]:
    """At each instant the value with most votes is held, of several the one named last; none without votes.

    `weigh` gives what a vote of an instant counts; only the ratio of two weights matters. With a window only
    that many of the newest voices count.
    """
    spans = _Spans()
    votes: dict[Form, float] = {}
    newest: dict[Form, int] = {}
    n_counted, share = 0, None
    for at, group in groupby(voices, key=lambda v: v.at):
        for voice in group:
            votes[voice.form] = votes.get(voice.form, 0) + voice.weight * weigh(voice.at)
            newest[voice.form] = n_counted
            n_counted += 1
            if window is not None and n_counted > window:
                old = voices[n_counted - 1 - window]
                votes[old.form] -= old.weight * weigh(old.at)
        unit = weigh(at)
        best = max(votes, key=lambda form: (round(votes[form] / unit, 9), newest[form]))
        held = best if votes[best] / unit > 1e-9 else None
        spans.hold(held, at)
        total = sum(max(n, 0) for n in votes.values()) / unit
        share = (max(votes[best], 0) / unit + 1) / (total + 2)
    return spans.all(share)


def majority(heard: Sequence[Heard]) -> list[Span]:
    """Every statement ever made counts the same."""
    return _counted(_voices(heard))


def last_vote(heard: Sequence[Heard]) -> list[Span]:
    """Only the last seven statements count."""
    return _counted(_voices(heard), window=WINDOW)


def decayed(half_life_days: float) -> Method:
    """Votes that lose half of their weight in so many days: the same as later ones that weigh more."""

    def method(heard: Sequence[Heard]) -> list[Span]:
        voices = _voices(heard)
        if not voices:
            return []
        first = voices[0].at
        return _counted(voices, weigh=lambda at: 2.0 ** ((at - first) / DAY_MS / half_life_days))

    return method


# -- the batch votes ------------------------------------------------------------------------


def batch_vote(heard: Sequence[Heard]) -> list[Span]:
    """Over 40 % of a batch's statements against the value that is held end it; most votes of the batch win.

    What earlier batches said counts no more. The change is dated by the first statement of the batch for what
    wins.
    """
    spans = _Spans()
    for _, group in groupby(heard, key=lambda h: h.batch):
        batch = [h for h in group if not (h.until is not None and h.until <= h.observed_at)]
        if not batch:
            continue
        votes = Counter((h.form, h.affirmed) for h in batch)
        against = sum(
            n for side, n in votes.items() if side != (spans.form, True) and _opposes(side, spans.form)
        )
        if spans.form is not None and against <= BATCH_DISSENT * len(batch):
            continue
        sides = [side for side in votes if side[1] or side[0] == spans.form]
        if not sides:
            continue
        best = max(sides, key=lambda side: (votes[side], max(h.at for h in batch if _side(h) == side), side))
        first = min(h.at for h in batch if _side(h) == best)
        spans.hold(best[0] if best[1] else None, first)
    return spans.all()


def _side(heard: Heard) -> tuple[Form, bool]:
    return (heard.form, heard.affirmed)


def _opposes(side: tuple[Form, bool], held: Form | None) -> bool:
    """A denial of another value opposes nothing."""
    return side[1] or side[0] == held


METHODS: dict[str, Method] = {
    "newest observed": newest_observed,
    "newest arrived": newest_arrived,
    "majority": majority,
    "last 7 vote": last_vote,
    "batch vote": batch_vote,
    "decayed vote": decayed(HALF_LIFE_DAYS),
}
