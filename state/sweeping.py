"""Deleting what a claim no longer needs, down to the last piece: what a forget needs and nothing else does.

A batch leaves pieces that only the claim before it needs, and beside each piece the version before, for the
case that it is applied again. Once a forget is durable everywhere, a sweep deletes all of that. Which pieces
a claim needs is found by reading the whole of it and noting what was asked for, so that no list of kinds of
pieces has to be kept in step here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from state.changes import Published
from state.claim import LiveClaim
from state.episodes import Reason
from state.facts import Fact
from state.identity import ClaimId, FactId
from state.shelf import Shelf
from state.statements import voter
from state.versioned import alone, is_versioned
from state.withdrawn import FACTS, decode, encode

_WORDLESS: Final = {
    "subject": "", "predicate": "", "form": "", "object": None, "lo": None, "hi": None,
    "lo_granularity": None, "hi_granularity": None, "reason": Reason.WITHDRAWN.value, "contested": False,
    "rivals": (), "support": 0, "dissent": 0, "observations": 0, "votes": None,
    "decided_at": None, "decided_observed_at": None,
    "previous_fact_id": None, "invalidated_by": None, "supported_by": (), "dissented_by": (),
    "closed_by": None, "opened_by": None, "against": None,
}  # fmt: skip


def wordless(fact: Fact) -> Fact:
    """A withdrawn fact of which nothing is left but its id, its claim and its place among the episodes."""
    return msgspec.structs.replace(fact, **_WORDLESS)


def prefix_of(claim: ClaimId) -> bytes:
    """What the keys of all pieces of a claim begin with."""
    return claim.encode("ascii") + b"/"


def withdrawn_facts(claim: ClaimId, keys: Iterable[bytes]) -> list[FactId]:
    """The facts that are kept as withdrawn, or once were, among the keys of a claim's pieces."""
    start = claim.encode("ascii") + FACTS
    return [FactId(key[len(start) :].decode("ascii")) for key in keys if key.startswith(start)]


def blank_withdrawn(claim: ClaimId, keys: Iterable[bytes], shelf: Shelf) -> None:
    """Take the words out of all withdrawn facts of a claim; ids and versions stay, for they may come back."""
    start = claim.encode("ascii") + FACTS
    for key in keys:
        stored = shelf.get(key) if key.startswith(start) else None
        if stored is not None:
            shelf.put(key, encode(blanked(decode(stored))))


def blanked(published: Published) -> Published:
    """A withdrawn fact without its words, and with its version."""
    return Published(wordless(published.fact), published.version)


def needed(live: LiveClaim, shelf: Shelf) -> set[bytes]:
    """The keys of all pieces that a claim needs, as it is stored now. The claim must not be in use."""
    asked: set[bytes] = set()

    def get(key: bytes) -> bytes | None:
        asked.add(key)
        return shelf.get(key)

    noting = Shelf(get)
    statements = live.evidence(noting)
    for folding in live.folding.values():
        folding.published()
        folding.marks.base  # noqa: B018 read lazily; asking is what counts
        for number in range(folding.strand.n_chunks):
            for statement in folding.chunks.get(number).statements:
                folding.chunks.place_of(statement.observation_id)
                if statement.document is not None:
                    folding.chunks.document(voter(statement))
    for statement in statements:
        live.form_of(statement.observation_id)
    live.clustering.compared(noting)
    return asked


def sweep(live: LiveClaim | None, claim: ClaimId, keys: Iterable[bytes], shelf: Shelf) -> None:
    """Delete and clean the pieces under `keys`, which are all of the claim; None: it is gone as a whole.

    Doing it again changes nothing, and what is stored of the claim reads the same before and after.
    """
    keys = list(keys)
    wanted = set() if live is None else needed(live, shelf)
    kept_for_versions = claim.encode("ascii") + FACTS
    epoch = -1 if live is None else live.claim.epoch
    for key in keys:
        if key.startswith(kept_for_versions):
            continue
        stored = shelf.get(key)
        if stored is None:
            continue
        if key not in wanted:
            shelf.delete(key)
        elif is_versioned(stored):
            cleaned = alone(stored, epoch)
            if cleaned != stored:
                shelf.put(key, cleaned)
    blank_withdrawn(claim, keys, shelf)


def needed_for_facts(live: LiveClaim, shelf: Shelf) -> set[bytes]:
    """The keys of the pieces that tell what was published of a claim. The claim must not be in use."""
    asked: set[bytes] = set()

    def get(key: bytes) -> bytes | None:
        asked.add(key)
        return shelf.get(key)

    live.renew(Shelf(get), epoch=live.claim.epoch)
    live.published()
    return asked
