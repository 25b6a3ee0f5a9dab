"""Laws of typed objects and of the guards, over arbitrary text and over text that looks like values."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from state.errors import BadInput
from state.guards import forbids
from state.names import normalise
from state.objects import Kind, TypedObject, date_contains, numbers_within, type_object

GUARDS = frozenset(
    ("number", "date", "boolean", "kind", "script", "symbol", "version", "identifier", "negation", "antonym",
     "alternative", "word", "name", "qualifier", "direction", "order")
)  # fmt: skip

PIECES = (
    "5", "1,000", "007", "2023", "2023-05", "2023-05-08", "8 May 2023", "May", "October 15th", "Q2", "1990s",
    "kg", "g", "lb", "°C", "%", "$", "€", "USD", "million", "years", "-", "+", ".", ",", "(", ")", "'", '"',
    "/", "v1.2.3", "UA123", "UA", "room 12A", "iPhone", "not", "no", "never", "non-", "-free", "n't", "can't",
    "only", "likes", "dislikes", "dogs", "cats", "married", "single", "Monday", "red", "blue", "from", "to",
    "than", "Paris", "Texas", "TX", "New", "York", "City", "Lake", "University of", "Guinea-Bissau", "Guinea",
    "Java", "JavaScript", "Inc.", "Dr.", "former", "north", "one", "two", "twenty", "first", "hundred", "C#",
    "farm", "farmer", "farmers", "homeless", "teaching", "teacher", "Luis", "Luisa", "Mario", "Maria", "Jr.",
    "kein", "nie", "her", "his", "trusts", "doctor", "is",
    "C++", ".NET", "A*", "A", "東京", "北", "Москва", "β", "😀", "😢", "²", "½", "①", "٣", "é", "e\u0301",
    "\u200b", "\x00", "’",
)  # fmt: skip
value_like = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).flatmap(
    lambda parts: st.sampled_from(["", " ", ", "]).map(lambda joint: joint.join(parts))
)
texts = st.one_of(value_like, st.text(max_size=40))
objects = st.one_of(texts, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())


def typed_or_none(original: str | float) -> TypedObject | None:
    try:
        return type_object(original)
    except BadInput:
        return None


typed = objects.map(typed_or_none).filter(lambda found: found is not None)


@given(objects)
@example("\ud800")
@example("5\x00kg")
@example("1e99")
@example("9999-12-31T24:00:00Z")
def test_typing_either_succeeds_or_says_that_the_object_is_blank(original: str | float) -> None:
    if isinstance(original, str) and normalise(original) == "":
        with pytest.raises(BadInput) as refused:
            type_object(original)
        assert refused.value.code == "blank_object"
        return

    found = type_object(original)

    assert found.text != ""
    assert found.key.startswith(f"{found.kind.value[0]}:")


def test_each_kind_has_a_letter_of_its_own() -> None:
    assert len({kind.value[0] for kind in Kind}) == len(Kind)


@given(texts, st.sampled_from(["{}", " {} ", "{}.", "“{}”", "\ufeff{}"]))
def test_the_value_does_not_depend_on_what_normalising_removes(text: str, wrapping: str) -> None:
    found = typed_or_none(text)
    assume(found is not None)
    assert found is not None

    wrapped = type_object(wrapping.format(text))

    assert (wrapped.key, wrapped.text, wrapped.spelling) == (found.key, found.text, found.spelling)


@given(texts)
def test_text_and_identifiers_are_equal_by_their_normal_form_alone(text: str) -> None:
    found = typed_or_none(text)
    assume(found is not None and found.kind in (Kind.TEXT, Kind.IDENTIFIER))
    assert found is not None

    assert found.key == f"{found.kind.value[0]}:{normalise(text)}"


@given(st.integers())
def test_an_integer_and_its_spellings_are_one_value(number: int) -> None:
    assume(abs(number) < 10**50)

    keys = {
        type_object(form).key for form in (number, str(number), f"{number:,}", f"{number}.0", f" {number}. ")
    }

    assert keys == {f"n:{number}"}


@given(st.integers(), st.integers())
def test_different_integers_are_different_values(a: int, b: int) -> None:
    assume(a != b)

    assert type_object(a).key != type_object(b).key
    assert forbids(type_object(a), type_object(b)) == "number"


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(124999999999999.5)
def test_a_float_keeps_its_value_to_fifteen_digits(number: float) -> None:
    key, written = type_object(number).key, Fraction(repr(number))

    assert abs(Fraction(key[2:]) - written) <= abs(written) / 10**14


@given(st.decimals(min_value="0.001", max_value=10**6, places=3))
def test_a_quantity_is_the_same_in_every_unit_of_its_dimension(amount: Decimal) -> None:
    assert type_object(f"{amount} kg").key == type_object(f"{amount * 1000} g").key
    assert type_object(f"{amount} km").key == type_object(f"{amount * 1000:,} metres").key
    assert type_object(f"{amount} min").key == type_object(f"{amount * 60} s").key


@given(st.decimals(min_value=1, max_value=10**6, places=3), st.sampled_from(["", " kg", " °F", "%", " USD"]))
def test_quantities_further_apart_than_a_billionth_differ(amount: Decimal, unit: str) -> None:
    # In kelvin the step is smaller, since the scale begins lower.
    other = amount * Decimal("1.00000002") + (Decimal("0.00001") if "°" in unit else 0)

    assert type_object(f"{amount}{unit}").key != type_object(f"{other}{unit}").key


@given(st.dates())
def test_a_day_is_one_value_in_every_form(day: date) -> None:
    forms = (day.isoformat(), f"{day.day} {day:%B} {day.year:04d}", f"{day:%b} {day.day}, {day.year:04d}")

    assert len({type_object(form).key for form in forms}) == 1


@given(st.dates())
def test_every_day_lies_in_its_month_its_quarter_and_its_yearless_day(day: date) -> None:
    fine = type_object(day.isoformat())
    quarter = (day.month + 2) // 3
    coarse = [f"{day:%B} {day.year:04d}", f"{day.year:04d}-Q{quarter}", f"{day:%B} {day.day}"]

    assert all(date_contains(type_object(form), fine) for form in coarse)
    assert all(forbids(type_object(form), fine) is None for form in coarse)


@given(typed, typed)
def test_containment_is_never_mutual_and_never_of_equals(a: TypedObject, b: TypedObject) -> None:
    assert not date_contains(a, a)
    assert not (date_contains(a, b) and date_contains(b, a))


@given(typed, typed, st.floats(min_value=0, max_value=1))
def test_tolerance_is_symmetric_and_holds_for_every_number_and_itself(
    a: TypedObject, b: TypedObject, tolerance: float
) -> None:
    assert numbers_within(a, a, tolerance=tolerance) is (a.kind is Kind.NUMBER)
    assert numbers_within(a, b, tolerance=tolerance) is numbers_within(b, a, tolerance=tolerance)


@given(typed, typed)
def test_the_guards_are_symmetric_and_have_a_name(a: TypedObject, b: TypedObject) -> None:
    guard = forbids(a, b)

    assert guard == forbids(b, a)
    assert guard is None or guard in GUARDS


@given(typed)
def test_nothing_is_forbidden_to_be_itself(a: TypedObject) -> None:
    assert forbids(a, a) is None


@given(texts, st.sampled_from([str.upper, str.title, str.lower, "({})".format, "“{}”".format]))
def test_equal_keys_are_never_forbidden(text: str, respell: Callable[[str], str]) -> None:
    a, b = typed_or_none(text), typed_or_none(respell(text))
    assume(a is not None and b is not None and a.key == b.key)
    assert a is not None
    assert b is not None

    assert forbids(a, b) is None


@given(typed, typed)
def test_two_kinds_meet_only_where_a_vector_or_a_year_can_decide(a: TypedObject, b: TypedObject) -> None:
    assume(a.kind is not b.kind)

    textual = {Kind.TEXT, Kind.IDENTIFIER}
    if forbids(a, b) is None:
        assert {a.kind, b.kind} == textual or date_contains(a, b) or date_contains(b, a)


@given(
    st.text(alphabet="北京上海東都", min_size=1, max_size=3),
    st.text(alphabet="北京上海東都", min_size=1, max_size=3),
)
def test_words_of_an_unknown_script_never_meet(a: str, b: str) -> None:
    assume(a != b)

    assert forbids(type_object(a), type_object(b)) == "script"
