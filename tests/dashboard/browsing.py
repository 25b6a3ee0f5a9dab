"""How tests look at the dashboard: pages by their names, and what is on them by what a person sees."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tests.parts.browser import WAIT_MS, Watched

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


class Visitor:
    """Somebody with a browser on the dashboard at a URL."""

    def __init__(self, watched: Watched, url: str) -> None:
        self.watched = watched
        self.page: Page = watched.page
        self.url = url

    def visit(self, page: str = "", **query: str) -> None:
        """Open a page, and wait until it can be used."""
        asked = f"?{urlencode(query)}" if query else ""
        self.page.goto(f"{self.url}/dashboard/{page}{asked}")
        self.page.wait_for_selector("h1")
        # Until the web socket is there a click would go nowhere.
        self.page.wait_for_function("() => window.socket && window.socket.connected")

    def see(self, text: str) -> Locator:
        """What shows this text, once it does."""
        found = self.page.get_by_text(text).first
        found.wait_for(timeout=WAIT_MS)
        return found

    def region(self, name: str) -> Locator:
        """A region of the page by its name."""
        return self.page.locator(f"#{name}")

    def waits_for(self, expression: str) -> None:
        """Wait until an expression of the page is true."""
        self.page.wait_for_function(f"() => {expression}", timeout=WAIT_MS)

    def focused(self) -> str:
        """The id of what has the focus, or its text."""
        found: str = self.page.evaluate(
            "() => document.activeElement.id || document.activeElement.textContent.trim()"
        )
        return found

    def expect_silence(self) -> None:
        """Nothing was complained about, thrown, or not found."""
        assert self.watched.faults == []
