"""How often the fold finds where a person was born: 6,005 people, seven sources that disagree.

Exact match, per person of the truth file: the normal form (`state.names.normalise`) of what a method holds
for true, against the normal form of the truth's part before its first comma ("Minneapolis" of
"Minneapolis,Minnesota,USA"). Nothing is matched loosely: no prefix, no alias, no other part of the truth. A
person for whom a method has no value counts as wrong. Decides nothing about what is right, only compares.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from benchmarks import Options, competitors, missing, real_input
from benchmarks.competitors import Heard
from benchmarks.record import Figure, leave_out, show
from benchmarks.trusting import Held, arrived, drawn_sources, learnt
from state.facts import About, as_text, build
from state.identity import claim_id
from state.instants import parse_instant
from state.names import normalise
from state.observations import Observation
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement
from state.timeline import fold
from state.validation import read

OBSERVATIONS, TRUTH = "birthplaces_observations.jsonl", "birthplaces_truth.jsonl"
RECORDED_AT = parse_instant("2026-01-01T00:00:00Z")  # after every observation of the file
QUICK_PEOPLE = 500

Method = Callable[[Sequence[Statement]], str | None]
"""From all statements about one person to the one value held for true, as it is shown."""


def run(options: Options) -> list[Figure]:
    """Print the share of people for whom each method is right; then what weights do on drawn sources."""
    lines, truths = real_input(OBSERVATIONS), real_input(TRUTH)
    if lines is None or truths is None:
        leave_out(missing(OBSERVATIONS if lines is None else TRUTH))
        return drawn_sources(quick=options.quick)
    said = statements_by_subject(lines)
    methods = {**METHODS, **trusting(lines, said)}
    people = [json.loads(line) for line in truths][: QUICK_PEOPLE if options.quick else None]
    right: Counter[str] = Counter()
    for person in people:
        statements = said.get(normalise(person["subject"]), [])
        expected = normalise(person["object"].partition(",")[0])
        for name, method in methods.items():
            right[name] += normalise(method(statements) or "") == expected
    n = len(people)
    figures = [
        Figure(f"birthplaces/{name}", n, more={"right_percent": 100 * right[name] / n}) for name in methods
    ]
    rows = [(name, f"{right[name]:,}", f"{n:,}", f"{100 * right[name] / n:.2f} %") for name in methods]
    show("Birth places: exact match with the first part of the truth", ("", "right", "of", "share"), rows)
    return [*figures, *drawn_sources(quick=options.quick)]


def statements_by_subject(lines: Sequence[bytes]) -> dict[str, list[Statement]]:
    """The statements of a file by the normal form of their subject."""
    found: dict[str, list[Statement]] = {}
    for line in lines:
        usable = read(line, recorded_at=RECORDED_AT)
        assert isinstance(usable, Observation), "the file holds observations only"
        found.setdefault(usable.subject, []).append(usable.statement)
    return found


def trusting(lines: Sequence[bytes], said: Mapping[str, Sequence[Statement]]) -> dict[str, Method]:
    """Our fold with learnt weights (docs/trust.md): all statements at once, and the host as they come."""
    as_it_came, weighed_again = arrived(lines)
    return {
        "trust learned, from all statements": folded(
            Predicate("born_in", change="never"), learnt(said.values())
        ),
        "trust learned, as they come": held_by_host(as_it_came),
        "trust learned, weighed again": held_by_host(weighed_again),
    }


def held_by_host(held: Held) -> Method:
    """What the embedded host holds of the person that the statements are about."""

    def method(statements: Sequence[Statement]) -> str | None:
        return held.get(normalise(statements[0].subject)) if statements else None

    return method


def folded(predicate: Predicate, policy: Policy | None = None) -> Method:
    """What our fold holds at the end of the evidence: the object of the fact that is open then."""
    policy = policy or Policy()
    about = About(claim_id("birthplaces", "", predicate.name), "birthplaces", declared=True)

    def method(statements: Sequence[Statement]) -> str | None:
        episodes = fold(statements, predicate, policy, {}).episodes
        still_open = [episode for episode in episodes if episode.hi is None]
        return as_text(build(about, still_open[-1]).object) if still_open else None

    return method


def plain_majority(statements: Sequence[Statement]) -> str | None:
    """The value that most observations state, by normal form; ties go to the smallest normal form."""
    counts = Counter(normalise(as_text(statement.spelling)) for statement in statements)
    return min(counts, key=lambda value: (-counts[value], value), default=None)


def competing(competitor: competitors.Method) -> Method:
    """What one of the competitors of `benchmarks answers` holds at the end; the file is one batch."""

    def method(statements: Sequence[Statement]) -> str | None:
        heard = [
            Heard(n, 0, s.form, s.affirmed, s.effective_at, s.observed_at, s.valid_to)
            for n, s in enumerate(statements)
        ]
        spelled = {s.form: as_text(s.spelling) for s in reversed(statements)}
        return next((spelled[span.form] for span in competitor(heard) if span.hi is None), None)

    return method


METHODS: dict[str, Method] = {
    "the fold, single": folded(Predicate("born_in")),
    "plain majority": plain_majority,
    "change = never": folded(Predicate("born_in", change="never")),
    **{name: competing(competitor) for name, competitor in competitors.METHODS.items()},
}
