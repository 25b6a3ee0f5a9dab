"""Keeps texts apart that deny each other, exclude each other, or of which one says that the other is over.

Decides which words a negation speaks about and when the rest agrees (CASES F11, F12). Which words exclude
each other is the packaged table (`state.antonyms`). Part of `state.guards`, which says in which order guards
are asked.
"""

import itertools
from typing import Final

from state.antonyms import Table, Wording, table
from state.guard_traits import Traits

_WORDS: Final[Table] = table()


def _agree(left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether two texts are about the same, when what sets them apart has been taken away.

    At least half of the shorter and a third of the longer are shared; where nothing is left of one, the
    other has at most three words. So "not" in a long text that is otherwise different denies nothing.
    """
    n_shared, n_less, n_more = len(left & right), *sorted((len(left), len(right)))
    return n_more <= 3 if n_less == 0 else 2 * n_shared >= n_less and 3 * n_shared >= n_more


def negation(left: Traits, right: Traits) -> str | None:
    """One says what the other denies: "allergic to penicillin", "not allergic to penicillin".

    What stands behind the negation must occur in the other text, and the rest must agree: "does not eat
    meat" does not deny "vegetarian". Two denials of different things in the same words exclude each other.
    """
    a, b = left.wording, right.wording
    if a.n_negations and b.n_negations:
        is_other_denial = a.content == b.content and a.denied.isdisjoint(b.denied)
        return "negation" if is_other_denial and a.denied and b.denied else None
    if a.n_negations == b.n_negations:
        return None
    denying, saying = (a, b) if a.n_negations else (b, a)
    is_denied = not denying.denied.isdisjoint(saying.content) and _agree(denying.content, saying.content)
    return "negation" if is_denied else None


def contrast(left: Traits, right: Traits) -> str | None:
    """Words of two sides of one set, in texts that otherwise agree; "not alive" does not contrast "dead"."""
    a, b = left.wording, right.wording
    for number in sorted(a.found.keys() & b.found.keys()):
        here, there = a.found[number], b.found[number]
        if here.sides & there.sides or _is_denied(a, here.positions) != _is_denied(b, there.positions):
            continue
        if _agree(a.content_without(here.positions), b.content_without(there.positions)):
            return _WORDS.guards[number]
    return None


def _is_denied(said: Wording, positions: frozenset[int]) -> bool:
    return any(said.stems[position] in said.denied for position in positions)


_CANCELLING: Final = frozenset(
    ("stopped", "stops", "stopping", "quit", "quits", "ceased", "almost", "nearly")
)


def cancel(left: Traits, right: Traits) -> str | None:
    """One says that what the other says is over, or not quite so: "stopped smoking", "almost finished"."""
    a, b = left.wording, right.wording
    ours, theirs = _cancelled(a), _cancelled(b)
    if bool(ours) == bool(theirs):
        return None
    said = b if ours else a
    is_cancelled = not (ours | theirs).isdisjoint(said.content) and _agree(a.content, b.content)
    return "negation" if is_cancelled else None


def _cancelled(said: Wording) -> frozenset[str]:
    """The stems behind a word that ends or weakens what follows; "almost 30" is a number, and about that."""
    found = {
        said.next_stems[at]
        for at, (word, following) in enumerate(
            itertools.zip_longest(said.words, said.words[1:], fillvalue="")
        )
        if word in _CANCELLING and not following[:1].isdigit()
    }
    return frozenset(found) - {""}
