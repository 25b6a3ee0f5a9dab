"""What every page has: its name, the way to the others, the search, and how it looks.

The frame knows no page but by its address. Search asks as someone types, and answers with links.
"""

from __future__ import annotations

from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from agents.dashboard import login
from agents.dashboard.markup import ROOT, Html, join, plain, tag
from agents.dashboard.questions import Questions
from agents.dashboard.regions import Region, told
from agents.dashboard.subjects import results, search
from state.errors import FactdriftError

PAGES: Final = (
    ("", "Drift"), ("entities", "Entities"), ("queue", "Work queue"), ("cycles", "Cycles"),
    ("rules", "Rules"), ("health", "Health"),
)  # fmt: skip
RESULTS_MAX: Final = 8
TYPED_MAX: Final = 1_000  # characters that are searched for, as in the API


class Frame:
    """The head of a page and the regions that it always has. To be made first."""

    def __init__(self, questions: Questions, current: str, title: str, *, with_token: bool) -> None:
        self._questions = questions
        self._typed = ""
        ui.html(tag("a", "Skip to the content", href="#main", class_="skip").text, sanitize=False)
        with ui.element("header").classes("head"):
            ui.html(_brand_and_pages(current).text, sanitize=False).classes("ways")
            with ui.element("div").classes("tools"):
                self._search()
                ui.html(_tools(with_token).text, sanitize=False).classes("switches")
        self._notice = Region("notice", announces=True)
        self._name = ui.html("", sanitize=False).classes("title")
        self.name(title)

    def name(self, title: str, *, shown: Html | None = None) -> None:
        """Say what the page is about; `shown` where that is more than text. Only while it is being built."""
        ui.page_title(f"{plain(title, shown_max=60)} · factdrift")
        self._name.content = tag("h1", shown or title, id="main", tabindex="-1").text

    def notice(self, text: str, *, bad: bool = False) -> None:
        """Tell the reader something, aloud where it is read aloud."""
        self._notice.show(tag("p", text, class_="notice bad" if bad else "notice") if text else None)

    # -- search -----------------------------------------------------------------------------

    def _search(self) -> None:
        with ui.element("form").props('role="search" autocomplete="off"').classes("search") as form:
            form.on("submit", js_handler="(e) => { e.preventDefault(); factdrift.first(); }")
            ui.html(
                tag("label", "Search entities", for_="search", class_="unseen").text
                + tag(
                    "input", id="search", type="search", placeholder="Search entities", maxlength=TYPED_MAX,
                    autocomplete="off", spellcheck="false", aria_controls="found", aria_expanded="false",
                    role="combobox", aria_autocomplete="list",
                ).text,
                sanitize=False,
            ).on(
                "input", self._typing, js_handler="(e) => emit(e.target.value)", throttle=0.08,
                leading_events=False,
            )  # fmt: skip
            self._found = Region("found")

    async def _typing(self, event: GenericEventArguments) -> None:
        typed = str(event.args)[:TYPED_MAX]
        self._typed = typed
        if not typed.strip():
            self._found.show(None)
            return
        try:
            found = await self._questions.ask(lambda asked: search(asked, typed, limit=RESULTS_MAX))
        except FactdriftError as error:
            self.notice(told(error), bad=True)
            return
        if typed == self._typed:  # else the answer to what was typed since is on its way
            self._found.show(results(found["items"], typed, more=found["next"] is not None))


def _brand_and_pages(current: str) -> Html:
    links = [
        tag("li", tag("a", name, href=f"{ROOT}/{path}", aria_current="page" if path == current else None))
        for path, name in PAGES
    ]
    mark = tag("span", class_="mark", aria_hidden="true")
    return join([
        tag("a", mark, "factdrift", href=f"{ROOT}/", class_="brand"),
        tag("nav", tag("ul", *links), aria_label="Pages"),
    ])  # fmt: skip


def _tools(with_token: bool) -> Html:
    theme = tag("button", "Theme: system", type="button", id="theme", class_="button small")
    if not with_token:
        return theme
    leave = tag("button", "Log out", type="submit", class_="button small")
    return join([theme, tag("form", leave, method="post", action=login.LOGOUT)])
