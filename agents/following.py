"""What follows from a record once its facts are folded: drift, links, rules, the audit of cycles.

All of it happens in the partition of the subject, in the order of the one log, and takes effect together
with the facts. A follower says only what it keeps and what it publishes; when, how often and after which
crash is the host's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from state.changes import Change
from state.cycles import Clock
from state.facts import Fact
from state.identity import ClaimId, FactId
from state.instants import Instant
from state.statements import ObservationId, Statement
from state.stored_claim import Claim
from streams.codec import Batch
from streams.host import Output, Record, Tables


@dataclass(frozen=True, slots=True)
class Touched:
    """A claim that a record touched: as it is now, what changed about its facts, what arrived for it.

    `statements` are those of the record, duplicates among them; `arrived` are the ids that the claim had
    not heard of before, each once and for all; `retracted` are ids taken back.
    """

    claim: Claim
    changes: Sequence[Change]
    statements: Sequence[Statement]
    retracted: Sequence[str]
    arrived: Sequence[ObservationId] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """What a record makes forgotten of a claim (DESIGN 4.10).

    `ids` are the observations that go, None where all of the claim does; `source` is whose they are, where
    that was asked. `facts` are the claim's as they are without them, withdrawn ones left out. `at` is when
    the log learnt of the wish.
    """

    claim: Claim
    ids: frozenset[str] | None
    source: str | None
    facts: Mapping[FactId, Fact]
    at: Instant


@dataclass(frozen=True, slots=True)
class Folded:
    """One internal record and what it did.

    `clock` is the partition's as it was before the record, `moved` as it is after it: another one where the
    record is a tick that was not read before. `outputs` is what was published for the record so far, by
    the fold and by the followers before. `facts` gives the open facts of a subject (namespace, normal
    form), each with its claim, as they are after the record. `evidence` gives all statements of a claim
    that the record touched: the long way. `lost` is what the record makes forgotten, by claim; `emptied` the
    subject (namespace, normal form) that it makes forgotten as a whole; `swept` are claims of which nothing
    older than what is stored now is needed any more. `reclaims`: what is deleted is to leave the disk.
    """

    record: Record
    batch: Batch
    touched: Sequence[Touched]
    clock: Clock
    moved: Clock
    outputs: Sequence[Output]
    facts: Callable[[str, str], Iterable[tuple[Claim, Fact]]]
    evidence: Callable[[ClaimId], list[Statement]]
    lost: Mapping[ClaimId, Lost] = field(default_factory=dict)
    emptied: tuple[str, str] | None = None
    swept: Sequence[ClaimId] = ()
    reclaims: bool = False

    @property
    def closes(self) -> bool:
        """Whether the record closes the cycle under way."""
        return self.moved.number > self.clock.number


class Follower(Protocol):
    """What an addition to consolidation declares.

    Its tables belong to the stage before the claims. So a key that does not hold the record yet
    (`Tables.applied`) sees every change that the record makes, and one that holds it must be left alone,
    as what it published is durable: each change reaches it exactly once, whatever crashes in between. The
    clock belongs to the stage of the claims: a tick that a follower has not taken in still moves it.

    What other followers publish may be missing from `Folded.outputs` once some of their keys are written.
    Who counts it keeps the count in a table that is named as `early` where the agent is made: a key of it
    that does not hold the record yet tells that none of their keys does.
    """

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables."""
        ...

    def follow(self, tables: Tables, folded: Folded) -> list[Output]:
        """Take one record in: put what is to be kept into `tables`, return what is to be published."""
        ...
