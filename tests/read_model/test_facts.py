"""Facts by filter, at two clocks, on both databases."""

from __future__ import annotations

import pytest

from agents.read_model import FactFilter, ReadModel, ReadModelError, catch_up, fact, facts
from agents.read_model.asking import known_at_of, overlaps_of, valid_at_of
from state.facts import State
from state.instants import Instant, format_instant
from state.probability import WEIGHTS
from streams.wire import to_json
from tests.builders import day
from tests.cases.world import World, deny, observe, retract
from tests.read_model.asked import FOLDING, all_facts, known_on, lines, recorded


def test_facts_are_those_of_the_log(model: ReadModel, world: World) -> None:
    world.publish(
        observe("Oslo", 1), observe("Bergen", 2), observe("Bergen", 3), observe(7, 4, predicate="age")
    )

    catch_up(model, world.host.store)

    with model.reading() as connection:
        found = all_facts(connection, now=world.now)
    assert [to_json(line) for line in lines(found, now=world.now)] == world.lines()


def test_what_is_new_is_applied_once_however_often_it_is_asked_for(model: ReadModel, world: World) -> None:
    world.publish(observe("Oslo", 1))
    first = catch_up(model, world.host.store)
    again = catch_up(model, world.host.store)
    world.publish(observe("Oslo", 2))

    with_news = catch_up(model, world.host.store)

    assert first > 0
    assert again == 0
    assert with_news > 0
    with model.reading() as connection:
        [found] = all_facts(connection, now=world.now)
    assert (found.version, found.support) == (2, 2)


FILTERS = [
    (FactFilter(), ["Oslo", "Bergen", "tea", "Rome"]),
    (FactFilter(subject="  KIM. "), ["Oslo", "Bergen", "tea"]),
    (FactFilter(subject="kim", predicate="Lives-In"), ["Oslo", "Bergen"]),
    (FactFilter(namespace="other"), ["Rome"]),
    (FactFilter(object="“oslo”"), ["Oslo"]),
    (FactFilter(state=State.RETIRED), ["Oslo"]),
    (FactFilter(state=State.OPEN), ["Bergen", "tea", "Rome"]),
    (FactFilter(contested=True), []),
    (FactFilter(subject="nobody"), []),
]


@pytest.mark.parametrize("known_at", [None, day(100)])
def test_a_filter_takes_names_in_any_spelling(
    model: ReadModel, world: World, known_at: Instant | None
) -> None:
    world.publish(
        recorded(observe("Oslo", 1, predicate="lives in"), 1),
        recorded(observe("Bergen", 5, predicate="lives in"), 5),
        recorded(observe("tea", 2, predicate="prefers"), 5),
        recorded(observe("Rome", 3, subject="ann", predicate="lives in", namespace="other"), 5),
    )
    catch_up(model, world.host.store)

    with model.reading() as connection:
        for wanted, objects in FILTERS:
            found = all_facts(connection, wanted, now=day(50), known_at=known_at)
            assert [item.object for item in found] == objects, wanted


def test_a_window_keeps_what_holds_at_some_instant_inside(model: ReadModel, world: World) -> None:
    world.publish(
        observe("Oslo", 1, valid_from=1),
        observe("Bergen", 10, valid_from=10),
        observe("Rome", 20, valid_from=20),
    )
    catch_up(model, world.host.store)

    def within(first: int, after: int, **clocks: int) -> list[object]:
        window = overlaps_of(f"{format_instant(day(first))}/{format_instant(day(after))}", now=day(30))
        with model.reading() as connection:
            found = all_facts(connection, FactFilter(overlaps=window), now=day(30), **clocks)
        return [item.object for item in found]

    assert within(0, 1) == []
    assert within(0, 2) == ["Oslo"]
    assert within(9, 10) == ["Oslo"]
    assert within(9, 11) == ["Oslo", "Bergen"]
    assert within(25, 26) == ["Rome"]
    assert within(9, 11, known_at=day(10_000)) == ["Oslo", "Bergen"]


def test_what_holds_at_an_instant_includes_the_start_and_not_the_end(model: ReadModel, world: World) -> None:
    world.publish(observe("Oslo", 1), observe("Bergen", 5))
    catch_up(model, world.host.store)

    def at(number: float, **clocks: int) -> list[object]:
        with model.reading() as connection:
            return [i.object for i in all_facts(connection, now=day(9), valid_at=day(number), **clocks)]

    for clocks in ({}, {"known_at": day(10_000)}):
        assert at(0.5, **clocks) == []
        assert at(1, **clocks) == ["Oslo"]
        assert at(4.9, **clocks) == ["Oslo"]
        assert at(5, **clocks) == ["Bergen"]


