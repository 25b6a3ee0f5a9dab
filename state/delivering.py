"""In which order the events of one receiver go out, when one is tried again, and when it is given up.

A lane holds the events that are neither delivered nor given up, at most a fixed number of them. It decides:
the next event of a key goes out only after the one before it is done; an event that the receiver fails on
waits by itself, with its key; while the receiver is away one event asks for all, and the others are not
tried. So an outage costs the tries of few events, and what waits stays in the log. Pure: clock and chance
come in as arguments, and nothing is sent here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from state.webhooks import Verdict

DELAY_FIRST_MS: Final = 1_000
DELAY_MAX_MS: Final = 900_000
TRIES_MAX: Final = 30  # with the delays below a little over 5 hours
AT_ONCE_MAX: Final = 4
WAITING_MAX: Final = 100  # events of one receiver in memory; an event has 256 KiB at most, and mostly 1

Place = TypeVar("Place", bound=Hashable)


def delay_ms(n_failures: int, *, share: float) -> int:
    """How long to wait after so many failures in a row, 1 or more.

    1 s, doubled with each failure, at most 15 minutes; of that between a half and the whole, as `share` in
    [0, 1) says, so that many who failed together do not come back together.
    """
    assert n_failures >= 1
    whole = min(DELAY_FIRST_MS << min(n_failures - 1, 32), DELAY_MAX_MS)
    return whole // 2 + int(whole / 2 * share)


@dataclass(slots=True, eq=False)
class Waiting(Generic[Place]):
    """An event on its way. `key` orders it among others; `not_before` is in the clock of the lane, in ms.

    `trace` is its traceparent, where it has one, and `since` when the log recorded it; nothing is decided by
    either.
    """

    place: Place
    offset: int
    key: bytes | None
    event_id: str
    body: bytes
    tries: int = 0
    not_before: int = 0
    in_flight: bool = False
    trace: bytes | None = None
    since: int = 0


@dataclass(slots=True)
class _Read:
    """How far one place was read, and which of its events are not done."""

    next_offset: int
    undone: set[int] = field(default_factory=set)

    def reached(self) -> int:
        return min(self.undone, default=self.next_offset)


class Lane(Generic[Place]):
    """The events of one receiver. Instants are milliseconds of any one clock that never goes back."""

    def __init__(
        self, *, at_once: int = AT_ONCE_MAX, waiting_max: int = WAITING_MAX, tries_max: int = TRIES_MAX
    ) -> None:
        self._at_once = at_once
        self._waiting_max = waiting_max
        self._tries_max = tries_max
        self._events: list[Waiting[Place]] = []  # in the order in which they came
        self._read: dict[Place, _Read] = {}
        self._n_in_flight = 0
        self._n_away = 0  # failures of the receiver itself, in a row
        self._ask_at = 0  # not before this may it be asked again
        self.is_gone = False

    # -- events come in ---------------------------------------------------------------------

    @property
    def room(self) -> int:
        """How many more records may be passed on to it."""
        return self._waiting_max - len(self._events)

    def pass_over(self, place: Place, offset: int) -> None:
        """A record of this place that the receiver does not want: done at once."""
        self._at(place, offset).next_offset = offset + 1

    def admit(self, event: Waiting[Place]) -> None:
        """An event that the receiver wants. Those of one place come in the order of their offsets."""
        assert self.room > 0
        read = self._at(event.place, event.offset)
        read.undone.add(event.offset)
        read.next_offset = event.offset + 1
        self._events.append(event)

    def _at(self, place: Place, offset: int) -> _Read:
        read = self._read.setdefault(place, _Read(offset))
        assert offset >= read.next_offset, "the events of a place come in order"
        return read

    # -- events go out ----------------------------------------------------------------------

    @property
    def n_waiting(self) -> int:
        """Events that are neither delivered nor given up, of those that were read."""
        return len(self._events)

    @property
    def oldest_since(self) -> int | None:
        """When the oldest of them was recorded; None where none waits."""
        return min((event.since for event in self._events), default=None)

    @property
    def n_in_flight(self) -> int:
        """Events that are being sent."""
        return self._n_in_flight

    @property
    def is_away(self) -> bool:
        """Whether the receiver takes nothing at present."""
        return self._n_away > 0

    def next(self, now: int) -> Waiting[Place] | None:
        """The next event to be sent now, which is in flight from then on; None where there is none yet."""
        if self.is_gone or now < self._ask_at or self._n_in_flight >= (1 if self.is_away else self._at_once):
            return None
        event = next((one for one in self._heads() if one.not_before <= now), None)
        if event is not None:
            event.in_flight = True
            event.tries += 1
            self._n_in_flight += 1
        return event

    def due_at(self, now: int) -> int | None:
        """When `next` is to be asked again, where nothing comes in and nothing is answered; None: never."""
        if self.is_gone or self._n_in_flight >= (1 if self.is_away else self._at_once):
            return None
        first = min((event.not_before for event in self._heads()), default=None)
        return None if first is None else max(now, self._ask_at, first)

    def _heads(self) -> Iterator[Waiting[Place]]:
        """The events that wait for nothing but time: the first of each key, if it is not in flight."""
        seen: set[tuple[Place, bytes]] = set()
        for event in self._events:
            if event.key is not None:
                if (event.place, event.key) in seen:
                    continue
                seen.add((event.place, event.key))
            if not event.in_flight:
                yield event

    def judge(
        self, event: Waiting[Place], found: Verdict, *, now: int, share: float, rest_ms: int = 0
    ) -> Verdict:
        """Take in an answer, and say what is to be done with the event.

        DELIVERED and REFUSED: it is over, call `done` once that is durable; REFUSED asks for a dead letter,
        also for an event whose tries are used up. AGAIN: it waits. `rest_ms` is what the receiver asked for.
        """
        assert event.in_flight
        if found is Verdict.AWAY:
            self._rest(now, share, rest_ms)
        elif found is Verdict.GONE:
            self.is_gone = True
        else:
            self._n_away = 0
            self._ask_at = 0
        if found in (Verdict.DELIVERED, Verdict.REFUSED):
            return found
        if found is Verdict.GONE or event.tries >= self._tries_max:
            return Verdict.REFUSED
        self._put_back(event)
        if found is Verdict.AGAIN:
            event.not_before = now + max(delay_ms(event.tries, share=share), rest_ms)
        return Verdict.AGAIN

    def _rest(self, now: int, share: float, rest_ms: int) -> None:
        """Leave the receiver alone for a while. Calls that were under way together failed together: once."""
        if now >= self._ask_at:
            self._n_away += 1
            self._ask_at = now + delay_ms(self._n_away, share=share)
        self._ask_at = max(self._ask_at, now + rest_ms)

    def _put_back(self, event: Waiting[Place]) -> None:
        event.in_flight = False
        self._n_in_flight -= 1

    def done(self, event: Waiting[Place]) -> None:
        """The event is delivered, or its dead letter is durable."""
        self._put_back(event)
        self._events.remove(event)
        self._read[event.place].undone.discard(event.offset)

    def reached(self) -> dict[Place, int]:
        """For each place the first offset that is not done: everything before it need not be read again."""
        return {place: read.reached() for place, read in self._read.items()}
