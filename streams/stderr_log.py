"""The log of a process that runs until it is stopped: on standard error, with an instant on each line."""

from __future__ import annotations

import logging
import sys
from typing import Final

_NOISY: Final = ("faust", "mode", "aiokafka", "asyncio")  # what they say below a warning is about themselves


def log_to_stderr(level: str) -> None:
    """Log from this level on, by its name in any case; libraries from warnings on, unless it is `debug`."""
    logging.basicConfig(
        level=level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    if level != "debug":
        for name in _NOISY:
            logging.getLogger(name).setLevel(logging.WARNING)
