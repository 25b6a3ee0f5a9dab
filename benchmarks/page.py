"""Writes docs/benchmarks.md from benchmarks/results: the newest figure of each name, and its command.

Measures nothing. What has no kept figure is named as not measured, with the command that would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import Options, page_choices, page_speed
from benchmarks.answers.sources import REGIMES
from benchmarks.answers.suite import COLUMNS, DEVELOPMENT, LEARNED, NARROW, ORDERS, OURS, cells
from benchmarks.competitors import HALF_LIFE_DAYS, METHODS
from benchmarks.markdown import Line, Newest, markdown, where
from benchmarks.record import Figure, kept, out

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
SYSTEMS = (OURS, NARROW, LEARNED, *METHODS)
SETS = ("sealed", *DEVELOPMENT)


def run(_options: Options) -> list[Figure]:
    """Write the page; there is nothing to keep."""
    lines = kept()
    PAGE.write_text(render(lines), encoding="utf-8")
    out.print(f"docs/{PAGE.name} was written from {len(lines)} kept figures.")
    return []


def render(lines: Sequence[Line]) -> str:
    """The page. The same lines give the same text; of several lines of one name the last counts."""
    newest = {line["name"]: line for line in lines}
    parts = [
        INTRODUCTION,
        *_answers(newest),
        *page_choices.windows(newest),
        *page_choices.calibration(newest),
    ]
    parts += [*_invariance(newest), *_birthplaces(newest), *_noise(newest), *page_speed.speed(newest)]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = f"""# Benchmarks

Written by `make bench` (`python -m benchmarks page` writes it again from `benchmarks/results/`, where each
figure stands with commit, machine and versions). [How each benchmark works](../benchmarks/README.md).
Figures of speed count only where the machine had nothing else to do; figures about right answers do not
depend on that.

## The systems

All read the same lines in the same batches of 500. factdrift is the embedded host with default settings and
its packaged vectors, known only by its change feed. The others are small implementations of what people use
instead (`benchmarks/competitors.py`), and get more than they would have elsewhere: our door with typed
values, knowledge of which predicates are multi, and retracts taken out before they look.

| system | its rule |
|---|---|
| {NARROW} | the same with `FACTDRIFT_VOTE_WINDOW=3`; looked at on the small set |
| {LEARNED} | the same with `FACTDRIFT_TRUST=learned`, a tick behind each batch |
| newest observed | the statement that takes effect last |
| newest arrived | last write wins |
| majority | all statements ever made, each the same |
| last 7 vote | the last seven statements |
| batch vote | over 40 % of a batch against a fact end it; earlier batches do not count |
| decayed vote | votes lose half of their weight in {HALF_LIFE_DAYS:.0f} days (chosen on the small set) |

`uniko` 0.3.0 was to be a competitor too. Its wheel installs, but its library needs glibc 2.38
(`__isoc23_strtoll`), which the machine that measured did not have; and it takes turns of a conversation,
not triples, so a language model would stand between it and these streams. It was not measured."""


# -- right answers --------------------------------------------------------------------------


WHY = """### Where factdrift loses, and why

