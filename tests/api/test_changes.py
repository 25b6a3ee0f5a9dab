"""GET /v1/changes: resumed without loss or doubling, alive when silent, bounded."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from tests.api.served import Served, problem, said

Serve = Callable[..., Served]


@contextlib.contextmanager
def following(served: Served, last: str | None = None, **query: Any) -> Iterator[Iterator[tuple[str, Any]]]:
    """The (id, event) pairs of a stream, as they come; its ids without event as (id, None)."""
    headers = {} if last is None else {"Last-Event-ID": last}
    with (
        httpx.Client(base_url=served.url, timeout=60) as client,
        client.stream("GET", "/v1/changes", params=query, headers=headers) as response,
    ):
        if response.status_code != 200:
            response.read()
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        yield events(response.iter_lines())


def events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Server-sent events, read as the standard says."""
    last, data = "", None
    for line in lines:
        if line.startswith("id: "):
            last = line[4:]
        elif line.startswith("data: "):
            data = json.loads(line[6:])
        elif not line and last:
            yield last, data
            data = None


def take(stream: Iterator[tuple[str, Any]], n: int) -> list[tuple[str, Any]]:
    """The next `n` events."""
    found: list[tuple[str, Any]] = []
    while len(found) < n:
        one = next(stream)
        if one[1] is not None:
            found.append(one)
    return found


def test_a_reader_that_comes_back_gets_what_it_missed_once_and_in_order(serve: Serve) -> None:
    served = serve()
    served.learn(*[said(f"a{n}", "Oslo", "2024-01-10") for n in range(7)])

    got: list[tuple[str, Any]] = []
    for n in (1, 2, 3):  # breaks off after some events, each time
        with following(served, got[-1][0] if got else None, from_start=True) as stream:
            got += take(stream, n)
    served.learn(*[said(f"b{n}", "Oslo", "2024-01-10") for n in range(150)])  # more than a page, meanwhile
    with following(served, got[-1][0]) as stream:
        got += take(stream, 151)
    with following(served, from_start=True) as stream:
        whole = take(stream, 157)

    assert [body["event_id"] for _, body in got] == [body["event_id"] for _, body in whole]
    assert len({one for one, _ in got}) == 157


def test_a_reader_resumes_after_the_service_was_killed(serve: Serve) -> None:
    served = serve()
    served.learn(said("kim", "Oslo", "2024-01-10"))
    with following(served, from_start=True) as stream:
        ((last, _),) = take(stream, 1)

    served.kill()
    served.start()
    with following(served, last) as stream:
        served.learn(said("kim", "Rome", "2024-03-10"))
        rest = take(stream, 2)

    assert [body["event"] for _, body in rest] == ["fact-created", "fact-invalidated"]


def test_a_new_reader_hears_only_what_comes_and_only_what_it_wants(serve: Serve) -> None:
    served = serve(FACTDRIFT_API_HEARTBEAT_S="0.2")
    served.learn(said("old", "Oslo", "2024-01-10"))

    with following(served, subject="KIM", event="fact-created") as stream:
        assert next(stream)[1] is None  # the first sign of life: it stands at the end
        served.learn(said("lee", "Oslo", "2024-01-10"), said("kim", "Oslo", "2024-01-10"))
        ((last, body),) = take(stream, 1)
        assert body["subject"] == "kim"
        served.learn(said("lee", "Rome", "2024-03-10"))
        silent = [next(stream)]
        while silent[-1][0] == last:  # goes on although nothing of it is wanted
            silent.append(next(stream))

    assert all(body is None for _, body in silent)


def test_more_streams_than_allowed_are_refused_and_one_that_ends_makes_room(serve: Serve) -> None:
    from tests.parts.processes import wait_until

    served = serve(FACTDRIFT_API_STREAMS_MAX="1", FACTDRIFT_API_HEARTBEAT_S="0.2")
    with following(served) as stream:
        next(stream)
        refused = served.client.get("/v1/changes")
    assert problem(refused) == (503, "too_many_streams")

    def again() -> bool:
        with contextlib.suppress(AssertionError), following(served) as stream:
            return next(stream)[1] is None
        return False

    wait_until(again, timeout_s=60, what="room for another stream")


def test_what_another_process_wrote_is_heard_too(serve: Serve) -> None:
    import subprocess
    import sys

    from tests.api.served import ROOT

    served = serve()
    with following(served) as stream:
        line = json.dumps(said("kim", "Oslo", "2024-01-10")).encode()
        subprocess.run(
            [sys.executable, "-m", "agents.main", "publish", "-", "--data", str(served.folder)],
            input=line, cwd=ROOT, check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        ((_, body),) = take(stream, 1)

    assert body["subject"] == "kim"
