"""History, evidence, changes, names and documents: what stands in the log, found by its keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.claims import NoSuchClaim
from agents.read_model import (
    FactBody,
    ReadModel,
    ReadModelError,
    apply,
    catch_up,
    changes,
    claim,
    claim_read,
    claims,
    corrections,
    cycles,
    drift_alerts,
    evidence,
    fact_evidence,
    history,
    links,
    newest_change,
    rebuild_embedded,
    rule_events,
    rules,
    subjects,
    unstable,
)
from state.instants import Instant
from streams.events import Fact, FactEvent
from streams.host import Record
from streams.keys import Offset, Partition
from streams.topics import Topic
from tests.builders import day
from tests.cases.world import World, iso, observe, retract
from tests.read_model.asked import FOLDING, all_facts, recorded


def test_a_fact_is_read_with_every_field_that_is_published() -> None:
    assert set(FactBody.__struct_fields__) | {"schema_version"} == set(Fact.model_fields)
    assert set(FactEvent.model_fields) - set(Fact.model_fields) == {
        "event_id", "event", "revision", "position", "decided_observed_at"
    }  # fmt: skip


# -- history ----------------------------------------------------------------------------------


def test_history_is_every_event_of_a_claim_in_order(model: ReadModel, world: World) -> None:
    world.each([observe("Oslo", 1), observe("Bergen", 5), observe("tea", 5, predicate="drinks")])
    catch_up(model, world.host.store)

    with model.reading() as connection:
        [drinks, prefers] = claims(connection).items
        found = history(connection, claim_id=prefers.claim_id).items
        one_by_one = _paged(
            lambda cursor: history(connection, claim_id=prefers.claim_id, limit=1, cursor=cursor)
        )

    told = [event for event in world.events() if event["claim_id"] == prefers.claim_id]
    assert {version.event_id for version in found} == {event["event_id"] for event in told}
    assert [(v.object, v.version) for v in found] == [("Oslo", 1), ("Bergen", 1), ("Oslo", 2)]
    assert one_by_one == found
    assert drinks.predicate == "drinks"


def test_history_of_a_fact_ends_where_it_was_not_published_yet(model: ReadModel, world: World) -> None:
    world.each([recorded(observe("Oslo", 1), 1), recorded(observe("Bergen", 5), 5)])
    catch_up(model, world.host.store)
    oslo = world.facts()[0]["fact_id"]

    with model.reading() as connection:
        assert [v.version for v in history(connection, fact_id=oslo).items] == [1, 2]
        assert [v.version for v in history(connection, fact_id=oslo, known_at=day(4)).items] == [1]
        with pytest.raises(ReadModelError) as refused:
            history(connection, fact_id="x")

    assert refused.value.code == "no_such_fact"


# -- changes ----------------------------------------------------------------------------------


def test_changes_go_on_where_a_reader_stopped_and_miss_nothing(model: ReadModel, world: World) -> None:
    world.each([observe("Oslo", 1), observe("Bergen", 5)])
    catch_up(model, world.host.store)
    with model.reading() as connection:
        first = changes(connection, after=None, limit=1)
        rest = changes(connection, after=first.next)
        nothing = changes(connection, after=rest.next)
        assert newest_change(connection) == rest.next
    world.publish(observe("Bergen", 6))
    catch_up(model, world.host.store)

    with model.reading() as connection:
        news = changes(connection, after=nothing.next)

    seen = [v.event_id for page in (first, rest, nothing, news) for v in page.items]
    assert seen == [event["event_id"] for event in world.events()]
    assert len(first.items) == 1
    assert nothing.items == []
    assert first.items[0].cursor == first.next


def test_a_cursor_from_before_a_rebuild_is_told_so(model: ReadModel, world: World) -> None:
    world.publish(observe("Oslo", 1))
    catch_up(model, world.host.store)
    with model.reading() as connection:
        cursor = newest_change(connection)
    rebuild_embedded(model, world.host.store)

    with model.reading() as connection, pytest.raises(ReadModelError) as refused:
        changes(connection, after=cursor)

    assert refused.value.code == "cursor_expired"


@pytest.mark.parametrize("cursor", ["", "x", "-", "a-b", "a-1e9", "a-" + "9" * 30, "a-١"])
def test_what_is_no_cursor_of_the_feed_is_refused(model: ReadModel, cursor: str) -> None:
    with model.reading() as connection, pytest.raises(ReadModelError) as refused:
        changes(connection, after=cursor)

    assert refused.value.code == "bad_cursor"


# -- evidence ---------------------------------------------------------------------------------


def test_evidence_says_what_was_said_when_it_was_learnt_and_whether_it_counts(
    model: ReadModel, world: World
) -> None:
    world.each(
        [
            recorded(observe("Oslo", 1, id="a", document="d", content="She lives in Oslo."), 1),
            recorded(observe("Bergen", 2, id="b"), 3),
            recorded(observe("Bergen", 3, id="b"), 4),
            recorded(retract("a"), 9),
        ]
    )
    catch_up(model, world.host.store)
    with model.reading() as connection:
        [found] = claims(connection).items
        today = evidence(connection, found.claim_id).items
        then = evidence(connection, found.claim_id, known_at=day(3)).items
        paged = _paged(lambda cursor: evidence(connection, found.claim_id, limit=1, cursor=cursor))

    assert [row.observation["observation_id"] for row in today] == ["a", "b", "b"]
    assert today[0].observation["content"] == "She lives in Oslo."
    assert today[0].observation["source"]["document"] == "d"
    assert [row.recorded_at for row in today] == [iso(1), iso(3), iso(4)]
    assert [row.counts for row in today].count(True) == 1
    assert not today[0].counts
    assert [row.counts for row in then] == [True, True]
    assert today[0].position == "observations-by-claim/0/0"
    assert paged == today


def test_evidence_of_a_fact_is_by_role(model: ReadModel, world: World) -> None:
    world.publish(
        observe("Oslo", 1, id="a"), observe("Oslo", 2, id="b"), observe("Oslo", 3, id="c"),
        observe("Bergen", 4, id="d"),
    )  # fmt: skip
    catch_up(model, world.host.store)

    with model.reading() as connection:
        [found] = all_facts(connection, now=day(9))
        sides = fact_evidence(connection, FOLDING, found.fact_id)
        newest = fact_evidence(connection, FOLDING, found.fact_id, limit=1)

    assert [row.observation["observation_id"] for row in sides.support] == ["c", "b", "a"]
    assert [row.observation["observation_id"] for row in sides.dissent] == ["d"]
    assert (newest.n_support, len(newest.support)) == (3, 1)


# -- names ------------------------------------------------------------------------------------


def test_subjects_are_found_as_someone_types(model: ReadModel, world: World) -> None:
    for name in ("Anna Berg", "ann", "Johann", "100%", "a_b", "Zoë"):
        world.publish(observe("x", 1, subject=name))
    catch_up(model, world.host.store)

    def typed(text: str) -> list[str]:
        with model.reading() as connection:
            at_once = subjects(connection, text=text).items
            assert _paged(lambda cursor: subjects(connection, text=text, limit=1, cursor=cursor)) == at_once
        return [row.spelled for row in at_once]

    assert typed("ann") == ["ann", "Anna Berg", "Johann"]
    assert typed("ANNA b") == ["Anna Berg"]
    assert typed("0%") == ["100%"]
    assert typed("_") == ["a_b"]
    assert typed("%") == ["100%"]
    assert typed("zo") == ["Zoë"]
    assert typed("") == ["100%", "a_b", "ann", "Anna Berg", "Johann", "Zoë"]
    assert typed("\0") == []


def test_a_claim_is_named_as_its_newest_statement_spells_it(model: ReadModel, world: World) -> None:
    world.each([observe("Oslo", 5, subject="KIM", predicate="Lives In"), observe("Oslo", 1, subject="kim")])
    catch_up(model, world.host.store)

    with model.reading() as connection:
        [lives, prefers] = claims(connection).items
        [subject] = subjects(connection).items
        same = claim(connection, lives.claim_id)
        with pytest.raises(ReadModelError) as refused:
            claim(connection, "x")

    assert (lives.subject, lives.spelled_subject, lives.spelled_predicate) == ("kim", "KIM", "Lives In")
    assert prefers.spelled_subject == "kim"
    assert (subject.spelled, subject.n_claims) == ("KIM", 2)
    assert same == lives
    assert refused.value.code == "no_such_claim"


def test_an_unknown_claim_is_told_with_what_is_near_and_only_what_was_known_by_then(
    model: ReadModel, world: World
) -> None:
    world.each(
        [
            recorded(observe("x", 1, subject="Caroline", predicate="lives in"), 1),
            recorded(observe("x", 1, subject="Caroline", predicate="works at"), 9),
        ]
    )
    catch_up(model, world.host.store)

    def told(subject: str, predicate: str, **clocks: Instant) -> str:
        with model.reading() as connection, pytest.raises(NoSuchClaim) as missing:
            claim_read(connection, FOLDING, subject=subject, predicate=predicate, **clocks)
        return str(missing.value)

    assert "Near: caroline" in told("Carolyne", "lives in")
    assert "Known of Caroline: works_at" in told("Caroline", "works")
    assert "works_at" not in told("Caroline", "works at", known_at=day(5))
    assert "Near" not in told("Carolyne", "lives in", known_at=day(0))


# -- corrections ------------------------------------------------------------------------------


def test_corrections_are_listed_newest_first_as_they_arrived(model: ReadModel, world: World) -> None:
    decision = {
        "op": "invalidate", "correction_id": "c1", "subject": "kim", "predicate": "prefers",
        "target": {"object": "Oslo"}, "valid_at": iso(5), "reason": "asked her",
    }  # fmt: skip
    world.each([recorded(observe("Oslo", 1, id="a"), 1), recorded(decision, 5), recorded(retract("a"), 9)])
    catch_up(model, world.host.store)

    with model.reading() as connection:
        found = corrections(connection, subject="KIM").items
        then = corrections(connection, known_at=day(6)).items
        paged = _paged(lambda cursor: corrections(connection, limit=1, cursor=cursor))
        [before] = all_facts(connection, now=day(9), known_at=day(4))
        [after] = all_facts(connection, now=day(9), known_at=day(6))

    assert [d.recorded_at for d in found] == [iso(9), iso(5)]
    assert [d.body["reason"] for d in then] == ["asked her"]
    assert paged == found
    assert (before.state, after.state, after.reason) == ("open", "retired", "invalidated")
    assert after.closed_by == "c1"


# -- documents --------------------------------------------------------------------------------


def _record(topic: Topic, offset: int, **body: Any) -> Record:
    return Record(topic, Partition(0), Offset(offset), b"k", json.dumps(body).encode(), Instant(0))


def test_drift_alerts_are_listed_newest_first_and_say_who_is_unstable(model: ReadModel) -> None:
    def alert(number: int, subject: str, signal: str, at: float) -> Record:
        return _record(
            Topic.DRIFT_ALERTS, number, event_id=f"e{number}", signal=signal, namespace="default",
            subject=subject, recorded_at=iso(at), cycle=number + 1,
        )  # fmt: skip

    apply(
        model,
        [
            alert(0, "Kim", "unstable", 1), alert(1, "Ann", "unstable", 2), alert(2, "Ann", "stable", 5),
            alert(3, "Bob", "churning", 6), alert(4, "Kim", "settled", 7),
        ],
    )  # fmt: skip

    with model.reading() as connection:
        assert [d.id for d in drift_alerts(connection).items] == ["e4", "e3", "e2", "e1", "e0"]
        assert [d.id for d in drift_alerts(connection, subject="ANN").items] == ["e2", "e1"]
        assert [d.id for d in drift_alerts(connection, known_at=day(2)).items] == ["e1", "e0"]
        assert [d.body["subject"] for d in unstable(connection)] == ["Kim"]
        assert [d.body["subject"] for d in unstable(connection, known_at=day(3))] == ["Ann", "Kim"]
        assert unstable(connection, names=["ann", "'; DROP TABLE x"]) == []
        assert len(_paged(lambda cursor: drift_alerts(connection, limit=2, cursor=cursor))) == 5


def test_links_are_found_from_both_ends_and_of_their_claim(model: ReadModel) -> None:
    link = {
        "link_id": "l1",
        "kind": "confirms",
        "claim_id": "c1",
        "from": "a1",
        "to": "a2",
        "recorded_at": iso(3),
    }
    apply(model, [_record(Topic.FACT_LINKS, 0, **link), _record(Topic.FACT_LINKS, 1, **link)])

    with model.reading() as connection:
        for wanted in (
            {"claim_id": "c1"},
            {"assertion_id": "a1"},
            {"assertion_id": "a2"},
            {"kind": "confirms"},
        ):
            assert [d.body for d in links(connection, **wanted).items] == [link]
        assert links(connection, assertion_id="a3").items == []
        assert links(connection, known_at=day(2)).items == []


def test_rules_are_as_their_newest_event_says(model: ReadModel) -> None:
    def happened(number: int, rule: str, state: str) -> Record:
        return _record(
            Topic.RULE_EVENTS, number, event_id=f"e{number}", rule_id=rule, state=state, namespace="n",
            recorded_at=iso(number),
        )  # fmt: skip

    apply(
        model, [happened(0, "r1", "candidate"), happened(1, "r2", "candidate"), happened(2, "r1", "active")]
    )

    with model.reading() as connection:
        assert [(d.body["rule_id"], d.body["state"]) for d in rules(connection).items] == [
            ("r1", "active"), ("r2", "candidate")
        ]  # fmt: skip
        assert [d.id for d in rules(connection, state="active").items] == ["e2"]
        assert [d.id for d in rule_events(connection, rule_id="r1").items] == ["e2", "e0"]
        assert len(_paged(lambda cursor: rules(connection, limit=1, cursor=cursor))) == 2


def test_cycles_are_found_by_number(model: ReadModel) -> None:
    apply(model, [_record(Topic.CYCLES, n, namespace="n", cycle=n, recorded_at=iso(n)) for n in range(1, 4)])

    with model.reading() as connection:
        assert [d.body["cycle"] for d in cycles(connection).items] == [3, 2, 1]
        assert [d.body["cycle"] for d in cycles(connection, cycle=2).items] == [2]


def _paged(page: Any) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        got = page(cursor)
        found += got.items
        cursor = got.next
        if cursor is None:
            return found