def test_later_observations_do_not_shine_into_what_was_known(model: ReadModel, world: World) -> None:
    world.each(
        [
            recorded(observe("Oslo", 1), 1),
            recorded(observe("Bergen", 5), 5),
            recorded(observe("Rome", 3, valid_from=3), 30),  # said on day 3, learnt on day 30
        ]
    )
    catch_up(model, world.host.store)

    def known(number: float) -> list[tuple[object, str]]:
        with model.reading() as connection:
            return [(i.object, i.state.value) for i in all_facts(connection, **known_on(number))]

    assert known(0) == []
    assert known(2) == [("Oslo", "open")]
    assert known(6) == [("Oslo", "retired"), ("Bergen", "open")]
    assert ("Rome", "retired") in known(31)


def test_what_holds_has_a_probability_at_both_clocks_and_what_ended_has_none(
    model: ReadModel, world: World
) -> None:
    world.each(
        [
            recorded(observe("Oslo", 1), 1),
            recorded(observe("Rust", 1, predicate="  Uses "), 1),
            recorded(observe("Bergen", 5), 5),
        ]
    )
    catch_up(model, world.host.store)

    def known(**clocks: Instant) -> dict[object, float | None]:
        with model.reading() as connection:
            return {i.object: i.probability for i in all_facts(connection, **clocks)}

    single, multi = WEIGHTS["single"](1, 0, False), WEIGHTS["multi"](1, 0, False)
    assert known(**known_on(2)) == {"Oslo": round(single, 3), "Rust": round(multi, 3)}
    assert known(now=world.now) == {"Oslo": None, "Bergen": round(single, 3), "Rust": round(multi, 3)}
    with model.reading() as connection:
        for read in all_facts(connection, now=world.now):
            assert fact(connection, FOLDING, read.fact_id, now=world.now).probability == read.probability


def test_what_was_believed_last_week_about_january_is_one_question(model: ReadModel, world: World) -> None:
    world.each(
        [
            recorded(observe("Oslo", 10), 11),  # January
            recorded(
                observe("Bergen", 20, valid_from=20), 90
            ),  # learnt on 31 March that it changed in January
        ]
    )
    catch_up(model, world.host.store)
    now = day(95)  # Friday, 5 April 2024; last week ended before Monday the 1st

    def believed(known: str | None) -> list[object]:
        known_at = None if known is None else known_at_of(known, now=now)
        with model.reading() as connection:
            found = all_facts(
                connection,
                FactFilter(subject="Kim", overlaps=overlaps_of("January", now=now)),
                now=now,
                known_at=known_at,
            )
        return [item.object for item in found]

    assert believed("two weeks ago") == ["Oslo"]
    assert believed("last week") == ["Oslo", "Bergen"]
    assert believed(None) == ["Oslo", "Bergen"]


def test_a_retract_hides_nothing_before_it_was_recorded(model: ReadModel, world: World) -> None:
    world.each(
        [
            recorded(observe("Oslo", 1, id="a"), 1),
            recorded(observe("Bergen", 5, id="b"), 5),
            recorded(retract("b", namespace="default", subject="kim"), 9),
        ]
    )
    catch_up(model, world.host.store)

    def known(number: float) -> list[tuple[object, str]]:
        with model.reading() as connection:
            return [(i.object, i.state.value) for i in all_facts(connection, **known_on(number))]

    assert known(8) == [("Oslo", "retired"), ("Bergen", "open")]
    assert known(9) == [("Oslo", "open")]


def test_of_two_contents_under_one_id_the_one_that_was_there_by_then_counts(
    model: ReadModel, world: World
) -> None:
    contents = [observe("Oslo", 1, id="a"), observe("Bergen", 1, id="a")]
    world.each([recorded(contents[0], 1), recorded(contents[1], 5)])
    catch_up(model, world.host.store)
    [kept] = world.facts()

    def known(number: float) -> list[object]:
        with model.reading() as connection:
            return [item.object for item in all_facts(connection, **known_on(number))]

    assert known(2) == ["Oslo"]
    assert known(6) == [kept["object"]]


def test_a_fact_is_found_by_its_id_as_it_is_and_as_it_was(model: ReadModel, world: World) -> None:
    world.each([recorded(observe("Oslo", 1), 1), recorded(observe("Bergen", 5), 5)])
    catch_up(model, world.host.store)
    oslo = next(item["fact_id"] for item in world.facts() if item["object"] == "Oslo")

    with model.reading() as connection:
        is_now = fact(connection, FOLDING, oslo, now=day(9))
        was = fact(connection, FOLDING, oslo, **known_on(4))
        with pytest.raises(ReadModelError) as early:
            fact(connection, FOLDING, oslo, **known_on(0))
        with pytest.raises(ReadModelError) as unknown:
            fact(connection, FOLDING, "nothing", now=day(9))

    assert (is_now.state, is_now.version) == (State.RETIRED, 2)
    assert (was.state, was.version, was.valid.hi) == (State.OPEN, 1, None)
    assert early.value.code == unknown.value.code == "no_such_fact"


