"""The two clocks of an entity: what held, and what was believed, by sliders and by the keyboard."""

from __future__ import annotations

from tests.dashboard.browsing import Visitor


def set_to(visitor: Visitor, clock: str, step: int) -> None:
    """Move a slider as a hand does."""
    visitor.page.locator(f"#clock-{clock}").evaluate(
        "(slider, step) => { slider.value = step;"
        " slider.dispatchEvent(new Event('input', {bubbles: true})); }",
        step,
    )


def held(visitor: Visitor) -> list[str]:
    """The values in the table of what held."""
    return visitor.region("holding").locator("tbody td:nth-child(2)").all_inner_texts()


def test_valid_at_moves_the_line_and_tells_what_held_then(visitor: Visitor) -> None:
    visitor.visit("entity", subject="kazakhstan", namespace="world")
    assert "Astana" in held(visitor)
    before = visitor.page.locator("line.valid-at").first.get_attribute("x1")

    set_to(visitor, "valid_at", 150)

    visitor.waits_for("document.querySelector('#holding').innerText.includes('Almaty')")
    assert "Astana" not in held(visitor)
    assert visitor.page.locator("line.valid-at").first.get_attribute("x1") != before
    assert visitor.page.locator("#told-valid_at").inner_text() in visitor.region("holding").inner_text()
    assert visitor.page.locator("a.bar.holds[aria-label^='Almaty']").count() == 1


def test_known_at_draws_what_was_believed_then(visitor: Visitor) -> None:
    """Until June 2024 Karachi was believed to have been the capital until 1967 (examples/README, 6)."""
    visitor.visit("entity", subject="pakistan", namespace="world", why="")
    assert visitor.page.locator("a.bar[aria-label^='Rawalpindi']").count() == 1

    set_to(visitor, "known_at", 500)

    visitor.waits_for("!document.querySelector(\"a.bar[aria-label^='Rawalpindi']\")")
    assert visitor.page.locator("a.bar[aria-label^='Karachi']").count() == 1
    assert "2024" in visitor.page.locator("#told-known_at").inner_text()
    visitor.page.get_by_role("button", name="Both to now").click()
    visitor.page.locator("a.bar[aria-label^='Rawalpindi']").wait_for()
    assert visitor.page.locator("#told-known_at").inner_text() == "now"


def test_before_anything_was_known_nothing_is_shown(visitor: Visitor) -> None:
    visitor.visit("entity", subject="pakistan", namespace="world")

    set_to(visitor, "known_at", 0)

    visitor.see("Nothing was known then.")


def test_the_address_may_name_both_clocks_in_words(visitor: Visitor) -> None:
    visitor.visit("entity", subject="pakistan", namespace="world", valid_at="1962", known_at="2024-05")

    assert "Karachi" in held(visitor)
    visitor.visit("entity", subject="pakistan", namespace="world", valid_at="1962")
    assert "Rawalpindi" in held(visitor)


def test_why_follows_what_was_known(visitor: Visitor) -> None:
    visitor.visit("entity", subject="new zealand", namespace="world", known_at="2024-06-05")
    visitor.page.locator("a.bar[aria-label^='Auckland']").click()
    visitor.see("Why capital")

    visitor.page.get_by_role("button", name="Both to now").click()

    # It was taken back since, so nothing is left to be explained; that is said, not shown as if it held.
    visitor.waits_for("!document.querySelector(\"a.bar[aria-label^='Auckland']\")")
    visitor.page.locator("#why .bad").wait_for()
