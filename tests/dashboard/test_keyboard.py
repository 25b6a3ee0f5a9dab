"""Everything by the keyboard: the way to a fact and its reasons, and a decision, without a pointer."""

from __future__ import annotations

from tests.dashboard.browsing import Visitor


def press_until(visitor: Visitor, key: str, wanted: str, *, n_max: int = 60) -> None:
    """Press a key until an element with this id has the focus."""
    for _ in range(n_max):
        visitor.page.keyboard.press(key)
        if visitor.focused() == wanted:
            return
    raise AssertionError(f"{key} does not lead to {wanted}; the focus is on {visitor.focused()}")


def test_the_first_stop_leads_past_the_head(visitor: Visitor) -> None:
    visitor.visit("queue")

    visitor.page.keyboard.press("Tab")
    assert visitor.focused() == "Skip to the content"
    visitor.page.keyboard.press("Enter")

    assert visitor.focused() == "main"


def test_search_is_reached_and_walked_by_keys(visitor: Visitor) -> None:
    visitor.visit("queue")

    visitor.page.keyboard.press("/")
    assert visitor.focused() == "search"
    visitor.page.keyboard.type("ger")
    visitor.page.get_by_role("option").first.wait_for()
    visitor.waits_for("document.getElementById('search').getAttribute('aria-expanded') === 'true'")
    visitor.page.keyboard.press("ArrowDown")
    first = visitor.focused()
    visitor.page.keyboard.press("ArrowUp")
    assert visitor.focused() == "search"
    visitor.page.keyboard.press("ArrowDown")
    assert visitor.focused() == first
    visitor.page.keyboard.press("Enter")

    visitor.page.wait_for_url("**/entity?**")


def test_escape_closes_the_search(visitor: Visitor) -> None:
    visitor.visit("queue")
    visitor.page.keyboard.press("/")
    visitor.page.keyboard.type("ger")
    visitor.page.get_by_role("option").first.wait_for()

    visitor.page.keyboard.press("ArrowDown")
    visitor.page.keyboard.press("Escape")

    visitor.waits_for("document.querySelectorAll('#found a').length === 0")
    assert visitor.focused() == "search"


def test_a_bar_is_opened_and_closed_by_keys_and_the_focus_comes_back(visitor: Visitor) -> None:
    visitor.visit("entity", subject="bolivia", namespace="world")
    bar = visitor.page.locator("a.bar.contested")
    wanted = bar.get_attribute("id")
    assert wanted is not None

    press_until(visitor, "Tab", wanted)
    visitor.page.keyboard.press("Enter")
    visitor.see("It is contested")
    visitor.waits_for("document.activeElement.classList.contains('why')")
    press_until(visitor, "Tab", "close-why")
    visitor.page.keyboard.press("Enter")

    visitor.waits_for(f"document.activeElement.id === '{wanted}'")


def test_a_slider_moves_by_arrows_and_says_where_it_is(visitor: Visitor) -> None:
    visitor.visit("entity", subject="bolivia", namespace="world")
    slider = visitor.page.locator("#clock-valid_at")
    slider.focus()
    before = slider.get_attribute("aria-valuetext")

    for _ in range(3):
        visitor.page.keyboard.press("PageDown")

    visitor.waits_for(
        f"document.getElementById('clock-valid_at').getAttribute('aria-valuetext') !== '{before}'"
    )
    assert visitor.focused() == "clock-valid_at"
    visitor.waits_for(
        "document.getElementById('clock-valid_at').getAttribute('aria-valuetext')"
        " === document.getElementById('told-valid_at').textContent"
    )


def test_a_decision_is_made_by_keys_alone(visitor: Visitor) -> None:
    visitor.visit("queue")
    opener = visitor.page.locator("li.card", has_text="Earth").get_by_role("button", name="Replace it…")
    wanted = opener.get_attribute("id")
    assert wanted is not None

    press_until(visitor, "Tab", wanted)
    visitor.page.keyboard.press("Enter")
    visitor.waits_for("document.activeElement.id === 'field-object'")
    press_until(visitor, "Tab", "reason-supersede")
    visitor.page.keyboard.type("measured again")
    visitor.page.keyboard.press("Tab")
    visitor.page.keyboard.press("Enter")

    visitor.see("“Amazon” holds from now on, by your decision.")
