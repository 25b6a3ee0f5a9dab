"""Pages that follow the log: what happens appears by itself, without being asked for again."""

from __future__ import annotations

import datetime

from tests.api.served import Served
from tests.dashboard.browsing import Visitor

CITIES = ("Oslo", "Bergen", "Rome", "Lima", "Cairo", "Quito", "Perth")


def just_now(minutes_ago: float) -> str:
    """An instant a few minutes back, as drift looks at the last thirty days."""
    at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=minutes_ago)
    return at.isoformat()


def unsettle(world: Served, subject: str, *, predicate: str = "lives_in") -> None:
    """Let the facts of a subject be retired again and again, by observations that are sent to the service."""
    for number, city in enumerate(CITIES):
        world.learn({"subject": subject, "predicate": predicate, "object": city,
                     "observed_at": just_now(30 - number)})  # fmt: skip


def test_a_drift_alert_appears_without_a_reload(visitor: Visitor, world: Served) -> None:
    visitor.visit()
    visitor.page.evaluate("() => { window.unloaded = false; }")
    visitor.see("All is calm.")

    unsettle(world, "Restless Rita")

    card = visitor.page.locator("li.card", has_text="Restless Rita")
    card.wait_for()
    assert "retired since" in card.inner_text()
    assert card.locator(".causes li").count() >= 4
    assert card.locator("svg.sparkline .bar").count() >= 1
    assert "retirements between" in (card.locator("svg.sparkline title").text_content() or "")
    assert visitor.page.evaluate("() => window.unloaded") is False


def test_an_entity_that_is_looked_at_grows_as_it_is_spoken_about(visitor: Visitor, world: Served) -> None:
    world.learn({"subject": "Growing Greta", "predicate": "lives_in", "object": "Oslo",
                 "observed_at": "2024-01-01"})  # fmt: skip
    visitor.visit("entity", subject="growing greta")
    visitor.page.locator("a.bar").first.wait_for()
    assert visitor.page.locator("a.bar").count() == 1

    world.learn({"subject": "Growing Greta", "predicate": "works_at", "object": "the harbour",
                 "observed_at": "2024-02-01"})  # fmt: skip

    visitor.page.locator("a.bar[aria-label^='the harbour']").wait_for()


def test_what_has_the_focus_keeps_it_when_the_page_is_drawn_anew(visitor: Visitor, world: Served) -> None:
    unsettle(world, "Restless Ruth")
    visitor.visit()
    link = visitor.page.locator("li.card", has_text="Restless Ruth").get_by_role("link").first
    link.focus()
    before = visitor.focused()

    unsettle(world, "Restless Rolf")
    visitor.page.locator("li.card", has_text="Restless Rolf").wait_for()

    assert visitor.focused() == before
    assert before


def test_an_open_page_keeps_no_service_from_leaving(visitor: Visitor, world: Served) -> None:
    visitor.visit()

    world.end()

    assert world.process.running is False
    world.start()
    visitor.watched.faults.clear()  # the browser lost its connection, and said so
