"""Which predicates of a log may be other spellings of one, and why: a table for a person to judge.

Looks at three signs: the same words in another inflection, the same values of the same subjects, and names
that a model of vectors calls near. Only proposes: nothing that it finds changes how anything is read. Two
predicates often have values in common because one follows from the other (`born_in`, `lives_in`), so what is
not sure is told apart from what is. What excludes each other (`likes`, `dislikes`) is never proposed.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import mul
from typing import Final

from state.aliases import Aliases
from state.guards import forbids
from state.objects import type_object
from state.predicate_words import inflected, is_past, words_of
from state.predicates import Registry
from state.similarity import cosine, unit

SHARED_MIN: Final = 3  # values of subjects said under both names; one or two are an accident
SHARED_SHARE_MIN: Final = 0.5
"""Share of the rarer name's values that must be said under the other one too, where values alone tell."""
COMPARED_MAX: Final = 1_000  # names whose vectors are compared, the most frequent ones; half a million pairs
UNSURE_MAX: Final = 50  # proposals by nearness alone; the nearest ones

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Said:
    """One statement, as far as it says which names are used alike; `predicate` and `form` are normal."""

    namespace: str
    subject: str
    predicate: str
    form: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """That `alias` may mean `meant`. `why` is a few words with the numbers; not `is_sure`: look closely.

    `n_statements` and `n_values` count what is said under the alias, `n_shared` the values among them that
    subjects have under the other name too. `cosine` is None where the names are not near.
    """

    meant: str
    alias: str
    is_sure: bool
    why: str
    n_statements: int
    n_values: int
    n_shared: int
    cosine: float | None


@dataclass(slots=True)
class _Name:
    """One predicate: how often it was said, and of which subject which value."""

    n_statements: int
    values: set[tuple[str, str, str]]


def names_in(said: Iterable[Said]) -> dict[str, _Name]:
    """The predicates of a log with what was said under them; one pass."""
    found: dict[str, _Name] = {}
    for one in said:
        name = found.setdefault(one.predicate, _Name(0, set()))
        name.n_statements += 1
        name.values.add((one.namespace, one.subject, one.form))
    return found


def suggest(
    names: Mapping[str, _Name], registry: Registry, *, vectors: Mapping[str, bytes], threshold: float
) -> list[Proposal]:
    """Proposals for these names, by name that is meant; the sure ones of each first.

    `vectors` are those of `words_of`, by predicate, as far as there are any, and `threshold` that of their
    model. Meant is who has aliases already, else who is declared, else the more frequent one. Nothing is
    proposed that the registry would refuse, or has.
    """
    near = dict(_near(names, vectors, threshold))
    links = _linked(names, near)
    taken = set(registry.aliases.values())
    order = sorted(
        (name for name in names if name not in registry.aliases),
        key=lambda name: (name not in taken, name not in registry.declared, -names[name].n_statements, name),
    )
    rank = {name: place for place, name in enumerate(order)}
    sure, unsure = _split(links, rank, registry, taken)
    meant_of: dict[str, str] = {}
    found: list[Proposal] = []
    for meant in order:
        if meant in meant_of:
            continue
        for alias in sorted(sure.get(meant, {}), key=rank.__getitem__):
            if alias not in meant_of and alias not in meant_of.values():
                meant_of[alias] = meant
                found.append(_proposal(meant, alias, sure[meant][alias], names, near, is_sure=True))
    left = [
        _proposal(meant, alias, why, names, near, is_sure=False)
        for meant, aliases in unsure.items()
        for alias, why in aliases.items()
        if meant not in meant_of and alias not in meant_of and alias not in meant_of.values()
    ]
    left.sort(key=lambda one: (-one.n_shared, -(one.cosine or 0), rank[one.meant], rank[one.alias]))
    found += _one_of_each(left)
    return sorted(found, key=lambda one: (rank[one.meant], not one.is_sure, rank[one.alias]))


def _one_of_each(proposals: Iterable[Proposal]) -> list[Proposal]:
    """The first proposal for each alias, so that no line is listed twice and none forms a chain."""
    meant, aliases, found = set[str](), set[str](), list[Proposal]()
    for one in proposals:
        if len(found) < UNSURE_MAX and one.alias not in aliases | meant and one.meant not in aliases:
            meant.add(one.meant)
            aliases.add(one.alias)
            found.append(one)
    return found


def _proposal(
    meant: str, alias: str, why: str, names: Mapping[str, _Name], near: Mapping[Pair, float], *, is_sure: bool
) -> Proposal:
    said = names[alias]
    return Proposal(
        meant=meant,
        alias=alias,
        is_sure=is_sure,
        why=why,
        n_statements=said.n_statements,
        n_values=len(said.values),
        n_shared=len(said.values & names[meant].values),
        cosine=near.get(_pair(meant, alias)),
    )


