"""Keeps texts apart by their signs: letters of another script, a symbol that is part of a word, a picture.

Decides nothing about words. Part of `state.guards`, which says in which order guards are asked.
"""

import re
from typing import Final

from state.antonyms import Table, table
from state.guard_traits import Traits

_WORDS: Final[Table] = table()

_LATIN: Final = "A-Za-z\u00aa\u00ba\u00c0-\u02af\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f"
_LATIN_LETTER: Final = re.compile(f"[{_LATIN}]")
_FOREIGN_LETTERS: Final = re.compile(rf"(?:(?![{_LATIN}\d_])\w)+")
_WORD_CHARACTER: Final = re.compile(r"[^\W_]")
# Pictures, and the feet and inches behind a digit.
_MARK: Final = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]|(?<=\\d)[\"'\u2032\u2033](?!\\w)")
# A sign that is part of a word: C#, C++, A*, Disney+, blood group A-, .NET; not the dash of a parenthesis.
_SYMBOL: Final = re.compile(
    r"(?<![^\W_])[^\W_]+[#+*]+(?![^\W_])|(?<![^\W_])[^\W\d_]{1,2}-(?![\w-])|(?:(?<=\s)|^)\.[^\W\d_]+"
)


def script(left: Traits, right: Traits) -> str | None:
    """Letters that an English vector has never seen: 東京都 and 京都 are equal only as written."""
    return "script" if left.is_foreign or right.is_foreign else None


def symbol(left: Traits, right: Traits) -> str | None:
    """C and C++, 😀 and 😢, 5' and 5"; a text with a picture and the same without may be one."""
    if left.symbols != right.symbols or not (left.has_words and right.has_words):
        return "symbol"
    return "symbol" if left.marks and right.marks and left.marks != right.marks else None


def is_foreign(text: str) -> bool:
    """Whether a text is written in letters that are not Latin; one such letter among others is a sign."""
    foreign = [] if text.isascii() else _FOREIGN_LETTERS.findall(text)
    return any(len(run) > 1 for run in foreign) or (bool(foreign) and not _LATIN_LETTER.search(text))


def has_words(text: str) -> bool:
    """Whether a text has a letter or a digit."""
    return _WORD_CHARACTER.search(text) is not None


def read_symbols(text: str) -> frozenset[str]:
    """The words of a text whose sign says what they are: c#, a*, .net."""
    return frozenset(_SYMBOL.findall(text)) - _WORDS.same_with_symbol


def read_marks(text: str) -> frozenset[str]:
    """The pictures in a text, and its marks of feet and inches."""
    return frozenset(_MARK.findall(text))
