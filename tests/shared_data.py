"""Where the real input lies that is not ours to ship, and what to do where it is not there.

`shared/` beside the checkout holds conversation and birth-place observations. A user's machine has none:
tests that need it are skipped there and say so. In CI its absence is a failure.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("FACTDRIFT_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def shared_file(name: str) -> Path:
    """The path of a shared file; skips the test, or fails it in CI, where there is none."""
    path = FOLDER / name
    if path.is_file():
        return path
    reason = f"no {name} in {FOLDER}: set FACTDRIFT_TEST_DATA to the folder that holds it"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
