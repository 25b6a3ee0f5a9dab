"""Every test of the read model runs on both databases: an SQLite file, and a real PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from agents.read_model import ReadModel, open_url
from tests.cases.world import World
from tests.parts import or_skip
from tests.parts.postgres import PostgresServer, start_postgres

Databases = Callable[[], URL]


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that answers. Missing: a skip on a user's machine, a failure in CI."""
    found = or_skip(lambda: start_postgres(tmp_path_factory.mktemp("postgres")))
    yield found
    found.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    """Makes empty databases of one kind; they are gone with the test."""
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":
            numbers = iter(range(1_000))
            yield lambda: URL.create("sqlite", database=str(tmp_path / f"read-model-{next(numbers)}.sqlite"))
        else:
            server: PostgresServer = request.getfixturevalue("postgres")
            yield lambda: stack.enter_context(server.database())


@pytest.fixture
def new_model(database: Databases) -> Iterator[Callable[[], ReadModel]]:
    """Makes empty read models; they are closed with the test."""
    with contextlib.ExitStack() as stack:

        def make() -> ReadModel:
            model = open_url(database())
            stack.callback(model.close)
            return model

        yield make


@pytest.fixture
def model(new_model: Callable[[], ReadModel]) -> ReadModel:
    """An empty read model."""
    return new_model()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An embedded log of the test's own."""
    found = World(tmp_path / "log")
    yield found
    found.close()
