"""Forbids two objects to be one value, whatever a vector says about them.

Decides only where the spelling gives a sure reason: other numbers, dates, versions or identifiers, a
negation, an opposite, another qualifier, another name, another script (DESIGN 4.2, CASES F08-F14, F43).
Never says that two objects are equal: None means that a vector may decide, and articles, plurals, word
order and synonyms are left to it. Never reads a cosine.

Where capitals are the only sign of a name ("New York City" against "a new york state of mind"), they are
taken from the spelling; two spellings of one key may then differ in their guards, never in their equality.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from state.antonyms import Found, table
from state.objects import Kind, TypedObject, date_contains

_TEXTUAL: Final = frozenset((Kind.TEXT, Kind.IDENTIFIER))


def forbids(a: TypedObject, b: TypedObject) -> str | None:
    """Return the name of the guard that keeps two objects apart for good, or None if a vector may decide.

    Symmetric; None for equal keys. Names, in the order in which they are asked: `kind number date script
    symbol version identifier negation antonym alternative qualifier name direction` (DESIGN 4.2).
    """
    if a.key == b.key:
        return None
    if a.kind in _TEXTUAL and b.kind in _TEXTUAL:
        left, right = _features(a), _features(b)
        return next((name for guard in _TEXT_GUARDS if (name := guard(left, right)) is not None), None)
    if date_contains(a, b) or date_contains(b, a):
        return None
    return a.kind.value if a.kind is b.kind else "kind"


# --- what the guards read


@dataclass(frozen=True, slots=True)
class _Figure:
    """A token with a digit, or a number word, with the words beside it. `is_weak`: "one" may be a pronoun."""

    value: str
    before: str
    after: str
    is_weak: bool


@dataclass(frozen=True, slots=True)
class _Features:
    """One text as the guards see it. `words` are in small letters, without hyphens, negations included."""

    kind: Kind
    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]  # one per word; "" for words that carry no meaning of their own
    denied: frozenset[str]  # stems of the words behind a negation
    n_negations: int
    found: dict[int, Found]
    figures: tuple[_Figure, ...]
    symbols: frozenset[str]
    pictures: frozenset[str]
    is_foreign: bool
    has_letters: bool
    name: tuple[str, ...]  # the words of a short proper name, hyphens and capitals kept; else empty

    def content(self, *, without: frozenset[int] = frozenset()) -> frozenset[str]:
        """The stems that carry meaning, except those at the given positions."""
        return frozenset(
            stem for position, stem in enumerate(self.stems) if stem and position not in without
        )


_FEATURES_KEPT: Final = 8_192
_FEATURES_TEXT_MAX: Final = 200  # longer texts are read anew each time: the memory stays bounded in bytes too


def _features(typed: TypedObject) -> _Features:
    if len(typed.spelling) > _FEATURES_TEXT_MAX:
        return _read(typed.kind, typed.text, typed.spelling)
    return _read_and_keep(typed.kind, typed.text, typed.spelling)


# Letters of every script but Latin.
_FOREIGN: Final = re.compile(
    "[^\\W\\d_\u0000-\u02af\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f]+"
)
_LATIN: Final = re.compile("[^\\W\\d_\u0370-\u1dff\u1f00-\u2c5f\u2c80-\ua71f\ua800-\uab2f\uab70-\U0010ffff]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_FREE_OF: Final = re.compile(r"([^\W_]+)-free\b")
# A sign that is part of a word: C#, C++, Disney+, A*, blood group A-, .NET.
_SYMBOL: Final = re.compile(r"[^\W_][#+*^-]+(?![^\W_])|(?<![^\W_.])\.(?=[^\W\d_])|[$€£¥%°=<>~|]")
_PICTURE: Final = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")


def _read(kind: Kind, text: str, spelling: str) -> _Features:
    plain = _FREE_OF.sub(r"without \1", text.replace("’", "'"))
    words = tuple(_words(plain))
    stems = tuple("" if word in _EMPTY_WORDS else _stem(word) for word in words)
    denied, n_negations = _denied(words, stems)
    foreign = _FOREIGN.findall(text)
    return _Features(
        kind=kind,
        text=text,
        words=words,
        stems=stems,
        denied=denied,
        n_negations=n_negations,
        found=table().find(words),
        figures=tuple(_figures(plain, spelling)),
        symbols=frozenset(_SYMBOL.findall(text)),
        pictures=frozenset(_PICTURE.findall(text)),
        is_foreign=any(len(run) > 1 for run in foreign) or (bool(foreign) and not _LATIN.search(text)),
        has_letters=_LETTER.search(text) is not None,
        name=_name(spelling),
    )


_read_and_keep = lru_cache(maxsize=_FEATURES_KEPT)(_read)
