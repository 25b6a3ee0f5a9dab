"""A real service for each test or module: `factdrift serve` as a process, on a port of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.served import Served

Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts services on folders below the test's own; those still running are ended with it."""
    started: list[Served] = []

    def start(folder: str = "log", *options: str, **environment: str) -> Served:
        served = Served(tmp_path / folder, *options, **environment)
        started.append(served)
        return served

    yield start
    for served in started:
        served.end()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service for the tests of a module, which use subjects of their own."""
    found = Served(tmp_path_factory.mktemp("served") / "log")
    yield found
    found.end()
