"""Forbids two objects to be one value, whatever a vector says about them.

Decides only where the spelling gives a sure reason: other numbers, dates, versions or identifiers, a
negation, an opposite, another qualifier, another name, another script (DESIGN 4.2, CASES F08-F14, F43).
Never says that two objects are equal: None means that a vector may decide, and articles, plurals, word
order and synonyms are left to it. Never reads a cosine.

Where capitals are the only sign of a name, they are read from the spelling ("Foster Care System" may be
one, "foster care system" is not). Two spellings of one key may then differ in what they forbid.
"""

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from state.antonyms import Table, Wording, stem, table, wording
from state.objects import Kind, TypedObject, date_contains


def forbids(a: TypedObject, b: TypedObject) -> str | None:
    """Return the name of the guard that keeps two objects apart for good, or None if a vector may decide.

    Symmetric; None for equal keys. The names, in the order in which they are asked: `number date boolean
    kind`, then for text and identifiers `script symbol kind version identifier number negation antonym
    alternative name qualifier direction order` (DESIGN 4.2).
    """
    if a.key == b.key:
        return None
    if a.kind in _TEXTUAL and b.kind in _TEXTUAL:
        left, right = _traits(a), _traits(b)
        return next((name for guard in _TEXT_GUARDS if (name := guard(left, right)) is not None), None)
    if date_contains(a, b) or date_contains(b, a):
        return None
    return a.kind.value if a.kind is b.kind else "kind"


_WORDS: Final[Table] = table()
_TEXTUAL: Final = frozenset((Kind.TEXT, Kind.IDENTIFIER))


@dataclass(frozen=True, slots=True)
class _Figure:
    """What counts or identifies, with the words beside it: a token with a digit, a number in words, a letter.

    `is_weak` says that it may mean nothing of the kind, and counts only against another figure: "one" is
    often a pronoun, the letter of "e-mail" no code.
    """

    value: str
    before: str
    after: str
    is_weak: bool


@dataclass(frozen=True, slots=True)
class _Traits:
    """One text as the guards see it.

    `joined` has no joint between letter and digit: "ua 123" and "ua-123" are ua123. `name` is empty unless
    the spelling is that of a short proper name.
    """

    kind: Kind
    text: str
    wording: Wording
    joined: str
    figures: tuple[_Figure, ...]
    symbols: frozenset[str]
    marks: frozenset[str]
    is_foreign: bool
    has_words: bool
    head: str
    qualifiers: frozenset[str]
    name: tuple[str, ...]
    names_inside: frozenset[str]
    head_name: tuple[str, ...]


_TRAITS_KEPT: Final = 8_192
_TRAITS_SPELLING_MAX: Final = 200  # longer texts are read anew each time: memory is bounded in bytes too


def _traits(typed: TypedObject) -> _Traits:
    read = _read_and_keep if len(typed.spelling) <= _TRAITS_SPELLING_MAX else _read
    return read(typed.kind, typed.text, typed.spelling)


def _read(kind: Kind, text: str, spelling: str) -> _Traits:
    foreign = [] if text.isascii() else _FOREIGN_LETTERS.findall(text)
    head, qualifiers = _qualified(text)
    return _Traits(
        kind=kind,
        text=text,
        wording=wording(text),
        joined=_LETTER_JOINT.sub("", text),
        figures=tuple(_figures(text, spelling)),
        symbols=frozenset(_SYMBOL.findall(text)) - _WORDS.same_with_symbol,
        marks=frozenset(_MARK.findall(text)),
        is_foreign=any(len(run) > 1 for run in foreign) or (bool(foreign) and not _LATIN_LETTER.search(text)),
        has_words=_WORD_CHARACTER.search(text) is not None,
        head=head,
        qualifiers=qualifiers,
        name=_name(spelling),
        names_inside=_names_inside(spelling),
        head_name=_name(_HEAD_END.split(spelling, maxsplit=1)[0].rstrip()) if qualifiers else (),
    )


_read_and_keep = lru_cache(maxsize=_TRAITS_KEPT)(_read)


# --- scripts and symbols

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


