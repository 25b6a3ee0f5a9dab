"""The projection of drift on both stores: one set of tests for SQLite and for a real Redis."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.drift_projection import in_flux, unstable
from state.drift import KEPT_MAX
from state.drift_causes import Pattern
from streams.drift import DriftStore, DriftStoreEmptied, Filler, read_batch
from streams.embedded.drift import SqliteDriftStore
from streams.redis import RedisDriftStore
from tests.broker.drift_feed import Feed, agrees, expected, fill, random_feed
from tests.builders import day
from tests.parts import or_skip
from tests.parts.redis import RedisServer, start_redis


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = or_skip(lambda: start_redis(tmp_path_factory.mktemp("redis")))
    yield server
    server.stop()


Make = Callable[[], DriftStore]


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Opens stores of a test's own, each on the same place."""
    made: list[DriftStore] = []
    if request.param == "sqlite":

        def open_store() -> DriftStore:
            made.append(SqliteDriftStore(tmp_path))
            return made[-1]
    else:
        server: RedisServer = request.getfixturevalue("redis_server")
        prefix = f"t{uuid.uuid4().hex[:10]}-"

        def open_store() -> DriftStore:
            made.append(RedisDriftStore(server.url, prefix=prefix))
            return made[-1]

    yield open_store
    if made:
        made[0].clear()
    for store in made:
        store.close()


@pytest.fixture
def store(make: Make) -> DriftStore:
    found = make()
    found.begin()
    return found


def five_moves() -> Feed:
    feed = Feed()
    for number in range(5):
        feed.retire("Kim", f"f{number}", number * 5)
    return feed


