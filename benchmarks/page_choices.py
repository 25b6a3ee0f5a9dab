"""Sections of docs/benchmarks.md that help to choose: what a probability is worth, and which vote window.

Written from kept figures and from the weights in the source. Measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.answers.sources import REGIMES
from benchmarks.calibration import FITTED_ON
from benchmarks.markdown import Newest, markdown, where
from benchmarks.windows import PARTS, WINDOWS
from state.probability import WEIGHTS

TARGET = 0.05
SETS = ("sealed", "small", "medium")
BINS = range(10)


def calibration(newest: Newest) -> Iterator[str]:
    """How far confidence and probability are from the share of true values."""
    yield _what_it_is()
    rows = []
    for name in SETS:
        for regime in ("", *REGIMES):
            line = newest.get(f"answers/{name}/{regime}/calibration".replace("//", "/"))
            if line is not None and "right_percent" in line:
                rows.append(
                    (
                        f"{name}, {regime or 'all regimes'}",
                        f"{line['n']:,}",
                        f"{line['right_percent']:.1f}",
                        f"{line['calibration_error']:.3f}",
                        f"{line['calibration_error_mapped']:.3f}",
                    )
                )
    if not rows:
        yield "Not measured yet."
        return
    yield markdown(("set", "values held", "true %", "ECE of confidence", "ECE of probability"), rows)
    yield _verdict(newest)
    yield from _curves(newest)


def _what_it_is() -> str:
    seeds = "; ".join(
        f"{size} {of[0]} to {of[-1]}" if len(of) > 1 else f"{size} {of[0]}" for size, of in FITTED_ON.items()
    )
    rows = [
        (kind, f"{w.base:g}", f"{w.support:g}", f"{w.dissent:g}", f"{w.contested:g}")
        for kind, w in WEIGHTS.items()
    ]
    return f"""### What a confidence is worth, and a probability

    python -m benchmarks answers sealed     # the errors below
    python -m benchmarks calibration        # the weights, and a sealed set of its own

`confidence` is (support + 1) / (support + dissent + 2) over a whole fact: a count, too high as a probability,
because votes for what was true stay after it has changed. Beside it readers are given `probability`
(`factdrift facts` and `why` with `--json`, REST, MCP; `state/probability.py`):

    probability = sigmoid(base + support · ln(1 + votes for) + dissent · ln(1 + votes against)
                          + contested, where it is contested)

{markdown(("kind of predicate", "base", "support", "dissent", "contested"), rows)}

Fitted on generated streams (size and seeds: {seeds}; four regimes each, disordered,
default settings), judged on the sealed set. The regime is not used. It is null where nothing was measured:
the fact has an end, has no vote, or is no matter of votes (`arbitration = explicit`).

**When not to trust it.** It knows the share of true values *of these streams*: that their sources speak on,
are 60 to 99 % right and hear of changes within months, that a single value holds 100 to 400 days and a source
rarely says that one of several values is gone. Where your sources are better or worse, or your values hold
longer or shorter, it is too low or too high, by as much as the regimes below differ or more; so compare
probabilities, and take a figure at its word only after you have looked at your own. It does not know how old
the votes are: a value of which nothing was heard for years has the probability that it had then. It was
fitted with a window of five votes."""


def _verdict(newest: Newest) -> str:
    line = newest.get("answers/sealed/calibration")
    if line is None or "right_percent" not in line:
        return "The sealed set was not measured yet."
    found = line["calibration_error_mapped"]
    told = f"On the sealed set the expected calibration error of `probability` is {found:.3f}; "
    told += f"the target is {TARGET}" + (
        ", and met." if found <= TARGET else f", missed by {found - TARGET:.3f}."
    )
    by_regime = {
        regime: newest[key]["calibration_error_mapped"]
        for regime in REGIMES
        if (key := f"answers/sealed/{regime}/calibration") in newest
    }
    above = [f"{regime} {error:.3f}" for regime, error in by_regime.items() if error > TARGET]
    if above:
        told += f" One mapping cannot fit every regime by itself: {', '.join(above)}."
    return told


def _curves(newest: Newest) -> Iterator[str]:
    """Before and after, tenth by tenth."""
    rows = []
    for number in BINS:
        cells = []
        for what in ("confidence", "probability"):
            line = newest.get(f"answers/sealed/reliability-of-{what}/{number}")
            stated = None if line is None else line.get(f"{what}_percent")
            known = line is not None and stated is not None
            cells += (
                [f"{stated:.0f} %", f"{line['right_percent']:.0f} %", f"{line['n']:,}"]
                if line is not None and known
                else [""] * 3
            )
        if any(cells):
            rows.append(cells)
    if rows:
        columns = ("confidence", "true", "values", "probability", "true", "values")
        yield "Reliability on the sealed set, from low to high:\n\n" + markdown(columns, rows)


def windows(newest: Newest) -> Iterator[str]:
    """What each vote window gets in each regime, and what to choose."""
    yield """### Which vote window when

    python -m benchmarks windows

`FACTDRIFT_VOTE_WINDOW`, everything else as it comes; disordered streams of the sets with fixed seeds. In each
cell: current % / valid_at % / wrong overwrites for each 1,000 observations."""
    told = False
    for name in PARTS:
        rows = []
        for window in WINDOWS:
            lines = [newest.get(f"windows/{name}/{regime}/{window}") for regime in REGIMES]
            cells = [
                ""
                if line is None
                else f"{line['current_right_percent']:.1f} / {line['valid_at_right_percent']:.1f} / "
                f"{line['wrong_overwrites_per_1000_observations']:.2f}"
                for line in lines
            ]
            if any(cells):
                rows.append((str(window), *cells))
        if rows:
            first = newest[f"windows/{name}/{next(iter(REGIMES))}/{rows[0][0]}"]
            yield f"{name}; {where(first)}:\n\n" + markdown(("window", *REGIMES), rows)
            yield from _narrow(name, newest)
            told = True
    yield CHOICE if told else "Not measured yet."


def _narrow(name: str, newest: Newest) -> Iterator[str]:
    """What a window of 3 wins and loses against the default of 5, by regime."""
    told = []
    for regime in REGIMES:
        three, five = (newest.get(f"windows/{name}/{regime}/{window}") for window in (3, 5))
        if three is None or five is None:
            return
        now, then = (three[key] - five[key] for key in ("current_right_percent", "valid_at_right_percent"))
        wrong = "wrong_overwrites_per_1000_observations"
        told.append(
            f"{regime} {now:+.1f} points now, {then:+.1f} at `valid_at`, {three[wrong] - five[wrong]:+.2f} "
            "wrong overwrites"
        )
    yield f"3 against 5 on {name}: {'; '.join(told)}."


CHOICE = """With 3 two documents are enough for a change; with 5, the default, it takes three. Choose 3 where
little is said between two changes (six statements or so in the sparse streams), or where most sources are
right. Stay with 5 where much is said and a good part of it is wrong, or where one wrong overwrite costs you
more than a late change. 1 and 2 follow the newest statement, with all that this brings; 7 overwrites least,
and is late. It is a setting of the whole log. The default stays 5, since 3 overwrites more in the rough
streams; no window is best in every column."""
