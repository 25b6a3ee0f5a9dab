"""Keeps texts apart by their figures: whatever counts, dates, names a version or identifies inside a text.

Decides how a figure is read, in digits, in words, as a code or as a Roman numeral, and when two texts have
other ones (CASES F08). Part of `state.guards`, which says in which order guards are asked.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from state.antonyms import Table, stem, table
from state.guard_traits import Figure, Traits
from state.objects import Kind

_WORDS: Final[Table] = table()

_MULTIPLIERS_MAX: Final = 3  # "two hundred thousand"; more would be no number and cost big arithmetic
_DIGIT: Final = re.compile(r"\d")
_RANGE: Final = re.compile(r"(?<=\d)\s*[-\u2010-\u2015\u2212]\s*(?=\d)")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
_CODE_BEFORE: Final = re.compile(r"\b([A-Z]{2,3}) (?=\d)")
_CODE: Final = re.compile(r"\b([a-z]{2,3}) (?=\d)")
_LETTER_JOINT: Final = re.compile(r"(?<=[^\W\d_])[\s-](?=\d)|(?<=\d)[\s-](?=[^\W\d_])")
# 30-year-old counts 30 and covid-19 ends in 19, but UA-123 and 12-A are one code each.
_SPLIT: Final = re.compile(r"(?<=\d)-(?=[^\W\d_]{2})|(?<=[^\W\d_]{4})-(?=\d)")


def figure(left: Traits, right: Traits) -> str | None:
    """Different figures, or the same ones about other things: 30/31 years, v1.2.3/v1.2.4, "two"/"three".

    Between two texts without digits, figures that only one of them has are left to a vector ("her two
    dogs", "her dogs"); with digits they forbid. A text and an identifier meet only over equal figures. Single
    letters and Roman numerals in capitals are figures too: vitamin C and vitamin D, Henry VII and Henry VIII.
    """
    if left.joined == right.joined or not (left.figures or right.figures):
        return None
    ours = _without_common(left.figures, right.figures)
    theirs = _without_common(right.figures, left.figures)
    if not (ours or theirs):
        views = (_in_order, _with_before, _with_after)
        return "number" if all(view(left.figures) != view(right.figures) for view in views) else None
    is_strict = Kind.IDENTIFIER in (left.kind, right.kind)
    if not (ours and theirs) and not (is_strict and any(not figure.is_weak for figure in ours or theirs)):
        return None
    if left.kind is not right.kind:
        return "kind"
    if any(_VERSION.fullmatch(figure.value) for figure in (*ours, *theirs)):
        return "version"
    is_letter = any(figure.value.isalpha() for figure in (*ours, *theirs))
    return "identifier" if is_strict or is_letter else "number"


def _without_common(figures: tuple[Figure, ...], others: tuple[Figure, ...]) -> list[Figure]:
    shared = Counter(figure.value for figure in others)
    shared.subtract(Counter(figure.value for figure in figures))
    return [figure for figure in figures if shared[figure.value] < 0]


def _in_order(figures: tuple[Figure, ...]) -> list[str]:
    return [figure.value for figure in figures]


def _with_before(figures: tuple[Figure, ...]) -> list[str]:
    return sorted(f"{figure.before} {figure.value}" for figure in figures)


def _with_after(figures: tuple[Figure, ...]) -> list[str]:
    return sorted(f"{figure.value} {figure.after}" for figure in figures)


_ROMAN: Final = re.compile(r"(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3})")


def read_figures(text: str, spelling: str) -> Iterator[Figure]:
    atoms = _atoms(text, spelling)
    roman = {word.casefold() for word in _words_of(spelling) if _ROMAN.fullmatch(word)}
    has_letter_a = any(word.strip(".,;:!?") == "A" for word in spelling.split(" ")[1:])
    position = 0
    while position < len(atoms):
        atom, length, is_weak = atoms[position], 1, False
        if _DIGIT.search(atom):
            value, length = _with_measure(atoms, position)
        elif len(atom) == 1 and atom.isalpha():
            value = "" if atom == "i" or (atom == "a" and not has_letter_a) else atom
            is_weak = True
        else:
            value, length = (atom, 1) if atom in roman else _in_words(atoms, position)
            is_weak = length == 1 and (atom in roman or atom in _WORDS.weak_numbers)
        if value:
            before = atoms[position - 1] if position else ""
            after = atoms[position + length] if position + length < len(atoms) else ""
            yield Figure(value, stem(before), stem(after), is_weak)
        position += length


def without_joints(text: str) -> str:
    """The text with letters and digits moved together: "ua 123" and "ua-123" are ua123."""
    return _LETTER_JOINT.sub("", text)


def _words_of(spelling: str) -> Iterator[str]:
    return (word.strip(".,;:!?()\"'") for word in spelling.split(" "))


def _with_measure(atoms: list[str], position: int) -> tuple[str, int]:
    """A figure, with the unit behind it if there is one, and how many atoms that takes: "5 kg" is 5kg."""
    measure = _WORDS.measures.get(atoms[position + 1]) if position + 1 < len(atoms) else None
    if measure is None or not atoms[position][-1].isdigit():
        return atoms[position], 1
    return atoms[position] + measure, 2


def _in_words(atoms: list[str], position: int) -> tuple[str, int]:
    """The number in words that begins here, "" if none does, and how many atoms it takes."""
    atom = atoms[position]
    number = _WORDS.numbers.get(atom, _WORDS.multipliers.get(atom))
    if number is None:
        return _WORDS.ordinals.get(atom, ""), 1
    following = atoms[position + 1 : position + 2 + _MULTIPLIERS_MAX]
    length = 1
    if 20 <= number < 100 and following and 0 < _WORDS.numbers.get(following[0], 0) < 10:
        number, length = number + _WORDS.numbers[following[0]], 2
    for multiplier in itertools.takewhile(_WORDS.multipliers.__contains__, following[length - 1 :]):
        number, length = number * _WORDS.multipliers[multiplier], length + 1
    return str(number), length


def _atoms(text: str, spelling: str) -> list[str]:
    """Words and figures in order, cleaned: `1,000` is 1000, `v1.2` is 1.2, `UA 123` is ua123, #5 is 5."""
    codes = {code.lower() for code in _CODE_BEFORE.findall(spelling)} - _WORDS.empty
    if codes:
        text = _CODE.sub(lambda found: found[1] if found[1] in codes else found[0], text)
    atoms: list[str] = []
    for token in _RANGE.sub("-", text).split():
        core = token.lstrip("\"'“‘«([{#").rstrip(".,;:!?)]}\"'”’»")
        if not _DIGIT.search(core):
            atoms += core.split("-")
            continue
        for part in _SPLIT.split(_THOUSANDS.sub("", core)):
            joined = _LETTER_JOINT.sub("", part)
            atoms.append(joined[1:] if joined[0] == "v" and joined[1:2].isdigit() else joined)
    return [atom for atom in atoms if atom]
