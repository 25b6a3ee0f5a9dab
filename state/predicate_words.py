"""The words in the name of a predicate: whether two names are one verb in two inflections, and its tense.

Decides nothing about what two names mean: `state.alias_report` weighs it. English, as the default
vectors are.
"""

from __future__ import annotations

import re
from typing import Final

from state.antonyms import stem

_WORD: Final = re.compile(r"[^\W_]+")
_ARTICLES: Final = frozenset(("a", "an", "the"))
_BEING: Final = frozenset(("is", "are", "am", "was", "were", "be", "been", "being"))
_HAVING: Final = frozenset(("has", "have", "had", "having"))
_PAST: Final = frozenset(
    _WORD.findall(
        """
        was were had did ate became began bought brought built came chose drank drove fell felt fought found
        gave got grew heard held kept knew led left lost made met ran rode said sang saw sent sold spent spoke
        stood taught thought told took understood went won wore wrote
        """
    )
)
_SMALL_MAX: Final = 3  # letters; a shorter word says how, not what: "to", "for", "at"


def words_of(predicate: str) -> str:
    """A predicate as text, in the form in which a model gets it."""
    return " ".join(predicate.split("_"))


def inflected(predicate: str) -> tuple[str, ...] | None:
    """The words of a name without articles and auxiliaries, as stems; None where it has no words.

    "is planning", "plans" and "has planned" are one, "is planned" is another, as somebody else then does it.
    Small words stay: "agrees with" and "agrees to" are two. Where nothing but small words is left, all stay.
    """
    words = [word for word in _WORD.findall(predicate) if word not in _ARTICLES]
    if not words:
        return None
    core, is_passive = [], False
    for before, word in zip(["", *words], words, strict=False):
        if word in _BEING or word in _HAVING:
            continue
        is_passive = is_passive or (before in _BEING and word.endswith(("ed", "en")))
        core.append(word)
    if all(len(word) <= _SMALL_MAX for word in core):
        return tuple(words)
    return (*("be",) * is_passive, *map(stem, core))


def is_past(predicate: str) -> bool:
    """Whether a name tells of what was: "lived in", "had a"; not "is married to"."""
    words = _WORD.findall(predicate)
    pairs = zip(["", *words], words, strict=False)
    return any(word in _PAST or (word.endswith("ed") and before not in _BEING) for before, word in pairs)
