"""What readers are told by the events alone equals what the partition keeps, after any history."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.drift import DRIFT_TABLE, Row
from agents.drift_projection import catch_up
from state.drift import WINDOW_MS
from streams.embedded.drift import SqliteDriftStore
from streams.keys import subject_key
from tests.builders import day
from tests.cases.world import fresh, observe, retract

statements = st.builds(
    dict,
    value=st.sampled_from(["tea", "coffee", "water"]),
    at=st.integers(0, 25),
    document=st.sampled_from([None, None, "a", "b"]),
    predicate=st.sampled_from(["prefers", "uses", "mood of the day"]),
    polarity=st.sampled_from(["affirmed"] * 4 + ["denied"]),
    valid_from=st.none() | st.none() | st.integers(0, 30),
    valid_to=st.none() | st.none() | st.none() | st.integers(26, 40),
)
steps = st.lists(st.lists(statements, min_size=1, max_size=4) | st.integers(0, 20), max_size=8)


@settings(max_examples=settings.default.max_examples // 2)
@given(steps)
def test_the_projection_of_the_events_is_what_the_partition_keeps(
    history: list[list[dict[str, Any]] | int],
) -> None:
    n_observed = 0
    with tempfile.TemporaryDirectory() as folder, fresh() as world:
        store = SqliteDriftStore(Path(folder))
        try:
            for step in history:
                if isinstance(step, int):
                    world.publish(retract(f"o{step}")).tick()
                else:
                    lines = []
                    for fields in step:
                        lines.append(observe(**fields, id=f"o{n_observed}"))
                        n_observed += 1
                    world.publish(*lines)
                catch_up(store, world.host.store)
                compare(store, world.host.store.get(DRIFT_TABLE, subject_key("default", "kim")))
        finally:
            store.close()


def compare(store: SqliteDriftStore, stored: bytes | None) -> None:
    """The same facts within every window up to day 45, at the same instants, and the same count for ever."""
    row = None if stored is None else msgspec.msgpack.decode(stored, type=Row)
    kept = store.entity("default", "kim")
    for declared in (True, False):
        left = [] if row is None else row.entity.within(day(30), declared=declared)
        right = [] if kept is None else kept.entity.within(day(30), declared=declared)
        assert [(at, fact) for at, fact, _ in left] == [(at, fact) for at, fact, _ in right]
        assert [c.reason for _, _, c in left] == [c.reason for _, _, c in right]
    if row is not None and kept is not None:
        assert row.entity.lifetime == kept.lifetime
        assert row.entity.unstable_since == kept.entity.unstable_since
    assert WINDOW_MS  # every instant of the histories lies within one window
