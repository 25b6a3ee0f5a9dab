"""Knows which words exclude each other: opposites, members of one set, names inside other names.

Decides nothing about a statement: it only finds words of the packaged table `antonyms.toml` in a list of
words (DESIGN 4.2). Never guesses an opposite from a prefix: `invaluable` is not the opposite of `valuable`.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

PHRASE_WORDS_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Found:
    """What a text says about one set: the sides it uses, and where in the list of words they stand."""

    sides: frozenset[int]
    positions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Table:
    """The packaged table. A set is known by its number; `guards[number]` is the name of its guard."""

    phrases: Mapping[str, tuple[tuple[int, int], ...]]  # phrase -> (set, side)
    openings: frozenset[str]  # first words of phrases, so that most words are dismissed at one look
    guards: tuple[str, ...]
    name_first: frozenset[str]
    name_last: frozenset[str]
    name_neutral: frozenset[str]
    short: Mapping[str, str]

    def find(self, words: Sequence[str]) -> dict[int, Found]:
        """Return what the words say, by set. The longest phrase wins: in "new york city" there is no york."""
        found: dict[int, tuple[set[int], set[int]]] = {}
        position = 0
        while position < len(words):
            length, members = self._longest(words, position)
            for number, side in members:
                sides, positions = found.setdefault(number, (set(), set()))
                sides.add(side)
                positions.update(range(position, position + length))
            position += length
        return {number: Found(frozenset(sides), frozenset(at)) for number, (sides, at) in found.items()}

    def _longest(self, words: Sequence[str], position: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        if words[position] in self.openings:
            for length in range(min(PHRASE_WORDS_MAX, len(words) - position), 0, -1):
                members = self.phrases.get(" ".join(words[position : position + length]))
                if members is not None:
                    return length, members
        return 1, ()


@cache
def table() -> Table:
    """Return the packaged table, read once: it is a part of the program, like a constant."""
    text = resources.files("state").joinpath("antonyms.toml").read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    phrases: dict[str, tuple[tuple[int, int], ...]] = {}
    guards: list[str] = []
    for guard, lines, are_verbs in (
        ("antonym", raw["opposites"]["verbs"], True),
        ("antonym", raw["opposites"]["words"], False),
        ("alternative", raw["alternatives"]["words"], False),
        ("name", raw["names"]["words"], False),
    ):
        for line in lines:
            for side, words in enumerate(line.split("|")):
                for phrase in _forms(words, are_verbs=are_verbs):
                    phrases[phrase] = (*phrases.get(phrase, ()), (len(guards), side))
            guards.append(guard)
    parts = raw["name_parts"]
    return Table(
        phrases=phrases,
        openings=frozenset(phrase.split(" ", 1)[0] for phrase in phrases),
        guards=tuple(guards),
        name_first=frozenset(_listed(parts["first"])),
        name_last=frozenset(_listed(parts["last"])),
        name_neutral=frozenset(_listed(parts["neutral"])),
        short=raw["short"],
    )


def _listed(words: str) -> list[str]:
    return [word.strip() for word in words.split(",")]


def _forms(words: str, *, are_verbs: bool) -> set[str]:
    """The words of one side, with the forms of each verb. An irregular past gets forms nobody writes."""
    listed = set(_listed(words))
    if not are_verbs:
        return listed
    return listed.union(*(_inflected(*phrase.partition(" ")) for phrase in listed))


def _inflected(verb: str, space: str, rest: str) -> Iterator[str]:
    """The regular forms of a verb; of a phrase, those of its first word: "agrees to"."""
    stem = verb.removesuffix("e")
    is_consonant_y = verb.endswith("y") and verb[-2:-1] not in "aeiou"
    forms = {f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"} if is_consonant_y else set()
    if not is_consonant_y:
        ending = "es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s"
        forms |= {f"{verb}{ending}", f"{stem}ed", f"{stem}ing"}
    if len(verb) > 2 and verb[-1] not in "aeiouwxy" and verb[-2] in "aeiou" and verb[-3] not in "aeiou":
        forms |= {f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"}
    if verb.endswith("ie"):
        forms.add(f"{verb[:-2]}ying")
    return (f"{form}{space}{rest}" for form in forms)
