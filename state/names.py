"""Gives every written name one normal form, so that spellings of one word compare equal.

Decides which differences of spelling carry no meaning: case, width, composition, white space, invisible
marks, and the quotes, brackets and sentence enders round a text (DESIGN 4.1, CASES F14-F16, F28, F43).
Never looks at meaning: no stemming, no translation, no accents dropped, no sign or symbol beside a letter
or digit removed. The published spelling stays the caller's.
"""

import re
import unicodedata
from typing import Final

# Characters that take no room and change no word: soft hyphen, zero-width space, bidi marks, byte order
# mark, annotation and musical marks, and the two selectors between a text and an emoji picture. The joiners
# U+200C and U+200D stay (Persian, Malayalam and joined emoji mean something else without them), and so do
# the visible format characters of Arabic and Syriac.
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe0e\ufe0f\ufeff"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
# Tag characters are invisible too, except behind the black flag, where they spell which flag it is.
_TAGS: Final = "\U000e0001\U000e0020-\U000e007f"
_REMOVED: Final = re.compile(f"(\U0001f3f4[{_TAGS}]+)|[{_INVISIBLE}{_TAGS}]+")

_JOINERS: Final = "\u200c\u200d"
_FILLERS: Final = "\u115f\u1160\u2800"  # letters and a symbol by category, but blank on every screen
_SILENT: Final = frozenset(("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Zs", "Zl", "Zp", "Cc", "Cf"))

_SENTENCE_ENDERS: Final = frozenset(".,;:!?。、¡¿‽؟،؛۔।॥։።၊။។᠂᠃")
_POINTS: Final = frozenset(".,")  # kept before a letter or digit: .NET and .5 are not NET and 5

# Which quotes may stand opposite each other. Prime marks are no quotes: 5′ is five feet.
_QUOTES: Final = {
    **dict.fromkeys('"“”„‟«»〝〞〟❝❞『』', "double"),
    **dict.fromkeys("'‘’‚‛‹›`❛❜「」", "single"),
}

_BRACKETS: Final = dict(zip("([{⟨〈《【〔〖〘〚⟦⟪❨❪❬❮❰❲❴⁅", ")]}⟩〉》】〕〗〙〛⟧⟫❩❫❭❯❱❳❵⁆", strict=True))
_CLOSING: Final = {closing: opening for opening, closing in _BRACKETS.items()}

_DASHES: Final = (
    "\\-\u058a\u05be\u1806\u2010-\u2015\u2043\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u301c\u3030\U00010ead"
)
_JOINTS: Final = re.compile(f"[{_DASHES} _]+")


def normalise(text: str) -> str:
    """Return the normal form of a subject or a text object; "" when the text says nothing (DESIGN 4.1).

    NFKC, casefold, invisible characters removed, white space folded to single spaces; then sentence enders,
    quotes and matching outer brackets are taken from the ends until nothing changes. A text of nothing but
    punctuation, white space and control characters is "": it is bad input, and never equals anything.
    Symbols and emoji are values.

    Idempotent for every text, linear in its length, never raises. Kept on purpose: `C++`, `C#`, `.NET`,
    `-5 °C`, `50%`, `A*`; a quote that closes nothing and follows a digit (`5'` is not `5"`); brackets that
    do not enclose the whole, as in `(a) (b)`.

    `Straße` and `STRASSE` are equal, as casefold spells both `strasse`. `İstanbul` and `istanbul` are not:
    casefold turns `İ` into `i` with a combining dot, and dropping the dot would need to know the language.
    """
    if text.isascii():
        folded = " ".join(text.lower().split())
        # A letter or digit at both ends: nothing to take away, and the text says something.
        if folded and folded[0].isalnum() and folded[-1].isalnum():
            return folded
        return _without_ends(folded)
    return _without_ends(_fold(text, casefold=True))


def normalise_predicate(text: str) -> str:
    """Return the normal form of a predicate; "" when the text says nothing (DESIGN 4.1, CASES F28).

    As `normalise`, with every run of spaces, dashes and underscores written as one `_`, and none at the
    ends: `Lives In`, `lives-in` and `lives_in` are all `lives_in`.
    """
    if text.isascii():
        folded = "_".join(text.lower().replace("-", " ").replace("_", " ").split())
        if folded and folded[0].isalnum() and folded[-1].isalnum():
            return folded
        return _without_ends(folded, blank="_")
    return _without_ends(_JOINTS.sub("_", _fold(text, casefold=True)), blank="_")


