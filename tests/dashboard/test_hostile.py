"""Names and values that mean harm: shown as what they are on every page, and harming none."""

from __future__ import annotations

import re

import pytest

from tests.api.served import Served
from tests.dashboard.browsing import Visitor
from tests.dashboard.test_live import unsettle

SCRIPT = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"
QUOTES = """"' onmouseover="window.harmed=1" x='`${window.harmed=1}`'"""
TEMPLATE = "{{ window.harmed = 1 }} {% raw %} </script><script>window.harmed = 1</script>"
BACKWARDS = "user\u202egpj.exe\u200b\u2066"
RIGHT_TO_LEFT = "\u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627"
LONG = "very long name " * 700  # 10 kB
HOSTILE = (SCRIPT, QUOTES, TEMPLATE, BACKWARDS, RIGHT_TO_LEFT, LONG)


def contested(world: Served, subject: str, n: int) -> None:
    """A contested fact of a subject, whose values and sources are as hostile as its name."""
    for number, side in enumerate((0, 0, 1, 0, 1, 1)):
        world.learn({
            "subject": subject, "predicate": "lives_in", "object": HOSTILE[(n + side) % 5][:200],
            "observed_at": f"2024-01-0{number + 1}T10:00:00Z", "content": SCRIPT,
            "source": {"id": QUOTES, "document": f"{TEMPLATE} {number}"},
        })  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _said(world: Served) -> None:
    for number, subject in enumerate(HOSTILE):
        contested(world, subject, number)
    unsettle(world, SCRIPT, predicate="works_at")
    world.publish({"subject": SCRIPT, "predicate": QUOTES, "observed_at": "someday"})


def unharmed(visitor: Visitor) -> None:
    assert visitor.page.evaluate("() => window.harmed") is None
    assert visitor.page.locator(".region img, .region script, .region [onmouseover]").count() == 0


@pytest.mark.parametrize("page", ["", "entities", "queue", "cycles", "rules", "health"])
def test_no_page_runs_what_a_name_says(visitor: Visitor, page: str) -> None:
    visitor.visit(page)

    unharmed(visitor)


def test_a_hostile_subject_is_unstable_under_its_own_name(visitor: Visitor) -> None:
    visitor.visit()

    card = visitor.page.locator("li.card", has_text="<script>window.harmed")
    card.wait_for()
    assert SCRIPT in card.inner_text()
    unharmed(visitor)


@pytest.mark.parametrize("subject", HOSTILE, ids=["script", "quotes", "template", "backwards", "rtl", "long"])
def test_an_entity_with_a_hostile_name_is_found_and_shown(visitor: Visitor, subject: str) -> None:
    visitor.visit()
    visitor.page.get_by_role("combobox").fill(subject[:40])
    visitor.page.get_by_role("option").first.wait_for()
    unharmed(visitor)

    visitor.page.get_by_role("option").first.click()

    visitor.page.wait_for_url("**/entity?**")
    visitor.page.locator("a.bar").first.wait_for()
    visitor.page.locator("a.bar").first.click()
    visitor.see("Why lives in")
    unharmed(visitor)
    wide = visitor.page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0


def test_a_long_name_is_cut_and_its_length_told(visitor: Visitor) -> None:
    visitor.visit("entities", text="very long")

    assert "10,500 characters" in visitor.page.locator("tbody th").first.inner_text()


def test_what_is_invisible_is_shown_by_its_code_point_and_turns_nothing_around(visitor: Visitor) -> None:
    visitor.visit("entities", text="user")

    shown = visitor.page.locator("tbody th").first.inner_text()
    assert shown.startswith("user‹U+202E›gpj.exe‹U+200B›")


def test_a_name_that_is_written_from_the_right_keeps_its_direction_to_itself(visitor: Visitor) -> None:
    visitor.visit("entities", text=RIGHT_TO_LEFT[:3])

    row = visitor.page.locator("tbody tr").first
    name, place = row.locator("bdi").bounding_box(), row.locator("td").first.bounding_box()
    assert name is not None
    assert place is not None
    assert name["x"] < place["x"]


def test_a_decision_about_hostile_values_is_told_as_text(visitor: Visitor) -> None:
    visitor.visit("queue")
    card = visitor.page.locator("li.card", has_text=re.compile("user‹U\\+202E›")).first
    card.get_by_role("button", name="Replace it…").click()
    card.get_by_label("The value that holds instead").fill(SCRIPT)
    card.get_by_label("Reason").fill(TEMPLATE)

    card.get_by_role("button", name="Replace it", exact=True).click()

    visitor.page.locator("#notice", has_text="<script>window.harmed").wait_for()
    unharmed(visitor)


def test_what_a_browser_sends_is_checked_again(visitor: Visitor) -> None:
    """Whoever forges actions learns nothing, and the page goes on."""
    visitor.visit("queue")
    send = """(data) => {
      const button = document.querySelector('button[data-do]');
      Object.assign(button.dataset, data);
      button.click();
    }"""
    for forged in (
        {"do": "open", "op": "forget", "fact": "x"}, {"do": "decide", "op": "retract", "fact": "x"},
        {"do": "decide", "op": "supersede", "fact": "no such fact"}, {"do": "x" * 50_000},
    ):  # fmt: skip
        visitor.page.evaluate(send, forged)

    visitor.visit("queue")
    visitor.page.locator("li.card").first.wait_for()
