"""What all tests share: Hypothesis profiles. Real parts have their fixtures in the folders that use them."""

from __future__ import annotations

import os

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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end which real parts the tests ran against."""
    for part in dict.fromkeys(RAN_AGAINST):
        terminalreporter.write_line(f"ran against {part}")
