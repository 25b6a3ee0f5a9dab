"""Reads a text as words: which of them carry meaning, which are denied, which exclude other words.

Decides nothing about two statements. What excludes what is the packaged table `antonyms.toml`: opposites,
members of one set, names inside other names (DESIGN 4.2). Never guesses an opposite from a prefix:
`invaluable` is not the opposite of `valuable`. Words are English, as the default vectors are, but for the
negations of some other languages.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

PHRASE_WORDS_MAX: Final = 5

_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_FREE_OF: Final = re.compile(r"\b([^\W_]+)-free\b")
_CONTRACTED: Final = {
    "can't": "can", "won't": "will", "shan't": "shall", "cannot": "can", "cant": "can", "dont": "do",
    "doesnt": "does", "didnt": "did", "isnt": "is", "wasnt": "was", "arent": "are", "havent": "have",
    "hasnt": "has", "wont": "will",
}  # fmt: skip
_CLITICS: Final = ("'s", "'re", "'ve", "'ll", "'d", "'m")


@dataclass(frozen=True, slots=True)
class Found:
    """What a text says about one set: the sides it uses, and where in its words they stand."""

    sides: frozenset[int]
    positions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one text, in small letters, without hyphens, contractions written out.

    `stems` has one entry per word, "" where the word is empty or a negation, and `next_stems` what follows
    each: the next stem that is not "". `denied` holds the stems that stand behind a negation. `found` is what
    the words say, by number of set in `Table.guards`.
    """

    words: tuple[str, ...]
    stems: tuple[str, ...]
    next_stems: tuple[str, ...]
    content: frozenset[str]
    denied: frozenset[str]
    n_negations: int
    found: Mapping[int, Found]

    def content_without(self, positions: frozenset[int]) -> frozenset[str]:
        """Return the stems that carry meaning, except those at the given positions."""
        return frozenset(stem for at, stem in enumerate(self.stems) if stem and at not in positions)


def wording(text: str) -> Wording:
    """Return the words of a normal form (`names.normalise`), in linear time; "x-free" is "without x"."""
    words = tuple(_words(_FREE_OF.sub(r"without \1", text.replace("’", "'"))))
    known = table()
    stems = tuple("" if word in known.empty else stem(word) for word in words)
    next_stems = _next_stems(stems)
    found = known.find(words)
    negations = _negations(words, found)
    last = next(filter(None, reversed(stems)), "")
    return Wording(
        words=words,
        stems=stems,
        next_stems=next_stems,
        content=frozenset(stems) - {""},
        # "Is not very happy" denies what follows; "a teacher he is not" what came last.
        denied=frozenset(next_stems[position] or last for position in negations) - {""},
        n_negations=len(negations),
        found=found,
    )


def _next_stems(stems: Sequence[str]) -> tuple[str, ...]:
    following, backwards = "", []
    for entry in reversed(stems):
        backwards.append(following)
        following = entry or following
    return tuple(reversed(backwards))


def _negations(words: Sequence[str], found: Mapping[int, Found]) -> list[int]:
    """Where a word denies what follows: not in "not only", "no. 5" or a phrase of its own ("no one")."""
    known = table()
    in_phrase = {at for said in found.values() for at in said.positions if at + 1 in said.positions}
    return [
        at
        for at, (word, following) in enumerate(itertools.zip_longest(words, words[1:], fillvalue=""))
        if word in known.negations
        and following not in known.not_denying
        and not following[:1].isdigit()
        and at not in in_phrase
    ]


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if (plain := _CONTRACTED.get(word)) is not None:
            yield from (plain, "not")
        elif word.endswith("n't"):
            yield from (word[:-3], "not")
        elif "'" in word and word.endswith(_CLITICS):
            yield word[: word.rindex("'")]
        else:
            yield word


def stem(word: str) -> str:
    """Return a rough stem, for comparison only: smokes, smoked and smoking are all `smok`."""
    if len(word) <= 3:
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("ing") and len(word) > 5:
        word = word[:-3]
    elif word.endswith("ed") and len(word) > 4:
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou":
        word = word[:-1]
    return word.removesuffix("e")


@dataclass(frozen=True, slots=True)
class Table:
    """The packaged table. A set is known by its number; `guards[number]` is the name of its guard."""

    phrases: Mapping[str, tuple[tuple[int, int], ...]]  # phrase -> (set, side)
    openings: frozenset[str]  # first words of phrases, so that most words are dismissed at one look
    guards: tuple[str, ...]
    negations: frozenset[str]
    not_denying: frozenset[str]
    empty: frozenset[str]  # negations included
    directed: frozenset[str]
    connectors: frozenset[str]
    roles: frozenset[str]  # stems
    places: frozenset[str]  # stems
    same_with_symbol: frozenset[str]
    numbers: Mapping[str, int]
    multipliers: Mapping[str, int]
    ordinals: Mapping[str, str]  # second -> 2nd, twice -> 2x
    weak_numbers: frozenset[str]
    measures: Mapping[str, str]  # what may stand behind a figure -> how it is written
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
        ("word", raw["confused"]["words"], False),
        ("name", raw["names"]["words"], False),
    ):
        for line in lines:
            for side, words in enumerate(line.split("|")):
                for phrase in _forms(words, are_verbs=are_verbs):
                    phrases[phrase] = (*phrases.get(phrase, ()), (len(guards), side))
            guards.append(guard)
    small, numbers, parts = raw["small"], raw["numbers"], raw["parts"]
    negations = _set(small["negations"])
    units, tens = _listed(numbers["units"]), _listed(numbers["tens"])
    suffixes = ("st", "nd", "rd")
    return Table(
        phrases=phrases,
        openings=frozenset(phrase.split(" ", 1)[0] for phrase in phrases),
        guards=tuple(guards),
        negations=negations,
        not_denying=_set(small["not_denying"]),
        empty=_set(small["empty"]) | negations,
        directed=_set(small["directed"]),
        connectors=_set(small["connectors"]),
        roles=frozenset(map(stem, _listed(small["roles"]))),
        places=frozenset(map(stem, _listed(small["places"]))),
        same_with_symbol=_set(small["same_with_symbol"]),
        numbers={word: n for n, word in enumerate(units)} | {word: 10 * n for n, word in enumerate(tens, 2)},
        multipliers=numbers["multipliers"],
        ordinals={
            word: f"{n}{suffixes[n - 1] if n < 4 else 'th'}"
            for n, word in enumerate(_listed(numbers["ordinals"]), 1)
        }
        | {word: f"{n}x" for n, word in enumerate(_listed(numbers["times"]), 1)},
        weak_numbers=_set(numbers["weak"]),
        measures={unit: unit for unit in _listed(numbers["measures"])} | numbers["same_measures"],
        name_first=_set(parts["first"]),
        name_last=_set(parts["last"]),
        name_neutral=_set(parts["neutral"]),
        short=raw["short"],
    )


def _set(words: str) -> frozenset[str]:
    return frozenset(_listed(words))


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
    root = verb.removesuffix("e")
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        forms = {f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"}
    else:
        ending = "es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s"
        forms = {f"{verb}{ending}", f"{root}ed", f"{root}ing"}
    if len(verb) > 2 and verb[-1] not in "aeiouwxy" and verb[-2] in "aeiou" and verb[-3] not in "aeiou":
        forms |= {f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"}
    if verb.endswith("ie"):
        forms.add(f"{verb[:-2]}ying")
    return (f"{form}{space}{rest}" for form in forms)
