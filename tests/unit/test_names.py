"""Spellings that must fold to one normal form, and spellings that must not (CASES F14-F16, F28, F43)."""

import pytest

from state.names import normalise, normalise_predicate, spelling

SAME = [
    ("café", "cafe\u0301"),
    ("Straße", "STRASSE"),
    ("Москва", "москва"),
    ("ＡＢＣ", "abc"),
    ("ﬁnance", "FINANCE"),
    ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
    ("New\u00a0York", "  new \t york\n"),
    ("Paris", "Paris."),
    ("Paris", "“Paris”"),
    ("Paris", "«Paris!»"),
    ("Paris", "('Paris',)"),
    ("Paris", "[[ (Paris) ]]."),
    ("Paris", "¡Paris!"),
    ("Paris", "Paris…"),
    ("Paris", "...Paris"),
    ("東京都", "「東京都。」"),
    ("東京都", "東京都、"),
    ("Paris", "\ufeffPa\u200bris\u200e"),
    ("Paris", "Pa\u00adris"),
    ("Paris", "Paris\u200c"),
    ("Paris", "\u200dParis"),
    ("❤️", "❤"),
    (".NET", '".NET".'),
    ("5", '"5"'),
]

DIFFERENT = [
    ("C", "C#"),
    ("C", "C++"),
    ("C#", "C++"),
    (".NET", "NET"),
    ("-5 °C", "5 °C"),
    ("50", "50%"),
    ("A", "A*"),
    (".5", "5"),
    ("5'", '5"'),
    ("5'", "5"),
    ("$5", "5"),
    ("(a) (b)", "a) (b"),
    ("東京都", "京都"),
    ("北京", "上海"),
    ("😀", "😢"),
    ("👨\u200d👩", "👨👩"),
    ("ന്\u200d", "ന്"),
    ("می\u200cخواهم", "میخواهم"),
    ("İstanbul", "istanbul"),  # casefold leaves a combining dot; documented
    ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_spellings_that_differ_in_nothing_but_form_are_equal(left: str, right: str) -> None:
    assert normalise(left) == normalise(right) != ""


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_a_sign_a_symbol_or_a_letter_keeps_two_names_apart(left: str, right: str) -> None:
    assert normalise(left) != normalise(right)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("(a) (b)", "(a) (b)"),
        ("((a) (b))", "(a) (b)"),
        ("([a)]", "([a)]"),
        ("(a", "(a"),
        ("a (b)", "a (b)"),
        ("'90s", "90s"),
        ("5'", "5'"),
        ("6' 2\".", "6' 2\""),
        ("dogs'", "dogs"),
        ("Yahoo!", "yahoo"),
        ("e.g.", "e.g"),
        ("a, b", "a, b"),
        ("?!x", "x"),
        ("\U000e0041x", "x"),
        ("A\x1fB", "a b"),
        ("A\x00B", "a\x00b"),
    ],
)
def test_the_ends_are_cleaned_and_the_middle_is_kept(text: str, normal: str) -> None:
    assert normalise(text) == normal


@pytest.mark.parametrize(
    "text",
    ["", "   ", "\u3000\u00a0", "...", "?!", "()", "“”", "'", "—", "*", "#", "_", "。", "\u200b\ufeff",
     "\u200d", "\x00", "( [ ] )", "\u3164", "\u2800", "`", "```"],
)  # fmt: skip
def test_a_text_of_punctuation_and_space_says_nothing(text: str) -> None:
    assert normalise(text) == ""
    assert normalise_predicate(text) == ""


@pytest.mark.parametrize("text", ["😀", "$", "+", "™", "a", "0", "é", "京", "👍🏽", "\ud800"])
def test_one_letter_digit_symbol_or_emoji_is_a_value(text: str) -> None:
    assert normalise(text) != ""


@pytest.mark.parametrize(
    "text",
    ["Lives In", "lives-in", "lives_in", "LIVES__IN", " lives – in.", "_lives_in_", "lives‐in", "lives−in",
     '"lives in"', "-'lives' in-", "ｌｉｖｅｓ＿ｉｎ"],
)  # fmt: skip
def test_spaces_dashes_and_underscores_join_the_words_of_a_predicate(text: str) -> None:
    expected = "lives'_in" if "'" in text else "lives_in"
    assert normalise_predicate(text) == expected


def test_a_predicate_keeps_its_symbols() -> None:
    assert normalise_predicate("uses C++") == "uses_c++"
    assert normalise_predicate("is.a") == "is.a"


def test_the_clean_spelling_keeps_its_capitals() -> None:
    assert spelling(" “New\u00a0York City.” ") == "New York City"
    assert spelling("５ ＫＧ") == "5 KG"
    assert spelling("?!") == ""


@pytest.mark.parametrize("nested", ["({0})", '"{0}"', ".'{0}'."])
def test_a_text_of_many_nested_ends_is_cleaned_to_its_core(nested: str) -> None:
    before, after = nested.split("{0}")

    text = before * 100_000 + "x" + after * 100_000

    assert normalise(text) == "x"
