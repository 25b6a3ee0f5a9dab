"""A real browser for the tests: Chromium of the user or of the system, without a window, by Playwright.

No browser is downloaded. What a page says on its console, what it could not load and what it threw is
collected with it, so that a test can ask for silence.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.parts import RungMissing, climb, named_in_environment, silent

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

VARIABLE = "FACTDRIFT_TEST_CHROMIUM"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 60_000  # for any condition on a page; only a hang reaches it
HOW_TO_GET_ONE = f"install chromium (Debian: apt-get install chromium), or set {VARIABLE} to its program."


class Chromium:
    """A browser that runs. `describe` says which."""

    def __init__(self, program: str) -> None:
        from playwright.sync_api import sync_playwright

        root = hasattr(os, "geteuid") and os.geteuid() == 0
        self._playwright: Playwright = sync_playwright().start()
        self.browser: Browser = self._playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if root else []
        )
        self.program = program

    def stop(self) -> None:
        """End it."""
        self.browser.close()
        self._playwright.stop()

    def describe(self) -> str:
        """Which browser this is, for a test report."""
        return f"Chromium {self.browser.version} at {self.program}"

    @contextmanager
    def page(self, **options: Any) -> Iterator[Watched]:
        """A page in a context of its own, which nothing else shares."""
        context = self.browser.new_context(**options)
        context.set_default_timeout(WAIT_MS)
        try:
            yield Watched(context.new_page())
        finally:
            context.close()


class Watched:
    """A page, and what went wrong on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.faults: list[str] = []
        page.on("console", lambda told: self._told(told.type, told.text))
        page.on("pageerror", lambda error: self.faults.append(f"thrown: {error}"))
        page.on("requestfailed", lambda asked: self.faults.append(f"not loaded: {asked.url}"))

    def _told(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.faults.append(f"{kind}: {text}")


def start_chromium() -> Chromium:
    """A browser that runs. Raises `PartMissing`."""
    return climb(
        "Chromium",
        [(VARIABLE, _named), (f"one of {', '.join(PROGRAMS)} on PATH", _on_path)],
        how_to_get_one=HOW_TO_GET_ONE,
    )


def _named() -> Chromium:
    program = named_in_environment(VARIABLE)
    if not Path(program).is_file():
        silent(VARIABLE, program, "there is no such file")
    _require_playwright()
    return Chromium(program)


def _on_path() -> Chromium:
    _require_playwright()
    found = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if found is None:
        raise RungMissing("none of them is there")
    return Chromium(found)


def _require_playwright() -> None:
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError as error:
        raise RungMissing(f"the package playwright is not installed ({error})") from error
