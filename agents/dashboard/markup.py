"""Markup that cannot be broken out of: text is escaped by construction, in content and in attributes.

`tag` makes elements of `Html` and of plain text; only what this module made passes unescaped. Names of
subjects and values are hostile input: `said` also shows what is invisible in them, keeps their direction to
themselves and cuts what is very long. Pure: no browser, no NiceGUI.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import urlencode

SHOWN_MAX: Final = 120
"""Characters of a name that are shown; a name may hold 256 KiB, and nobody reads more of it here."""

ROOT: Final = "/dashboard"
_VOID: Final = frozenset({"br", "hr", "img", "input", "meta"})
_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*\Z")
_JOINERS: Final = frozenset("\u200c\u200d")
"""Without these, words of some scripts and some emoji are spelled wrongly; they reorder and hide nothing."""


@dataclass(frozen=True, slots=True)
class Html:
    """Markup that was escaped where it had to be."""

    text: str


Child = Html | str | None
Attribute = str | int | float | bool | None


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """An element. `class_` is class, `aria_label` is aria-label; None and False leave an attribute out."""
    assert _NAME.match(name), name
    opening = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{opening}>")
    return Html(f"<{name}{opening}>{join(children).text}</{name}>")


def _attribute(key: str, value: Attribute) -> str:
    name = key.rstrip("_").replace("_", "-")
    assert _NAME.match(name), name
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    return f' {name}="{escape(str(value), quote=True)}"'


def join(children: Iterable[Child]) -> Html:
    """One after the other; plain text is escaped, None is nothing."""
    return Html("".join(_child(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    return child.text if isinstance(child, Html) else escape(child, quote=False)


def address(page: str, **query: str | None) -> str:
    """The address of a page of the dashboard. What is None is left out."""
    given = {name: value for name, value in query.items() if value is not None}
    path = f"{ROOT}/{page}" if page else f"{ROOT}/"
    return f"{path}?{urlencode(given, errors='replace')}" if given else path


# -- what others wrote ------------------------------------------------------------------------


def said(text: str, *, shown_max: int = SHOWN_MAX) -> Html:
    """What somebody wrote, as an element of its own with its own direction."""
    cut = len(text) > shown_max
    parts: list[Child] = [
        tag("span", part, class_="odd") if odd else part for odd, part in _pieces(text[:shown_max])
    ]
    if cut:
        parts.append(tag("span", f"… {len(text):,} characters", class_="odd"))
    return tag("bdi", *parts, class_="said")


def plain(text: str, *, shown_max: int = SHOWN_MAX) -> str:
    """The same for an attribute or a title: one line of text, with nothing invisible in it."""
    shown = "".join(part for _, part in _pieces(text[:shown_max]))
    return f"{shown}… ({len(text):,} characters)" if len(text) > shown_max else shown


def _pieces(text: str) -> Iterable[tuple[bool, str]]:
    """Runs of visible text, and between them what is invisible, by its code point."""
    run: list[str] = []
    for character in text:
        if _is_visible(character):
            run.append(character)
            continue
        if run:
            yield False, "".join(run)
            run = []
        yield True, f"‹U+{ord(character):04X}›"
    if run:
        yield False, "".join(run)


def _is_visible(character: str) -> bool:
    if character in _JOINERS:
        return True
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
