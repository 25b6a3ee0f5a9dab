"""Keeps names apart: another name in one place, a name inside a longer one, one head with two qualifiers.

Decides what is a name by its capitals, and which parts of a name say who or what is meant (CASES F14). Part
of `state.guards`, which says in which order guards are asked.
"""

import difflib
import re
from typing import Final

from state.antonyms import Table, Wording, stem, table, wording
from state.guard_traits import Traits

_WORDS: Final[Table] = table()

_HEAD_END: Final = re.compile(r",(?!\d)|[(\[]")
_QUALIFIER_END: Final = re.compile(r",(?!\d)|[()\[\];]")
_HEAD_WORDS_MAX: Final = 4
_QUALIFIER_WORDS_MAX: Final = 3  # longer is a clause, not a qualifier


def qualified(text: str) -> tuple[str, frozenset[str]]:
    """Split "paris, texas" and "paris (tx)" into head and qualifiers; other forms have no qualifiers."""
    if _HEAD_END.search(text) is None:
        return text, frozenset()
    head, *rest = (_without_articles(part) for part in _QUALIFIER_END.split(text))
    qualifiers = frozenset(_WORDS.short.get(part.replace(".", ""), part) for part in rest if part)
    is_clause = any(part.count(" ") >= _QUALIFIER_WORDS_MAX for part in qualifiers)
    if not head or is_clause or head.count(" ") >= _HEAD_WORDS_MAX:
        return text, frozenset()
    return head, qualifiers


def head_of(spelling: str) -> str:
    """What stands before the first qualifier of a spelling."""
    return _HEAD_END.split(spelling, maxsplit=1)[0].rstrip()


def _without_articles(part: str) -> str:
    return " ".join(word for word in part.split() if word not in ("the", "a", "an"))


_SCOPED_WORDS_MAX: Final = 4


def qualifier(left: Traits, right: Traits) -> str | None:
    """One head with two qualifiers, or a word that makes another thing of a short text.

    "Paris, France" and "Paris, Texas", "vice president", "west virginia"; "Paris, Texas, USA" only says more.
    """
    if left.qualifiers and right.qualifiers and left.head == right.head:
        is_narrower = left.qualifiers <= right.qualifiers or right.qualifiers <= left.qualifiers
        return None if is_narrower else "qualifier"
    a, b = left.wording.content, right.wording.content
    extra, n_words = a ^ b, max(len(a), len(b))
    if not (a and b and (a < b or b < a)) or n_words > _SCOPED_WORDS_MAX:
        return None
    is_other = extra <= _WORDS.roles or (extra <= _WORDS.places and n_words == 2)
    return "qualifier" if is_other else None


_NAME_WORDS_MAX: Final = 5
_SIGN_LENGTH_MAX: Final = 2  # vectors of one or two letters are noise, and near each other


def read_name(spelling: str) -> tuple[str, ...]:
    """The words of a text in which every word that is no connector begins with a capital; else none."""
    words = [word.strip(".'’\"") for word in spelling.split(" ")]
    if len(words) > _NAME_WORDS_MAX or not words[0][:1].isupper():
        return ()
    is_name = all(word in _WORDS.connectors or (word[:1].isupper() and "," not in word) for word in words)
    return tuple(words) if is_name else ()


def names(left: Traits, right: Traits) -> str | None:
    """Two proper names that share a part, or two names in one place of the same statement.

    New York and New York City, San Juan and San José, "Paris, Texas" and "Austin, Texas", "works with Ann"
    and "works with Ben"; also what is as short as "A" or "UK". Two whole texts that are longer names with
    nothing in common are left to a vector.
    """
    if _differ_in_names(left, right) or max(len(left.text), len(right.text)) <= _SIGN_LENGTH_MAX:
        return "name"
    if left.qualifiers and left.qualifiers == right.qualifiers and left.head_name and right.head_name:
        is_other_place = _small(left.head_name).isdisjoint(_small(right.head_name))
        return "name" if is_other_place and not _is_acronym(left.head_name, right.head_name) else None
    if not (left.name and right.name):
        return None
    a, b = sorted((left.name, right.name), key=lambda name: (len(name), name))
    if len(a) == len(b):
        different = [pair for pair in zip(a, b, strict=True) if pair[0].casefold() != pair[1].casefold()]
        if len(different) == 1 and any(
            _extends(one, other) or _is_feminine(one, other)
            for one, other in (different[0], different[0][::-1])
        ):
            return "name"
    elif _is_extended(a, b):
        return "name"
    return "name" if _shares_generic_part(a, b) else None