def test_a_withdrawn_fact_is_shown_only_on_demand(model: ReadModel, world: World) -> None:
    world.each([observe("Oslo", 1, id="a"), retract("a")])
    catch_up(model, world.host.store)

    with model.reading() as connection:
        assert all_facts(connection, now=day(9)) == []
        [found] = all_facts(connection, FactFilter(with_withdrawn=True), now=day(9))

    assert (found.reason, found.state) == ("withdrawn", State.RETIRED)


@pytest.mark.parametrize("clocks", [{}, {"known_at": day(10_000)}])
def test_pages_of_any_size_give_the_same_facts(
    model: ReadModel, world: World, clocks: dict[str, Instant]
) -> None:
    world.publish(
        *(observe(value, at, subject=subject)
          for subject in ("ann", "Bo", "Čáp", "zoë", "𝔘")
          for at, value in enumerate(("x", "y", "x"), start=1))
    )  # fmt: skip
    catch_up(model, world.host.store)

    with model.reading() as connection:
        at_once = all_facts(connection, now=day(9), **clocks)
        for limit in (1, 2, 3, 7):
            assert all_facts(connection, now=day(9), limit=limit, **clocks) == at_once

    assert len(at_once) == 15


HOSTILE = [
    "'; DROP TABLE facts; --", 'x" OR 1=1 --', "%", "_", "\\", "a\0b", "\ud800", "kim' OR 'a'='a", "$1",
    ":subject", "?", "{}", "%s", "%(seq)s", "x" * 10_000,
]  # fmt: skip


@pytest.mark.parametrize("clocks", [{}, {"known_at": day(10_000)}])
def test_a_name_is_only_ever_a_value(model: ReadModel, world: World, clocks: dict[str, Instant]) -> None:
    world.publish(observe("Oslo", 1))
    catch_up(model, world.host.store)

    with model.reading() as connection:
        for name in HOSTILE:
            for field in ("subject", "predicate", "object", "namespace", "claim_id"):
                assert all_facts(connection, FactFilter(**{field: name}), now=day(9), **clocks) == []
            with pytest.raises(ReadModelError):
                fact(connection, FOLDING, name, now=day(9), **clocks)
        assert len(all_facts(connection, now=day(9))) == 1


def test_names_that_look_like_sql_are_stored_and_found(model: ReadModel, world: World) -> None:
    names = ["robert'); DROP TABLE facts; --", "%s and %(seq)s", ":subject", "a ? b"]
    world.publish(*(observe(name, 1, subject=name, predicate=name) for name in names))
    catch_up(model, world.host.store)

    with model.reading() as connection:
        for name in names:
            [found] = all_facts(connection, FactFilter(subject=name, predicate=name, object=name), now=day(9))
            assert (found.subject, found.object) == (name, name)


def test_a_cursor_of_somebody_else_is_refused(model: ReadModel) -> None:
    with model.reading() as connection:
        for cursor in ("", "x", "!!!!", "W10", "eyJ9", "ł", "A" * 5_000):
            with pytest.raises(ReadModelError) as refused:
                facts(connection, FOLDING, FactFilter(), now=day(9), cursor=cursor)
            assert refused.value.code == "bad_cursor"


def test_a_page_of_no_sensible_size_is_refused(model: ReadModel) -> None:
    with model.reading() as connection:
        for limit in (0, -1, 1_001):
            with pytest.raises(ReadModelError) as refused:
                facts(connection, FOLDING, FactFilter(), now=day(9), limit=limit)
            assert refused.value.code == "bad_limit"


def test_words_for_a_stretch_mean_its_beginning_to_one_clock_and_its_end_to_the_other() -> None:
    now = day(95)

    assert format_instant(valid_at_of("2023-05", now=now)) == "2023-05-01T00:00:00Z"
    assert format_instant(known_at_of("2023-05", now=now)) == "2023-05-31T23:59:59.999Z"
    assert format_instant(known_at_of("2023-05-08", now=now)) == "2023-05-08T23:59:59.999Z"
    assert format_instant(known_at_of("2023-05-08T10:00:00Z", now=now)) == "2023-05-08T10:00:00Z"
    assert known_at_of("since 2023", now=now) == now


def test_a_denied_fact_was_open_before_the_denial_was_known(model: ReadModel, world: World) -> None:
    world.each([recorded(observe("Oslo", 1), 1), recorded(deny("Oslo", 5), 20)])
    catch_up(model, world.host.store)

    with model.reading() as connection:
        [before] = all_facts(connection, **known_on(19))
        [after] = all_facts(connection, **known_on(20))

    assert (before.state, before.reason) == (State.OPEN, None)
    assert (after.state, after.reason) == (State.RETIRED, "denied")
