"""Keeps texts apart in which an ending makes another word: a farm and a farmer, an organ and organic food.

Decides only by endings that say another thing whatever the word is, where all else is the same. What is done
and who does it are often one value ("teaches piano", "a piano teacher"), so a verb in a form of its own is
left to a vector, and so are plurals. Part of `state.guards`, which says in which order guards are asked.
"""

import itertools
from typing import Final

from state.antonyms import Wording
from state.guard_traits import Traits

_ENDINGS: Final = ("er", "or", "ic", "les", "ful")  # of stems: that of "homeless" ends in one s
_ROOT_LENGTH_MIN: Final = 3
_CONSONANTS: Final = frozenset("bdfglmnprt")  # doubled before an ending: bigger, thinner, jeweller
_VERB_ENDINGS: Final = ("ing", "ed")
_BEFORE_VERBS: Final = frozenset(
    ("to", "not", "do", "does", "did", "will", "would", "can", "could", "may", "might", "must", "should")
)


def derived(left: Traits, right: Traits) -> str | None:
    """One word of one text is one of the other with an ending that makes another thing of it.

    Both stand in the singular or both in the plural, and neither is a verb in a form of its own.
    """
    a, b = left.wording, right.wording
    ours, theirs = a.content - b.content, b.content - a.content
    if len(ours) != 1 or len(theirs) != 1:
        return None
    (one,), (other,) = ours, theirs
    if not (_is_made_of(one, other) or _is_made_of(other, one)):
        return None
    is_thing = _is_thing(a, one, other) and _is_thing(b, other, one)
    return "word" if is_thing and _is_plural(a, one) == _is_plural(b, other) else None


def _is_made_of(long: str, short: str) -> bool:
    """Whether one stem is another with an ending: designer of design, baker of bake, bigger of big."""
    if len(short) < _ROOT_LENGTH_MIN or not long.startswith(short):
        return False
    rest = long[len(short) :]
    if rest[:1] == short[-1] and short[-1] in _CONSONANTS:
        rest = rest[1:]
    return rest in _ENDINGS or rest.removeprefix("e") in ("les", "ful")


def _is_thing(said: Wording, stem: str, other: str) -> bool:
    """Whether no word with this stem is a verb in a form of its own: "teaching", "to teach", "not teach"."""
    is_longer = len(stem) > len(other)
    return is_longer or not any(
        word.endswith(_VERB_ENDINGS) or before in _BEFORE_VERBS
        for before, word, meant in zip(["", *said.words], said.words, said.stems, strict=False)
        if meant == stem
    )


def _is_plural(said: Wording, stem: str) -> bool:
    words = itertools.compress(said.words, (meant == stem for meant in said.stems))
    return any(word.endswith("s") and not word.endswith("ss") for word in words)
