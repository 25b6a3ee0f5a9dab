"""The cases of CASES.md that need vectors, through the embedded host with the packaged ones."""

from __future__ import annotations

from pathlib import Path

from tests.cases.world import World, numbered, observe

PARAPHRASES = [
    "adoption agency",
    "adoption agencies",
    "the adoption agency",
    "the adoption agencies",
    "an adoption agency",
    "adoption agencies!",
    "Adoption Agency",
]


def test_f07_paraphrases_are_one_fact_and_another_value_is_its_dissent(tmp_path: Path) -> None:
    world = World(tmp_path)

    world.each(
        numbered(
            [
                observe("adoption agencies", 1),
                observe("adoption agencies", 2),
                observe("adoption agency", 3),
                observe("foster care", 4),
            ]
        )
    )

    (fact,) = world.facts()
    assert (fact["object"], fact["support"], fact["dissent"]) == ("adoption agencies", 3, 1)


def test_f10_a_coarse_date_that_fits_two_takes_no_side(tmp_path: Path) -> None:
    world = World(tmp_path)

    world.each(numbered([observe("8 May 2023", 1), observe("9 May 2023", 2), observe("2023-05", 3)]))

    facts = world.facts()
    assert [(f["object"], f["support"], f["dissent"]) for f in facts] == [
        ("8 May 2023", 1, 0),
        ("9 May 2023", 1, 0),
    ]


def test_f10_of_dates_that_fit_the_finest_spelling_is_shown(tmp_path: Path) -> None:
    world = World(tmp_path)

    world.each(
        numbered([observe("2023-05", 1), observe("2023", 2), observe("8 May 2023", 3), observe("2023-05", 4)])
    )

    (fact,) = world.facts()
    assert (fact["object"], fact["support"], fact["dissent"]) == ("8 May 2023", 4, 0)


def test_f36_paraphrases_are_one_fact_throughout_and_it_is_reworded(tmp_path: Path) -> None:
    world = World(tmp_path)

    world.each(
        numbered(
            [observe(text, at) for at, text in enumerate([*PARAPHRASES, *["adoption agency"] * 3], start=1)]
        )
    )

    (fact,) = world.facts()
    assert (fact["object"], fact["support"], fact["dissent"]) == ("adoption agency", 10, 0)
    told = [(event["event"], event["revision"]) for event in world.events()]
    assert ("fact-revised", "reworded") in told
    assert "fact-invalidated" not in {event for event, _ in told}
