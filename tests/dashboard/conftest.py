"""A real service with the demo data in it, and a real browser on it, for each module of tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.served import ROOT, Served
from tests.dashboard.browsing import Visitor
from tests.parts import or_skip
from tests.parts.browser import Chromium, start_chromium

TICK_S = "0.5"  # a service waits a minute for its next tick, and a test would with it


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """A browser. Missing: a skip on a user's machine, a failure in CI.

    Of one module, because a loop runs in this thread as long as it is there, and other tests run loops too.
    """
    found = or_skip(start_chromium)
    yield found
    found.stop()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the log of the world example, as a replay leaves it."""
    folder = tmp_path_factory.mktemp("demo") / "log"
    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "replay", "examples/world.jsonl", "--data", str(folder)],
        capture_output=True, cwd=ROOT, check=False, timeout=300,
        env={**os.environ, "FACTDRIFT_READ_MODEL_URL": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.fixture(scope="module")
def world(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service on a copy of the demo data, which the tests of a module may change."""
    import shutil

    folder = tmp_path_factory.mktemp("world") / "log"
    shutil.copytree(demo, folder)
    found = Served(folder, FACTDRIFT_TICK_S=TICK_S)
    yield found
    found.end()


@pytest.fixture
def visitor(chromium: Chromium, world: Served) -> Iterator[Visitor]:
    """Somebody who looks at the dashboard of the world, and hears nothing bad from the browser."""
    with chromium.page(viewport={"width": 1280, "height": 900}) as watched:
        found = Visitor(watched, world.url)
        yield found
        found.expect_silence()
