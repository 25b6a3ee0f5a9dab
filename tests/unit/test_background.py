"""A loop in the background: results and errors come back, and no wait is longer than its bound."""

from __future__ import annotations

import asyncio
import threading

import pytest

from streams.background import BackgroundLoop


def test_a_result_and_an_error_come_back_to_whoever_waits() -> None:
    async def answer() -> int:
        return 42

    async def fail() -> None:
        raise KeyError("x")

    loop = BackgroundLoop("test")

    assert loop.run(answer(), within_s=60) == 42
    with pytest.raises(KeyError):
        loop.run(fail(), within_s=60)
    assert loop.run(answer(), within_s=60) == 42


def test_what_does_not_end_is_cancelled_at_its_bound() -> None:
    ended = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        BackgroundLoop("test").run(hang(), within_s=0.05)
    assert ended.wait(60)


def test_a_caller_that_runs_a_loop_itself_can_wait_in_another_thread() -> None:
    async def twice(number: int) -> int:
        await asyncio.sleep(0)
        return 2 * number

    async def ask() -> list[int]:
        loop = BackgroundLoop("test")
        return await asyncio.gather(
            *(asyncio.to_thread(lambda n=n: loop.run(twice(n), within_s=60)) for n in range(5))
        )

    assert asyncio.run(ask()) == [0, 2, 4, 6, 8]