_VARIANT_RATIO: Final = 0.85  # Mohamed and Mohammed are 0.93 alike, Anna and Hannah 0.80
_VARIANT_LENGTH_MAX: Final = 60


def _differ_in_names(left: Traits, right: Traits) -> bool:
    """Whether all that sets two statements apart is a name in each: not an acronym, not another spelling."""
    a, b = left.wording.content, right.wording.content
    ours, theirs = a - b, b - a
    if not (ours and theirs and ours <= left.names_inside and theirs <= right.names_inside):
        return False
    of_left, of_right = _in_order_of(left.wording, ours), _in_order_of(right.wording, theirs)
    if len(of_left) == len(of_right) == 1 and (
        _is_feminine(of_left[0], of_right[0]) or _is_feminine(of_right[0], of_left[0])
    ):
        return True
    return not (_is_acronym(of_left, of_right) or _is_variant(" ".join(of_left), " ".join(of_right)))


def _is_variant(a: str, b: str) -> bool:
    if max(len(a), len(b)) > _VARIANT_LENGTH_MAX:
        return False  # comparing takes the product of the lengths
    first, second = sorted((a, b))  # the ratio depends on the order
    return difflib.SequenceMatcher(None, first, second).ratio() >= _VARIANT_RATIO


def _in_order_of(said: Wording, stems: frozenset[str]) -> tuple[str, ...]:
    return tuple(stem for stem in said.stems if stem in stems)


def names_inside(spelling: str) -> frozenset[str]:
    """The stems of the capitalised words of a statement, the first word apart; none in a title or a name."""
    words = spelling.split(" ")
    if not any(word[:1].islower() and word not in _WORDS.connectors for word in words):
        return frozenset()
    capitalised = (word for word in words[1:] if word[:1].isupper())
    return frozenset(stem for word in capitalised for stem in wording(word.casefold()).content)


def _small(name: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.casefold() for word in name) - _WORDS.connectors


def _is_acronym(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return any(
        len(short) == 1 and short[0] == "".join(word[0] for word in long if word not in _WORDS.connectors)
        for short, long in ((a, b), (b, a))
    )


def _extends(short: str, long: str) -> bool:
    """Whether a capitalised part was added to one word: Guinea-Bissau, JavaScript; not PostgreSQL."""
    rest = long[len(short) :]
    if len(short) < 2 or not long.casefold().startswith(short.casefold()):
        return len(short) > 1 and long.casefold().endswith(f"-{short.casefold()}")
    return (rest[:1] == "-" and rest[1:2].isupper()) or (
        rest[:1].isupper() and long[len(short) - 1].islower()
    )


def _is_feminine(name: str, other: str) -> bool:
    """Whether the other one is the name of a woman to that of a man: Luis, Luisa; Mario, Maria."""
    he, she = name.casefold(), other.casefold()
    return len(he) >= _FEMININE_LENGTH_MIN and she in (f"{he}a", f"{he.removesuffix('o')}a") and he != she


_FEMININE_LENGTH_MIN: Final = 3


def _is_extended(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Whether the longer name is the shorter one and more, at one end, that is not just "Inc." or "Dr"."""
    small, large = [word.casefold() for word in short], [word.casefold() for word in long]
    n_words = len(small)
    if large[:n_words] == small:
        extra = large[n_words:]
    elif large[-n_words:] == small:
        extra = large[:-n_words]
    else:
        return False
    return not _WORDS.name_neutral.issuperset(word for word in extra if word not in _WORDS.connectors)


def _shares_generic_part(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether two names have only a word such as Lake, San or University in common."""
    left, right = [word.casefold() for word in a], [word.casefold() for word in b]
    for n_words in (2, 1):
        first, last = left[:n_words], left[-n_words:]
        if first == right[:n_words] and " ".join(first) in _WORDS.name_first:
            rests = left[n_words:], right[n_words:]
        elif last == right[-n_words:] and " ".join(last) in _WORDS.name_last:
            rests = left[:-n_words], right[:-n_words]
        else:
            continue
        of_left, of_right = (frozenset(map(stem, rest)) - _WORDS.connectors for rest in rests)
        return bool(of_left and of_right and of_left.isdisjoint(of_right))
    return False
