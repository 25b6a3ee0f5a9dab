"""What retirements look like taken together, and what a person is told to do."""

from __future__ import annotations

import pytest

from state.drift_causes import AlertKind, Cause, Pattern, advice, looks_like
from state.identity import ClaimId


def cause(form: str, *, claim: str = "c", dissent: int = 0, predicate: str = "lives_in") -> Cause:
    return Cause(ClaimId(claim), predicate, form, form, "outvoted", None, 1, dissent)


def causes(forms: str, *, n_disputed: int = 0) -> list[Cause]:
    """One retirement for each letter, which is its value; the first `n_disputed` had votes against them."""
    return [cause(form, dissent=int(number < n_disputed)) for number, form in enumerate(forms)]


@pytest.mark.parametrize(
    ("forms", "n_disputed", "pattern"),
    [
        ("", 0, None),
        ("a", 0, Pattern.MOVE),
        ("abcde", 0, Pattern.MOVE),
        ("abcde", 2, Pattern.MOVE),
        ("abcde", 3, Pattern.DISAGREEMENT),
        ("abcd", 2, Pattern.DISAGREEMENT),
        ("ababa", 0, Pattern.FLAPPING),
        ("ababa", 5, Pattern.FLAPPING),
        ("abcdea", 0, Pattern.MOVE),
        ("abcdab", 0, Pattern.FLAPPING),
        ("aaa", 0, Pattern.FLAPPING),
    ],
)
def test_a_pattern_is_a_third_of_returns_then_half_of_disputes_then_a_move(
    forms: str, n_disputed: int, pattern: Pattern | None
) -> None:
    assert looks_like(causes(forms, n_disputed=n_disputed)) is pattern


def test_the_same_value_in_two_claims_has_not_come_back() -> None:
    assert looks_like([cause("yes", claim=str(number)) for number in range(5)]) is Pattern.MOVE


def test_each_pattern_has_advice_of_its_own() -> None:
    found = {advice(AlertKind.UNSTABLE, causes(*given)) for given in [("ababa",), ("abcde",)]} | {
        advice(AlertKind.UNSTABLE, causes("abcde", n_disputed=5))
    }

    assert len(found) == 3
    assert None not in found


def test_churning_names_the_predicates_to_declare() -> None:
    told = advice(AlertKind.CHURNING, [cause("a", predicate="mood"), cause("b", predicate="agenda")])

    assert told is not None
    assert told.startswith("Declare agenda, mood in a predicate file (FACTDRIFT_PREDICATES)")


@pytest.mark.parametrize("kind", [AlertKind.STABLE, AlertKind.SETTLED])
def test_whoever_has_come_to_rest_needs_no_advice(kind: AlertKind) -> None:
    assert advice(kind, []) is None
