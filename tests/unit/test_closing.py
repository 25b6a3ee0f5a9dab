"""A worker's loop is closed in a bounded time, whatever a client left on it."""

from __future__ import annotations

import asyncio

import pytest

from streams.kafka.closing import run_and_close


async def _stubborn(cancelled: asyncio.Event) -> None:
    """A task as some clients have them: told to end, it goes on with what it was doing."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()


def test_what_main_raises_is_raised() -> None:
    async def main() -> None:
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        run_and_close(main(), close_s=60)


def test_tasks_that_are_left_are_cancelled_and_waited_for() -> None:
    ended = []

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("tidied")

    async def main() -> None:
        asyncio.create_task(tidy())  # noqa: RUF006 - to be left is its purpose
        await asyncio.sleep(0)

    run_and_close(main(), close_s=60)

    assert ended == ["tidied"]


@pytest.mark.timeout(60)
def test_a_task_that_does_not_end_is_named_and_left(caplog: pytest.LogCaptureFixture) -> None:
    cancelled = asyncio.Event()
    left = []  # a task that nobody holds would be reported when it is collected

    async def main() -> None:
        left.append(asyncio.create_task(_stubborn(cancelled), name="asks a silent broker"))
        await asyncio.sleep(0)

    run_and_close(main(), close_s=0.01)

    assert cancelled.is_set()
    assert "asks a silent broker" in caplog.text
    assert "did not end within 0.01 s" in caplog.text


def test_an_error_of_a_task_that_is_left_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("while it was tidying")

    async def main() -> None:
        asyncio.create_task(fails(), name="failing")  # noqa: RUF006 - to be left is its purpose
        await asyncio.sleep(0)

    run_and_close(main(), close_s=60)

    assert "failing ended with an error" in caplog.text
    assert "while it was tidying" in caplog.text
