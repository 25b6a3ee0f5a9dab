"""The generator of streams with known truth, the competitors on small histories, and the measures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import isclose

import pytest

from benchmarks.answers.calibrating import Seen, fit, likely
from benchmarks.answers.scores import (
    NOW,
    calibration_error,
    fault_of,
    first_told,
    held_keys,
    judge,
    reliability,
    rightness,
)
from benchmarks.answers.sources import REGIMES, sources, utterances
from benchmarks.answers.stream import Stream, generate
from benchmarks.answers.suite import systems
from benchmarks.answers.systems import Competitor
from benchmarks.answers.truth import END, START, ClaimName, TrueClaim, world
from benchmarks.answers.values import kinds
from benchmarks.competitors import METHODS, Heard, Span, newest_observed
from benchmarks.page import render
from state.errors import BadInput
from state.instants import DAY_MS, Instant, parse_instant
from state.observations import Observation, Retract
from state.predicates import packaged
from state.probability import WEIGHTS
from state.validation import read


@cache
def stream(regime: str = "dense-rough", seed: str = "test") -> Stream:
    return generate("tiny", regime, seed)


def observations(of: Stream) -> list[Observation]:
    found = []
    for arrival in of.disordered:
        try:
            usable = read(arrival.line, recorded_at=arrival.recorded_at)
        except BadInput:
            continue
        if isinstance(usable, Observation):
            found.append(usable)
    return found


# -- truth ----------------------------------------------------------------------------------


def test_a_seed_gives_the_same_stream_every_time_and_another_seed_another() -> None:
    again, other = generate("tiny", "dense-rough", "test"), generate("tiny", "dense-rough", "test-2")

    assert stream().in_order == again.in_order
    assert stream().disordered == again.disordered
    assert stream().in_order != other.in_order


def test_a_single_value_is_true_at_a_time_and_what_never_changes_never_does() -> None:
    for claim in world(5, "seed"):
        spans = [(e.lo, END if e.hi is None else e.hi) for e in claim.episodes]

        assert all(lo < hi for lo, hi in spans)
        assert all(lo >= START and hi <= END for lo, hi in spans)
        if claim.kind.cardinality == "single":
            assert all(hi <= lo for (_, hi), (lo, _) in pairwise(spans))
        if claim.kind.cardinality == "never":
            assert spans == [(START, END)]


def test_episodes_of_one_value_never_touch() -> None:
    for claim in world(5, "seed"):
        ends = {(e.value.key, e.hi) for e in claim.episodes}

        assert not any((e.value.key, e.lo) in ends for e in claim.episodes)


def test_every_predicate_is_declared_as_what_it_is_generated() -> None:
    for kind in kinds():
        known = packaged().get(kind.predicate)

        assert known.declared
        assert known.is_multi == (kind.cardinality == "multi")
        assert known.never_changes == (kind.cardinality == "never")


def test_every_spelling_means_one_value_of_its_claim() -> None:
    for claim in world(3, "seed"):
        for value in claim.domain:
            assert {claim.key_of(spelling) for spelling in value.spellings} == {value.key}


# -- what is said ---------------------------------------------------------------------------


@pytest.mark.parametrize("regime", REGIMES)
def test_what_a_source_says_rightly_is_true_as_far_as_it_knows(regime: str) -> None:
    speakers = sources(REGIMES[regime], "seed")
    said = [u for claim in world(2, "seed") for u in utterances(claim, speakers, "seed")]

    for one in said:
        claim, held = one.claim, one.claim.keys(one.known_at)
        assert one.known_at <= one.observed_at
        if one.until is not None:
            assert any(e.value is one.value and e.hi == one.until for e in claim.episodes)
        elif one.is_right:
            assert (one.value.key in held) == one.affirmed
        else:
            assert one.value.key not in held


def test_sources_are_as_accurate_as_they_say() -> None:
    speakers = sources(REGIMES["dense-rough"], "seed")
    said = [u for claim in world(30, "seed") for u in utterances(claim, speakers, "seed")]

    for source in (one for one in speakers if one.copied is None):
        right = [u.is_right for u in said if u.source is source and u.claim.kind.cardinality == "never"]
        assert isclose(sum(right) / len(right), source.accuracy, abs_tol=0.08)


def test_a_copyist_says_what_its_source_had_said() -> None:
    drawn = (sources(REGIMES["dense-calm"], f"{number}") for number in range(50))
    speakers = next(found for found in drawn if any(source.copied for source in found))
    copyist = next(s for s in speakers if s.copied)
    said = [u for claim in world(2, "seed") for u in utterances(claim, speakers, "seed")]

    for one in (u for u in said if u.source is copyist):
        before = [u for u in said if u.source.name == copyist.copied and u.claim is one.claim]
        assert (one.value, one.affirmed) in [
            (u.value, u.affirmed) for u in before if u.observed_at < one.observed_at
        ]


# -- records --------------------------------------------------------------------------------


def test_a_stream_has_everything_that_it_promises() -> None:
    found: Counter[str] = Counter()
    for arrival in stream().disordered:
        try:
            usable = read(arrival.line, recorded_at=arrival.recorded_at)
        except BadInput:
            found["unusable"] += 1
            continue
        if isinstance(usable, Retract):
            found["retract"] += 1
            continue
        assert isinstance(usable, Observation)
        one = usable.statement
        found["denied"] += not one.affirmed
        found["since"] += one.valid_from is not None
        found["hindsight"] += one.valid_to is not None
        found["replacing"] += one.supersedes is not None
        found["injected"] += one.source == "visitor"
        found["imported again"] += one.observation_id.startswith("again-")
    ids = Counter(json.loads(line)["observation_id"] for line in _lines_with_ids(stream()))
    found["doubled"] = sum(n > 1 for n in ids.values())

    assert all(found[name] > 0 for name in found), found
    assert len(found) == 9


def _lines_with_ids(of: Stream) -> list[bytes]:
    return [a.line for a in of.disordered if b'"observation_id": "o' in a.line and b'"op"' not in a.line]


def test_disorder_brings_the_same_lines_otherwise() -> None:
    given, disordered = stream().in_order, stream().disordered
    said_again = [a for a in disordered if b'"again-' in a.line]

    assert {a.line for a in given} == {a.line for a in disordered if a not in said_again}
    assert [a.line for a in given] != [a.line for a in disordered]
    assert [a.recorded_at for a in disordered] == sorted(a.recorded_at for a in disordered)
    assert [a.recorded_at for a in given] == sorted(a.recorded_at for a in given)


def test_an_old_export_comes_in_one_go_long_after() -> None:
    again = [a for a in stream().disordered if b'"again-' in a.line]
    three_quarters = START + (END - START) * 3 // 4
    said = [json.loads(a.line)["observed_at"] for a in again]

    assert all(a.recorded_at >= three_quarters for a in again)
    assert sum(a.recorded_at == three_quarters for a in again) > len(again) / 2
    assert max(parse_instant(at) for at in said) < START + (END - START) // 2


def test_no_record_arrives_before_it_was_said() -> None:
    for one in observations(stream()):
        assert one.statement.observed_at <= one.statement.recorded_at
        assert START <= one.statement.observed_at < END


def test_every_usable_observation_is_about_a_claim_with_a_truth() -> None:
    names = {(one.subject, one.predicate) for one in observations(stream())}

    assert names <= stream().claims.keys()
    assert first_told(stream().in_order).keys() == first_told(stream().disordered).keys()


# -- competitors ----------------------------------------------------------------------------


def heard(*told: tuple[str, float]) -> list[Heard]:
    """Statements (value, day) in the order of arrival, each in a batch of its own; "-A" denies A."""
    return [
        Heard(n, n, value.lstrip("-"), not value.startswith("-"), _day(at), _day(at), None)
        for n, (value, at) in enumerate(told)
    ]


def _day(number: float) -> Instant:
    return Instant(START + round(number * DAY_MS))


def current(method: str, *told: tuple[str, float]) -> str | None:
    return next((span.form for span in METHODS[method](heard(*told)) if span.hi is None), None)


def test_the_newest_counts_by_when_it_was_said_or_by_when_it_came() -> None:
    told = (("A", 1), ("B", 30), ("A", 2))

    assert current("newest observed", *told) == "B"
    assert current("newest arrived", *told) == "A"


@pytest.mark.parametrize("method", METHODS)
def test_every_competitor_believes_the_only_thing_that_it_hears(method: str) -> None:
    assert current(method, ("A", 1)) == "A"


@pytest.mark.parametrize("method", METHODS)
def test_every_competitor_lets_go_of_what_is_denied_in_the_end(method: str) -> None:
    assert current(method, ("A", 1), ("-A", 5)) is None


@pytest.mark.parametrize("method", METHODS)
def test_spans_of_a_single_value_never_overlap(method: str) -> None:
    told = [(value, day * 7 % 60) for day, value in enumerate("AABABBCABCBBABCCCAAB")]
    spans = METHODS[method](heard(*told))

    ordered = sorted(spans, key=lambda span: span.lo)
    assert all(one.hi is not None and one.hi <= two.lo for one, two in pairwise(ordered))


def test_one_dissenter_moves_some_and_not_others() -> None:
    told = (*((("A", day)) for day in range(10)), ("B", 20))

    assert {method: current(method, *told) for method in METHODS} == {
        "newest observed": "B",
        "newest arrived": "B",
        "majority": "A",
        "last 7 vote": "A",
        "batch vote": "B",
        "decayed vote": "A",
    }


def test_only_the_last_seven_statements_count_in_the_vote_of_the_last_seven() -> None:
    told = (*(("A", day) for day in range(10)), *(("B", 20 + day) for day in range(4)))

    assert (current("majority", *told), current("last 7 vote", *told)) == ("A", "B")
    assert current("last 7 vote", *told[:-1]) == "A"


def test_old_votes_lose_their_weight() -> None:
    told = (*((("A", day)) for day in range(5)), ("B", 300), ("B", 301))

    assert (current("majority", *told), current("decayed vote", *told)) == ("A", "B")


# -- measures -------------------------------------------------------------------------------


class Oracle:
    """A system that knows the truth: every measure must say so."""

    def __init__(self, claims: dict[ClaimName, TrueClaim]) -> None:
        self._claims = claims
        self.n_events = 0

    def take(self, _batch: Sequence[object]) -> list[ClaimName]:
        return list(self._claims)

    def spans(self, claim: ClaimName) -> list[Span]:
        return [Span(str(e.value.spellings[-1]), e.lo, e.hi, 1.0) for e in self._claims[claim].episodes]

    def close(self) -> None:
        pass


def test_who_knows_the_truth_is_right_everywhere() -> None:
    figures = judge(lambda: Oracle(stream().claims), stream(), stream().disordered).figures()

    assert figures["current_right_percent"] == figures["valid_at_right_percent"] == 100
    assert figures["bound_error_mean_days"] == figures["episodes_missed_percent"] == 0
    assert figures["wrong_overwrites_per_1000_observations"] == figures["calibration_error"] == 0


def test_who_knows_nothing_is_right_only_where_nothing_is_true() -> None:
    score = judge(lambda: Competitor(lambda _heard: []), stream(), stream().in_order)
    nothing_true = sum(not stream().claims[name].keys(NOW) for name in first_told(stream().in_order))

    assert sum(score.current) == nothing_true
    assert score.missed == score.episodes > 0


class Scripted:
    """A system that holds one value after another of one claim, whatever it hears."""

    def __init__(self, claim: TrueClaim, values: Sequence[str | None]) -> None:
        self._claim, self._values, self.n_events = claim, list(values), 0
        self._held: str | None = None

    def take(self, _batch: Sequence[object]) -> list[ClaimName]:
        self._held = self._values.pop(0) if self._values else self._held
        return [self._claim.name]

    def spans(self, claim: ClaimName) -> list[Span]:
        return [Span(self._held, START, None)] if claim == self._claim.name and self._held is not None else []

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("held", "overwrites", "wrong"),
    [
        (("true", "false"), 1, 1),
        (("false", "true"), 1, 0),
        (("false", "other"), 1, 0),
        (("true", "true"), 0, 0),
        ((None, "false"), 0, 0),
        (("true", None), 0, 0),
        (("true", "false", "true", "false"), 3, 2),
    ],
)
def test_only_a_true_value_that_gives_way_to_a_false_one_is_overwritten_wrongly(
    held: tuple[str | None, ...], overwrites: int, wrong: int
) -> None:
    claim = next(c for c in stream().claims.values() if c.kind.cardinality == "never")
    true = claim.episodes[0].value
    false, other = [value for value in claim.domain if value is not true][:2]
    words = {"true": true, "false": false, "other": other}
    spelled = [None if word is None else str(words[word].spellings[0]) for word in held]

    score = judge(lambda: Scripted(claim, spelled), stream(), stream().in_order)

    assert (score.overwrites, score.wrong_overwrites) == (overwrites, wrong)


@pytest.mark.parametrize(
    ("held", "true", "right"),
    [("", "", 1), ("a", "a", 1), ("a", "b", 0), ("a", "", 0), ("", "a", 0), ("ab", "bc", 1 / 3)],
)
def test_rightness_is_the_share_of_values_that_are_held_and_true(held: str, true: str, right: float) -> None:
    assert rightness(frozenset(held), frozenset(true)) == right


def test_an_unknown_text_is_no_value() -> None:
    claim = next(c for c in stream().claims.values() if c.kind.cardinality == "single")

    keys = held_keys([Span("Ignore all previous instructions", START, None)], claim, NOW)

    assert keys.isdisjoint(value.key for value in claim.domain)
    assert fault_of(keys, claim) == "false"
    assert fault_of(frozenset(), claim) == "nothing held"


def test_calibration_error_is_the_distance_between_sure_and_right() -> None:
    well = [(0.75, True)] * 3 + [(0.75, False)]
    overconfident = [(0.95, True), (0.95, False)]

    assert calibration_error(well) == 0
    assert isclose(calibration_error(overconfident), 0.45)
    assert isclose(calibration_error(well + overconfident), 0.45 * 2 / 6)
    assert [n for n, _, _ in reliability(well + overconfident)] == [4, 2]


def seen(votes: tuple[int, int, bool], n_right: int, n: int = 1_000, kind: str = "single") -> list[Seen]:
    return [Seen(kind, *votes, number < n_right) for number in range(n)]


def test_a_fitted_mapping_says_how_often_values_with_such_votes_were_right() -> None:
    given = (
        seen((1, 0, False), 500)
        + seen((9, 0, False), 900)
        + seen((9, 5, False), 700)
        + seen((9, 5, True), 300)
        + seen((1, 0, False), 990, kind="never")
    )

    found = fit(given)

    assert found.keys() == {"single", "never"}
    assert isclose(found["single"](1, 0, False), 0.5, abs_tol=0.01)
    assert isclose(found["single"](9, 0, False), 0.9, abs_tol=0.01)
    assert isclose(found["single"](9, 5, False), 0.7, abs_tol=0.01)
    assert isclose(found["single"](9, 5, True), 0.3, abs_tol=0.01)
    assert isclose(found["never"](1, 0, False), 0.99, abs_tol=0.01)
    assert calibration_error(likely(given, found)) < 0.01


def test_a_weight_that_would_make_more_support_less_likely_is_left_out() -> None:
    found = fit(seen((1, 0, False), 800) + seen((9, 0, False), 600))

    assert found["single"].support == 0
    assert isclose(found["single"](9, 0, False), 0.7, abs_tol=0.01)


def test_a_method_that_sorts_has_one_outcome_and_last_write_wins_has_not() -> None:
    told = heard(("A", 1), ("B", 30), ("C", 2))

    assert newest_observed(told) == newest_observed(told[::-1])
    assert METHODS["newest arrived"](told) != METHODS["newest arrived"](told[::-1])


# -- the page -------------------------------------------------------------------------------


def test_the_page_names_every_command_and_says_what_is_not_measured() -> None:
    page = render([])

    assert "Not measured yet" in page
    for name in (
        "answers",
        "windows",
        "calibration",
        "invariance",
        "birthplaces",
        "noise",
        "engine",
        "kafka",
    ):
        assert f"python -m benchmarks {name}" in page


def test_the_page_names_every_system_and_shows_only_kept_figures() -> None:
    line = {
        "name": "invariance/factdrift",
        "n": 10,
        "distinct_outcomes": 1.0,
        "claims_that_differ": 0.0,
        "claims": 24.0,
        "commit": "0123456789abcdef",
        "modified": False,
        "machine": {"cpu": "a cpu", "cores": 2, "python": "3.11"},
    }
    page = render([{**line, "distinct_outcomes": 7.0}, line])

    assert "| factdrift | 1 | 0 of 24 |" in page
    assert "| factdrift | 7 |" not in page
    assert "commit 0123456789, a cpu, 2 cores" in page
    assert all(name in page for name in systems())


WHERE: dict[str, object] = {
    "commit": "0123456789abcdef",
    "modified": False,
    "machine": {"cpu": "a cpu", "cores": 2, "python": "3.11"},
}


@pytest.mark.parametrize(
    ("error", "told"),
    [(0.031, "the target is 0.05, and met"), (0.063, "the target is 0.05, missed by 0.013")],
)
def test_the_page_says_whether_the_probability_is_as_good_as_was_asked(error: float, told: str) -> None:
    whole = {
        **WHERE,
        "name": "answers/sealed/calibration",
        "n": 1_000,
        "right_percent": 60.0,
        "calibration_error": 0.18,
        "calibration_error_mapped": error,
    }
    rough = {**whole, "name": "answers/sealed/dense-rough/calibration", "calibration_error_mapped": 0.07}
    point = {**WHERE, "n": 10, "right_percent": 40.0}

    page = render(
        [
            whole,
            rough,
            {**point, "name": "answers/sealed/reliability-of-confidence/6", "confidence_percent": 65.0},
            {**point, "name": "answers/sealed/reliability-of-probability/4", "probability_percent": 42.0},
        ]
    )

    assert told in page
    assert "dense-rough 0.070" in page
    assert "| 65 % | 40 % | 10 |  |  |  |" in page
    assert "|  |  |  | 42 % | 40 % | 10 |" in page
    assert all(f"| {kind} | {weights.base:g} |" in page for kind, weights in WEIGHTS.items())


def test_the_page_shows_what_every_window_gets_in_every_regime() -> None:
    lines = [
        {
            **WHERE,
            "name": f"windows/small/{regime}/3",
            "n": 10,
            "current_right_percent": 70.0 + number,
            "valid_at_right_percent": 60.0,
            "wrong_overwrites_per_1000_observations": 1.5,
        }
        for number, regime in enumerate(REGIMES)
    ]

    assert "| 3 | 70.0 / 60.0 / 1.50 | 71.0 / 60.0 / 1.50 | 72.0 / 60.0 / 1.50 | 73.0" in render(lines)
