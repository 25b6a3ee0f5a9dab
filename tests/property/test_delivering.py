"""The lane of a receiver under any answers: nothing is lost, nothing overtakes, memory is bounded.

A receiver of any mood is simulated; what was delivered or given up is compared with the list of all events.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from state.delivering import Lane, Waiting
from state.webhooks import Verdict

MOODS = (Verdict.DELIVERED, Verdict.AGAIN, Verdict.AWAY, Verdict.REFUSED)
STEPS_MAX = 20_000  # a bound that only a lane that stands still reaches


@dataclass
class World:
    """A log of events by place, what came of each, and a lane that may be made anew at any time."""

    log: dict[str, list[bytes | None]]
    at_once: int
    waiting_max: int
    ended: list[tuple[str, int]] = field(default_factory=list)
    committed: dict[str, int] = field(default_factory=dict)

    def open(self) -> Lane[str]:
        """A lane that goes on where the last one had committed, as after a death."""
        self.read = {place: self.committed.get(place, 0) for place in self.log}
        return Lane(at_once=self.at_once, waiting_max=self.waiting_max, tries_max=5)

    def fill(self, lane: Lane[str]) -> None:
        for place, keys in self.log.items():
            while self.read[place] < len(keys) and lane.room:
                offset = self.read[place]
                self.read[place] += 1
                if offset % 5 == 4:
                    lane.pass_over(place, offset)
                else:
                    lane.admit(Waiting(place, offset, keys[offset], f"{place}/{offset}", b""))

    def commit(self, lane: Lane[str]) -> None:
        self.committed.update(lane.reached())


@given(
    log=st.dictionaries(
        st.sampled_from(("p0", "p1")), st.lists(st.sampled_from((b"a", b"b", b"c", None)), max_size=25)
    ),
    at_once=st.integers(1, 4),
    waiting_max=st.integers(1, 8),
    data=st.data(),
)
def test_every_wanted_event_is_ended_in_the_order_of_its_key_whatever_is_answered_and_whoever_dies(
    log: dict[str, list[bytes | None]], at_once: int, waiting_max: int, data: st.DataObject
) -> None:
    world = World(log, at_once, waiting_max)
    lane, now = world.open(), 0
    in_flight: list[Waiting[str]] = []
    for _ in range(STEPS_MAX):
        world.fill(lane)
        assert lane.n_waiting <= waiting_max
        while (event := lane.next(now)) is not None:
            assert (event.place, event.key) not in {(o.place, o.key) for o in in_flight if o.key is not None}
            in_flight.append(event)
        assert len(in_flight) == lane.n_in_flight <= at_once
        if not in_flight:
            due_at = lane.due_at(now)
            if due_at is None:
                break
            now = due_at
            continue
        event = in_flight.pop(data.draw(st.integers(0, len(in_flight) - 1)))
        found = lane.judge(
            event, data.draw(st.sampled_from(MOODS)), now=now, share=data.draw(st.floats(0, 0.99))
        )
        if found is not Verdict.AGAIN:
            world.ended.append((event.place, event.offset))
            lane.done(event)
        if data.draw(st.integers(0, 3)) == 0:
            world.commit(lane)
        if data.draw(st.integers(0, 30)) == 0:  # it dies, and another goes on
            lane, in_flight = world.open(), []

    wanted = {
        (place, offset) for place, keys in log.items() for offset in range(len(keys)) if offset % 5 != 4
    }
    assert set(world.ended) == wanted
    world.commit(lane)
    assert world.committed == {place: len(keys) for place, keys in log.items() if keys}
    firsts = list(dict.fromkeys(world.ended))  # a second delivery is recognised by its id
    for place, keys in log.items():
        for key in {one for one in keys if one is not None}:
            of_key = [offset for where, offset in firsts if where == place and keys[offset] == key]
            assert of_key == sorted(of_key)
