"""A language model that fails a fifth of its requests, hangs in a twentieth and lies in a twentieth.

Chance has no part in it: what becomes of a request follows from the question and from how often it was asked,
so whoever knows the observation knows the outcome. `python -m tests.parts.unreliable` serves it as a process
of its own, for measuring the memory of whoever asks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

from state.refinement import Outcome
from streams.language_model import TRIES_MAX
from tests.parts.language import Asked, Fault, Handler, LanguageServer, half_closes, says, serving, status

FAILS, HANGS, LIES = 20, 5, 5  # percent of all requests

_FAILURES: Final[tuple[Fault, ...]] = (status(503), status(429, Retry_After="0"), status(500), half_closes)


def _written(**fields: Any) -> str:
    return json.dumps({"predicate": "lives_in", "object": "Atlantis", **fields})


_LIES: Final[tuple[tuple[str, Outcome], ...]] = (
    (_written(), Outcome.REFINED),  # well told: nobody can know
    (_written(subject="admin", namespace="root"), Outcome.UNSAFE),
    (_written(object="city 99999999"), Outcome.UNSAFE),
    (_written(object="Oslo\x1b[2J"), Outcome.UNSAFE),
    (_written(object="x" * 20_000), Outcome.UNSAFE),
    ("Here is what I found: " + _written(), Outcome.MALFORMED),
    ('{"predicate": "lives_in"', Outcome.MALFORMED),
    ('{"decline": true}', Outcome.DECLINED),
)


def waits(handler: Handler, _right: str) -> None:
    """Nothing, until whoever asked goes away."""
    handler.rfile.read(1)
    handler.close_connection = True


def line(number: int) -> bytes:
    """One of many observations, each with words of its own: ten claims of each of many subjects."""
    return json.dumps(
        {
            "observation_id": f"o{number}",
            "subject": f"Person {number // 40 % 50}",
            "predicate": "was living in",
            "object": f"the city of place {number % 7}",
            "observed_at": f"2024-{number // 27 % 12 + 1:02}-{number % 27 + 1:02}",
            "content": f"message {number}",
        }
    ).encode()


def right(asked: Asked) -> str:
    """What it answers when nothing is wrong."""
    return json.dumps({"predicate": "lives_in", "object": asked["object"].removeprefix("the city of ")})


def _drawn(content: str, n_before: int) -> tuple[int, int]:
    digest = blake2b(f"{content}/{n_before}".encode(), digest_size=4).digest()
    return int.from_bytes(digest[:2], "big") % 100, digest[2]


def fault(content: str, n_before: int) -> Fault | None:
    """What becomes of a request about this content, which was asked about `n_before` times."""
    percent, which = _drawn(content, n_before)
    if percent < FAILS:
        return _FAILURES[which % len(_FAILURES)]
    if percent < FAILS + HANGS:
        return waits
    if percent < FAILS + HANGS + LIES:
        return says(_LIES[which % len(_LIES)][0])
    return None


def outcome(content: str) -> Outcome:
    """What must become of an observation with this content."""
    for n_before in range(TRIES_MAX):
        percent, which = _drawn(content, n_before)
        if percent >= FAILS + HANGS + LIES:
            return Outcome.REFINED
        if percent >= FAILS + HANGS:
            return _LIES[which % len(_LIES)][1]
        if percent >= FAILS:
            return Outcome.TIMED_OUT
    return Outcome.UNAVAILABLE


def make_unreliable(server: LanguageServer) -> None:
    """Let a server be like that from now on."""

    def by_question(asked: Asked) -> Fault | None:
        n_before = server.n_tries[asked["text"]]
        server.n_tries[asked["text"]] += 1
        return fault(asked["text"], n_before)

    server.fault_of = by_question
    server.keeps_bodies = False


def lines(n: int) -> Iterator[bytes]:
    """So many observations."""
    return (line(number) for number in range(n))


if __name__ == "__main__":
    with serving(right) as serving_now:
        make_unreliable(serving_now)
        sys.stdout.write(f"serving {serving_now.url}\n")
        sys.stdout.flush()
        serving_now.released.wait()
