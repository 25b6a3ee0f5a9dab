"""Facts of their own at two clocks: what the read model says was known is what a replay of that gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.read_model import catch_up
from streams.settings import Settings
from tests.builders import day
from tests.cases.test_decisions import invalidate, supersede
from tests.cases.test_own_facts import PARIS, PREDICATES, newer, on
from tests.cases.world import fresh
from tests.read_model import asked
from tests.read_model.asked import recorded
from tests.read_model.test_past import answered, replayed, sqlite


def test_what_was_known_of_facts_of_their_own_is_what_a_replay_of_only_that_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "predicates.toml"
    file.write_text(PREDICATES)
    monkeypatch.setenv("FACTDRIFT_PREDICATES", str(file))
    monkeypatch.setattr(asked, "FOLDING", asked.folding_of(Settings()))
    history = [recorded(line, n + 1) for n, line in enumerate(PARIS)]
    history += [
        recorded(on(invalidate("Paris", 4, correction_id="c1"), observation_ids=["F3"]), 4),
        recorded(on(supersede("Paris", "Rome", 5, correction_id="c2"), observation_ids=["F1"]), 5),
        recorded(on(supersede("Paris", "Bonn", 6, correction_id="c3"), observation_ids=["F1"]), 6),  # refused
        recorded(newer("Oslo", 7, id="F7", document="D7", replaces="D2"), 7),
    ]

    with fresh() as world, sqlite() as model:
        world.each(history)
        catch_up(model, world.host.store)

        for number in range(9):
            expected = replayed(history, [1] * len(history), day(number), 40)
            assert answered(model, day(number), 40) == expected
        assert len(expected) == 5
