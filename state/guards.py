"""Forbids two objects to be one value, whatever a vector says about them.

Decides only where the spelling gives a sure reason: other numbers, dates, versions or identifiers, a
negation, an opposite, another word by its ending, another order, another qualifier, another name, another
script (DESIGN 4.2, CASES F08-F14, F43). Never says that two objects are equal: None means that a vector may
decide, and articles, plurals, lists and synonyms are left to it. Never reads a cosine. What each kind of
guard looks at is in the modules `guard_…`; here they are asked, in their order.

Where capitals are the only sign of a name, they are read from the spelling ("Foster Care System" may be
one, "foster care system" is not). Two spellings of one key may then differ in what they forbid.
"""

from functools import lru_cache
from typing import Final

from state import guard_figures, guard_names, guard_signs
from state.antonyms import wording
from state.guard_denials import cancel, contrast, negation
from state.guard_figures import figure
from state.guard_names import names, qualifier
from state.guard_order import direction, order
from state.guard_signs import script, symbol
from state.guard_traits import Traits
from state.guard_words import derived
from state.objects import Kind, TypedObject, date_contains


def forbids(a: TypedObject, b: TypedObject) -> str | None:
    """Return the name of the guard that keeps two objects apart for good, or None if a vector may decide.

    Symmetric; None for equal keys. The names, in the order in which they are asked: `number date boolean
    kind`, then for text and identifiers `script symbol kind version identifier number negation antonym
    alternative word name qualifier direction order` (DESIGN 4.2).
    """
    if a.key == b.key:
        return None
    if a.kind in _TEXTUAL and b.kind in _TEXTUAL:
        left, right = _traits(a), _traits(b)
        return next((name for guard in _TEXT_GUARDS if (name := guard(left, right)) is not None), None)
    if date_contains(a, b) or date_contains(b, a):
        return None
    return a.kind.value if a.kind is b.kind else "kind"


_TEXTUAL: Final = frozenset((Kind.TEXT, Kind.IDENTIFIER))
_TRAITS_KEPT: Final = 8_192
_TRAITS_SPELLING_MAX: Final = 200  # longer texts are read anew each time: memory is bounded in bytes too


def _traits(typed: TypedObject) -> Traits:
    read = _read_and_keep if len(typed.spelling) <= _TRAITS_SPELLING_MAX else _read
    return read(typed.kind, typed.text, typed.spelling)


def _read(kind: Kind, text: str, spelling: str) -> Traits:
    head, qualifiers = guard_names.qualified(text)
    return Traits(
        kind=kind,
        text=text,
        wording=wording(text),
        joined=guard_figures.without_joints(text),
        figures=tuple(guard_figures.read_figures(text, spelling)),
        symbols=guard_signs.read_symbols(text),
        marks=guard_signs.read_marks(text),
        is_foreign=guard_signs.is_foreign(text),
        has_words=guard_signs.has_words(text),
        head=head,
        qualifiers=qualifiers,
        name=guard_names.read_name(spelling),
        names_inside=guard_names.names_inside(spelling),
        head_name=guard_names.read_name(guard_names.head_of(spelling)) if qualifiers else (),
    )


_read_and_keep = lru_cache(maxsize=_TRAITS_KEPT)(_read)

_TEXT_GUARDS: Final = (
    script,
    symbol,
    figure,
    negation,
    contrast,
    cancel,
    names,
    qualifier,
    direction,
    order,
    derived,
)