class TestDriftStore:
    """What holds for both."""

    def test_a_store_that_holds_nothing_is_at_the_beginning(self, store: DriftStore) -> None:
        progress = store.begin()

        assert progress.generation
        assert progress.positions == {}
        assert progress.now is None
        assert store.entity("default", "kim") is None
        assert store.names(None, day(0)) == []

    def test_a_subject_that_is_forgotten_is_one_that_nobody_knows(self, store: DriftStore) -> None:
        feed = five_moves()
        feed.retire("Lee", "g", 3)
        fill(store, feed.records)
        assert store.names(None, day(21)) == [("default", "kim"), ("default", "lee")]

        store.forget("default", "kim")
        store.forget("default", "nobody")

        assert store.entity("default", "kim") is None
        assert store.names(None, day(21)) == [("default", "lee")]

    def test_it_knows_what_the_pure_rule_knows(self, store: DriftStore) -> None:
        feed = random_feed(400, n_subjects=7, seed=3)

        for start in range(0, 400, 90):
            fill(store, feed.records[start : start + 90])

        assert agrees(store, feed.records)

    @pytest.mark.parametrize("seed", range(3))
    def test_batches_may_come_again_in_part_or_whole(self, store: DriftStore, seed: int) -> None:
        feed, chance = random_feed(200, n_subjects=5, seed=seed), random.Random(seed)
        generation, done = store.begin().generation, 0

        while done < len(feed.records):
            start = max(0, done - chance.randrange(60))
            end = min(len(feed.records), start + chance.randrange(1, 80))
            store.apply(generation, read_batch(feed.records[start:end], {}))
            done = max(done, end)
        assert agrees(store, feed.records)
        store.apply(generation, read_batch(feed.records[:30], {}))

        assert agrees(store, feed.records), "an old one alone took the store back"

    def test_topics_that_run_apart_end_at_the_same(self, store: DriftStore) -> None:
        feed = random_feed(200, n_subjects=5, seed=8)
        apart = sorted(feed.records, key=lambda record: record.topic, reverse=True)

        fill(store, apart)

        for about, kept in expected(feed.records).items():
            found = store.entity(*about)
            assert found is not None
            for declared in (True, False):
                counted = kept.entity.counted(declared=declared)
                assert found.entity.counted(declared=declared) == counted
            assert found.entity.unstable_since == kept.entity.unstable_since

    def test_progress_is_told_to_whoever_opens_it_next(self, store: DriftStore, make: Make) -> None:
        feed = five_moves()
        feed.alert("Kim", "unstable", 21)
        fill(store, feed.records)

        progress = make().begin()

        assert progress.generation == store.begin().generation
        assert {topic.value: at for (topic, _), at in progress.positions.items()} == {
            "fact-invalidated": 5,
            "drift-alerts": 1,
        }
        assert progress.now == day(21)

    def test_an_emptied_store_is_noticed_before_anything_is_missed(
        self, store: DriftStore, make: Make
    ) -> None:
        feed = five_moves()
        filler = Filler(store)
        filler.begin()
        filler.take(feed.records[:3])

        make().clear()

        with pytest.raises(DriftStoreEmptied):
            filler.take(feed.records[3:])
        filler.begin()
        assert filler.positions == {}
        filler.take(feed.records)
        assert agrees(store, feed.records)

    def test_whoever_still_fills_what_was_emptied_spoils_nothing(self, store: DriftStore, make: Make) -> None:
        feed = five_moves()
        late = Filler(make())
        late.begin()
        late.take(feed.records[:3])
        store.clear()
        filler = Filler(store)
        filler.begin()
        filler.take(feed.records[:2])

        with pytest.raises(DriftStoreEmptied):
            late.take(feed.records[3:])
        filler.take(feed.records[2:])

        assert agrees(store, feed.records)

    def test_a_store_that_is_behind_is_noticed(self, store: DriftStore) -> None:
        feed = five_moves()
        fill(store, feed.records[:2])
        filler = Filler(store)
        filler.begin()
        filler.positions = dict.fromkeys(filler.positions, 4)

        with pytest.raises(DriftStoreEmptied):
            filler.take(feed.records[4:])

    def test_offsets_may_have_gaps(self, store: DriftStore) -> None:
        feed = five_moves()
        filler = Filler(store)
        filler.begin()

        filler.take(feed.records[:2])
        filler.take(feed.records[4:])

        assert filler.positions == store.begin().positions
        kept = store.entity("default", "kim")
        assert kept is not None
        assert len(kept.entity.retirements) == 3

    def test_what_is_no_record_of_ours_is_passed_over(self, store: DriftStore) -> None:
        feed = five_moves()
        feed.append(feed.records[0].topic, {"hello": 1})
        feed.retire("Kim", "late", 21)

        fill(store, feed.records)

        kept = store.entity("default", "kim")
        assert kept is not None
        assert kept.lifetime == 6

    def test_the_oldest_go_where_there_are_too_many(self, store: DriftStore) -> None:
        feed = Feed()
        for number in range(KEPT_MAX + 20):
            feed.retire("Kim", f"f{number}", 10 + number / 100)

        fill(store, feed.records)

        assert agrees(store, feed.records)
        kept = store.entity("default", "kim")
        assert kept is not None
        assert len(kept.entity.retirements) == KEPT_MAX
        assert kept.lifetime == KEPT_MAX + 20

    def test_namespaces_share_nothing_f27(self, store: DriftStore) -> None:
        feed = five_moves()
        feed.retire("Kim", "f0", 3, namespace="elsewhere")
        feed.alert("Kim", "unstable", 21)
        fill(store, feed.records)

        here = unstable(store, ["Kim"], "default", day(21)).standings["Kim"]
        there = unstable(store, ["Kim"], "elsewhere", day(21)).standings["Kim"]

        assert here is not None
        assert there is not None
        assert (here.is_unstable, len(here.retired)) == (True, 5)
        assert (there.is_unstable, len(there.retired)) == (False, 1)
        assert store.names("elsewhere", day(21)) == [("elsewhere", "kim")]

    @pytest.mark.parametrize("name", ["a|b", "{kim}", "}k{", "kim\n", "Ünï", '"q"', "a\\b", "k*", "k" * 500])
    def test_a_name_may_hold_any_character(self, store: DriftStore, name: str) -> None:
        feed = Feed()
        feed.retire(name, "f0", 3)
        feed.alert(name, "unstable", 4)
        fill(store, feed.records)

        (found,) = in_flux(store, None, day(4))

        assert found.subject == name
        assert found.is_unstable

    def test_unstable_answers_for_any_spelling_and_for_whom_nobody_knows(self, store: DriftStore) -> None:
        feed = five_moves()
        feed.alert("Kim", "unstable", 21, lifetime=17)
        fill(store, feed.records)

        answers = unstable(store, ["KIM", " “kim”. ", "Lee"], "default", day(21))

        assert not answers.is_degraded
        kim, quoted, lee = answers.standings.values()
        assert kim is not None
        assert kim == quoted
        assert (kim.subject, kim.unstable_since, len(kim.retired)) == ("Kim", day(21), 5)
        assert (kim.lifetime, kim.looks_like) == (17, Pattern.MOVE)
        assert lee is not None
        assert (lee.subject, lee.is_unstable, lee.lifetime) == ("Lee", False, 0)

    def test_the_list_has_those_in_flux_first_and_nobody_who_is_calm(self, store: DriftStore) -> None:
        feed = Feed()
        feed.retire("Calm", "f0", 1)
        for number in range(3):
            feed.retire("Busy", f"f{number}", 38)
        feed.retire("Flux", "f0", 38)
        feed.alert("Flux", "unstable", 38)
        feed.retire("Mood", "f0", 38, declared=False)
        feed.alert("Mood", "churning", 38)
        feed.alert("Past", "unstable", 38)
        feed.alert("Past", "stable", 39)
        fill(store, feed.records)

        assert [one.subject for one in in_flux(store, None, day(39))] == ["Flux", "Mood", "Busy"]

    def test_two_workers_may_fill_it_at_once_while_a_third_empties_it(
        self, store: DriftStore, make: Make
    ) -> None:
        feed = random_feed(120, n_subjects=4, seed=5)
        fillers = [Filler(make()), Filler(make())]
        done = [0, 0]
        for filler in fillers:
            filler.begin()
        chance = random.Random(1)

        for step in range(2_000):
            if min(done) == len(feed.records):
                break
            if step in (10, 30):
                make().clear()
            number = chance.randrange(2)
            try:
                fillers[number].take(feed.records[done[number] : done[number] + 17])
                done[number] = min(len(feed.records), done[number] + 17)
            except DriftStoreEmptied:
                fillers[number].begin()
                done[number] = 0  # from the start: positions may be another's
                fillers[number].positions.clear()

        assert min(done) == len(feed.records)
        assert agrees(store, feed.records)

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 12))
    def test_any_feed_in_any_batches_gives_what_the_pure_rule_gives(
        self, store: DriftStore, seed: int, n: int, size: int
    ) -> None:
        store.clear()
        feed = random_feed(n, n_subjects=2, seed=seed, n_facts=3)

        for start in range(0, n, size):
            fill(store, feed.records[start : start + size])

        assert agrees(store, feed.records)
