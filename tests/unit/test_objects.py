"""Spellings and the typed value each has, in tables (CASES F08-F10, F14-F16, F43)."""

import subprocess
import sys
from fractions import Fraction
from itertools import combinations

import pytest

from state.errors import BadInput
from state.instants import Granularity, Moment
from state.objects import Kind, Quantity, YearlessDay, date_contains, numbers_within, type_object
from state.units import money_before, unit_of

EQUAL = [
    ("5 kg", "5000 g"),
    ("5 kg", "5kg"),
    ("5 kg", "５ ＫＧ"),
    ("5 kg", "(5 kilograms)."),
    ("1,000", 1000),
    ("1,000", "1000.0"),
    ("1,000", 1000.0),
    ("1,234,567.5", 1234567.5),
    (".5", "0.50"),
    ("+5", 5),
    ("−5", -5),
    ("-0", 0),
    ("٢٠٢٣", "2023"),
    ("5 million", 5_000_000),
    ("1e-5", 0.00001),
    (0.1 + 0.2, 0.3),
    ("$5", "5 USD"),
    ("$5", "5 dollars"),
    ("US$5", "USD 5.00"),
    ("€1,000", "1000 EUR"),
    ("€1,000", "1,000.00 €"),
    ("-$5", "$-5"),
    ("$1.5M", "1,500,000 USD"),
    ("$5k", "5,000 dollars"),
    ("5 million dollars", "$5 million"),
    ("$5 CAD", "5 CAD"),
    ("50%", "50 percent"),
    ("-5 °C", "−5 ℃"),
    ("-5 °C", "-5 degrees Celsius"),
    ("-5 °C", "23 °F"),
    ("5 ºC", "5 °C"),
    ("100 °F", "37.7777777778 °C"),
    ("30 years", "30 years old"),
    ("30 years", "30-year-old"),
    ("30 years", "360 months"),
    ("2 weeks", "14 days"),
    ("1 mile", "1.609344 km"),
    ("100 km/h", "100 kilometres per hour"),
    ("5 m²", "5 square metres"),
    ("20 sq. ft", "20 square feet"),
    ("1 GiB", "1024 MiB"),
    ("8 Mb", "1 MB"),
    ("1.5 L", "1500 ml"),
    ("2 kWh", "2000 Wh"),
    ("8 May 2023", "2023-05-08"),
    ("8 May 2023", "May 8, 2023"),
    ("8 May 2023", "May 8th, 2023"),
    ("8 May 2023", "the 8th of May 2023"),
    ("8 May 2023", "on Monday, 8 May 2023"),
    ("8 May 2023", "8-May-2023"),
    ("8 May 2023", "2023/05/08"),
    ("8 May 2023", "“8 MAY 2023”."),
    ("Oct. 15", "October 15th"),
    ("15 October", "the 15th of October"),
    ("May 2023", "2023-05"),
    ("May, 2023", "in May 2023"),
    ("Q2 2023", "2023-Q2"),
    ("1990s", "the 1990s"),
    ("2023-05-08T13:56:00Z", "2023-05-08T15:56:00+02:00"),
    ("2023-05-08 13:56", "2023-05-08T13:56Z"),
    (True, "true"),
    (False, "FALSE."),
    ("Straße", "STRASSE"),
    ("v1.2.3", "V1.2.3."),
]