def spelling(text: str) -> str:
    """Return the text cleaned as by `normalise`, with its capitals kept.

    For whoever must read the original spelling: units and names mean something by their case.
    `normalise(spelling(text)) == normalise(text)`.
    """
    if text.isascii():
        folded = " ".join(text.split())
        if folded and folded[0].isalnum() and folded[-1].isalnum():
            return folded
        return _without_ends(folded)
    return _without_ends(_fold(text, casefold=False))


def _fold(text: str, *, casefold: bool) -> str:
    """Everything but the ends. Repeated, since casefold and removal can each give NFKC new work."""
    while True:
        folded = _REMOVED.sub(r"\1", unicodedata.normalize("NFKC", text))
        folded = " ".join((folded.casefold() if casefold else folded).split())
        if folded == text:
            return text
        text = folded


def _without_ends(text: str, *, blank: str = " ") -> str:
    """Strip the ends of a folded text until nothing changes.

    Two cursors move inwards over one text: slicing at each step would be quadratic in nested brackets.
    """
    start, end = 0, len(text)
    partners: dict[int, int] | None = None
    while start < end:
        before = (start, end)
        start, end = _without_blanks_and_enders(text, start, end, blank)
        if end - start < 2:
            break
        first, last = text[start], text[end - 1]
        if first in _QUOTES and _QUOTES[first] == _QUOTES.get(last):
            start, end = start + 1, end - 1
        elif first in _BRACKETS and last == _BRACKETS[first]:
            partners = _partners(text) if partners is None else partners
            if partners.get(start) == end - 1:
                start, end = start + 1, end - 1
        if (start, end) == before:
            start, end = _without_lone_quotes(text, start, end)
            if (start, end) == before:
                break
    stripped = text[start:end]
    return stripped if _says_something(stripped) else ""


def _without_blanks_and_enders(text: str, start: int, end: int, blank: str) -> tuple[int, int]:
    while start < end and (text[end - 1] in _SENTENCE_ENDERS or text[end - 1] == blank):
        end -= 1
    # A joiner at an end has nothing to join, except after a virama, whose letter it shapes (Malayalam).
    while start < end and text[end - 1] in _JOINERS and not _is_virama(text[end - 2 : end - 1]):
        end -= 1
    while start < end:
        first = text[start]
        if first == blank or first in _JOINERS:
            start += 1
        elif first not in _SENTENCE_ENDERS or _is_lone_point(text, start):
            break
        else:
            start += 1
    return start, end


def _is_lone_point(text: str, index: int) -> bool:
    """Whether a point or comma belongs to what follows, as in `.NET` and `.5`; dots as in `...and` do not."""
    return (
        text[index] in _POINTS
        and text[index + 1 : index + 2].casefold()[:1].isalnum()  # U+0345 is a mark, casefolded a letter
        and text[max(index - 1, 0) : index] not in _POINTS
    )


def _without_lone_quotes(text: str, start: int, end: int) -> tuple[int, int]:
    """Strip one quote that faces no other, from each end; but one after a digit may mean feet or inches."""
    if text[start] in _QUOTES:
        start += 1
    if start < end and text[end - 1] in _QUOTES and not text[end - 2 : end - 1].isdigit():
        end -= 1
    return start, end


def _partners(text: str) -> dict[int, int]:
    """The index of each opening bracket, with that of the bracket of its kind that closes it."""
    open_brackets: dict[str, list[int]] = {}
    partners = {}
    for index, character in enumerate(text):
        if character in _BRACKETS:
            open_brackets.setdefault(character, []).append(index)
        elif character in _CLOSING and (opened := open_brackets.get(_CLOSING[character])):
            partners[opened.pop()] = index
    return partners


def _is_virama(character: str) -> bool:
    return character != "" and unicodedata.combining(character) == 9


def _says_something(text: str) -> bool:
    """Whether any character is more than punctuation, white space, a control or a format character."""
    return any(
        unicodedata.category(character) not in _SILENT
        and character not in _FILLERS
        and character not in _QUOTES  # the backtick is a symbol by category
        for character in text
    )
