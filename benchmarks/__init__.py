"""Benchmarks: how fast the engine is and how often it is right. What they share: options, and real input."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("FACTDRIFT_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for. `only` are parts of a benchmark (all where empty), `profile` names one load."""

    quick: bool = False
    only: tuple[str, ...] = ()
    profile: str | None = None


def real_input(name: str) -> list[bytes] | None:
    """The lines of a file of real observations, or None where this machine has none.

    They are not ours to ship: they are looked for in `shared/data` beside the checkout, or in the folder
    that FACTDRIFT_TEST_DATA names.
    """
    path = DATA / name
    return path.read_bytes().splitlines() if path.is_file() else None


def missing(name: str) -> str:
    """Why a part that needs this file is skipped, and the way out."""
    return (
        f"Skipped: there is no shared/data/{name} beside the checkout. "
        "FACTDRIFT_TEST_DATA names another folder."
    )