def _script(left: _Traits, right: _Traits) -> str | None:
    """Letters that an English vector has never seen: 東京都 and 京都 are equal only as written."""
    return "script" if left.is_foreign or right.is_foreign else None


def _symbol(left: _Traits, right: _Traits) -> str | None:
    """C and C++, 😀 and 😢, 5' and 5"; a text with a picture and the same without may be one."""
    if left.symbols != right.symbols or not (left.has_words and right.has_words):
        return "symbol"
    return "symbol" if left.marks and right.marks and left.marks != right.marks else None


# --- figures: whatever counts, dates or identifies inside a text

_MULTIPLIERS_MAX: Final = 3  # "two hundred thousand"; more would be no number and cost big arithmetic
_DIGIT: Final = re.compile(r"\d")
_RANGE: Final = re.compile(r"(?<=\d)\s*[-\u2010-\u2015\u2212]\s*(?=\d)")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
_CODE_BEFORE: Final = re.compile(r"\b([A-Z]{2,3}) (?=\d)")
_CODE: Final = re.compile(r"\b([a-z]{2,3}) (?=\d)")
_LETTER_JOINT: Final = re.compile(r"(?<=[^\W\d_])[\s-](?=\d)|(?<=\d)[\s-](?=[^\W\d_])")
# 30-year-old counts 30 and covid-19 ends in 19, but UA-123 and 12-A are one code each.
_SPLIT: Final = re.compile(r"(?<=\d)-(?=[^\W\d_]{2})|(?<=[^\W\d_]{4})-(?=\d)")


def _figure(left: _Traits, right: _Traits) -> str | None:
    """Different figures, or the same ones about other things: 30/31 years, v1.2.3/v1.2.4, "two"/"three".

    Between two texts without digits, figures that only one of them has are left to a vector ("her two
    dogs", "her dogs"); with digits they forbid. A text and an identifier meet only over equal figures. Single
    letters and Roman numerals in capitals are figures too: vitamin C and vitamin D, Henry VII and Henry VIII.
    """
    if left.joined == right.joined or not (left.figures or right.figures):
        return None
    ours = _without_common(left.figures, right.figures)
    theirs = _without_common(right.figures, left.figures)
    if not (ours or theirs):
        views = (_in_order, _with_before, _with_after)
        return "number" if all(view(left.figures) != view(right.figures) for view in views) else None
    is_strict = Kind.IDENTIFIER in (left.kind, right.kind)
    if not (ours and theirs) and not (is_strict and any(not figure.is_weak for figure in ours or theirs)):
        return None
    if left.kind is not right.kind:
        return "kind"
    if any(_VERSION.fullmatch(figure.value) for figure in (*ours, *theirs)):
        return "version"
    is_letter = any(figure.value.isalpha() for figure in (*ours, *theirs))
    return "identifier" if is_strict or is_letter else "number"


def _without_common(figures: tuple[_Figure, ...], others: tuple[_Figure, ...]) -> list[_Figure]:
    shared = Counter(figure.value for figure in others)
    shared.subtract(Counter(figure.value for figure in figures))
    return [figure for figure in figures if shared[figure.value] < 0]


def _in_order(figures: tuple[_Figure, ...]) -> list[str]:
    return [figure.value for figure in figures]


def _with_before(figures: tuple[_Figure, ...]) -> list[str]:
    return sorted(f"{figure.before} {figure.value}" for figure in figures)


def _with_after(figures: tuple[_Figure, ...]) -> list[str]:
    return sorted(f"{figure.value} {figure.after}" for figure in figures)


_ROMAN: Final = re.compile(r"(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3})")


