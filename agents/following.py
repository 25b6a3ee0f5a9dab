"""What follows from a record once its facts are folded: drift, links, rules, the audit of cycles.

All of it happens in the partition of the subject, in the order of the one log, and takes effect together
with the facts. A follower says only what it keeps and what it publishes; when, how often and after which
crash is the host's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from state.changes import Change
from state.claim import Claim
from state.cycles import Clock
from state.statements import Statement
from streams.codec import Batch
from streams.host import Output, Record, Tables


@dataclass(frozen=True, slots=True)
class Touched:
    """A claim that a record touched: as it is now, what changed about its facts, what arrived for it.

    `statements` are those of the record, duplicates among them; `retracted` are ids taken back.
    """

    claim: Claim
    changes: Sequence[Change]
    statements: Sequence[Statement]
    retracted: Sequence[str]


@dataclass(frozen=True, slots=True)
class Folded:
    """One internal record and what it did. `clock` is the partition's as it was before the record."""

    record: Record
    batch: Batch
    touched: Sequence[Touched]
    clock: Clock


class Follower(Protocol):
    """What an addition to consolidation declares.

    Its tables belong to the stage before the claims. So a key that does not hold the record yet
    (`Tables.applied`) sees every change that the record makes, and one that holds it must be left alone,
    as what it published is durable: each change reaches it exactly once, whatever crashes in between.
    """

    tables: tuple[str, ...]

    def follow(self, tables: Tables, folded: Folded) -> list[Output]:
        """Take one record in: put what is to be kept into `tables`, return what is to be published."""
        ...