NEVER_EQUAL = [
    ("5 kg", "11.02 lb"),
    ("5 kg", "5"),
    ("5 kg", "5 km"),
    ("-5 °C", "5 °C"),
    ("5 °C", "5 °F"),
    ("5 °C", "5 degrees"),
    ("30 years", "31 years"),
    ("30 years", "30"),
    ("50%", "50"),
    ("50%", "0.5"),
    ("$5", "€5"),
    ("$5", "5"),
    ("5 GB", "5 GiB"),
    ("5 Mb", "5 MB"),
    ("5 mW", "5 MW"),
    ("1000000001", "1000000002"),
    ("12345678901.23 USD", "12345678901.24 USD"),
    ("100000000000000000001", "100000000000000000002"),
    ("10²", "102"),
    ("2½", "21/2"),
    ("①", "1"),
    ("007", "7"),
    ("02139", "2139"),
    ("10-12", "10"),
    ("1.000,5", "1000.5"),
    ("1e5", "100000"),
    ("5'", '5"'),
    ("2023-05-08", "2023-05-09"),
    ("2023-05-08", "2023-05"),
    ("2023-05", "2023"),
    ("October 15th", "October 16th"),
    ("October 15th", "2023-10-15"),
    ("2023-05-08T13:56Z", "2023-05-08T13:56:00Z"),
    ("true", "yes"),
    (True, 1),
    (1, "one"),
    ("İstanbul", "istanbul"),
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal_values_have_one_key(left: object, right: object) -> None:
    assert type_object(left).key == type_object(right).key  # type: ignore[arg-type]


@pytest.mark.parametrize(("left", "right"), NEVER_EQUAL)
def test_different_values_have_different_keys(left: object, right: object) -> None:
    assert type_object(left).key != type_object(right).key  # type: ignore[arg-type]


def test_signs_and_symbols_keep_the_values_of_f43_distinct() -> None:
    written = ["C", "C#", "C++", ".NET", "NET", "-5 °C", "5 °C", "50", "50%", "A", "A*"]

    assert len({type_object(text).key for text in written}) == len(written)


KINDS = {
    Kind.NUMBER: ["5", "5 kg", "-5 °C", "$5", "EUR 5", "5 kr", "50%", "2023", "20230508", "5 m", "5 h"],
    Kind.DATE: ["2023-05-08", "May 2023", "2023-W07", "29 February", "1990s", "2023-05-08T24:00", "2010-12"],
    Kind.BOOLEAN: ["true", "False", "(TRUE)"],
    Kind.IDENTIFIER: [
        "v1.2.3", "1.2.3", "UA123", "room 12A", "12A", "12B", "12 A", "12 J", "300 K", "iPhone 14", "5s",
        "port 8080", "5 a", "3 in", "5 C", "5 G", "5G", "5 MM", "10-12", "5-6 kg", "~5 kg", "5+", "90s",
        "05/06/2023", "5/6/23", "2023.05.08", "31 February 2023", "February 30", "Tuesday, 8 May 2023",
        "0000-01", "2023-13", "2001-2005", "1,00", "1,00,000", "1'000", "1 000", "- 5", "#5", "5th", "3/4",
        "$5 per hour", "€5 CAD", "€5 kg", "5 people", "H2O", "1e999", "0x1F", "PHP 8", "9" * 90, "m²", "1:30",
    ],
    Kind.TEXT: ["Paris", "five kg", "yes", "😀", "May", "true story", "C#", "東京都", "Q-tip", "kg"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "written"), [(kind, text) for kind, texts in KINDS.items() for text in texts]
)
def test_each_spelling_has_its_kind(kind: Kind, written: str) -> None:
    assert type_object(written).kind is kind


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("5000 g", "n:5 kilogram"),
        ("$1,000.50", "n:1000.5 USD"),
        ("50%", "n:50 %"),
        (1000.0, "n:1000"),
        ("100 km/h", "n:27.77777778 meter/second"),
        ("8 May 2023", "d:2023-05-08"),
        ("May 2023", "d:2023-05"),
        ("Q2 2023", "d:2023-Q2"),
        ("2023-W07", "d:2023-W07"),
        ("1990s", "d:1990s"),
        ("October 15th", "d:--10-15"),
        ("2023-05-08 13", "d:2023-05-08T13"),
        ("2023-05-08T13:56:00.5Z", "d:2023-05-08T13:56:00.500Z"),
        (True, "b:true"),
        ("Room 12A", "i:room 12a"),
        ("New York", "t:new york"),
    ],
)
def test_the_key_is_the_value_in_canonical_form(written: str | float | bool, key: str) -> None:
    assert type_object(written).key == key


def test_a_typed_object_keeps_normal_form_spelling_and_value() -> None:
    typed = type_object(" “New York”. ")
    assert (typed.text, typed.spelling, typed.value) == ("new york", "New York", None)

    weight = type_object("1,500 kg")
    assert (weight.text, weight.spelling) == ("1,500 kg", "1,500 kg")
    assert weight.value == Quantity(Fraction(1500), base="kilogram")

    assert type_object("15 Oct").value == YearlessDay(month=10, day=15)
    day = type_object("8 May 2023").value
    assert isinstance(day, Moment)
    assert day.granularity is Granularity.DAY


@pytest.mark.parametrize("written", ["", "   ", "?!", "()", "“”", "*", "\u200b", "\u3000", "\u3164"])
def test_an_object_that_says_nothing_is_blank(written: str) -> None:
    with pytest.raises(BadInput) as refused:
        type_object(written)

    assert refused.value.code == "blank_object"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None, [], {}, b"x"])
def test_what_is_no_text_number_or_boolean_is_of_the_wrong_type(value: object) -> None:
    with pytest.raises(BadInput) as refused:
        type_object(value)  # type: ignore[arg-type]

    assert refused.value.code == "wrong_type"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(10**6000, id="huge"),
        pytest.param(-(10**6000), id="huge negative"),
        1e300,
        5e-324,
        pytest.param("9" * 300_000, id="many digits"),
        pytest.param("1." * 100_000, id="many points"),
    ],
)
def test_numbers_of_any_length_are_typed(value: str | float) -> None:
    assert type_object(value).key != type_object(1).key


# --- tolerance


@pytest.mark.parametrize(
    ("left", "right", "tolerance", "within"),
    [
        ("5 kg", "11.02 lb", 0.01, True),
        ("5 kg", "11.02 lb", 0.0001, False),
        ("5 kg", "5000 g", 0.0, True),
        ("100", "101", 0.01, True),
        ("100", "102", 0.01, False),
        ("-100", "-101", 0.01, True),
        ("-5", "5", 1.0, False),
        ("0", "0.1", 0.5, False),
        ("0", "0", 0.0, True),
        ("20 °C", "68.1 °F", 0.001, True),
        ("5", "5 kg", 1.0, False),
        ("5%", "5", 1.0, False),
        ("$5", "€5", 1.0, False),
        ("5 kg", "5 m", 1.0, False),
        ("5 kg", "5 apples", 1.0, False),
        ("2023-05", "2023-05", 1.0, False),
        ("1", "1000", float("inf"), True),
    ],
)
def test_numbers_of_one_dimension_are_within_a_tolerance(
    left: str, right: str, tolerance: float, within: bool
) -> None:
    a, b = type_object(left), type_object(right)

    assert numbers_within(a, b, tolerance=tolerance) is within
    assert numbers_within(b, a, tolerance=tolerance) is within


