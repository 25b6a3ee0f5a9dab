"""A drift alert in the browser while the clock has its default of a minute, and before its first tick."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.composition import wall_clock
from streams.embedded import PARTITION, EmbeddedStore
from streams.keys import Offset
from streams.topics import Topic
from tests.api.served import Served
from tests.dashboard.alerting import closes_no_cycle, moves
from tests.dashboard.browsing import Visitor
from tests.parts.browser import Chromium


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A service on an empty folder, with default settings."""
    found = Served(tmp_path / "log")
    yield found
    found.end()


def test_the_observation_that_retires_the_fifth_fact_shows_its_alert_without_waiting_for_a_tick(
    served: Served, chromium: Chromium
) -> None:
    *before, last = moves("Restless Rita", wall_clock())
    served.learn(*before)
    with chromium.page() as watched:
        visitor = Visitor(watched, served.url)
        visitor.visit()
        visitor.page.evaluate("() => { window.unloaded = false; }")
        visitor.see("All is calm.")

        served.learn(last)

        visitor.page.locator("li.card", has_text="Restless Rita").wait_for()
        assert visitor.page.evaluate("() => window.unloaded") is False
        visitor.expect_silence()
    (alert,) = served.get("/v1/drift-alerts")["items"]
    offset = Offset(int(alert["position"].rpartition("/")[2]))
    store = EmbeddedStore(served.folder)
    (tick,) = store.read(Topic.BY_CLAIM, PARTITION, offset, 1)
    store.close()
    assert closes_no_cycle(tick.value)
