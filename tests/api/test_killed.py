"""A retract and a supersede through REST while the service is killed: applied once, whatever was answered."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable

import pytest

from agents.replay import events
from streams.embedded import EmbeddedStore
from tests.api import once
from tests.api.served import Served

Serve = Callable[..., Served]
SEED = 4711
N_ROUNDS = 4
N = 12


@pytest.mark.slow
def test_corrections_sent_while_the_service_is_killed_are_applied_once(serve: Serve) -> None:
    served = serve(FACTDRIFT_API_RATE_PER_S="0")
    chance = random.Random(SEED)
    all_moved: list[str] = []
    all_back: list[str] = []
    for number in range(N_ROUNDS):
        moved, back = once.people(number, N)
        for lines in once.observations(moved, back):
            served.learn(*lines)
        commands = once.corrections(served, moved, back)
        chance.shuffle(commands)
        n_answered = chance.randrange(1, len(commands) - 4)

        sender = once.Sender(served, commands)
        sender.wait_for(n_answered)
        served.kill()
        cut_off = len(sender.wait())
        served.start()

        n_applied = sum(_is_applied(served, command) for command in commands)
        assert n_answered <= cut_off <= n_applied  # what was answered is there, right after the restart
        again = once.Sender(served, commands).wait()
        assert (again.count("unchanged"), again.count("applied")) == (n_applied, len(commands) - n_applied)
        once.assert_read_once(served, moved, back)
        all_moved += moved
        all_back += back
    served.end()

    with contextlib.closing(EmbeddedStore(served.folder)) as store:
        once.assert_published_once(events(store), all_moved, all_back)
        assert len(events(store)) == len({event["event_id"] for event in events(store)})


def _is_applied(served: Served, command: once.Fields) -> bool:
    if command["op"] == "supersede":
        path = f"/v1/corrections/{command['correction_id']}"
        return bool(served.client.get(path).is_success)
    facts = served.get("/v1/facts", subject=command["subject"])["items"]
    return [fact["object"] for fact in facts] == ["Oslo"]