@pytest.mark.parametrize("tolerance", [-0.1, float("nan")])
def test_a_tolerance_is_not_negative(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        numbers_within(type_object(1), type_object(2), tolerance=tolerance)


# --- coarser and finer dates


@pytest.mark.parametrize(
    ("coarse", "fine"),
    [
        ("2023-05", "8 May 2023"),
        ("May 2023", "2023-05-08T13:56"),
        ("2023", "2023-05"),
        ("2023", "8 May 2023"),
        ("2023", "2023-Q2"),
        ("2023-Q2", "2023-05"),
        ("1990s", "1995-01"),
        ("1990s", "1995"),
        ("2023-W19", "2023-05-08"),
        ("2023-05-08", "2023-05-08T13:56:00Z"),
        ("2023-05-08T13:56", "2023-05-08T13:56:00Z"),
        ("October 15th", "2023-10-15"),
        ("October 15th", "2023-10-15T23:59"),
    ],
)
def test_a_coarser_date_contains_a_finer_one_and_not_the_reverse(coarse: str, fine: str) -> None:
    assert date_contains(type_object(coarse), type_object(fine))
    assert not date_contains(type_object(fine), type_object(coarse))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("2023-05", "2023-06-01"),
        ("2023-05", "2023-04-30"),
        ("2023", "2024-01"),
        ("2023", "2023"),
        ("2023", "12023"),
        ("30", "1930-01"),
        ("2023 kg", "2023-05"),
        ("2023.5", "2023-05"),
        ("2023-05-08", "8 May 2023"),
        ("2023-Q2", "2023-W13"),
        ("October 15th", "2023-10-16"),
        ("October 15th", "2023-10"),
        ("October 15th", "15 October"),
        ("Paris", "2023-05"),
    ],
)
def test_other_dates_contain_each_other_neither_way(left: str, right: str) -> None:
    assert not date_contains(type_object(left), type_object(right))
    assert not date_contains(type_object(right), type_object(left))


# --- units


@pytest.mark.parametrize(
    "written", ["a", "in", "A", "J", "N", "K", "G", "C", "F", "Of", "", "people", "kgx", "m/x"]
)
def test_only_listed_units_are_units(written: str) -> None:
    assert unit_of(written) is None


@pytest.mark.parametrize("written", ["$", "US$", "€", "EUR", "BTC"])
def test_money_may_stand_before_a_number(written: str) -> None:
    money = money_before(written)

    assert money is not None
    assert not money.is_measured


@pytest.mark.parametrize("written", ["kg", "eur", "TRY", "ALL", "PHP", "%", ""])
def test_nothing_else_stands_before_a_number(written: str) -> None:
    assert money_before(written) is None


def test_units_that_depend_on_the_country_are_never_converted() -> None:
    names = ("gallon", "pint", "cup", "ton", "litre", "tonne", "calorie", "kcal", "degree", "°C")

    bases = {unit.base for name in names if (unit := unit_of(name)) is not None}

    assert len(bases) == len(names)


def test_every_unit_of_the_table_is_known_to_the_library() -> None:
    from state.units import _ANY_CASE, _EXACT, _measured

    measured = {name: _measured(name) for name in {*_ANY_CASE.values(), *_EXACT.values()}}

    assert all(unit.factor > 0 for unit in measured.values())
    assert measured["degC"].offset != 0
    assert {unit.base for unit in measured.values()} >= {"meter", "kilogram", "second", "kelvin", "bit"}


def test_words_meet_no_unit_library() -> None:
    script = (
        "import sys; from state.objects import type_object;"
        "type_object('adoption agencies'); type_object('room 12A'); type_object(5); type_object('$5');"
        "assert 'pint' not in sys.modules; type_object('5 kg'); assert 'pint' in sys.modules"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_no_two_kinds_share_a_key() -> None:
    typed = [type_object(text) for texts in KINDS.values() for text in texts]

    for a, b in combinations(typed, 2):
        assert a.kind is b.kind or a.key != b.key


def test_a_blank_object_is_refused_each_time_it_comes() -> None:
    for _ in range(3):
        with pytest.raises(BadInput) as caught:
            type_object(" . ")
        assert caught.value.code == "blank_object"


@pytest.mark.parametrize("written", ["Oslo", "12 kg", "8 May 2023", "a" * 5_000])
def test_a_text_is_typed_the_same_whether_it_came_before_or_not(written: str) -> None:
    first, again = type_object(written), type_object("".join(written))

    assert first == again
    assert type_object(written.upper()).spelling == written.upper()
