"""The work queue: both sides are shown, and a person decides by clicking, with a reason."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.api.served import Served
from tests.dashboard.browsing import Visitor

Contest = Callable[[], str]
_numbers = count()


@pytest.fixture
def contest(world: Served) -> Contest:
    """Makes a subject of its own that lives in Oslo, say three papers, and in Bergen, say three others.

    Bergen is one vote ahead of the newest five, which is not enough, and not all of its votes are the latest.
    """

    def make() -> str:
        subject = f"Contested {next(_numbers)}"
        cities = ("Oslo", "Oslo", "Bergen", "Oslo", "Bergen", "Bergen")
        world.learn(*(
            {
                "subject": subject, "predicate": "lives_in", "object": city,
                "observed_at": f"2024-01-0{number + 1}T10:00:00Z", "content": f"{subject}, of {city}.",
                "source": {"id": "papers", "document": f"paper {number} of {city}"},
            }
            for number, city in enumerate(cities)
        ))  # fmt: skip
        return subject

    return make


def card_of(visitor: Visitor, subject: str) -> Any:
    return visitor.page.locator("li.card", has_text=subject)


def facts(world: Served, subject: str) -> list[tuple[str, str, str | None]]:
    found = world.get("/v1/facts", subject=subject)["items"]
    return [(fact["object"], fact["state"], fact["reason"]) for fact in found]


def test_both_sides_are_shown_with_their_evidence(visitor: Visitor, contest: Contest) -> None:
    subject = contest()
    visitor.visit("queue")

    card = card_of(visitor, subject)
    card.wait_for()

    assert card.locator(".side.held .value").inner_text() == "Oslo"
    assert card.locator(".side.rival .value").inner_text() == "Bergen"
    assert f"{subject}, of Oslo." in card.locator(".side.held").inner_text()
    assert f"{subject}, of Bergen." in card.locator(".side.rival").inner_text()
    assert "paper 5 of Bergen" in card.locator(".side.rival").inner_text()


def test_a_contested_fact_is_replaced_by_clicking(visitor: Visitor, world: Served, contest: Contest) -> None:
    subject = contest()
    visitor.visit("queue")
    card = card_of(visitor, subject)

    card.get_by_role("button", name="Replace it…").click()
    card.get_by_label("The value that holds instead").wait_for()
    assert card.get_by_label("The value that holds instead").input_value() == "Bergen"
    card.get_by_label("Reason").fill("seen on the letterbox")
    card.get_by_role("button", name="Replace it", exact=True).click()

    visitor.see("“Bergen” holds from now on, by your decision.")
    card.wait_for(state="detached")
    assert facts(world, subject) == [("Oslo", "retired", "superseded"), ("Bergen", "open", None)]
    told = world.get("/v1/why", subject=subject, predicate="lives_in")
    assert told["facts"][0]["decided_by"]["closed"]["reason"] == "seen on the letterbox"


def test_a_contested_fact_is_ended_by_clicking(visitor: Visitor, world: Served, contest: Contest) -> None:
    subject = contest()
    visitor.visit("queue")
    card = card_of(visitor, subject)

    card.get_by_role("button", name="End it…").click()
    card.get_by_label("From when on").fill("2024-03-01")
    card.get_by_label("Reason").fill("it was a holiday")
    card.get_by_role("button", name="End it", exact=True).click()

    visitor.see("it is ended, by your decision.")
    card.wait_for(state="detached")
    (fact,) = world.get("/v1/facts", subject=subject)["items"]
    assert (fact["object"], fact["reason"], fact["valid"]["hi"]) == (
        "Oslo", "invalidated", "2024-03-01T00:00:00Z",
    )  # fmt: skip


def test_it_is_said_by_clicking_that_one_value_refines_the_other(
    visitor: Visitor, world: Served, contest: Contest
) -> None:
    subject = contest()
    before = world.get("/v1/assertions", subject=subject, predicate="lives_in")["items"]
    assert {one["state"] for one in before} == {"conflicting"}
    visitor.visit("queue")
    card = card_of(visitor, subject)

    card.get_by_role("button", name="One refines the other…").click()
    card.get_by_label("“Bergen” refines “Oslo”").check()
    card.get_by_label("Reason").fill("a part of town")
    card.get_by_role("button", name="Say so").click()

    visitor.see("It is decided that “Bergen” refines “Oslo”.")
    card.get_by_text("their documents conflict no longer").wait_for()
    after = world.get("/v1/assertions", subject=subject, predicate="lives_in")["items"]
    assert {one["state"] for one in after} == {"current"}


def test_a_reason_of_spaces_is_refused_with_its_code_and_nothing_typed_is_lost(
    visitor: Visitor, world: Served, contest: Contest
) -> None:
    subject = contest()
    visitor.visit("queue")
    card = card_of(visitor, subject)
    card.get_by_role("button", name="Replace it…").click()
    card.get_by_label("The value that holds instead").fill("Trondheim")
    card.get_by_label("Reason").fill("   ")

    card.get_by_role("button", name="Replace it", exact=True).click()

    card.locator(".refusal", has_text="blank_reason").wait_for()
    assert card.get_by_label("The value that holds instead").input_value() == "Trondheim"
    assert facts(world, subject) == [("Oslo", "contested", None)]


def test_what_is_being_typed_survives_what_happens_meanwhile(
    visitor: Visitor, world: Served, contest: Contest
) -> None:
    subject = contest()
    visitor.visit("queue")
    card = card_of(visitor, subject)
    card.get_by_role("button", name="End it…").click()
    card.get_by_label("Reason").fill("half a sen")

    other = contest()
    visitor.page.get_by_role("button", name="Theme").click()  # by now the page has heard of it
    assert card.get_by_label("Reason").input_value() == "half a sen"

    card.get_by_role("button", name="Cancel").click()
    visitor.visit("queue")
    card_of(visitor, other).wait_for()
