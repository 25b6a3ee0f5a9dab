"""Keeps texts apart that say the same words in other places: who bites whom, from where to where.

Decides when an order means something; a mean of word vectors cannot tell. Part of `state.guards`, which says
in which order guards are asked.
"""

from collections.abc import Iterator
from typing import Final

from state.antonyms import Table, Wording, table
from state.guard_traits import Traits

_WORDS: Final[Table] = table()


def direction(left: Traits, right: Traits) -> str | None:
    """The same words, but another one behind a word of direction."""
    a, b = left.wording, right.wording
    if len(a.words) != len(b.words) or sorted(a.words) != sorted(b.words):
        return None
    return "direction" if sorted(_directed(a)) != sorted(_directed(b)) else None


def _directed(said: Wording) -> Iterator[tuple[str, str]]:
    for position, word in enumerate(said.words):
        if word in _WORDS.directed:
            yield word, said.next_stems[position]


_JOINING: Final = frozenset(("and", "or", "&", "nor"))  # what they join has no order
_ARTICLES: Final = frozenset(("a", "an", "the"))
# Who is meant by these follows from the rest, and a sentence has one more of them than its short form.
_PLACELESS: Final = _ARTICLES | {
    "i", "me", "my", "you", "your", "he", "him", "his", "she", "her", "hers", "it", "its", "we", "us", "our",
    "they", "them", "their", "is", "are", "was", "were",
}  # fmt: skip
_ORDERED_WORDS_MAX: Final = 12  # in longer texts clauses move, and what they say stays


def order(left: Traits, right: Traits) -> str | None:
    """The same words in other places: "dog bites man", "race horse", "works for Ann through Ben".

    A mean of word vectors cannot tell these apart. Pronouns have no place: "trusts her doctor" and "her
    doctor trusts her" are two all the same. Left to a vector are lists, whole phrases that moved ("to Anna
    from Ben"), adverbs, and names, which some write with the family name first.
    """
    a, b = left.wording, right.wording
    if a.stems == b.stems or len(a.words) > _ORDERED_WORDS_MAX or len(b.words) > _ORDERED_WORDS_MAX:
        return None
    ours, theirs = _plain_words(a), _plain_words(b)
    if sorted(ours) != sorted(theirs) or not _JOINING.isdisjoint(ours) or (left.name and right.name):
        return None
    if a.n_negations or any("," in one.text for one in (left, right)):
        return None
    of_left, of_right = _placed(a), _placed(b)
    if sorted(of_left) != sorted(of_right):
        return "order"
    bare = [[stem for before, stem in placed if not before] for placed in (of_left, of_right)]
    return "order" if bare[0] != bare[1] else None


def _plain_words(said: Wording) -> list[str]:
    return [word for word in said.words if word not in _PLACELESS]


def _placed(said: Wording) -> list[tuple[str, str]]:
    """Each stem with the small words right before it, adverbs left out."""
    found, before = [], ""
    for word, meant in zip(said.words, said.stems, strict=True):
        if not meant:
            before = before if word in _PLACELESS else f"{before} {word}"
        elif not word.endswith("ly"):
            found.append((before, meant))
            before = ""
    return found
