"""Laws of the normal form, over arbitrary text and over text made of the characters that are treated."""

import unicodedata

from hypothesis import assume, example, given
from hypothesis import strategies as st

from state.names import normalise, normalise_predicate, spelling

TREATED = (
    "aB5é京ßİſ \t\u00a0\u200b\u200c\u200d\ufeff\u00ad\u034f\u0301\u0345\u1160´°😀"
    "'\"“”‘»(«)[]{}.,;:!?。-–_#+*%"
)
texts = st.one_of(st.text(), st.text(alphabet=TREATED), st.text(alphabet="a5 .,'\"()_-", max_size=12))


@given(texts)
@example(".'5'.")
@example("\u0345\u0301ͺ")
@example('-"x"-')
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)

    assert normalise(once) == once


@given(texts)
@example('-"x"-')
def test_normalising_a_predicate_twice_changes_nothing(text: str) -> None:
    once = normalise_predicate(text)

    assert normalise_predicate(once) == once


@given(texts)
@example(".\u0345")
def test_the_clean_spelling_has_the_same_normal_form(text: str) -> None:
    assert normalise(spelling(text)) == normalise(text)


@given(texts)
def test_the_clean_spelling_is_stable(text: str) -> None:
    once = spelling(text)

    assert spelling(once) == once


@given(texts)
@example("\u0300\u0345")  # casefold makes a letter of the second mark: the marks must be in order before
def test_case_never_matters_more_than_casefold_says(text: str) -> None:
    assert normalise(unicodedata.normalize("NFKC", text).casefold()) == normalise(text)


@given(texts, st.sampled_from([" {} ", "“{}”", "({})", "{}.", "{}!", "\ufeff{}", "«({})»", "[{} ]"]))
def test_a_wrapping_changes_nothing(text: str, wrapping: str) -> None:
    clean = normalise(text)
    assume(not set(clean) & set("()[]"))  # a bracket inside may be the partner of one outside

    assert normalise(wrapping.format(clean)) == clean


@given(texts)
def test_a_normal_form_has_no_space_at_its_ends_nor_two_in_a_row(text: str) -> None:
    normal = normalise(text)

    assert normal == " ".join(normal.split())


@given(texts)
def test_a_predicate_has_no_joint_at_its_ends_nor_two_in_a_row(text: str) -> None:
    normal = normalise_predicate(text)

    assert normal == normal.strip("_")
    assert "__" not in normal
    assert not set(normal) & set(" -\u2013\u2212")


@given(st.text(alphabet="abcXYZ0123456789", min_size=1), st.text(alphabet="abcXYZ0123456789", min_size=1))
def test_words_of_letters_and_digits_survive_whole(left: str, right: str) -> None:
    assert normalise(f"{left} {right}") == f"{left} {right}".lower()
    assert normalise_predicate(f"{left} {right}") == f"{left}_{right}".lower()
