"""The systems under test, driven alike: batches of lines go in, what each holds for true can be asked for.

factdrift is the embedded host with its real door, default settings and packaged vectors; known of it is only
what a reader of the change feed knows. The competitors (`benchmarks.competitors`) work on what came through
the same door. Judges nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from agents import composition
from agents.clock import tick_request
from benchmarks.answers.stream import Arrival
from benchmarks.answers.truth import ClaimName
from benchmarks.competitors import Heard, Method, Span
from state.errors import BadInput
from state.instants import Instant, parse_instant
from state.names import normalise, normalise_predicate
from state.observations import Observation, Retract
from state.predicates import packaged
from state.validation import read
from streams.settings import Settings
from streams.topics import CHANGE_FEED, Topic

_decode = msgspec.json.Decoder().decode


class System(Protocol):
    """What is asked of every system."""

    n_events: int
    """Changes that it has told its readers so far."""

    def take(self, batch: Sequence[Arrival]) -> Iterable[ClaimName]:
        """Take a batch in; the claims whose answers may be others now."""

    def spans(self, claim: ClaimName) -> list[Span]:
        """What it holds for true of a claim, now and in the past; the form of a span is a spelling."""

    def close(self) -> None:
        """Let go of what it holds."""


class Factdrift:
    """The embedded host, in a folder that is gone afterwards."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="factdrift-bench-")
        settings = settings or Settings(links="off")
        self._host = composition.embedded(settings, Path(self._folder.name))
        self._learns_at_ticks = settings.trust == "learned"
        self._facts: dict[ClaimName, dict[str, dict[str, Any]]] = {}
        self._claims: dict[str, ClaimName] = {}
        self.n_events = 0

    def take(self, batch: Sequence[Arrival]) -> set[ClaimName]:
        """As `System.take`. A reinforced fact is no change: nothing that was believed is believed no more."""
        records = [(None, arrival.line, arrival.recorded_at) for arrival in batch]
        touched = set()
        outputs = self._host.publish(Topic.OBSERVATIONS, records)
        if self._learns_at_ticks:
            self._host.publish(Topic.CLOCK, [(None, tick_request(batch[-1].recorded_at), None)])
        for output in outputs:
            if output.topic in CHANGE_FEED:
                event = _decode(output.value)
                self.n_events += output.topic is not Topic.FACT_REINFORCED
                name = self._name(event)
                touched.add(name)
                known = self._facts.setdefault(name, {})
                before = known.get(event["fact_id"])
                if before is None or before["version"] < event["version"]:
                    known[event["fact_id"]] = event
        return touched

    def _name(self, event: dict[str, Any]) -> ClaimName:
        """Facts show subject and predicate as they were spelled last; the claim's id tells which they are."""
        name = self._claims.get(event["claim_id"])
        if name is None:
            name = (normalise(event["subject"]), normalise_predicate(event["predicate"]))
            self._claims[event["claim_id"]] = name
        return name

    def spans(self, claim: ClaimName) -> list[Span]:
        """As `System.spans`."""
        return [_span(fact) for fact in self._facts.get(claim, {}).values() if fact["reason"] != "withdrawn"]

    def close(self) -> None:
        """As `System.close`."""
        self._host.store.close()
        self._folder.cleanup()


def _span(fact: dict[str, Any]) -> Span:
    lo, hi = fact["valid"]["lo"], fact["valid"]["hi"]
    return Span(
        str(fact["object"]),
        Instant(0) if lo is None else parse_instant(lo),
        None if hi is None else parse_instant(hi),
        fact["confidence"],
        (fact["support"], fact["dissent"], fact["contested"]),
    )


class Competitor:
    """One method over all claims; a claim is worked out again whenever something new is heard of it."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._heard: dict[ClaimName, dict[str, Heard]] = {}
        self._spelled: dict[ClaimName, dict[str, str]] = {}
        self._spans: dict[ClaimName, list[Span]] = {}
        self._held: dict[ClaimName, frozenset[str]] = {}
        self._retracted: set[str] = set()
        self._claim_of: dict[str, ClaimName] = {}
        self._multi = {name for name, known in packaged().declared.items() if known.is_multi}
        self._n_heard = self._n_batches = 0
        self.n_events = 0

    def take(self, batch: Sequence[Arrival]) -> set[ClaimName]:
        """As `System.take`. An event: a value is held now and was not before, or the other way round."""
        touched = set()
        for arrival in batch:
            try:
                usable = read(arrival.line, recorded_at=arrival.recorded_at)
            except BadInput:
                continue
            name = self._enter(usable)
            if name is not None:
                touched.add(name)
        for name in touched:
            self._spans[name] = self._work_out(name)
            held = frozenset(span.form for span in self._spans[name] if span.hi is None)
            self.n_events += len(held ^ self._held.get(name, frozenset()))
            self._held[name] = held
        self._n_batches += 1
        return touched

    def _enter(self, usable: object) -> ClaimName | None:
        """Hear one statement, or forget it; an id that was heard before says nothing new."""
        if isinstance(usable, Retract):
            self._retracted.add(usable.observation_id)
            name = self._claim_of.get(usable.observation_id)
            if name is not None:
                self._heard[name].pop(usable.observation_id, None)
            return name
        assert isinstance(usable, Observation)
        statement = usable.statement
        if statement.observation_id in self._retracted or statement.observation_id in self._claim_of:
            return None
        name = (usable.subject, usable.predicate)
        self._claim_of[statement.observation_id] = name
        self._spelled.setdefault(name, {}).setdefault(statement.form, str(statement.spelling))
        self._heard.setdefault(name, {})[statement.observation_id] = Heard(
            self._n_heard,
            self._n_batches,
            statement.form,
            statement.affirmed,
            statement.effective_at,
            statement.observed_at,
            statement.valid_to,
        )
        self._n_heard += 1
        return name

    def _work_out(self, name: ClaimName) -> list[Span]:
        heard = list(self._heard[name].values())
        if name[1] not in self._multi:
            found = self._method(heard) if heard else []
        else:
            forms = sorted({h.form for h in heard})
            found = [span for form in forms for span in self._method([h for h in heard if h.form == form])]
        spelled = self._spelled[name]
        return [Span(spelled[span.form], span.lo, span.hi, span.confidence) for span in found]

    def spans(self, claim: ClaimName) -> list[Span]:
        """As `System.spans`."""
        return self._spans.get(claim, [])

    def close(self) -> None:
        """As `System.close`: there is nothing."""
