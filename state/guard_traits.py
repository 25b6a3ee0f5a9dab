"""What the guards see of one text: its words, its figures, its signs and its names.

Decides nothing: each guard reads the part that it is about (`state.guards` puts them together).
"""

from dataclasses import dataclass

from state.antonyms import Wording
from state.objects import Kind


@dataclass(frozen=True, slots=True)
class Figure:
    """What counts or identifies, with the words beside it: a token with a digit, a number in words, a letter.

    `is_weak` says that it may mean nothing of the kind, and counts only against another figure: "one" is
    often a pronoun, the letter of "e-mail" no code.
    """

    value: str
    before: str
    after: str
    is_weak: bool


@dataclass(frozen=True, slots=True)
class Traits:
    """One text as the guards see it.

    `joined` has no joint between letter and digit: "ua 123" and "ua-123" are ua123. `name` is empty unless
    the spelling is that of a short proper name.
    """

    kind: Kind
    text: str
    wording: Wording
    joined: str
    figures: tuple[Figure, ...]
    symbols: frozenset[str]
    marks: frozenset[str]
    is_foreign: bool
    has_words: bool
    head: str
    qualifiers: frozenset[str]
    name: tuple[str, ...]
    names_inside: frozenset[str]
    head_name: tuple[str, ...]
