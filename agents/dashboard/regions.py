"""Regions: parts of a page that are drawn anew, and how what a person does in them gets here.

A region holds markup, not widgets. Elements in it that have `data-do` act when they are clicked, submitted or
moved, and everything they say is checked again here: a browser may send anything. The same markup is not
sent twice, so that a page that did not change is not touched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import structlog
from nicegui import ui
from nicegui.events import GenericEventArguments

from agents.dashboard.markup import Html
from state.errors import FactdriftError

log = structlog.get_logger()

Act = Callable[[dict[str, str]], Awaitable[None]]
"""What is done about an action: its `do`, the data of its element and the fields of its form, all text."""

_TEXT_MAX: Final = 20_000  # characters of one field; a reason is a sentence, a value is short
_CLICK: Final = """(e) => {
  const it = e.target.closest('a[data-do],button[data-do]');
  if (!it || e.ctrlKey || e.metaKey || e.shiftKey || it.type === 'submit') return;
  e.preventDefault();
  emit({...it.dataset});
}"""
_SUBMIT: Final = """(e) => {
  if (!e.target.dataset.do) return;
  e.preventDefault();
  emit({...e.target.dataset, ...Object.fromEntries(new FormData(e.target, e.submitter))});
}"""
_INPUT: Final = """(e) => {
  if (e.target.dataset.do) emit({...e.target.dataset, name: e.target.name, value: e.target.value});
}"""


class Region:
    """A part of a page. Made while the page is built, drawn at any time after."""

    def __init__(self, name: str, *, act: Act | None = None, announces: bool = False) -> None:
        self._element = ui.html("", sanitize=False).classes("region").props(f'id="{name}"')
        self._act = act
        if announces:
            self._element.props('role="status" aria-live="polite"')
        if act is not None:
            self._element.on("click", self._acted, js_handler=_CLICK)
            self._element.on("submit", self._acted, js_handler=_SUBMIT)
            self._element.on("input", self._acted, js_handler=_INPUT, throttle=0.1, leading_events=False)

    def show(self, html: Html | None) -> None:
        """Draw it anew. To be called in the event loop."""
        text = "" if html is None else html.text
        if self._element.content != text:
            self._element.content = text

    async def _acted(self, event: GenericEventArguments) -> None:
        assert self._act is not None
        given = event.args if isinstance(event.args, Mapping) else {}
        await self._act({str(key): _text(value) for key, value in given.items()})


def _text(value: Any) -> str:
    return value[:_TEXT_MAX] if isinstance(value, str) else ""


def told(error: FactdriftError) -> str:
    """An error as a person reads it."""
    code = getattr(error, "code", None)
    return f"{error} ({code})" if code else str(error)
