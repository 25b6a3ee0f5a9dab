"""A supersede and a retract for each of some people, and what must be so when both were applied once.

Shared by the hosts: who dies in between is the test's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.api.served import Served, said
from tests.parts.processes import wait_until

Fields = dict[str, Any]

MOVED = [
    ("Oslo", "fact-created", None, 1),
    ("Oslo", "fact-invalidated", None, 2),
    ("Rome", "fact-created", None, 1),
]
"""What is published of somebody who is superseded: value, event, revision, version."""

TAKEN_BACK = [
    *MOVED,
    ("Oslo", "fact-revised", "reinstated", 3),
    ("Rome", "fact-invalidated", None, 2),
]
"""What is published of somebody who moves to Rome, which is then taken back."""


def people(round_: int, n: int) -> tuple[list[str], list[str]]:
    """Names of those who are superseded, and of those of whom an observation is retracted."""
    return [f"moved {round_} {n}" for n in range(n)], [f"back {round_} {n}" for n in range(n)]


def observations(moved: Sequence[str], back: Sequence[str]) -> list[list[Fields]]:
    """What is said of them before, in two requests: where everybody is, and who moved."""
    return [
        [said(name, "Oslo", "2024-01-10", observation_id=f"{name} a") for name in (*moved, *back)],
        [said(name, "Rome", "2024-02-10", observation_id=f"{name} b") for name in back],
    ]


def corrections(served: Served, moved: Sequence[str], back: Sequence[str]) -> list[Fields]:
    """A supersede or a retract of each, mixed. Their facts must be there."""
    found: list[Fields] = []
    for one, other in zip(moved, back, strict=True):
        (fact,) = served.get("/v1/facts", subject=one)["items"]
        found += [
            {"op": "supersede", "correction_id": f"c {one}", "target": {"id": fact["fact_id"]},
             "object": "Rome", "valid_at": "2024-06-01", "decided_at": "2024-06-01", "reason": "moved"},
            {"op": "retract", "subject": other, "observation_id": f"{other} b", "reason": "somebody else"},
        ]  # fmt: skip
    return found


class Sender:
    """Sends corrections from several threads; `outcomes` are those that were answered, as they come."""

    def __init__(self, served: Served, commands: Sequence[Fields]) -> None:
        self.outcomes: list[str] = []
        self._url = served.url
        self._threads = ThreadPoolExecutor(4)
        self._sent = [self._threads.submit(self._send, command) for command in commands]

    def _send(self, command: Fields) -> None:
        try:
            answer = httpx.post(f"{self._url}/v1/corrections", json=command, timeout=60)
        except httpx.HTTPError:
            return  # who was to answer is dead
        assert answer.status_code in (200, 202), answer.text
        self.outcomes.append(str(answer.json()["outcome"]))

    def wait_for(self, n: int) -> None:
        """Wait until so many were answered."""
        wait_until(lambda: len(self.outcomes) >= n, timeout_s=120, what="answers to come in")

    def wait(self) -> list[str]:
        """All outcomes, once everything was answered, or nobody is there to answer."""
        for one in self._sent:
            one.result()
        self._threads.shutdown()
        return self.outcomes


def assert_read_once(served: Served, moved: Sequence[str], back: Sequence[str]) -> None:
    """The read model says what the corrections decided, and tells of each change once."""
    for name in moved:
        facts = served.get("/v1/facts", subject=name)["items"]
        assert [(f["object"], f["reason"], f["valid"]["hi"]) for f in facts] == [
            ("Oslo", "superseded", "2024-06-01T00:00:00Z"), ("Rome", None, None),
        ], name  # fmt: skip
        assert _versions(served, name) == Counter(MOVED), name
    for name in back:
        facts = served.get("/v1/facts", subject=name)["items"]
        assert [(f["object"], f["state"]) for f in facts] == [("Oslo", "open")], name
        assert _versions(served, name) == Counter(TAKEN_BACK), name


def _versions(served: Served, name: str) -> Counter[tuple[str, str, str | None, int]]:
    return Counter(map(told, served.get("/v1/history", subject=name, limit=1000)["items"]))


def told(event: Fields) -> tuple[str, str, str | None, int]:
    """An event in short."""
    return event["object"], event["event"], event["revision"], event["version"]


def assert_published_once(events: Iterable[Fields], moved: Sequence[str], back: Sequence[str]) -> None:
    """Events of a log, by id: exactly those of one application. Copies with one id must be equal."""
    by_id: dict[str, Fields] = {}
    for event in events:
        assert by_id.setdefault(event["event_id"], event) == event
    found: dict[str, Counter[Any]] = {}
    for event in by_id.values():
        found.setdefault(event["subject"], Counter())[told(event)] += 1
    for name in moved:
        assert found[name] == Counter(MOVED), name
    for name in back:
        assert found[name] == Counter(TAKEN_BACK), name