def _figures(text: str, spelling: str) -> Iterator[_Figure]:
    atoms = _atoms(text, spelling)
    roman = {word.casefold() for word in _words_of(spelling) if _ROMAN.fullmatch(word)}
    has_letter_a = any(word.strip(".,;:!?") == "A" for word in spelling.split(" ")[1:])
    position = 0
    while position < len(atoms):
        atom, length, is_weak = atoms[position], 1, False
        if _DIGIT.search(atom):
            value, length = _with_measure(atoms, position)
        elif len(atom) == 1 and atom.isalpha():
            value = "" if atom == "i" or (atom == "a" and not has_letter_a) else atom
            is_weak = True
        else:
            value, length = (atom, 1) if atom in roman else _in_words(atoms, position)
            is_weak = length == 1 and (atom in roman or atom in _WORDS.weak_numbers)
        if value:
            before = atoms[position - 1] if position else ""
            after = atoms[position + length] if position + length < len(atoms) else ""
            yield _Figure(value, stem(before), stem(after), is_weak)
        position += length


def _words_of(spelling: str) -> Iterator[str]:
    return (word.strip(".,;:!?()\"'") for word in spelling.split(" "))


def _with_measure(atoms: list[str], position: int) -> tuple[str, int]:
    """A figure, with the unit behind it if there is one, and how many atoms that takes: "5 kg" is 5kg."""
    measure = _WORDS.measures.get(atoms[position + 1]) if position + 1 < len(atoms) else None
    if measure is None or not atoms[position][-1].isdigit():
        return atoms[position], 1
    return atoms[position] + measure, 2


def _in_words(atoms: list[str], position: int) -> tuple[str, int]:
    """The number in words that begins here, "" if none does, and how many atoms it takes."""
    atom = atoms[position]
    number = _WORDS.numbers.get(atom, _WORDS.multipliers.get(atom))
    if number is None:
        return _WORDS.ordinals.get(atom, ""), 1
    following = atoms[position + 1 : position + 2 + _MULTIPLIERS_MAX]
    length = 1
    if 20 <= number < 100 and following and 0 < _WORDS.numbers.get(following[0], 0) < 10:
        number, length = number + _WORDS.numbers[following[0]], 2
    for multiplier in itertools.takewhile(_WORDS.multipliers.__contains__, following[length - 1 :]):
        number, length = number * _WORDS.multipliers[multiplier], length + 1
    return str(number), length


def _atoms(text: str, spelling: str) -> list[str]:
    """Words and figures in order, cleaned: `1,000` is 1000, `v1.2` is 1.2, `UA 123` is ua123, #5 is 5."""
    codes = {code.lower() for code in _CODE_BEFORE.findall(spelling)} - _WORDS.empty
    if codes:
        text = _CODE.sub(lambda found: found[1] if found[1] in codes else found[0], text)
    atoms: list[str] = []
    for token in _RANGE.sub("-", text).split():
        core = token.lstrip("\"'“‘«([{#").rstrip(".,;:!?)]}\"'”’»")
        if not _DIGIT.search(core):
            atoms += core.split("-")
            continue
        for part in _SPLIT.split(_THOUSANDS.sub("", core)):
            joined = _LETTER_JOINT.sub("", part)
            atoms.append(joined[1:] if joined[0] == "v" and joined[1:2].isdigit() else joined)
    return [atom for atom in atoms if atom]


# --- what is denied, and what excludes what


