"""Each page with the demo data: what is on it, that the ways lead where they say, and nothing complains."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.api.served import ROOT, Served
from tests.dashboard.browsing import Visitor


def test_drift_tells_who_became_unstable_and_who_came_to_rest(visitor: Visitor) -> None:
    visitor.visit()

    visitor.see("All is calm.")
    log = visitor.region("drift").locator(".log li")
    told = [" ".join(text.split()) for text in log.all_inner_texts()]
    assert any("Twitter" in text and "became unstable" in text for text in told)
    assert any("Twitter" in text and "came to rest" in text for text in told)


def test_the_bare_address_leads_a_person_to_the_dashboard_and_a_program_to_what_it_was(
    world: Served,
) -> None:
    person = world.client.get("/", headers={"Accept": "text/html"})
    program = world.client.get("/")

    assert (person.status_code, person.headers["location"]) == (307, "/dashboard/")
    assert program.status_code == 404
    assert program.json()["code"] == "not_found"


def test_an_entity_shows_its_claims_as_bars_in_order_of_time(visitor: Visitor) -> None:
    visitor.visit("entity", subject="kazakhstan", namespace="world")

    assert visitor.page.locator("h1").inner_text().startswith("Kazakhstan")
    row = visitor.page.locator("section.claim", has=visitor.page.get_by_role("heading", name="capital"))
    bars = row.get_by_role("link")
    told = [bar.get_attribute("aria-label") or "" for bar in bars.all()]
    assert [text.partition(":")[0] for text in told] == ["Almaty", "Astana", "Nur-Sultan", "Astana"]
    assert "16 Dec 1991 – " in told[0]
    assert "retired: outvoted" in told[0]
    lefts = [box["x"] for bar in bars.all() if (box := bar.locator(".shape").bounding_box())]
    assert lefts == sorted(lefts)


def test_what_is_contested_is_hatched_and_what_is_retired_is_muted(visitor: Visitor) -> None:
    visitor.visit("entity", subject="bolivia", namespace="world")

    la_paz = visitor.page.locator("a.bar.contested")
    assert la_paz.locator(".hatched").count() == 1
    assert "La Paz" in (la_paz.get_attribute("aria-label") or "")
    sucre = visitor.page.locator("a.bar.retired")
    assert sucre.locator(".hatched").count() == 0
    assert "Sucre" in (sucre.get_attribute("aria-label") or "")


def test_a_click_on_a_bar_tells_why_and_another_one_closes_it(visitor: Visitor) -> None:
    visitor.visit("entity", subject="kazakhstan", namespace="world")

    visitor.page.get_by_role("link", name=re.compile("^Nur-Sultan")).first.click()

    visitor.see("It was outvoted by")
    assert visitor.region("why").get_by_text("For it (").count() == 1
    visitor.page.get_by_role("button", name="Close").click()
    visitor.waits_for("document.querySelector('#why').innerHTML === ''")


def test_search_answers_as_someone_types_and_leads_to_the_entity(visitor: Visitor) -> None:
    visitor.visit()

    visitor.page.get_by_role("combobox").press_sequentially("kazak")
    found = visitor.page.get_by_role("option", name=re.compile("Kazakhstan"))
    found.first.wait_for()
    visitor.page.get_by_role("combobox").press_sequentially("xyz")
    visitor.see("Nothing is called")
    visitor.page.get_by_role("combobox").fill("twit")
    visitor.page.get_by_role("option", name=re.compile("Twitter")).first.click()

    visitor.page.wait_for_url("**/entity?**")
    assert visitor.page.locator("h1").inner_text().startswith("Twitter")


def test_entities_are_listed_a_page_at_a_time_and_narrowed_down(visitor: Visitor) -> None:
    visitor.visit("entities")

    first = visitor.page.locator("tbody tr")
    assert first.count() == 50
    names = set(visitor.page.locator("tbody th").all_inner_texts())
    visitor.page.get_by_role("link", name="Next page").click()
    visitor.page.wait_for_url("**cursor=**")
    visitor.page.wait_for_selector("tbody th")
    assert not names & set(visitor.page.locator("tbody th").all_inner_texts())

    visitor.page.get_by_label("Name, or part of it").fill("united")
    visitor.page.get_by_role("button", name="Show").click()
    visitor.page.wait_for_url("**text=united**")
    visitor.page.wait_for_selector("tbody th")
    found = visitor.page.locator("tbody th").all_inner_texts()
    assert found
    assert all("united" in name.lower() for name in found)


def test_cycles_are_listed_and_one_tells_what_it_touched(visitor: Visitor) -> None:
    visitor.visit("cycles")

    visitor.page.locator("tbody tr").last.get_by_role("link").click()

    visitor.page.wait_for_url("**cycle=1")
    visitor.see("Cycle 1")
    assert visitor.page.locator(".figures dd").first.inner_text() == "452"
    assert visitor.page.get_by_role("heading", name="Created").count() == 1


def test_rules_show_the_curve_of_their_confidence(visitor: Visitor, world: Served) -> None:
    subprocess.run(
        [sys.executable, "-m", "agents.main", "rules", "add", "homes", "--when", "/ lives_in",
         "--data", str(world.folder)],
        check=True, capture_output=True, cwd=ROOT, timeout=120,
    )  # fmt: skip
    visitor.visit("rules")

    for number in range(3):
        world.learn({"subject": f"Rule {number}", "predicate": "lives_in", "object": "Oslo",
                     "observed_at": "2024-01-01"})  # fmt: skip
        shown = f"{number + 1} match"
        visitor.page.locator("li.card", has_text="homes").get_by_text(shown).wait_for()

    card = visitor.page.locator("li.card", has_text="homes")
    told = card.locator("svg.curve title").text_content() or ""
    assert told.startswith("Confidence of homes from cycle")
    assert (card.locator("svg.curve .line").get_attribute("d") or "").startswith("M0")
    assert card.locator("svg.curve .threshold").count() == 2


def test_health_tells_lag_and_dead_letters_and_sends_one_again(visitor: Visitor) -> None:
    visitor.visit("health")

    visitor.see("All is well.")
    behind = visitor.page.locator(".figures div", has_text="records behind").locator("dd")
    behind.get_by_text("0", exact=True).wait_for()
    letters = visitor.page.locator(".letter")
    assert letters.count() == 4
    letters.filter(has_text="missing_field").get_by_role("button", name="Send again").click()

    visitor.see("1 record sent again.")
    visitor.waits_for("document.querySelectorAll('.letter').length === 5")  # it cannot be used now either


@pytest.mark.parametrize(
    ("page", "query", "told"),
    [
        ("entity", {"subject": "nobody at all"}, "Nothing was heard about"),
        ("entity", {}, "names no entity"),
        ("entity", {"fact": "no-such-fact"}, "No fact has the id"),
        ("entity", {"subject": "Twitter", "known_at": "someday"}, "someday"),
        ("cycles", {"cycle": "999999"}, "There is no cycle"),
        ("cycles", {"cycle": "-1"}, "There is no cycle"),
        ("queue", {"cursor": "forged"}, "cursor"),
        ("entities", {"cursor": "forged"}, "cursor"),
    ],
)
def test_an_address_that_leads_nowhere_is_told_in_a_sentence(
    visitor: Visitor, page: str, query: dict[str, str], told: str
) -> None:
    visitor.visit(page, **query)

    visitor.page.locator("#notice .bad", has_text=told).wait_for()


def test_the_theme_is_chosen_and_kept(visitor: Visitor) -> None:
    visitor.visit()
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = visitor.page.evaluate(ground)

    button = visitor.page.get_by_role("button", name="Theme")
    button.click()
    button.click()
    assert button.inner_text() == "Theme: dark"
    dark = visitor.page.evaluate(ground)
    visitor.visit("queue")

    assert light != dark
    assert visitor.page.evaluate(ground) == dark
    assert visitor.page.get_by_role("button", name="Theme").inner_text() == "Theme: dark"


def test_on_a_phone_nothing_is_wider_than_the_screen(visitor: Visitor) -> None:
    visitor.page.set_viewport_size({"width": 375, "height": 720})

    for page, query in (
        ("", {}), ("entities", {}), ("entity", {"subject": "twitter"}), ("queue", {}), ("cycles", {}),
        ("rules", {}), ("health", {}),
    ):  # fmt: skip
        visitor.visit(page, **query)
        wide = visitor.page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 375, page
