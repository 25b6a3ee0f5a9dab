"""The cases of CASES.md that need vectors, through the embedded host with the packaged ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents import composition
from agents.logs import EmbeddedLog
from agents.models import identity_of
from agents.reclustering import due, request
from streams.settings import Settings
from tests.cases.world import World, numbered, observe
from tests.parts.embeddings import EmbeddingsServer, serving, status

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


# -- F30: vectors fail, then return ----------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingsServer]:
    """An embeddings endpoint that the settings name; it is never left alone after a failure."""
    with serving() as found:
        for name, value in {
            "": "openai", "_URL": found.url, "_MODEL": "served-256", "_DIMENSION": "256",
            "_THRESHOLD": "0.84", "_REST_S": "0",
        }.items():  # fmt: skip
            monkeypatch.setenv(f"FACTDRIFT_VECTORS{name}", value)
        monkeypatch.setattr("streams.vectors.endpoint.PAUSE_FIRST_S", 0.001)
        yield found


AGENCIES = [
    observe("adoption agencies", 1),
    observe("adoption agencies", 2),
    observe("adoption agency", 3),
    observe("foster care", 4),
]


def identity() -> str:
    """The model that the settings name."""
    return identity_of(composition.vectors(Settings()))


def repaired(world: World) -> World:
    """The world after `factdrift recluster`; asserts that nothing is due afterwards."""
    log = EmbeddedLog(world.host)
    for _ in request(log, due(log, identity()), batch_max=10):
        pass
    return world


def test_f30_without_vectors_exact_and_typed_matching_goes_on_and_says_that_it_is_degraded(
    tmp_path: Path, server: EmbeddingsServer
) -> None:
    world = World(tmp_path)
    server.down = status(503)

    world.each(numbered([*AGENCIES, observe("Adoption Agencies.", 5), observe("8 May 2023", 6)]))
    world.each(numbered([observe("2023-05-08", 7)], prefix="p"))

    support = {fact["object"]: fact["support"] for fact in world.facts()}
    assert support["adoption agencies"] == 3
    assert {event["degraded"] for event in world.events()[2:]} == {True}
    assert world.events()[0]["degraded"] is False, "one text alone needs no vector"


def test_f30_nothing_is_redone_before_it_is_asked_for_although_vectors_are_back(
    tmp_path: Path, server: EmbeddingsServer
) -> None:
    world = World(tmp_path)
    server.down = status(503)
    world.each(numbered(AGENCIES))
    before, n_events = world.facts(), len(world.events())

    server.down = None
    world.each(
        numbered([observe("Oslo", 5, predicate="lives_in"), observe("Bergen", 6, predicate="lives_in")])
    )

    assert [fact for fact in world.facts() if fact["predicate"] == "prefers"] == before
    assert all(event["predicate"] == "lives_in" for event in world.events()[n_events:])


def test_f30_what_was_degraded_is_repaired_with_events_and_equals_what_never_was(
    tmp_path: Path, server: EmbeddingsServer
) -> None:
    never = World(tmp_path / "never").each(numbered(AGENCIES))
    world = World(tmp_path / "world")
    server.down = status(503)
    world.each(numbered(AGENCIES))
    assert world.lines() != never.lines()
    server.down = None

    repaired(world)

    assert world.lines() == never.lines()
    assert world.told() == world.facts()
    latest = {event["fact_id"]: event for event in world.events()}
    assert not any(event["degraded"] for event in latest.values() if event["reason"] != "withdrawn")
    assert due(EmbeddedLog(world.host), identity()) == []


def test_f30_a_fact_that_a_repair_leaves_as_it_was_says_so(tmp_path: Path, server: EmbeddingsServer) -> None:
    world = World(tmp_path)
    server.down = status(503)
    world.each(numbered([observe("tea", 1), observe("football", 2)]))
    before = world.facts()
    server.down = None

    repaired(world)

    assert world.facts() == before
    told = [(event["object"], event["revision"], event["degraded"]) for event in world.events()[-2:]]
    assert sorted(told) == [("football", "reclustered", False), ("tea", "reclustered", False)]


def test_f30_a_repair_while_vectors_are_still_missing_changes_nothing(
    tmp_path: Path, server: EmbeddingsServer
) -> None:
    world = World(tmp_path)
    server.down = status(503)
    world.each(numbered(AGENCIES))
    n_events, stored = len(world.events()), world.stored_claims()

    repaired(world)

    assert (len(world.events()), world.stored_claims()) == (n_events, stored)
    assert len(due(EmbeddedLog(world.host), identity())) == 1


def test_f30_a_second_repair_changes_nothing(tmp_path: Path, server: EmbeddingsServer) -> None:
    world = World(tmp_path)
    server.down = status(503)
    world.each(numbered(AGENCIES))
    server.down = None
    n_events = len(repaired(world).events())

    world.publish({"op": "recluster", "subject": "Kim", "predicate": "Prefers"})

    assert len(world.events()) == n_events
    assert world.dead_letters() == []


def test_f30_a_replay_of_the_log_repairs_at_the_same_place(tmp_path: Path, server: EmbeddingsServer) -> None:
    lines = numbered(AGENCIES)
    wish = {"op": "recluster", "subject": "kim", "predicate": "prefers"}
    world = World(tmp_path / "world")
    server.down = status(503)
    world.each(lines)
    server.down = None
    world.publish(wish).each(numbered([observe("an adoption agency", 9)], prefix="p"))

    again = World(tmp_path / "again")
    server.down = status(503)
    again.each(lines)
    server.down = None
    again.publish(wish).each(numbered([observe("an adoption agency", 9)], prefix="p"))

    def same(events: list[dict[str, object]]) -> list[dict[str, object]]:
        return [{**event, "recorded_at": None} for event in events]

    assert same(again.events()) == same(world.events())
    assert again.lines() == world.lines()


def test_f30_a_new_text_of_a_degraded_claim_repairs_all_of_it(
    tmp_path: Path, server: EmbeddingsServer
) -> None:
    lines = numbered([*AGENCIES, observe("the adoption agency", 5)])
    never = World(tmp_path / "never").each(lines)
    world = World(tmp_path / "world")
    server.down = status(503)
    world.each(lines[:-1])
    server.down = None

    world.publish(lines[-1])

    assert world.lines() == never.lines()
    assert world.told() == world.facts()
