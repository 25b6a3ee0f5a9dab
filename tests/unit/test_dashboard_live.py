"""Pages that follow a bell: no ring is missed, however it falls between two drawings."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("nicegui")

from agents.api.service import Bell
from agents.dashboard.live import redraw

NEVER_S = 3_600.0
HANGS_S = 60  # only a hang reaches it


def drawn(*, n_wanted: int, rings: int, rings_before: int = 0) -> int:
    """How often a page is drawn that the bell rings for, the first `rings` times while it is being drawn."""

    async def run() -> int:
        bell, n_drawn, done = Bell(), 0, asyncio.Event()
        bell.open()

        async def draw() -> None:
            nonlocal n_drawn
            n_drawn += 1
            if n_drawn <= rings:
                bell.ring()
            if n_drawn == n_wanted:
                done.set()

        heard = bell.next()
        for _ in range(rings_before):
            bell.ring()
        task = asyncio.create_task(redraw(bell, heard, draw, lambda: bell.closed, NEVER_S))
        try:
            async with asyncio.timeout(HANGS_S):
                await done.wait()
        finally:
            bell.close()
            task.cancel()
        return n_drawn

    return asyncio.run(run())


def test_what_changes_while_a_page_is_drawn_draws_it_again() -> None:
    assert drawn(n_wanted=3, rings=2, rings_before=1) == 3


def test_what_changed_while_a_page_was_built_draws_it_again() -> None:
    assert drawn(n_wanted=1, rings=0, rings_before=3) == 1
