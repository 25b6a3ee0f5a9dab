"""What the claims of a partition say about sources: counted in the order of its log, told at each tick.

Follows consolidation. Every claim whose value never changes is compared with what it said before, and only
the difference is counted, so the sum of all that was told is the same whatever the order of arrival, and
what is retracted or forgotten is taken off again. What is not told yet lies under one early key, which is
durable before any claim's own row: while it does not hold a record, no row does (`agents.consolidation`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from agents.following import Folded
from agents.trust_snapshots import SNAPSHOTS_TABLE, take_snapshots
from state.identity import ClaimId
from state.stored_claim import Claim
from state.trust import SourceKey
from state.trust_counts import Counts, add, compared, first_of, stands_of
from streams.host import Output, Tables

COUNTED_TABLE: Final = "trust-counted"
STANDS_TABLE: Final = "trust-stands"
COUNTED_KEY: Final = b"counted"
PAIRS_TOLD_MAX: Final = 5_000  # of one namespace at one tick, so that a part of a cycle stays small

Told = dict[str, Counts]
"""Counts by namespace."""


class Counted(msgspec.Struct, array_like=True):
    """What was counted and not told yet, and what was told at the tick that closed cycle `cycle`."""

    cycle: int = 0
    told: Told = {}
    left: Told = {}


_encode: Final = msgspec.msgpack.Encoder().encode
_decode_counted: Final = msgspec.msgpack.Decoder(Counted).decode
_decode_stands: Final = msgspec.msgpack.Decoder(dict[SourceKey, int]).decode


class TrustCounting:
    """The follower, before the parts of cycles. Its table of what was counted must be an early one."""

    tables = (STANDS_TABLE, SNAPSHOTS_TABLE)
    early = (COUNTED_TABLE,)

    def follow(self, tables: Tables, folded: Folded) -> list[Output]:
        """Count the record; at a tick, set apart what is told."""
        take_snapshots(tables, folded)
        is_counted = tables.applied(COUNTED_TABLE, COUNTED_KEY, folded.record)
        moved: Told = {}
        for claim in _touched(folded):
            self._compare(tables, folded, claim, moved)
        if not is_counted and (moved or folded.closes):
            _keep(tables, folded, moved)
        return []

    def _compare(self, tables: Tables, folded: Folded, claim: Claim, moved: Told) -> None:
        """Compare how a claim's sources stand with how they stood, and keep it."""
        row_key = claim.claim.encode("ascii")
        stored = tables.get(STANDS_TABLE, row_key)
        before = {} if stored is None else _decode_stands(stored)
        after = stands_of(folded.evidence(claim.claim), claim.forms.cluster, claim.namespace)
        if before == after:
            return
        counts = moved.setdefault(claim.namespace, {})
        add(counts, compared(after))
        add(counts, compared(before), sign=-1)
        if not tables.applied(STANDS_TABLE, row_key, folded.record):
            tables.put(STANDS_TABLE, row_key, _encode(after) if after else None)


def told_at(tables: Tables, cycle: int) -> Told:
    """What the partition tells of the sources in the part of a cycle that was just closed."""
    counted = _counted(tables)
    return counted.told if counted.cycle == cycle else {}


def _counted(tables: Tables) -> Counted:
    stored = tables.get(COUNTED_TABLE, COUNTED_KEY)
    return Counted() if stored is None else _decode_counted(stored)


def _keep(tables: Tables, folded: Folded, moved: Told) -> None:
    counted = _counted(tables)
    before = _encode(counted)
    for namespace, counts in moved.items():
        add(counted.left.setdefault(namespace, {}), counts)
    if folded.closes:
        told = {namespace: first_of(counts, PAIRS_TOLD_MAX) for namespace, counts in counted.left.items()}
        counted.cycle = folded.moved.number
        counted.told = {name: found for name, found in told.items() if found}
        for namespace, counts in counted.told.items():
            add(counted.left[namespace], counts, sign=-1)
    counted.left = {namespace: counts for namespace, counts in counted.left.items() if counts}
    after = _encode(counted)
    if after != before:
        tables.put(COUNTED_TABLE, COUNTED_KEY, after)


def _touched(folded: Folded) -> list[Claim]:
    """The claims of the record whose values never change, each once, those that are forgotten among them."""
    found: dict[ClaimId, Claim] = {touched.claim.claim: touched.claim for touched in folded.touched}
    found |= {claim_id: lost.claim for claim_id, lost in folded.lost.items() if claim_id not in found}
    return [claim for claim in found.values() if claim.layout == "never"]
