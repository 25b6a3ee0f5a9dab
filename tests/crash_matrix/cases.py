"""The cases of the crash matrix, and what is promised of each."""

from __future__ import annotations

from typing import Final

from streams.kafka.failpoints import CHANGELOG_SENT, OUTPUTS_ACKNOWLEDGED, OUTPUTS_SENT, STEPS
from streams.topics import Topic
from tests.crash_matrix.faults import (
    AddWorker,
    BrokerDies,
    BrokerReturns,
    Case,
    ChangelogDeleted,
    ClockJumps,
    Doomed,
    Kill,
    Pause,
    Poison,
    Publish,
    ReadOnly,
    RemoveWorker,
    Reset,
    Resume,
    SomeDone,
    StoppedWith,
    Terminate,
    Writable,
)

MOVED: Final = frozenset({"ownership_lost", "delivery_failed", ""})
"""A worker that was away for longer than its session may find out in mid-step, and stop; or what it waited
for when it fell asleep (an acknowledgement, a connection: no code) is overdue when it wakes.
"""
BROKER_AWAY: Final = frozenset({"delivery_failed", "broker_failed", "ownership_lost", ""})
"""While the broker is away workers stop with what they met first; without a code: it did not answer."""

CASES: Final[tuple[Case, ...]] = (
    Case(
        "kill_at_random",
        "goes on",
        (Publish(0.4), SomeDone(), Kill(), Publish(0.3), SomeDone(), Kill(), Publish(0.3), Kill()),
    ),
    *(Case(f"kill_at_{step}", "goes on", (Publish(0.2), Doomed(step, 0.4), Publish(0.4))) for step in STEPS),
    Case(
        "terminate",
        "goes on",
        (Publish(0.5), SomeDone(), Terminate(), Publish(0.5), SomeDone(), Terminate()),
    ),
    Case(
        "pause_beyond_session",
        "goes on",
        (Publish(0.4), SomeDone(), Pause(), Publish(0.6), SomeDone(), Resume()),
        stops_with=MOVED,
    ),
    *(
        Case(
            f"pause_at_{step}",
            "goes on",
            (Publish(0.2), Doomed(step, 0.4, pause=True), Publish(0.4), SomeDone(), Resume()),
            stops_with=MOVED,
        )
        for step in (OUTPUTS_SENT, OUTPUTS_ACKNOWLEDGED, CHANGELOG_SENT)
    ),
    Case(
        "worker_added_and_removed",
        "goes on",
        (Publish(0.4), SomeDone(), AddWorker(), Publish(0.3), SomeDone(), RemoveWorker(), Publish(0.3)),
    ),
    Case(
        "broker_killed",
        "resumes when healed",
        (Publish(0.5), SomeDone(), BrokerDies(), BrokerReturns(), Publish(0.5)),
        stops_with=BROKER_AWAY,
    ),
    Case(
        "broker_disk_full",
        "resumes when healed",
        (Publish(0.5), SomeDone(), BrokerDies(disk_full=True), BrokerReturns(), Publish(0.5)),
        stops_with=BROKER_AWAY,
    ),
    Case(
        "facts_read_only",
        "resumes when healed",
        (Publish(0.3), SomeDone(), ReadOnly(Topic.FACTS), Publish(0.4),
         StoppedWith("delivery_failed"), Writable(), Publish(0.3)),
        stops_with=frozenset({"delivery_failed", "ownership_lost"}),
    ),
    Case(
        "changelog_read_only",
        "resumes when healed",
        (Publish(0.3), SomeDone(), ReadOnly("claims"), Publish(0.4),
         StoppedWith("delivery_failed"), Writable(), Publish(0.3)),
        stops_with=frozenset({"delivery_failed", "ownership_lost", "broker_failed"}),
    ),
    Case("poison_bytes", "goes on", (Publish(0.3), Poison(40), Publish(0.3), Poison(40), Publish(0.4))),
    Case("clock_jumped", "goes on", (Publish(0.3), ClockJumps(0.4), Publish(0.3))),
    Case(
        "changelog_deleted",
        "refuses",
        (Publish(0.5), SomeDone(), ChangelogDeleted("claims"), Publish(0.3),
         StoppedWith("changelog_lost"), Reset(), Publish(0.2)),
        stops_with=frozenset({"delivery_failed", "ownership_lost", "changelog_lost", "broker_failed"}),
    ),
    Case(
        "everything_to_three_workers",
        "goes on",
        (Publish(0.2), SomeDone(), Kill(), AddWorker(), Publish(0.2), SomeDone(), Terminate(), Poison(10),
         Pause(), Publish(0.2), SomeDone(), Kill(), Resume(), Publish(0.2), SomeDone(), RemoveWorker(),
         Publish(0.2), SomeDone(), Kill()),
        n_workers=3,
        stops_with=MOVED,
    ),
)  # fmt: skip

BY_NAME: Final = {case.name: case for case in CASES}
assert len(BY_NAME) == len(CASES)

SHORT: Final = (
    "kill_at_random",
    "pause_at_changelog-sent",
    "changelog_read_only",
    "everything_to_three_workers",
)
"""What CI runs of it, with one seed; the other faults have tests of their own there."""