Current values, most of all in sparse streams. A fact that has had five votes or more falls only when three
documents of its window of five name the same other value, all later than its last one, or four against one.
It then ends where the first of them said so, which is why `valid_at` is right where the current value was
late. Where less than
three statements follow a change before the question is asked, the old value still stands: the column
*outdated*. Systems that follow the newest statement are the other way round: few outdated values, many that
never were true (the column *false*), and many right values overwritten. A smaller window
(`FACTDRIFT_VOTE_WINDOW=3`) notices after two documents: [which window when](#which-vote-window-when)."""


def _answers(newest: Newest) -> Iterator[str]:
    yield f"""## Right answers

    python -m benchmarks answers            # all sets; or one: answers small

Streams of which the truth is known: single, multi and never-changing predicates; moves at random times;
sources that are wrong, late or copy each other; paraphrases, units and dates in many spellings; denials,
retracts, documents that replace others, injected text and unusable records. Disordered streams also have
late arrivals, doubled records and old exports imported again. In the calm regimes sources are 90 to 99 %
right and know of a change within days, in the rough ones 60 to 97 % and within months; sparse is about six
statements for each true episode, dense four times as many.

| column | what it is |
|---|---|
| current % | how often what is held at the end is true; for multi the share of values that are both |
| valid_at % | the same at five random instants of each claim |
| outdated % | of current single values: what was true before, and is no more |
| false % | of current single values: what never was |
| wrong overwrites | true current values that gave way to a false one, for each 1,000 observations |
| days off | median distance of a true bound from the one found |
| missed % | true episodes of which nothing was found |
| events | changes told to readers for each true change (reinforcements left out) |
| ECE | expected calibration error of the confidence of values held at the end; ten bins |

The seeds of {", ".join(DEVELOPMENT)} are fixed; settings were looked at on them. The seed of the sealed set
is drawn when it runs; nothing was chosen on it."""
    yield WHY
    for name in SETS:
        if f"answers/{name}/all/{ORDERS[0]}/{OURS}" not in newest:
            yield f"### {name}\n\nNot measured yet: `python -m benchmarks answers {name} --record`."
            continue
        yield from _answer_tables(name, newest)


def _answer_tables(name: str, newest: Newest) -> Iterator[str]:
    """All regimes together for both orders, then each regime with disorder, then what is lost and won."""
    for order in ORDERS:
        head = f"answers/{name}/all/{order}"
        line = newest[f"{head}/{OURS}"]
        seeds = f"streams for each regime: {line['streams']:.0f}, first seed {line['first_seed']:.0f}"
        made = f"`python -m benchmarks answers {name}`; {seeds}; {where(line)}."
        yield f"### {name}, all regimes, {order}\n\n{made}\n\n{_table(head, newest)}"
    for regime in REGIMES:
        yield f"**{name}, {regime}, {ORDERS[1]}**\n\n" + _table(
            f"answers/{name}/{regime}/{ORDERS[1]}", newest
        )
    yield _verdict(name, newest)


def _table(head: str, newest: Newest) -> str:
    rows = [
        (system, *cells(newest[f"{head}/{system}"])) for system in SYSTEMS if f"{head}/{system}" in newest
    ]
    return markdown(("", *(heading for heading, _, _ in COLUMNS)), rows)


def _verdict(name: str, newest: Newest) -> str:
    """Where a competitor is ahead, and how often what was right is overwritten."""
    told = []
    for measured, key in (("current", "current_right_percent"), ("valid_at", "valid_at_right_percent")):
        for regime in (*REGIMES, "all"):
            for order in ORDERS:
                ours, best, theirs = _against_best(newest, f"answers/{name}/{regime}/{order}", key)
                if theirs > ours:
                    told.append(f"| {measured} | {regime} | {order} | {best} | {theirs:.1f} | {ours:.1f} |")
    head = "| | regime | order | ahead | its % | factdrift % |\n|---|---|---|---|---:|---:|\n"
    lost = f"Where a competitor is ahead:\n\n{head}" + "\n".join(told)
    if not told:
        lost = "No competitor is ahead of factdrift on current values or `valid_at` in any regime."
    return f"{lost}\n\n{_overwrites(name, newest)}"


def _against_best(newest: Newest, head: str, key: str) -> tuple[float, str, float]:
    """Our figure, the competitor with the greatest one, and that figure."""
    best = max(METHODS, key=lambda system: newest[f"{head}/{system}"][key])
    return newest[f"{head}/{OURS}"][key], best, newest[f"{head}/{best}"][key]


def _overwrites(name: str, newest: Newest) -> str:
    head, key = f"answers/{name}/all/{ORDERS[1]}", "wrong_overwrites_per_1000_observations"
    _, best, right = _against_best(newest, head, "current_right_percent")
    ours, theirs = newest[f"{head}/{OURS}"][key], newest[f"{head}/{best}"][key]
    fewer = [system for system in METHODS if newest[f"{head}/{system}"][key] <= ours]
    told = (
        f"Wrong overwrites, all regimes, {ORDERS[1]}: factdrift {ours:.2f}; {best}, the best competitor on "
        f"current values ({right:.1f} %), {theirs:.2f}."
    )
    us = newest[f"{head}/{OURS}"]
    if (narrow := newest.get(f"{head}/{NARROW}")) is not None:
        told += (
            f" {NARROW}: {narrow[key]:.2f} at {narrow['current_right_percent']:.1f} % of current values and "
            f"{narrow['valid_at_right_percent']:.1f} % at `valid_at`."
        )
    for system in fewer:
        line = newest[f"{head}/{system}"]
        told += (
            f" As few or fewer: {system}, {line[key]:.2f}. Who seldom changes what is held "
            f"seldom overwrites: it misses {line['episodes_missed_percent']:.1f} % of the true episodes "
            f"({OURS} {us['episodes_missed_percent']:.1f} %), and {line['outdated_percent']:.1f} % of its "
            f"current single values are outdated ({us['outdated_percent']:.1f} %)."
        )
    return told


# -- the others -----------------------------------------------------------------------------


def _invariance(newest: Newest) -> Iterator[str]:
    yield """## Invariance

    python -m benchmarks invariance

The same observations in 50 orders, each cut into batches otherwise: how many different outcomes (which
values held of each claim, and when)."""
    rows = [
        (
            system,
            f"{line['distinct_outcomes']:.0f}",
            f"{line['claims_that_differ']:.0f} of {line['claims']:.0f}",
        )
        for system in SYSTEMS
        if (line := newest.get(f"invariance/{system}")) is not None
    ]
    yield markdown(("", "distinct outcomes", "claims that differ"), rows) if rows else "Not measured yet."
    if rows:
        yield where(newest[f"invariance/{OURS}"]) + "."


def _birthplaces(newest: Newest) -> Iterator[str]:
    yield """## BirthPlaces

    python -m benchmarks birthplaces

6,005 people, 13,510 statements of seven sources; right is an exact match with the first part of the truth.
Published baselines: vote 63.7 %, one-pass trust 76.0 %. [Learnt trust](trust.md) sees no truth."""
    found = {name: line for name, line in newest.items() if name.startswith("birthplaces/")}
    rows = [(name.partition("/")[2], f"{line['right_percent']:.2f} %") for name, line in found.items()]
    yield markdown(("", "right"), rows) if rows else "Not measured yet."


def _noise(newest: Newest) -> Iterator[str]:
    yield """## Noise

    python -m benchmarks noise

One claim, six true episodes over eight values, one statement a day of which a share is wrong; 200 seeds."""
    rows = [
        (name.partition("/")[2], f"{line['days_right_percent']:.1f} %", f"{line['facts']:.2f}")
        for name, line in newest.items()
        if name.startswith("noise/")
    ]
    yield markdown(("", "days right", "facts"), rows) if rows else "Not measured yet."
