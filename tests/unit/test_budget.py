"""What may still be asked within a budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from state.budget import Budget, Spent, reserve, settle


def test_without_bounds_everything_fits() -> None:
    spent: Spent | None = Spent()
    for _ in range(3):
        assert spent is not None
        spent = reserve(Budget(None, None, 1.0), spent, tokens=10**9, now=0.0)

    assert spent is not None
    assert (spent.calls, spent.tokens) == (3, 3 * 10**9)


def test_nothing_fits_into_a_budget_of_nothing() -> None:
    assert reserve(Budget(0, None, 1.0), Spent(), tokens=0, now=0.0) is None
    assert reserve(Budget(None, 0, 1.0), Spent(), tokens=1, now=0.0) is None


def test_a_span_begins_with_its_first_question() -> None:
    budget = Budget(1, None, 60.0)
    first = reserve(budget, Spent(), tokens=0, now=100.0)

    assert first is not None
    assert reserve(budget, first, tokens=0, now=159.9) is None
    assert reserve(budget, first, tokens=0, now=160.0) == Spent(1, 0, 160.0)


def test_what_was_asked_in_an_earlier_span_is_not_settled_in_this_one() -> None:
    now = Spent(calls=1, tokens=50, began_at=160.0)

    assert settle(now, began_at=100.0, reserved=40, used=10) == now
    assert settle(now, began_at=160.0, reserved=40, used=10) == Spent(1, 20, 160.0)


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1)), max_size=40), st.integers(0, 200))
def test_what_is_used_never_exceeds_the_budget_where_reservations_are_enough(
    questions: list[tuple[int, float]], tokens_max: int
) -> None:
    spent, used = Spent(), 0
    for reserved, share in questions:
        found = reserve(Budget(None, tokens_max, 1.0), spent, tokens=reserved, now=0.0)
        if found is not None:
            cost = int(reserved * share)
            used += cost
            spent = settle(found, began_at=found.began_at, reserved=reserved, used=cost)

    assert used == spent.tokens <= tokens_max
