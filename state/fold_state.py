"""Where a fold stands: all that later evidence can still change, and nothing that grows with history.

A fold walks the evidence in order of time (`state.periods`); between two instants everything it knows
is a `FoldState`. It is stored with a claim, and at the start of every full chunk of evidence, so that
late evidence folds again from there. Two equal states have equal futures.
"""

from __future__ import annotations

from typing import Final

import msgspec

from state.identity import FactId
from state.instants import Instant
from state.statements import ObservationId, Place, Spelling

BEFORE_ALL: Final = Instant(-(2**63))
AFTER_ALL: Final = Instant(2**63 - 1)
LONG_AGO: Final[Place] = (BEFORE_ALL, BEFORE_ALL)
NAMED_MAX: Final = 8  # observation ids that a fact names as examples; `why` finds all of them

Cluster = str
"""The key of a cluster: the smallest key of its forms. Statements without object share the key ""."""

ASIDE: Final = "\x00aside"
"""The cluster of forms that take no side: coarse dates that fit several others of the claim."""

Side = tuple[Cluster, bool]
"""(cluster, affirmed): one thing that can be voted for. `(c, False)` is the denial of c."""


class Vote(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One vote, at the place of the statement that holds it. `ends_at` is that statement's `valid_to`."""

    place: Place
    who: str
    ends_at: Instant | None


class Mark(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A statement for a side, as far as a boundary may be set by it."""

    at: Instant
    granularity: str
    ends_at: Instant | None


class End(msgspec.Struct, frozen=True, array_like=True, gc=False, order=True):
    """The end of a bounded statement that is still to come, ordered by when."""

    at: Instant
    cluster: Cluster
    affirmed: bool
    who: str
    place: Place
    granularity: str


class ClusterState(msgspec.Struct, array_like=True, gc=False):
    """What one cluster's statements amount to. Votes are oldest first, one for each voter.

    `bounded_*` are the live votes with an end, apart from the others, because a voter whose bounded
    statement leaves falls back to the older one.
    """

    affirmed: list[Vote] = []
    denied: list[Vote] = []
    bounded_affirmed: list[Vote] = []
    bounded_denied: list[Vote] = []
    last: Place | None = None
    ends_latest: Instant | None = None
    endless_known: Instant | None = None
    since_affirmed: list[Mark] = []
    since_denied: list[Mark] = []
    first_form: str | None = None
    first_at: Place | None = None
    n_facts: int = 0
    spelling: Spelling | None = None
    spelled_at: Place | None = None


class SpellingCount(msgspec.Struct, array_like=True, gc=False):
    """How often a fact's supporting statements spell the object this way, and where last."""

    spelling: Spelling | None
    n: int
    newest: Place


class OpenFact(msgspec.Struct, array_like=True, gc=False):
    """The fact that is open, with its counts so far.

    `carried` are the voters who spoke before `lo` and opened it when another fact had ended; `since` is
    then the start of that other fact. `opened_by` is the decision that opened it, `against` the newest
    one that had closed its value before.
    """

    cluster: Cluster
    lo: Instant
    lo_granularity: str
    ordinal: int
    since: Instant | None = None
    carried: list[str] = []
    support: int = 0
    dissent: int = 0
    observations: int = 0
    spellings: list[SpellingCount] = []
    subject: str = ""
    predicate: str = ""
    named_at: Place | None = None
    supported_by: list[ObservationId] = []
    dissented_by: list[ObservationId] = []
    opened_by: ObservationId | None = None
    against: ObservationId | None = None


class Report(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A late report of an end, kept until the fold is over (`state.finish`)."""

    until: Instant
    granularity: str
    cluster: Cluster
    who: str
    observed_at: Instant
    form: str
    against: ObservationId | None = None


class FoldState(msgspec.Struct, array_like=True, gc=False):
    """Everything the fold knows after the instant `at`.

    `decided` are the clusters that a decision closed and none opened again, each with that decision.
    `cycle` is the newest one whose votes were met, where votes are counted by cycle.
    """

    at: Instant = BEFORE_ALL
    period_from: Instant = BEFORE_ALL
    open: OpenFact | None = None
    gap_edge: str | None = None
    clusters: dict[Cluster, ClusterState] = {}
    recent: dict[Cluster, bool] = {}
    is_marked: bool = False
    ends: list[End] = []
    reports: list[Report] = []
    last_fact: FactId | None = None
    decided: dict[Cluster, ObservationId] = {}
    cycle: int = 0


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(FoldState).decode


def encode_state(state: FoldState) -> bytes:
    """A state as bytes."""
    return _encode(state)


def decode_state(stored: bytes) -> FoldState:
    """A state from its bytes; the state before all evidence from none."""
    return _decode(stored) if stored else FoldState()


def copy(state: FoldState) -> FoldState:
    """A state of its own, to fold on from without touching the first."""
    return _decode(_encode(state))