Links = dict[Pair, tuple[bool, str]]


def _linked(names: Mapping[str, _Name], near: Mapping[Pair, float]) -> Links:
    """What speaks for each pair of names, and whether that is enough."""
    found: Links = {}
    shared = _shared(names)
    same_words = set(_same_words(names))
    for pair in sorted(same_words | near.keys() | shared.keys()):
        a, b = pair
        n_shared, n_least = shared.get(pair, 0), min(len(names[a].values), len(names[b].values))
        is_shared = n_shared >= SHARED_MIN and n_shared >= SHARED_SHARE_MIN * n_least
        if not (pair in same_words or pair in near or is_shared):
            continue
        if forbids(type_object(words_of(a)), type_object(words_of(b))) is not None:
            continue
        why = ["the same words"] if pair in same_words else []
        if n_shared:
            why.append(f"{n_shared} of {n_least} values in common")
        if not why:
            why.append(f"near by {near[pair]:.2f}, no value in common")
        tenses = is_past(a), is_past(b)
        if tenses[0] != tenses[1]:
            why.append("another tense: what was is not what is")
        found[pair] = (tenses[0] == tenses[1] and (pair in same_words or is_shared), "; ".join(why))
    return found


def _split(
    links: Links, rank: Mapping[str, int], registry: Registry, taken: set[str]
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Why, by name that is meant and alias: of the sure links and of the others."""
    sure: dict[str, dict[str, str]] = defaultdict(dict)
    unsure: dict[str, dict[str, str]] = defaultdict(dict)
    for pair, (is_sure, why) in links.items():
        if pair[0] not in rank or pair[1] not in rank:
            continue
        meant, alias = sorted(pair, key=rank.__getitem__)
        known = registry.declared.get(alias)
        if alias in taken or (known is not None and not known.folds_as(registry.get(meant))):
            continue
        (sure if is_sure else unsure)[meant][alias] = why
    return sure, unsure


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


# --- the signs


def _shared(names: Mapping[str, _Name]) -> dict[Pair, int]:
    """How many values of subjects two names have in common; 0 is left out."""
    by_value: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for predicate, name in names.items():
        for value in name.values:
            if value[2]:  # without an object nothing is in common but the subject
                by_value[value].append(predicate)
    found: dict[Pair, int] = defaultdict(int)
    for predicates in by_value.values():
        for pair in combinations(sorted(predicates), 2):
            found[pair] += 1
    return found


def _near(
    names: Mapping[str, _Name], vectors: Mapping[str, bytes], threshold: float
) -> Iterator[tuple[Pair, float]]:
    most = sorted(names, key=lambda name: (-names[name].n_statements, name))[:COMPARED_MAX]
    units = [(name, vector) for name in most if name in vectors and (vector := unit(vectors[name]))]
    for (a, left), (b, right) in combinations(units, 2):
        if sum(map(mul, left, right)) > threshold - _ROUNDING:
            found = cosine(left, 1.0, right)
            if found >= threshold:
                yield _pair(a, b), found


_ROUNDING: Final = 1e-5  # above what six decimals hide: a plain sum says first what is worth an exact one


def _same_words(names: Iterable[str]) -> Iterator[Pair]:
    by_words: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in sorted(names):
        if (key := inflected(name)) is not None:
            by_words[key].append(name)
    for alike in by_words.values():
        yield from combinations(alike, 2)


# --- as a file


def as_toml(proposals: Sequence[Proposal], present: Aliases) -> str:
    """The table [aliases] with what it has and what is proposed; what is not sure stands behind a #.

    Readable as it is: put it in the place of the table that a file has.
    """
    by_meant: dict[str, list[Proposal]] = {name: [] for name in present.values()}
    for one in proposals:
        by_meant.setdefault(one.meant, []).append(one)
    lines = ["[aliases]"]
    for meant, found in by_meant.items():
        kept = sorted(alias for alias, name in present.items() if name == meant)
        # A list that is empty would be refused, so it stands behind a # as a whole.
        before = "" if kept or any(one.is_sure for one in found) else "# "
        lines.append(f"{before}{_key(meant)} = [")
        lines += [f"    {_quoted(alias)}," for alias in kept]
        for one in found:
            hidden = "" if one.is_sure else "# "
            lines.append(f"{before}    {'' if before else hidden}{_quoted(one.alias)},  # {one.why}")
        lines.append(f"{before}]")
    return "\n".join(lines) + "\n"


_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
