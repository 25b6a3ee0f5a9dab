"""What all tests share: Hypothesis profiles. Real parts have their fixtures in the folders that use them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.parts import RAN_AGAINST

# In CI the same examples each time: a commit must not fail for what another one did. New ones are looked for
# wherever somebody runs the tests, and in the profile "deeper".
same_each_time = bool(os.environ.get("CI"))
settings.register_profile("default", deadline=None, max_examples=100, derandomize=same_each_time)
settings.register_profile(
    "deep",
    settings.get_profile("default"),
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deeper", settings.get_profile("deep"), max_examples=20_000, derandomize=False)
settings.load_profile(os.environ.get("FACTDRIFT_TEST_PROFILE", "default"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the process that reports know what this one ran against; in a single process it is the same one."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["ran_against"] = list(RAN_AGAINST)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_testnodedown(node: Any) -> None:
    """Collect what a process that is done ran against."""
    RAN_AGAINST.extend(getattr(node, "workeroutput", {}).get("ran_against", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end which real parts the tests ran against."""
    for part in sorted(set(RAN_AGAINST)):
        terminalreporter.write_line(f"ran against {part}")
