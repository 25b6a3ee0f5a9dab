"""Pictures of each page, light and dark, on the demo data and what is said to the service meanwhile.

With FACTDRIFT_SCREENSHOTS=1 they are written to docs/pictures, for the documentation and to be looked at.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.api.served import ROOT, Served
from tests.dashboard.browsing import Visitor
from tests.dashboard.test_live import just_now
from tests.parts.browser import Chromium
from tests.parts.processes import wait_until

STATES = ("healthy", "degraded", "down", "recovering", "read-only", "throttled", "draining", "drained")
CITIES = ("Lisbon", "Porto", "Braga", "Faro", "Évora", "Coimbra", "Aveiro")


@pytest.fixture(scope="module", autouse=True)
def _lived_in(world: Served) -> None:
    """Two entities that do not come to rest, a rule that is matched and one that is not, and some cycles."""
    for name, when in (("homes", "/ lives_in"), ("ownership", "/ owned_by")):
        subprocess.run(
            [sys.executable, "-m", "agents.main", "rules", "add", name, "--when", when, "--data",
             str(world.folder)],
            check=True, capture_output=True, cwd=ROOT, timeout=120,
        )  # fmt: skip
    for number, state in enumerate(STATES):
        before = newest_cycle(world)
        world.learn(*said_at(number, state))
        wait_until(partial(has_closed_another, world, before), timeout_s=60, what="a cycle")


def said_at(number: int, state: str) -> list[dict[str, Any]]:
    """What is said in one step: two entities change, and others are visited."""
    probe = {"id": "probe", "document": f"probe {number}"}
    lines: list[dict[str, Any]] = [
        {"subject": "checkout-service", "predicate": "status", "object": state, "source": probe,
         "observed_at": just_now(60 * 24 * (28 - 3 * number))}
    ]  # fmt: skip
    if number < len(CITIES):
        lines.append({"subject": "Marta", "predicate": "lives_in", "object": CITIES[number],
                      "observed_at": just_now(60 * 24 * (20 - 2 * number))})  # fmt: skip
    visits = range((number * 7) % 5 * 6)
    lines += [{"subject": f"Visitor {number}-{other}", "predicate": "visited", "object": "Lisbon",
               "observed_at": just_now(30)} for other in visits]  # fmt: skip
    return lines


def newest_cycle(world: Served) -> int:
    return int(world.get("/v1/cycles", limit=1)["items"][0]["cycle"])


def has_closed_another(world: Served, before: int) -> bool:
    return newest_cycle(world) > before


def drift(visitor: Visitor) -> None:
    visitor.visit()
    visitor.page.locator("li.card", has_text="checkout-service").wait_for()


def entity(visitor: Visitor) -> None:
    visitor.visit("entity", subject="kazakhstan", namespace="world", valid_at="2021")
    visitor.page.locator("a.bar[aria-label^='Nur-Sultan']").first.click()
    visitor.see("It was outvoted by")


def queue(visitor: Visitor) -> None:
    visitor.visit("queue")
    visitor.page.get_by_role("button", name="Replace it…").first.click()
    visitor.page.get_by_label("Reason").wait_for()


def cycles(visitor: Visitor) -> None:
    visitor.visit("cycles")
    visitor.page.locator("tbody tr").nth(5).wait_for()


def rules(visitor: Visitor) -> None:
    visitor.visit("rules")
    visitor.page.locator("li.card", has_text="homes").wait_for()


def health(visitor: Visitor) -> None:
    visitor.visit("health")
    visitor.see("All is well.")


PAGES = {"drift": drift, "entity": entity, "queue": queue, "cycles": cycles, "rules": rules, "health": health}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_each_page_has_its_picture(
    name: str, theme: Any, chromium: Chromium, world: Served, tmp_path: Path
) -> None:
    wanted = bool(os.environ.get("FACTDRIFT_SCREENSHOTS"))
    folder = ROOT / "docs" / "pictures" if wanted else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{theme}.png"

    with chromium.page(color_scheme=theme, viewport={"width": 1280, "height": 800}) as watched:
        visitor = Visitor(watched, world.url)
        PAGES[name](visitor)
        visitor.page.evaluate("() => { document.activeElement.blur(); window.scrollTo(0, 0); }")
        visitor.page.screenshot(path=file)
        visitor.expect_silence()

    assert file.stat().st_size > 10_000  # a blank page is smaller


def test_the_timeline_has_its_picture_on_a_phone(chromium: Chromium, world: Served, tmp_path: Path) -> None:
    wanted = bool(os.environ.get("FACTDRIFT_SCREENSHOTS"))
    folder = ROOT / "docs" / "pictures" if wanted else tmp_path
    folder.mkdir(parents=True, exist_ok=True)

    with chromium.page(viewport={"width": 390, "height": 844}, device_scale_factor=2) as watched:
        visitor = Visitor(watched, world.url)
        visitor.visit("entity", subject="zimbabwe", namespace="world")
        visitor.page.locator("a.bar").first.wait_for()
        visitor.page.screenshot(path=folder / "entity-phone.png")
        visitor.expect_silence()
