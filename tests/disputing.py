"""Builders for assertions, links and decisions: one claim in memory, fed as a host feeds it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from state.assertion_log import Assertions, decode, encode
from state.assertions import AssertionId, TakenBack
from state.corrections import Invalidate, Refusal, Relate, Supersede, Target
from state.endings import ClosedByFold
from state.forms import Forms
from state.identity import claim_id
from state.instants import Instant
from state.lifecycle import AssertionState
from state.links import Link
from state.live_assertions import Applied, Arrival, LiveAssertions
from state.predicates import Predicate, packaged
from state.shelf import Shelf
from state.statements import Statement
from tests.builders import statement

LOCATED_IN = Predicate("located_in", arbitration="explicit")
WORKS_ON = packaged().get("works_on")
CLAIM = claim_id("default", "kim", "located_in")
LATEST = 10**9


def said(
    value: str,
    lo: int,
    hi: int | None = None,
    *,
    document: str | None = None,
    id: str | None = None,  # noqa: A002
    source: str | None = "s",
    affirmed: bool = True,
    observed_at: int | None = None,
    recorded_at: int | None = None,
    confidence: float = 0.8,
    extracted: bool = False,
    supersedes: str | None = None,
    votes: bool = True,
) -> Statement:
    """One statement `[lo, hi)` of a document; observed at `lo` and recorded when observed, unless given."""
    observed = lo if observed_at is None else observed_at
    plain = statement(
        value,
        observed,
        id=id or f"{document}-{value}-{lo}-{hi}",
        affirmed=affirmed,
        valid_from=lo,
        valid_to=hi,
        source=source,
        document=document,
        votes=votes,
    )
    return msgspec.structs.replace(
        plain,
        confidence=confidence,
        extracted=extracted,
        supersedes=supersedes,
        recorded_at=Instant(observed if recorded_at is None else recorded_at),
    )


def _shared(id: str, at: int, reason: str, confidence: float) -> dict[str, Any]:  # noqa: A002
    return {
        "correction_id": id, "claim": CLAIM, "namespace": "default", "subject": "kim",
        "predicate": "located_in", "reason": reason, "recorded_at": Instant(at), "decided_at": Instant(at),
        "confidence": confidence,
    }  # fmt: skip


def supersede(
    target: Target,
    value: str,
    at: int,
    *,
    id: str,  # noqa: A002
    reason: str = "moved",
    recorded_at: int | None = None,
) -> Supersede:
    """A supersede that holds from `at` and was decided and recorded then."""
    shared = _shared(id, at if recorded_at is None else recorded_at, reason, 1.0)
    return Supersede(
        **shared, target=target, form=value, spelling=value, valid_at=Instant(at), granularity="day",
        content_hash=f"{value}{at}{reason}",
    )  # fmt: skip


def invalidate(
    target: Target,
    at: int,
    *,
    id: str,  # noqa: A002
    reason: str = "wrong",
    recorded_at: int | None = None,
) -> Invalidate:
    """An invalidate that holds from `at` and was decided and recorded then."""
    shared = _shared(id, at if recorded_at is None else recorded_at, reason, 1.0)
    return Invalidate(
        **shared, target=target, valid_at=Instant(at), granularity="day", content_hash=f"{at}{reason}"
    )


def link(
    kind: str,
    source: Target,
    target: Target,
    at: int,
    *,
    id: str,  # noqa: A002
    reason: str = "read again",
) -> Relate:
    """An explicit link, decided and recorded at `at`."""
    return Relate(**_shared(id, at, reason, 1.0), kind=kind, source=source, target=target, content_hash=kind)


class Disputed:
    """One claim. `batch` feeds it, storing and reading back as a host does between two batches."""

    def __init__(self, predicate: Predicate = LOCATED_IN, *, kept: bool = False) -> None:
        self.predicate = predicate
        self.table: dict[bytes, bytes] = {}
        self.head = encode(Assertions())
        self.forms = Forms()
        self.links: list[Link] = []
        self.refusals: list[Refusal] = []
        self._kept = self.open() if kept else None

    def open(self) -> LiveAssertions:
        """The claim as its stored form gives it."""
        return LiveAssertions(
            decode(self.head), Shelf(self.table.get), b"claim", claim=CLAIM, predicate=self.predicate,
            policy_version="p1", forms=self.forms,
        )  # fmt: skip

    def batch(self, *arrivals: Arrival) -> Applied:
        """Apply one batch and store what it gives."""
        shelf = Shelf(self.table.get)
        live = self.open() if self._kept is None else self._kept
        applied = live.apply(arrivals, shelf, forms=self.forms)
        self._store(applied, shelf)
        return applied

    def _store(self, applied: Applied, shelf: Shelf) -> None:
        for key, value in shelf.changes.items():
            assert value is not None
            self.table[key] = value
        self.head = encode(applied.stored)
        self.links += applied.links
        self.refusals += applied.refusals

    def each(self, arrivals: Iterable[Arrival]) -> None:
        """Apply each arrival as a batch of its own."""
        for arrival in arrivals:
            self.batch(arrival)

    def retract(self, observation_id: str, at: int) -> Applied:
        """Take an observation back, recorded at `at`."""
        return self.batch(TakenBack(observation_id, Instant(at)))

    def forget(self, document: str, at: int) -> Applied:
        """Erase what a document said, recorded at `at`."""
        shelf = Shelf(self.table.get)
        applied = self.open().forget(lambda s: s.document == document, shelf, at=Instant(at))
        self._store(applied, shelf)
        return applied

    def id_of(self, observation_id: str) -> AssertionId:
        """The assertion of an observation."""
        for state in self.open().read(valid_at=Instant(LATEST)):
            if observation_id in state.observation_ids:
                return state.assertion_id
        raise KeyError(observation_id)

    def target(self, observation_id: str) -> Target:
        """The assertion of an observation as a target, by id."""
        return Target(id=self.id_of(observation_id))

    def at(
        self, valid_at: int, known_at: int | None = None, *, closed_by_fold: Iterable[ClosedByFold] = ()
    ) -> dict[str, AssertionState]:
        """Each assertion that has begun by `valid_at`, by the id of its first observation."""
        states = self.open().read(
            valid_at=Instant(valid_at),
            known_at=None if known_at is None else Instant(known_at),
            closed_by_fold=closed_by_fold,
        )
        return {state.observation_ids[0]: state for state in states if state.has_begun}

    def lives(self, valid_at: int, known_at: int | None = None) -> dict[str, str]:
        """The state of each assertion that has begun."""
        return {name: state.state.value for name, state in self.at(valid_at, known_at).items()}

    def told(self) -> list[tuple[str, str, str, str]]:
        """Every link that was published: kind, origin, and the first observation at both ends."""
        names = {
            state.assertion_id: state.observation_ids[0]
            for state in self.open().read(valid_at=Instant(LATEST))
        }
        return [(one.kind, one.origin, names[one.source], names[one.target]) for one in self.links]
