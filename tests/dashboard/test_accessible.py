"""Whether everybody can use it: axe-core on each page, in both themes, and on what opens by a click."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.served import Served
from tests.dashboard.browsing import Visitor
from tests.dashboard.test_live import unsettle
from tests.parts.browser import Chromium

PAGES: tuple[tuple[str, dict[str, str]], ...] = (
    ("", {}), ("entities", {}), ("entity", {"subject": "kazakhstan", "namespace": "world"}), ("queue", {}),
    ("cycles", {}), ("cycles", {"cycle": "1"}), ("rules", {}), ("health", {}),
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _unstable(world: Served) -> None:
    unsettle(world, "Restless Rita")


@pytest.fixture(params=["light", "dark"])
def themed(request: pytest.FixtureRequest, chromium: Chromium, world: Served) -> Iterator[Visitor]:
    """A visitor whose system is light, or dark."""
    with chromium.page(color_scheme=request.param, viewport={"width": 1280, "height": 900}) as watched:
        yield Visitor(watched, world.url)


def violations(visitor: Visitor) -> list[str]:
    """What axe-core complains about, with the elements at fault."""
    from axe_playwright_python.sync_playwright import Axe

    found: list[Any] = Axe().run(visitor.page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
    ]


@pytest.mark.parametrize(("page", "query"), PAGES, ids=[page + "".join(query) for page, query in PAGES])
def test_axe_finds_no_fault(themed: Visitor, page: str, query: dict[str, str]) -> None:
    themed.visit(page, **query)
    if page == "":
        themed.page.locator("li.card", has_text="Restless Rita").wait_for()

    assert violations(themed) == []


def test_axe_finds_no_fault_in_what_opens(themed: Visitor) -> None:
    themed.visit("entity", subject="bolivia", namespace="world")
    themed.page.locator("a.bar.contested").click()
    themed.see("It is contested")
    themed.page.keyboard.press("/")
    themed.page.keyboard.type("ger")
    themed.page.get_by_role("option").first.wait_for()
    assert violations(themed) == []

    themed.visit("queue")
    for name in ("Replace it…", "One refines the other…"):
        themed.page.get_by_role("button", name=name).first.click()
        themed.page.get_by_label("Reason").wait_for()
        assert violations(themed) == []


def test_the_login_has_no_fault(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("login") / "log"
    served = Served(folder, FACTDRIFT_API_TOKENS="a-token-of-some-length")
    try:
        with chromium.page() as watched:
            watched.page.goto(f"{served.url}/dashboard/")
            watched.page.get_by_label("Token").fill("a-token-of-the-wrong-kind")
            watched.page.get_by_role("button", name="Log in").click()
            watched.page.get_by_role("alert").wait_for()
            assert violations(Visitor(watched, served.url)) == []
    finally:
        served.end()
