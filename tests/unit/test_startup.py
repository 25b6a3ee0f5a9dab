"""What every command waits for before it does anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "aiohttp",
    "aiokafka",
    "fastapi",
    "httpx",
    "mcp",
    "nicegui",
    "openai",
    "opentelemetry",
    "pint",
    "redis",
    "sqlalchemy",
    "torch",
)


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules that are there when the commands are known and none has run."""
    code = "import agents.main, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", HEAVY)
def test_a_command_loads_no_library_that_it_may_not_need(loaded: set[str], module: str) -> None:
    assert "typer" in loaded
    assert module not in loaded
