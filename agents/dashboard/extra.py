"""The extra that the dashboard needs: whether it is there, and what is said where it is not."""

from __future__ import annotations

import importlib.util
from typing import Final

MISSING: Final = (
    "The dashboard is not installed. Install it with: pip install 'factdrift[dashboard]', and start again."
)


def is_installed() -> bool:
    """Whether the extra is there. Loads nothing of it."""
    return importlib.util.find_spec("nicegui") is not None