def _agree(left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether two texts are about the same, when what sets them apart has been taken away.

    At least half of the shorter and a third of the longer are shared; where nothing is left of one, the
    other has at most three words. So "not" in a long text that is otherwise different denies nothing.
    """
    n_shared, n_less, n_more = len(left & right), *sorted((len(left), len(right)))
    return n_more <= 3 if n_less == 0 else 2 * n_shared >= n_less and 3 * n_shared >= n_more


def _negation(left: _Traits, right: _Traits) -> str | None:
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


def _contrast(left: _Traits, right: _Traits) -> str | None:
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


def _cancel(left: _Traits, right: _Traits) -> str | None:
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


def _direction(left: _Traits, right: _Traits) -> str | None:
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
_ORDERED_WORDS_MAX: Final = 12  # in longer texts clauses move, and what they say stays


def _order(left: _Traits, right: _Traits) -> str | None:
    """The same words in other places: "dog bites man", "race horse", "works for Ann through Ben".

    A mean of word vectors cannot tell these apart. Left to a vector are lists, whole phrases that moved
    ("to Anna from Ben"), adverbs, and names, which some write with the family name first.
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
    return [word for word in said.words if word not in _ARTICLES]


def _placed(said: Wording) -> list[tuple[str, str]]:
    """Each stem with the small words right before it, adverbs left out."""
    found, before = [], ""
    for word, meant in zip(said.words, said.stems, strict=True):
        if not meant:
            before = before if word in _ARTICLES else f"{before} {word}"
        elif not word.endswith("ly"):
            found.append((before, meant))
            before = ""
    return found


# --- names and their qualifiers

_HEAD_END: Final = re.compile(r",(?!\d)|[(\[]")
_QUALIFIER_END: Final = re.compile(r",(?!\d)|[()\[\];]")
_HEAD_WORDS_MAX: Final = 4
_QUALIFIER_WORDS_MAX: Final = 3  # longer is a clause, not a qualifier


def _qualified(text: str) -> tuple[str, frozenset[str]]:
    """Split "paris, texas" and "paris (tx)" into head and qualifiers; other forms have no qualifiers."""
    if _HEAD_END.search(text) is None:
        return text, frozenset()
    head, *rest = (_without_articles(part) for part in _QUALIFIER_END.split(text))
    qualifiers = frozenset(_WORDS.short.get(part.replace(".", ""), part) for part in rest if part)
    is_clause = any(part.count(" ") >= _QUALIFIER_WORDS_MAX for part in qualifiers)
    if not head or is_clause or head.count(" ") >= _HEAD_WORDS_MAX:
        return text, frozenset()
    return head, qualifiers


def _without_articles(part: str) -> str:
    return " ".join(word for word in part.split() if word not in ("the", "a", "an"))


_SCOPED_WORDS_MAX: Final = 4


def _qualifier(left: _Traits, right: _Traits) -> str | None:
    """One head with two qualifiers, or a word that makes another thing of a short text.

    "Paris, France" and "Paris, Texas", "vice president", "west virginia"; "Paris, Texas, USA" only says more.
    """
    if left.qualifiers and right.qualifiers and left.head == right.head:
        is_narrower = left.qualifiers <= right.qualifiers or right.qualifiers <= left.qualifiers
        return None if is_narrower else "qualifier"
    a, b = left.wording.content, right.wording.content
    extra, n_words = a ^ b, max(len(a), len(b))
    if not (a and b and (a < b or b < a)) or n_words > _SCOPED_WORDS_MAX:
        return None
    is_other = extra <= _WORDS.roles or (extra <= _WORDS.places and n_words == 2)
    return "qualifier" if is_other else None


_NAME_WORDS_MAX: Final = 5
_SIGN_LENGTH_MAX: Final = 2  # vectors of one or two letters are noise, and near each other


def _name(spelling: str) -> tuple[str, ...]:
    """The words of a text in which every word that is no connector begins with a capital; else none."""
    words = [word.strip(".'’\"") for word in spelling.split(" ")]
    if len(words) > _NAME_WORDS_MAX or not words[0][:1].isupper():
        return ()
    is_name = all(word in _WORDS.connectors or (word[:1].isupper() and "," not in word) for word in words)
    return tuple(words) if is_name else ()


def _names(left: _Traits, right: _Traits) -> str | None:
    """Two proper names that share a part, or two names in one place of the same statement.

    New York and New York City, San Juan and San José, "Paris, Texas" and "Austin, Texas", "works with Ann"
    and "works with Ben"; also what is as short as "A" or "UK". Two whole texts that are longer names with
    nothing in common are left to a vector.
    """
    if _differ_in_names(left, right) or max(len(left.text), len(right.text)) <= _SIGN_LENGTH_MAX:
        return "name"
    if left.qualifiers and left.qualifiers == right.qualifiers and left.head_name and right.head_name:
        is_other_place = _small(left.head_name).isdisjoint(_small(right.head_name))
        return "name" if is_other_place and not _is_acronym(left.head_name, right.head_name) else None
    if not (left.name and right.name):
        return None
    a, b = sorted((left.name, right.name), key=lambda name: (len(name), name))
    if len(a) == len(b):
        different = [pair for pair in zip(a, b, strict=True) if pair[0].casefold() != pair[1].casefold()]
        if len(different) == 1 and (_extends(*different[0]) or _extends(*reversed(different[0]))):
            return "name"
    elif _is_extended(a, b):
        return "name"
    return "name" if _shares_generic_part(a, b) else None


_VARIANT_RATIO: Final = 0.85  # Mohamed and Mohammed are 0.93 alike, Anna and Hannah 0.80
_VARIANT_LENGTH_MAX: Final = 60


def _differ_in_names(left: _Traits, right: _Traits) -> bool:
    """Whether all that sets two statements apart is a name in each: not an acronym, not another spelling."""
    a, b = left.wording.content, right.wording.content
    ours, theirs = a - b, b - a
    if not (ours and theirs and ours <= left.names_inside and theirs <= right.names_inside):
        return False
    of_left, of_right = _in_order_of(left.wording, ours), _in_order_of(right.wording, theirs)
    return not (_is_acronym(of_left, of_right) or _is_variant(" ".join(of_left), " ".join(of_right)))


def _is_variant(a: str, b: str) -> bool:
    if max(len(a), len(b)) > _VARIANT_LENGTH_MAX:
        return False  # comparing takes the product of the lengths
    first, second = sorted((a, b))  # the ratio depends on the order
    return difflib.SequenceMatcher(None, first, second).ratio() >= _VARIANT_RATIO


def _in_order_of(said: Wording, stems: frozenset[str]) -> tuple[str, ...]:
    return tuple(stem for stem in said.stems if stem in stems)


def _names_inside(spelling: str) -> frozenset[str]:
    """The stems of the capitalised words of a statement, the first word apart; none in a title or a name."""
    words = spelling.split(" ")
    if not any(word[:1].islower() and word not in _WORDS.connectors for word in words):
        return frozenset()
    capitalised = (word for word in words[1:] if word[:1].isupper())
    return frozenset(stem for word in capitalised for stem in wording(word.casefold()).content)


def _small(name: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.casefold() for word in name) - _WORDS.connectors


def _is_acronym(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return any(
        len(short) == 1 and short[0] == "".join(word[0] for word in long if word not in _WORDS.connectors)
        for short, long in ((a, b), (b, a))
    )


def _extends(short: str, long: str) -> bool:
    """Whether a capitalised part was added to one word: Guinea-Bissau, JavaScript; not PostgreSQL."""
    rest = long[len(short) :]
    if len(short) < 2 or not long.casefold().startswith(short.casefold()):
        return len(short) > 1 and long.casefold().endswith(f"-{short.casefold()}")
    return (rest[:1] == "-" and rest[1:2].isupper()) or (
        rest[:1].isupper() and long[len(short) - 1].islower()
    )


def _is_extended(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Whether the longer name is the shorter one and more, at one end, that is not just "Inc." or "Dr"."""
    small, large = [word.casefold() for word in short], [word.casefold() for word in long]
    n_words = len(small)
    if large[:n_words] == small:
        extra = large[n_words:]
    elif large[-n_words:] == small:
        extra = large[:-n_words]
    else:
        return False
    return not _WORDS.name_neutral.issuperset(word for word in extra if word not in _WORDS.connectors)


def _shares_generic_part(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether two names have only a word such as Lake, San or University in common."""
    left, right = [word.casefold() for word in a], [word.casefold() for word in b]
    for n_words in (2, 1):
        first, last = left[:n_words], left[-n_words:]
        if first == right[:n_words] and " ".join(first) in _WORDS.name_first:
            rests = left[n_words:], right[n_words:]
        elif last == right[-n_words:] and " ".join(last) in _WORDS.name_last:
            rests = left[:-n_words], right[:-n_words]
        else:
            continue
        of_left, of_right = (frozenset(map(stem, rest)) - _WORDS.connectors for rest in rests)
        return bool(of_left and of_right and of_left.isdisjoint(of_right))
    return False


_TEXT_GUARDS: Final = (
    _script,
    _symbol,
    _figure,
    _negation,
    _contrast,
    _cancel,
    _names,
    _qualifier,
    _direction,
    _order,
)
